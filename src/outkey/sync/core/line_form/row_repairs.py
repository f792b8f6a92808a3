"""Repairs of a field mapping that rejects values of a sample.

Each is tried: one that does not convert every value of the sample is not proposed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.line_form.row_trials import RowTrial
from outkey.sync.core.line_form.rows import values_text
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.mapping.mapping import resolve_transform, takes_transform
from outkey.sync.core.suggest.hosts import fitting_guess
from outkey.sync.core.suggest.names import comparable_name, quoted_name
from outkey.sync.core.suggest.values import Guess, guess_moment, guess_transform

MAX_REPAIRS = 3
MAX_NEW_CHOICES = 50
MAX_SHOWN_CHOICES = 3
MOST_DIGITS_OF_SECONDS = 11  # until the year 5138; milliseconds have 12 since 1973
MOMENTS = frozenset({Transform.DATE, Transform.DATETIME})
MISSING = frozenset({"missing", "key_missing"})
# Members of an object that stand for it, the best first.
NAMING_MEMBERS = ("name", "label", "title", "value", "code", "key", "id")
NEUTRAL_VALUES = {
    Transform.TEXT: "unknown",
    Transform.NUMBER: "0",
    Transform.DECIMAL: "0",
    Transform.BOOLEAN: "false",
}
UNITS = {
    "unix": Text("Read it as a Unix time in seconds"),
    "unix_ms": Text("Read it as a Unix time in milliseconds"),
}
PARTS_OF_FORMAT = {
    "%d": "DD",
    "%m": "MM",
    "%Y": "YYYY",
    "%y": "YY",
    "%H": "hh",
    "%I": "hh",
    "%M": "mm",
    "%S": "ss",
    "%p": "AM",
    "%b": "Mon",
    "%B": "Month",
    "%a": "Day",
    "%z": "+00:00",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of a mapping that makes it accept every value of the sample."""

    sentence: Text
    # Inputs of the row with their new texts: transform, format, values, default …
    changes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A repair with the mapping that it makes, to be tried."""

    repair: Repair
    mapping: FieldMapping
    member: str = ""  # of the values, which are objects then


def repairs_of(trial: RowTrial, values: Sequence[object]) -> tuple[Repair, ...]:
    """Return the repairs that make a row accept all these values, the best first."""
    reasons = {trial.reason(value) for value in values} - {""}
    repairs = _working_repairs(trial, values, candidates(trial, values, reasons))
    if not repairs and reasons - MISSING:
        repairs = _working_repairs(trial, values, _for_any_value(trial))
    return repairs


def _working_repairs(
    trial: RowTrial, values: Sequence[object], some: Iterator[Candidate]
) -> tuple[Repair, ...]:
    """Return the first repairs with which no value is rejected."""
    working = (
        candidate.repair
        for candidate in some
        if not replace(trial, mapping=candidate.mapping).rejects_any(
            members_of(values, candidate.member)
        )
    )
    return tuple(islice(working, MAX_REPAIRS))


def members_of(values: Sequence[object], name: str) -> list[object]:
    """Return a member of each value, or the values themselves without a name."""
    if not name:
        return list(values)
    return [value.get(name) if isinstance(value, dict) else value for value in values]


def candidates(
    trial: RowTrial, values: Sequence[object], reasons: set[str]
) -> Iterator[Candidate]:
    """Yield candidates for the repair of a row, the best first."""
    present = [value for value in values if value is not None and value != ""]
    if reasons & MISSING:
        yield from _for_missing(trial)
    if "no_date" in reasons:
        yield from _for_dates(trial, present)
    if "no_number" in reasons:
        yield from _for_decimal_mark(trial)
    if "unknown_choice" in reasons:
        yield from _for_choices(trial, present)
    if reasons & {"no_text", "wrong_type"}:
        yield from _for_objects(trial, present)
    if reasons - MISSING:
        yield from _for_transform(trial, present)


def _for_missing(trial: RowTrial) -> Iterator[Candidate]:
    """Yield candidates that accept a record without a value."""
    mapping = trial.mapping
    if trial.is_key:
        return
    if mapping.required and not (trial.host and trial.host.required):
        yield Candidate(
            Repair(Text("Accept records without a value"), {"required": ""}),
            replace(mapping, required=False),
        )
    resolved = resolve_transform(mapping, trial.host)
    default = NEUTRAL_VALUES.get(resolved.transform)
    if trial.host and trial.host.choices:
        default = trial.host.choices[0]
    if default is not None:
        sentence = Text("Use {value} where it is missing", value=default)
        yield Candidate(
            Repair(sentence, {"default": default}), replace(mapping, default=default)
        )


def _for_dates(trial: RowTrial, values: Sequence[object]) -> Iterator[Candidate]:
    """Yield other formats of dates and times."""
    guess = guess_moment(values)
    if guess is not None:
        pattern = guess.options.get("format", "")
    else:
        pattern = "unix_ms" if is_large(values) else "unix"
    options = {n: v for n, v in trial.mapping.options.items() if n != "format"}
    yield Candidate(
        Repair(_format_sentence(pattern), {"format": pattern}),
        replace(trial.mapping, options=options | {"format": pattern}),
    )


def is_large(values: Sequence[object]) -> bool:
    """Whether numbers are too large for Unix times in seconds."""
    digits = [len(str(value).partition(".")[0].lstrip("-")) for value in values]
    return max(digits, default=0) > MOST_DIGITS_OF_SECONDS


def _format_sentence(pattern: str) -> Text:
    """Return how dates of a format are read."""
    if not pattern:
        return Text("Read it as an ISO date")
    if pattern in UNITS:
        return UNITS[pattern]
    return Text("Read it as {format}", format=format_words(pattern))


def format_words(pattern: str) -> str:
    """Return a pattern of strptime as users write it: DD.MM.YY."""
    return re.sub(
        r"%[A-Za-z]", lambda part: PARTS_OF_FORMAT.get(part[0], part[0]), pattern
    )


def _for_decimal_mark(trial: RowTrial) -> Iterator[Candidate]:
    """Yield the other decimal mark."""
    options = dict(trial.mapping.options)
    if options.pop("decimal_mark", "") == ",":
        sentence = Text("Read the point as the decimal mark")
        mark = ""
    else:
        sentence = Text("Read the comma as the decimal mark")
        mark = options["decimal_mark"] = ","
    yield Candidate(
        Repair(sentence, {"decimal_mark": mark}),
        replace(trial.mapping, options=options),
    )


def _for_choices(trial: RowTrial, values: Sequence[object]) -> Iterator[Candidate]:
    """Yield a table that has the unknown values too."""
    is_choice = trial.mapping.transform is Transform.CHOICE
    table = dict(trial.mapping.options) if is_choice else {}
    choices = trial.host.choices if trial.host else ()
    by_name = {comparable_name(choice): choice for choice in choices}
    texts = dict.fromkeys(
        str(value) for value in values if isinstance(value, str | int)
    )
    new = {
        text: by_name.get(comparable_name(text), "") if choices else text
        for text in texts
        if text not in table
    }
    if not new or len(new) > MAX_NEW_CHOICES or not all(new.values()):
        return
    shown = [f"{excerpt_of(theirs)} → {ours}" for theirs, ours in new.items()]
    names = ", ".join(shown[:MAX_SHOWN_CHOICES])
    names += ", …" if len(shown) > MAX_SHOWN_CHOICES else ""
    options = table | new
    changes = {"transform": str(Transform.CHOICE), "values": values_text(options)}
    yield Candidate(
        Repair(Text("Map {values}", values=names), changes),
        replace(trial.mapping, transform=Transform.CHOICE, options=options),
    )


def _for_objects(trial: RowTrial, values: Sequence[object]) -> Iterator[Candidate]:
    """Yield a member of objects that stands for them."""
    if not values or not all(isinstance(value, dict) for value in values):
        return
    for name in NAMING_MEMBERS:
        if all(isinstance(value, dict) and name in value for value in values):
            api = f"{trial.mapping.api}.{quoted_name(name)}"
            yield Candidate(
                Repair(Text("Use {name}", name=api), {"api": api}),
                replace(trial.mapping, api=api),
                member=name,
            )


def _for_transform(trial: RowTrial, values: Sequence[object]) -> Iterator[Candidate]:
    """Yield the transform that the values look like, if it is another one."""
    if not _are_scalars(values):
        return
    name = trial.mapping.api.rpartition(".")[2]
    guess: Guess | None = guess_transform(name, values)
    if guess is not None and guess.transform is Transform.TEXT:
        # A user decides here, so that the values alone may suggest a time.
        guess = guess_moment(values) or guess
    if guess is not None and trial.host is not None:
        guess = fitting_guess(trial.host, guess, values)
    present_transform = resolve_transform(trial.mapping, trial.host).transform
    if guess is not None and guess.transform is not present_transform:
        yield _transform_candidate(trial, guess)


def _for_any_value(trial: RowTrial) -> Iterator[Candidate]:
    """Yield transforms that accept nearly everything, where the field takes them."""
    for transform in (Transform.TEXT, Transform.AS_IS):
        takes = trial.host is None or takes_transform(trial.host.kind, transform)
        if takes and transform is not trial.mapping.transform:
            yield _transform_candidate(trial, Guess(transform, NO_TEXT))


def _transform_candidate(trial: RowTrial, guess: Guess) -> Candidate:
    """Return the repair by another transform with its options."""
    changes = {"transform": str(guess.transform)}
    if guess.transform is Transform.CHOICE:
        changes["values"] = values_text(guess.options)
    else:
        changes |= guess.options
    mapping = replace(trial.mapping, transform=guess.transform, options=guess.options)
    return Candidate(Repair(_transform_sentence(guess), changes), mapping)


def _transform_sentence(guess: Guess) -> Text:
    """Return the sentence about the effect of another transform."""
    label = guess.transform.label
    pattern = guess.options.get("format", "")
    if guess.transform in MOMENTS and pattern:
        how = _format_sentence(pattern)
        return Text("Choose {transform}: {how:sentence}", transform=label, how=how)
    return Text("Choose {transform}", transform=label)


def _are_scalars(values: Sequence[object]) -> bool:
    """Whether no value is an object or a list."""
    return not any(isinstance(value, dict | list) for value in values)
