"""What a run does with one record, or would do in a dry run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from outkey.sync.core.mapping.records import Changes, WriteOutcome


@dataclass(slots=True)  # not frozen: there is one for each record of a page
class Effect:
    """The effect of a run on one record, or the one that it would have."""

    outcome: WriteOutcome
    key: str = ""
    values: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)
    field: str = ""
    reason: str = ""
    changes: Changes = dataclass_field(default_factory=dict, repr=False)  # of a dry run
    changed: tuple[str, ...] = ()  # of an update: the fields that it changes
    kind: str = ""  # of the value that was refused: its type in JSON
    refused: object = dataclass_field(default=None, repr=False)
    target: str = ""  # of a child; its `key` is that of its parent

    @property
    def before(self) -> dict[str, object]:
        """The stored values of the mapped fields; empty for a new record.

        Of a preview or a dry run, whose changes have them. What does not change is
        stored as the values have it.
        """
        if self.outcome not in {WriteOutcome.UPDATED, WriteOutcome.UNCHANGED}:
            return {}
        stored = {name: old for name, (old, _) in self.changes.items()}
        return {**self.values, **stored}


Note = Callable[[Effect], None]  # called with what became of each record
