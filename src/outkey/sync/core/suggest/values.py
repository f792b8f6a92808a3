"""Which transform fits the values of a field, judged by a sample of them.

Each rule looks at all values. What it proposes is then tried: a transform that would
reject a value of the sample is never proposed. A format of dates is proposed only where
the name of the field speaks of time too: the version 4.1.15 is not a day. What stores a
value in another form shows it with an example.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from decimal import Decimal

from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.mapping.shown import shown_value
from outkey.sync.core.mapping.transforms import MappingContext, convert, refusal_reason
from outkey.sync.core.suggest.names import snake_case

_CONTEXT = MappingContext(lambda _name: UTC)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", re.ASCII)
_ISO_OFFSET = re.compile(r".*(Z|[+-]\d\d:?\d\d)", re.ASCII)
_MICROSOFT_DATE = re.compile(r"/Date\(-?\d+([+-]\d{4})?\)/", re.ASCII)
_TWO_PARTS_AND_YEAR = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?:,? (\d{1,2}:\d\d(?::\d\d)?)( [AP]M)?)?",
    re.ASCII,
)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_WITH_POINT = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?", re.ASCII)
_WITH_BOTH = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_ONLY_THOUSANDS = re.compile(r"[+-]?\d{1,3}[.,]\d{3}", re.ASCII)
_MAX_LENGTH = 40  # of a date or a number
# Named months and other orders; the first that reads all values is taken.
_OTHER_FORMATS = (
    ("%Y/%m/%d", Transform.DATE),
    ("%Y.%m.%d", Transform.DATE),
    ("%Y/%m/%d %H:%M:%S", Transform.DATETIME),
    ("%d %b %Y", Transform.DATE),
    ("%d-%b-%Y", Transform.DATE),
    ("%d %B %Y", Transform.DATE),
    ("%b %d, %Y", Transform.DATE),
    ("%B %d, %Y", Transform.DATE),
    ("%a, %d %b %Y %H:%M:%S %z", Transform.DATETIME),
    ("%a, %d %b %Y %H:%M:%S GMT", Transform.DATETIME),
    ("%a %b %d %H:%M:%S %z %Y", Transform.DATETIME),
)
_COMPACT = (("%Y%m%d", Transform.DATE, 8), ("%Y%m%d%H%M%S", Transform.DATETIME, 14))
# Unix times from 2000 to 2100.
_SECONDS = range(946_684_800, 4_102_444_800)
_UNITS = (("unix", 1), ("unix_ms", 1000))
_TIME_WORDS = words(
    "at on date day time timestamp ts created updated modified changed deleted expires"
    " expiry start end started ended begin due since until last datum zeit published"
    " paid canceled cancelled birthday born period archived completed shipped ordered"
    " received sent joined left hired signed closed opened valid am seit bis von ab tag"
    " beginn ende erstellt bearbeitet gekauft eintritt austritt fecha jour dato dob"
)
# Endings and beginnings of compound words, such as birthdate and Geburtsdatum.
_TIME_ENDINGS = ("date", "datum", "zeit", "zeitpunkt", "time", "stamp", "day", "tag")
_TIME_BEGINNINGS = ("date", "datum", "birth", "geburt", "expir")
_YEARS = range(1800, 2200)
_FLAG_WORDS = words(
    "is has can active enabled disabled deleted archived visible hidden published"
    " locked verified paid default flag aktiv gesperrt"
)
_AMOUNT_WORDS = words(
    "price amount cost weight rate tax balance sum betrag preis credit discount percent"
    " percentage lat lng lon latitude longitude length width height score subtotal fee"
    " total netto brutto net gross"
)
_COUNT_WORDS = words("count quantity qty items number pages cents")
# A number as text in a field of this name is a name, such as a telephone number.
_IDENTIFIER_WORDS = words(
    "id ids uuid guid key number no nr nummer code zip postal postcode plz phone tel"
    " mobile fax reference ref sku ean gtin isbn iban bic vat account konto name text"
    " version slug handle kontonummer gegenkonto beleg"
)
_BOOLEAN_WORDS = (
    {"true", "false"},
    {"yes", "no"},
    {"on", "off"},
    {"y", "n"},
    {"t", "f"},
    {"1", "0"},
)
_CERTAIN_WORDS = ({"true", "false"}, {"yes", "no"})
# Words that no transform reads as true or false.
_OTHER_WORDS: tuple[Mapping[str, str], ...] = (
    {"ja": "yes", "nein": "no"},
    {"j": "yes", "n": "no"},
    {"wahr": "true", "falsch": "false"},
    {"oui": "yes", "non": "no"},
)


@dataclass(frozen=True, slots=True)
class Guess:
    """A transform with its options, and why."""

    transform: Transform
    why: Text
    options: Mapping[str, str] = field(default_factory=dict)

    def fits(self, values: Sequence[object]) -> bool:
        """Whether the transform reads all of these values."""
        mapping = self._mapping()
        return not any(refusal_reason(mapping, value, _CONTEXT) for value in values)

    def with_example(self, value: object) -> "Guess":
        """Return the guess with what becomes of a value, if that looks different."""
        stored = shown_value(convert(self._mapping(), value, _CONTEXT))
        is_changed = bool(self.options) or (
            self.transform is Transform.BOOLEAN and not isinstance(value, bool)
        )
        if not is_changed or stored == value:
            return self
        why = Text(
            "{why}; {value} becomes {stored}",
            why=self.why,
            value=excerpt_of(value),
            stored=stored,
        )
        return replace(self, why=why)

    def _mapping(self) -> FieldMapping:
        return FieldMapping("", "", self.transform, options=self.options)


Values = Sequence[object]
Texts = Sequence[str]
Rule = Callable[[frozenset[str], Values], Guess | None]


def guess_transform(name: str, values: Values) -> Guess:
    """Return the transform for the values of a field; null and "" say nothing."""
    present = [value for value in values if value is not None and value != ""]
    if not present:
        return Guess(Transform.TEXT, Text("empty in every record of the sample"))
    name_words = frozenset(snake_case(name).split("_"))
    rules = _TEXT_RULES if _are_texts(present) else _NUMBER_RULES
    for rule in rules:
        guess = rule(name_words, present)
        if guess is not None and guess.fits(present):
            return guess.with_example(present[0])
    if _are_texts(present):
        return Guess(Transform.TEXT, _text_reason(present))
    return Guess(Transform.TEXT, Text("values of several kinds, written as text"))


def guess_moment(values: Values) -> Guess | None:
    """Return how values are read that are known to be dates or times, if they can be.

    The name does not count: a user, or the field of the host, defines what they are.
    """
    present = [value for value in values if value is not None and value != ""]
    if not present or not _are_texts(present):
        return None
    guesses = (
        _iso_moments(frozenset(), present),
        _numbered_dates(present),
        _formatted_dates(present),
    )
    fitting = (guess for guess in guesses if guess is not None and guess.fits(present))
    return next(fitting, None)


def _speaks_of_time(name: frozenset[str]) -> bool:
    """Whether a word of a name means that the value is a date or a time."""
    return bool(name & _TIME_WORDS) or any(
        word.endswith(_TIME_ENDINGS) or word.startswith(_TIME_BEGINNINGS)
        for word in name
    )


def _are_texts(values: Values) -> bool:
    return all(isinstance(value, str) for value in values)


def _text_reason(values: Values) -> Text:
    example = excerpt_of(values[0])
    if all(_MICROSOFT_DATE.fullmatch(str(value)) for value in values):
        return Text(
            "dates such as {example}, which no transform reads: use a script, or"
            " another field of the API",
            example=example,
        )
    if all(_WITH_BOTH.fullmatch(str(value)[:_MAX_LENGTH]) for value in values):
        return Text(
            "numbers such as {example}, whose commas no transform reads: use a script",
            example=example,
        )
    moment = guess_moment(values)
    if moment is not None and moment.options:
        return Text(
            "text; {example} may be a date: if it is one, choose the transform"
            " {transform} with the format {format}",
            example=example,
            transform=str(moment.transform),
            format=moment.options["format"],
        )
    return Text("text")


# ── numbers, true and false ──────────────────────────────────────────────────────────


def _booleans(_name: frozenset[str], values: Values) -> Guess | None:
    if not all(isinstance(value, bool) for value in values):
        return None
    return Guess(Transform.BOOLEAN, Text("true and false"))


def _whole_numbers(name: frozenset[str], values: Values) -> Guess | None:
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        return None
    for unit, per_second in _UNITS:
        is_time = all(number // per_second in _SECONDS for number in numbers)
        if is_time and _speaks_of_time(name):
            why = Text("Unix times such as {example}", example=numbers[0])
            return Guess(Transform.DATETIME, why, {"format": unit})
    if set(numbers) <= {0, 1} and name & _FLAG_WORDS:
        return Guess(Transform.BOOLEAN, Text("0 and 1, and the name of a flag"))
    if name & _AMOUNT_WORDS and not name & _COUNT_WORDS:
        why = Text("whole numbers in the sample, but the name of an amount")
        return Guess(Transform.DECIMAL, why)
    return Guess(Transform.NUMBER, Text("whole numbers"))


def _decimal_numbers(_name: frozenset[str], values: Values) -> Guess | None:
    if not all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        for value in values
    ):
        return None
    return Guess(Transform.DECIMAL, Text("numbers with decimal places"))


# ── texts ────────────────────────────────────────────────────────────────────────────


def _iso_moments(_name: frozenset[str], values: Values) -> Guess | None:
    texts = _short_texts(values)
    if all(map(_ISO_DATE.fullmatch, texts)):
        return Guess(Transform.DATE, Text("ISO dates"))
    if not all(_ISO_DATE.fullmatch(t) or _ISO_TIME.fullmatch(t) for t in texts):
        return None
    if all(map(_ISO_OFFSET.fullmatch, texts)):
        return Guess(Transform.DATETIME, Text("ISO dates with time and time zone"))
    why = Text(
        "ISO dates with time, without a time zone: they count as UTC unless the"
        " option zone names another"
    )
    return Guess(Transform.DATETIME, why)


def _dates(name: frozenset[str], values: Values) -> Guess | None:
    """Propose a format of dates where the name of the field means a time too.

    Two digits and dots are not enough for a year: 4.1.15 may be a version.
    """
    if not _speaks_of_time(name):
        return None
    guess = _numbered_dates(values)
    if guess is not None:
        return None if guess.options["format"].endswith(".%y") else guess
    return _formatted_dates(values)


def _numbered_dates(values: Values) -> Guess | None:
    """Read dates such as 31.12.2026; the order of day and month follows from 13 on."""
    matches = [_TWO_PARTS_AND_YEAR.fullmatch(text) for text in _short_texts(values)]
    parts = [match.groups() for match in matches if match is not None]
    years = [year for _, _, _, year, *_ in parts if len(year) == 4]
    is_date = len(parts) == len(matches) and all(int(year) in _YEARS for year in years)
    if not is_date:
        return None
    separator, year, clock, half = parts[0][1], parts[0][3], parts[0][4], parts[0][5]
    firsts = [int(first) for first, *_ in parts]
    seconds = [int(second) for _, _, second, *_ in parts]
    is_month_first = max(seconds) > 12 or (max(firsts) <= 12 and half is not None)
    order = ("%m", "%d") if is_month_first else ("%d", "%m")
    pattern = separator.join((*order, "%Y" if len(year) == 4 else "%y"))
    transform = Transform.DATE
    if clock:
        transform = Transform.DATETIME
        hours = "%I" if half else "%H"
        pattern += f" {hours}:%M" + (":%S" if clock.count(":") == 2 else "")
        pattern += " %p" if half else ""
    example = excerpt_of(values[0])
    why = Text("dates such as {example}", example=example)
    if max(*firsts, *seconds) <= 12:
        why = Text(
            "dates such as {example}, read as {format}; in the sample no day is above"
            " 12, so day and month may be the other way round: check it",
            example=example,
            format=pattern,
        )
    return Guess(transform, why, {"format": pattern})


def _formatted_dates(values: Values) -> Guess | None:
    """Read dates with the names of months and those that begin with the year."""
    texts = _short_texts(values)
    formats = [*_OTHER_FORMATS]
    for pattern, transform, length in _COMPACT:
        if all(len(text) == length and text.isdecimal() for text in texts):
            formats.append((pattern, transform))
    why = Text("dates such as {example}", example=excerpt_of(values[0]))
    guesses = (
        Guess(transform, why, {"format": pattern}) for pattern, transform in formats
    )
    # The first value alone decides about most formats.
    fitting = (g for g in guesses if g.fits(values[:1]) and g.fits(values))
    return next(fitting, None)


def _decimal_texts(name: frozenset[str], values: Values) -> Guess | None:
    texts = _short_texts(values)
    if name & _IDENTIFIER_WORDS or any(map(_has_leading_zero, texts)):
        return None
    example = excerpt_of(values[0])
    for mark, form in ((".", _WITH_POINT), (",", _WITH_COMMA)):
        if not all(map(form.fullmatch, texts)) or not any(mark in t for t in texts):
            continue
        options = {"decimal_mark": mark} if mark == "," else {}
        why = Text("decimal numbers as text, such as {example}", example=example)
        if all(map(_ONLY_THOUSANDS.fullmatch, texts)):
            why = Text(
                "decimal numbers as text, such as {example}; the mark may separate"
                " thousands as well: check it",
                example=example,
            )
        return Guess(Transform.DECIMAL, why, options)
    return None


def _whole_texts(name: frozenset[str], values: Values) -> Guess | None:
    texts = _short_texts(values)
    is_number = all(map(_WHOLE.fullmatch, texts)) and not any(
        map(_has_leading_zero, texts)
    )
    if not is_number or name & _IDENTIFIER_WORDS:
        return None
    if name & _AMOUNT_WORDS and not name & _COUNT_WORDS:
        why = Text("whole numbers as text, but the name of an amount")
        return Guess(Transform.DECIMAL, why)
    return Guess(Transform.NUMBER, Text("whole numbers as text"))


def _boolean_texts(name: frozenset[str], values: Values) -> Guess | None:
    present = {text.strip().lower() for text in _short_texts(values)}
    for pair in _BOOLEAN_WORDS:
        is_certain = pair in _CERTAIN_WORDS or present == pair or name & _FLAG_WORDS
        if present <= pair and is_certain:
            why = Text("the words {words}", words=", ".join(sorted(pair)))
            return Guess(Transform.BOOLEAN, why)
    return None


def _choice_texts(name: frozenset[str], values: Values) -> Guess | None:
    present = {str(value) for value in values[:200]}
    for table in _OTHER_WORDS:
        used = {text: table[text.lower()] for text in present if text.lower() in table}
        is_certain = len(present) > 1 or name & _FLAG_WORDS
        if used.keys() == present and is_certain:
            # The other word of the pair may come later.
            style = str.upper if all(map(str.isupper, present)) else str
            options = {style(word): meaning for word, meaning in table.items()} | used
            why = Text("the words {words}", words=", ".join(sorted(present)))
            return Guess(Transform.CHOICE, why, options)
    return None


def _short_texts(values: Values) -> Texts:
    """Return the values as texts, a word of letters in the place of a long one."""
    return [
        str(value) if len(str(value)) <= _MAX_LENGTH else "too long" for value in values
    ]


def _has_leading_zero(text: str) -> bool:
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


_NUMBER_RULES: Sequence[Rule] = (_booleans, _whole_numbers, _decimal_numbers)
_TEXT_RULES: Sequence[Rule] = (
    _iso_moments,
    _dates,
    _boolean_texts,
    _choice_texts,
    _decimal_texts,
    _whole_texts,
)
