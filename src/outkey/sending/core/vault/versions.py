"""The versions of a secret: pending, current and previous, and how they change.

A new value is stored as pending, read back and opened, and only then becomes the
current one; the one before becomes the previous one. A change is a list of swaps of one
version for another, which a host applies in this order, each only if the row is as it
was.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from outkey.foundation.core.errors import EditConflict
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.rotation.credential_sets import CredentialSets
from outkey.sending.core.vault.envelope import Place, SealedRow, secret_place
from outkey.sending.core.vault.voucher import VOUCHER_FIELD


class SecretLabel(StrEnum):
    """Which version of a secret is in use."""

    PENDING = "pending"
    CURRENT = "current"
    PREVIOUS = "previous"
    # Of the other set of a rotation, which no save replaces.
    OTHER_SET = "other_set"


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """One stored version of a secret; also a voucher or a token, by its place."""

    place: Place
    label: str = SecretLabel.CURRENT  # a row may have any text: only ours are used
    sealed: bytes | None = None  # None for a reference, or where it was not read
    reference: str = ""
    set_at: float | None = None
    set_by: str = ""

    @property
    def state(self) -> SecretState:
        """The facts about the secret, without opening it, or raise ConfigError."""
        reference = None
        if self.reference:
            reference = parse_reference(self.reference, field=self.place.field)
        return SecretState(
            self.place.origin, reference, self.place.version, self.set_at, self.set_by
        )


# None in the place of the first: it is inserted; in the place of the second: deleted.
Swap = tuple[SecretVersion | None, SecretVersion | None]


def secret_version(
    record: str,
    field: str,
    state: SecretState,
    *,
    label: SecretLabel = SecretLabel.PENDING,
    sealed: bytes | None = None,
) -> SecretVersion:
    """Return a version to store: sealed bytes, or without them a reference."""
    return SecretVersion(
        place=secret_place(record, field, state.version, state.origin),
        label=label,
        sealed=sealed,
        reference=str(state.reference or ""),
        set_at=state.set_at,
        set_by=state.set_by,
    )


def next_number(versions: Collection[SecretVersion]) -> int:
    """Return the number of the next version of a secret; none is used twice."""
    return max((row.place.version for row in versions), default=0) + 1


def add_pending(versions: Collection[SecretVersion], new: SecretVersion) -> list[Swap]:
    """Return the swaps that store a pending version; a leftover one is deleted.

    Raises EditConflict where this version is in use already.
    """
    leftover = [row for row in versions if row.label == SecretLabel.PENDING]
    used = {row.place.version for row in versions if row not in leftover}
    if new.place.version in used:
        raise EditConflict
    return [*delete_all(leftover), (None, new)]


def activate(versions: Collection[SecretVersion], number: int) -> list[Swap]:
    """Return the swaps that put the pending version of this number into use.

    The current version becomes the previous one, and that is deleted. Raises
    EditConflict where the number is not pending any more.
    """
    pending = [
        row
        for row in versions
        if row.label == SecretLabel.PENDING and row.place.version == number
    ]
    if not pending:
        raise EditConflict
    return [
        *delete_all(row for row in versions if row.label == SecretLabel.PREVIOUS),
        *(
            (row, replace(row, label=SecretLabel.PREVIOUS))
            for row in versions
            if row.label == SecretLabel.CURRENT
        ),
        *((row, replace(row, label=SecretLabel.CURRENT)) for row in pending),
    ]


def stage(versions: Collection[SecretVersion], number: int) -> list[Swap]:
    """Return the swaps that make the pending version of this number the next one.

    A next version that was staged before is deleted. Raises EditConflict where the
    number is not pending any more.
    """
    pending = [
        row
        for row in versions
        if row.label == SecretLabel.PENDING and row.place.version == number
    ]
    if not pending:
        raise EditConflict
    others = [row for row in versions if row.label == SecretLabel.OTHER_SET]
    staged = [(row, replace(row, label=SecretLabel.OTHER_SET)) for row in pending]
    return [*delete_all(others), *staged]


def exchange(versions: Collection[SecretVersion]) -> list[Swap]:
    """Return the swaps that put the versions of the other set into use, and back.

    The current version of a field that the other set has becomes that of the other set.
    """
    others = [row for row in versions if row.label == SecretLabel.OTHER_SET]
    fields = {row.place.field for row in others}
    current = [
        row
        for row in versions
        if row.label == SecretLabel.CURRENT and row.place.field in fields
    ]
    return [
        *((row, replace(row, label=SecretLabel.OTHER_SET)) for row in current),
        *((row, replace(row, label=SecretLabel.CURRENT)) for row in others),
    ]


def unused_versions(
    versions: Collection[SecretVersion], sets: CredentialSets
) -> list[SecretVersion]:
    """Return the versions of other sets that these sets do not have any more."""
    return [
        row
        for row in versions
        if row.label == SecretLabel.OTHER_SET
        and not sets.has_version(row.place.field, row.place.version)
    ]


def delete_all(versions: Iterable[SecretVersion]) -> list[Swap]:
    """Return the swaps that delete these versions."""
    return [(row, None) for row in versions]


def current_states(versions: Iterable[SecretVersion]) -> dict[str, SecretState]:
    """Return the states of the secrets in use, by field; vouchers are not secrets."""
    return {
        row.place.field: row.state
        for row in versions
        if row.label == SecretLabel.CURRENT and row.place.field != VOUCHER_FIELD
    }


def current_voucher(versions: Iterable[SecretVersion]) -> SealedRow | None:
    """Return the voucher among these versions."""
    for row in versions:
        if row.label == SecretLabel.CURRENT and row.place.field == VOUCHER_FIELD:
            return SealedRow(row.place, row.sealed or b"")
    return None
