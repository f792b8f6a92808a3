"""Values as users read them, in the tables of dry runs and samples."""

import json
import re
from datetime import date
from decimal import Decimal
from itertools import takewhile

NOTHING = "\N{EN DASH}"
_SEPARATORS = (", ", "→")
_BEFORE_DIFFERENCE = 20  # characters that two values have in common
_MAX_ZEROS = 40  # 1E+999990 would be a million digits
# JSON can escape half a character alone ("\ud83d"), and no page can be sent with it.
_SURROGATE = re.compile("[\ud800-\udfff]")


def shown_value(value: object) -> str:
    """Return a value for a cell of a table.

    A text has quotes only where it could not be seen, or taken for no value.
    """
    text = str(value)
    match value:
        case None:
            text = NOTHING
        case str() if value != value.strip() or value in {"", NOTHING}:
            text = _json_text(value)
        case bool():
            text = "true" if value else "false"  # as in JSON, exports and APIs
        case Decimal() if value.is_finite() and abs(value.adjusted()) <= _MAX_ZEROS:
            text = f"{value:f}"
        case date():  # datetime too
            text = value.isoformat()
        case dict() | list():
            text = json.dumps(value, ensure_ascii=False, default=shown_value)
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(value: object, longest: int) -> str:
    """Return a value for a cell of a table: one line, of at most so many characters."""
    text = shown_value(value).replace("\n", " ")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shortened_pair(old: object, new: object, longest: int) -> tuple[str, str]:
    """Return two values for a comparison, as `shortened` returns one.

    What they begin with in common is cut off if the difference would not be seen.
    """
    texts = [shown_value(value).replace("\n", " ") for value in (old, new)]
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    )
    start = same - _BEFORE_DIFFERENCE
    if start > 0 and max(map(len, texts)) > longest:
        texts = [f"…{text[start:]}" for text in texts]
    before, after = (
        text if len(text) <= longest else f"{text[: longest - 1]}…" for text in texts
    )
    return before, after


def shown_change(name: str, before: object, after: object) -> str:
    """Return the change of a field, to be listed with others."""
    return f"{name}: {_list_item(before)} → {_list_item(after)}"


def shown_field(name: str, value: object) -> str:
    """Return the value of a field, to be listed with others."""
    return f"{name}: {_list_item(value)}"


def _list_item(value: object) -> str:
    """Return a value; a text that could be taken for two has quotes."""
    text = shown_value(value)
    is_ambiguous = text == value and any(part in text for part in _SEPARATORS)
    return _json_text(text) if is_ambiguous else text


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
