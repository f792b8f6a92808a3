"""The state of a secret, as it is known without opening it."""

from dataclasses import dataclass

from outkey.sending.core.configuration.reference import Reference


@dataclass(frozen=True, slots=True)
class SecretState:
    """The facts about a secret that are known without opening it.

    A secret belongs to the origin it was entered for. Without a reference its value is
    stored, sealed, under its version.
    """

    origin: str
    reference: Reference | None = None
    version: int = 1
    set_at: float | None = None  # Unix time
    set_by: str = ""


def successor(
    before: SecretState | None,
    origin: str,
    reference: Reference | None = None,
    *,
    set_at: float | None = None,
    set_by: str = "",
) -> SecretState:
    """Return the state of a secret's next version."""
    version = before.version + 1 if before else 1
    return SecretState(origin, reference, version, set_at, set_by)
