"""What a committed audit record survives."""

from enum import StrEnum


class Durability(StrEnum):
    """The level that the operator chooses; without a record nothing is sent in both."""

    PROCESS = "process"  # a killed process
    POWER = "power"  # a power failure as well
