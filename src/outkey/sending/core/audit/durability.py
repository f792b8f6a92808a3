"""How much a committed audit record survives."""

from enum import StrEnum


class Durability(StrEnum):
    """The level that the operator chooses; both require a record before a send."""

    PROCESS = "process"  # a killed process
    POWER = "power"  # a power failure as well
