"""The first records that a run rejects, or that a dry run would change."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from outkey.hosts.cli.printing.output import print_line, print_table
from outkey.hosts.cli.printing.run_texts import rejected_text
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.mapping.shown import shown_change, shown_field

if TYPE_CHECKING:
    from outkey.sync.core.run.effects import Effect

_MAX_SHOWN = 20  # changes of a dry run, or rejected records


class FirstEffects:
    """The first records that a run rejects, or that a dry run would change."""

    def __init__(self, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._effects: list[tuple[int, Effect]] = []
        self._more = 0  # that are not among the first
        self.changes_to_target: list[str] = []  # what was made of a table
        self.count = 0  # of all records of the run so far

    def note(self, effect: "Effect") -> None:
        """Count a record, and remember it if it is among the first to show."""
        if not effect.target:  # a child belongs to the record before it
            self.count += 1
        is_rejected = effect.outcome is WriteOutcome.REFUSED
        is_change = self._dry_run and effect.outcome is not WriteOutcome.UNCHANGED
        if not is_rejected and not is_change:
            return
        if len(self._effects) < _MAX_SHOWN:
            self._effects.append((self.count, effect))
        else:
            self._more += 1

    def print(self) -> None:
        """Print a table of the effects, if there are any."""
        if not self._effects:
            return
        title = "Change" if self._dry_run else "Rejected"
        rows = [(number, *_effect_row(effect)) for number, effect in self._effects]
        print_table(("Record", "", "Key", title), rows)
        if self._more:
            print_line(f"and {self._more} more")

    def facts(self) -> Iterator[dict[str, object]]:
        """Yield the effects as programs read them."""
        for number, effect in self._effects:
            child = {"target": effect.target} if effect.target else {}
            sent = {"values": effect.values} if is_sent(effect) else {}
            yield {
                "record": number,
                "outcome": str(effect.outcome),
                "key": effect.key,
                "field": effect.field,
                "reason": effect.reason,
                "changes": effect.changes,
                **sent,
                **child,
            }


def _effect_row(effect: "Effect") -> tuple[str, str, str]:
    """Return outcome, key, and reason or changes of one record."""
    is_rejected = effect.outcome is WriteOutcome.REFUSED
    outcome = "rejected" if is_rejected else str(effect.outcome)
    if effect.target:
        outcome = f"{outcome} in {effect.target}"
    if is_rejected:
        return outcome, effect.key, rejected_text(effect.field, effect.reason)
    if effect.outcome is WriteOutcome.CREATED and effect.changes:
        texts = [
            shown_field(name, after) for name, (_, after) in effect.changes.items()
        ]
    elif is_sent(effect):
        texts = [shown_field(name, value) for name, value in effect.values.items()]
    else:
        texts = [
            shown_change(name, before, after)
            for name, (before, after) in effect.changes.items()
        ]
    return outcome, effect.key, ", ".join(texts)


def is_sent(effect: "Effect") -> bool:
    """Whether a push would send the record: it is unknown what the API has."""
    is_rejected = effect.outcome is WriteOutcome.REFUSED
    return bool(effect.values) and not effect.changes and not is_rejected
