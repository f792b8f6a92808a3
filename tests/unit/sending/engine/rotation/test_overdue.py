"""What is left of a rotation ends by time, and only what may end."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

from outkey.foundation.core.errors import RotationUntested
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.rotation.credential_sets import (
    DAY,
    CredentialSet,
    CredentialSets,
)
from outkey.sending.engine.rotation.rotations import Rotations
from outkey.testing import configuration

NOW = 1_800_000_000.0
MADE = CredentialSet(2, set_at=NOW - 30 * DAY)
OVERLAP = CredentialSets(newest=2, previous=CredentialSet(1), until=NOW)


@dataclass(frozen=True)
class NotedRotations(Rotations):
    """Notes the steps instead of taking them."""

    steps: list[str] = field(default_factory=list)

    def retire(self, name: str, by: str) -> int:
        if name == "unproved":
            raise RotationUntested
        self.steps.append(f"retire {name} {by}")
        return 1

    def discard(self, name: str, by: str) -> int:
        self.steps.append(f"discard {name} {by}")
        return 1


def with_sets(name: str, sets: CredentialSets) -> Configuration:
    return replace(configuration(name), sets=sets)


def test_overlaps_and_forgotten_sets_end() -> None:
    configurations = [
        with_sets("plain", CredentialSets()),
        with_sets("unproved", OVERLAP),
        with_sets("over", OVERLAP),
        with_sets("kept", replace(OVERLAP, until=NOW + 1)),
        with_sets("stale", CredentialSets(newest=2, next=MADE)),
        with_sets("new", CredentialSets(newest=2, next=replace(MADE, set_at=NOW))),
    ]
    rotations = NotedRotations(
        registry=SimpleNamespace(all=lambda: configurations),  # type: ignore[arg-type]
        secrets=None,  # type: ignore[arg-type]
        audit=None,  # type: ignore[arg-type]
        tokens=None,  # type: ignore[arg-type]
        clock=SimpleNamespace(now=lambda: NOW),  # type: ignore[arg-type]
    )
    rotations.end_overdue()
    assert rotations.steps == ["retire over ", "discard stale "]
