"""The effects of a run on the first records, as the page of a line shows them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from outkey.hosts.django.translation import translate_text
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.reasons import rejection_text

MOST_CHARACTERS = 80  # of a value
OUTCOMES: dict[WriteOutcome, tuple[str, object]] = {  # the colour of each, its name
    WriteOutcome.CREATED: ("ok-success", gettext_lazy("new")),
    WriteOutcome.UPDATED: ("ok-notice", gettext_lazy("changed")),
    WriteOutcome.UNCHANGED: ("", gettext_lazy("unchanged")),
    WriteOutcome.DELETED: ("ok-warning", gettext_lazy("deleted")),
    WriteOutcome.REFUSED: ("ok-error", gettext_lazy("rejected")),
}


@dataclass(frozen=True)
class ShownChange:
    """One field of a record: its value before, where there is one, and after."""

    name: str
    before: str
    after: str
    has_before: bool


@dataclass(frozen=True)
class CheckedRecord:
    """The effect of a run on one record: its fields, or why it would be rejected."""

    chip: tuple[str, object]
    key: str
    changes: Sequence[ShownChange]
    field: str
    reason: str


@dataclass(frozen=True)
class ShownCheck:
    """The effects of a run on the first records."""

    total: int
    chips: Sequence[tuple[str, str]]
    rows: Sequence[CheckedRecord]

    @property
    def words(self) -> str:
        """The counts as one sentence."""
        return ", ".join(text for _, text in self.chips) or _("There are no records.")


def shown_check(effects: Sequence[Effect]) -> ShownCheck:
    """Return the counts of records, and each of them."""
    counts = Counter(effect.outcome for effect in effects)
    chips = [
        (colour, f"{counts[outcome]} {name}")
        for outcome, (colour, name) in OUTCOMES.items()
        if counts[outcome]
    ]
    rows = [_checked_record(effect) for effect in effects]
    return ShownCheck(len(effects), chips, rows)


def _checked_record(effect: Effect) -> CheckedRecord:
    """Return one record; no value of a rejected one."""
    is_rejected = effect.outcome is WriteOutcome.REFUSED
    return CheckedRecord(
        chip=OUTCOMES[effect.outcome],
        key=effect.key,
        changes=[] if is_rejected else list(changes_of(effect)),
        field=effect.field,
        reason=translate_text(rejection_text(effect.reason)) if is_rejected else "",
    )


def changes_of(effect: Effect) -> Iterator[ShownChange]:
    """Yield the fields of a record; of a changed one those that change."""
    is_update = effect.outcome is WriteOutcome.UPDATED and bool(effect.changes)
    for name, value in effect.values.items():
        if not is_update or name in effect.changes:
            yield ShownChange(
                name=name,
                before=shortened(effect.before.get(name), MOST_CHARACTERS),
                after=shortened(value, MOST_CHARACTERS),
                has_before=is_update,
            )
