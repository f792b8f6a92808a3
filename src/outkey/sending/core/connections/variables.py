"""Variables of a connection: their names, their values, and texts filled with them.

Whoever enters a value, or sends it in a response, may be hostile. So a value is checked
where it is stored and again where it is filled in, and no error repeats it.
"""

import json
import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from urllib.parse import unquote

from outkey.foundation.core.errors import ConfigError, VariableMissing
from outkey.foundation.core.fields.field_kinds import CONTROL
from outkey.foundation.core.placeholders import PLACEHOLDER, placeholders_in
from outkey.foundation.core.text import Text
from outkey.sending.core.request.dot_segments import has_parent_segment
from outkey.sending.core.request.message import percent_encoded

MAX_NAME = 60
MAX_VALUE = 500
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Besides the control characters: marks of direction, line ends of Unicode, and what
# UTF-8 cannot encode.
_INVISIBLE = re.compile(r"[\u061c\u200e\u200f\u2028\u2029\ud800-\udfff]")
_EXACT = 2**53  # from here on, a float may have other digits than the response
_DOTS = frozenset({".", ".."})
# What a caller's path may begin with: the origin of the Base URL, which is not filled.
_ORIGIN = re.compile(r"\A(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
_PATH_END = re.compile(r"[?#]")

Values = Mapping[str, str]


def variable_field(name: str) -> str:
    """Return the field of a variable's value."""
    return f"variables.{name}"


def check_variable_name(name: object, field: str) -> str:
    """Return the name of a variable, else raise."""
    if isinstance(name, str) and len(name) <= MAX_NAME and _NAME.fullmatch(name):
        return name
    raise ConfigError(
        Text("this is not a name of a variable"),
        hint=Text(
            "A name has at most {limit} characters: a letter, then letters, digits and"
            " _ (ASCII).",
            limit=MAX_NAME,
        ),
        field=field,
    )


def check_variable(name: str, value: object) -> str:
    """Return the value of a variable as text, else raise without repeating it."""
    text = text_of(value)
    if text is None:
        problem = Text("it is not text, a number, true or false")
    elif not text:
        problem = Text("it is empty")
    elif len(text) > MAX_VALUE:
        problem = Text("it is longer than {limit} characters", limit=MAX_VALUE)
    elif CONTROL.search(text) or _INVISIBLE.search(text):
        problem = Text("it has a control character")
    elif text in _DOTS:
        problem = Text("it is a path to elsewhere")
    else:
        return text
    raise invalid_variable(name, problem)


def text_of(value: object) -> str | None:
    """Return text as it is, numbers and booleans as JSON writes them, else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        # To write a number of millions of digits would take minutes.
        return str(value) if value.bit_length() <= MAX_VALUE else None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, float) and -_EXACT < value < _EXACT:
        # Some readers of JSON return each number as one with a fraction.
        return str(int(value)) if value.is_integer() else str(value)
    return None


def invalid_variable(
    name: str, problem: Text, field: str = "", hint: Text | None = None
) -> ConfigError:
    """Return the error for a value that a variable cannot have, or not in a place."""
    return ConfigError(
        Text("the variable {name} is invalid: {problem}", name=name, problem=problem),
        hint=Text("Enter another value.") if hint is None else hint,
        field=field or variable_field(name),
    )


def missing_variable(name: str) -> VariableMissing:
    """Return the error for a variable without a value."""
    return VariableMissing(
        Text("the variable {name} has no value", name=name), field=variable_field(name)
    )


def value_of(name: str, values: Values) -> str:
    """Return the value of a variable, checked again, or raise VariableMissing."""
    if name not in values:
        raise missing_variable(name)
    return check_variable(name, values[name])


def refuse_undeclared(template: str, declared: Collection[str], field: str) -> None:
    """Refuse a template with a placeholder that is not a variable."""
    for name in placeholders_in(template):
        if name not in declared:
            raise ConfigError(
                Text("{placeholder} is not a variable", placeholder=f"{{{name}}}"),
                hint=Text(
                    "Declare it in connect.variables, or correct the name in the"
                    " braces."
                ),
                field=field,
            )


def check_path_template(
    path: str,
    declared: Collection[str],
    field: str,
    *,
    others: Collection[str] = frozenset(),
) -> str:
    """Return a path to be saved, else raise.

    A variable in its query would be sent as it is written here. `others` are the
    placeholders that the field has without connections.
    """
    refuse_undeclared(path, {*declared, *others}, field)
    end = _path_end(path)
    for name in placeholders_in(path[end:]):
        if name in declared:
            raise query_placeholder(name, field)
    return path


def query_placeholder(name: str, field: str) -> ConfigError:
    """Return the error for a variable in a query."""
    return ConfigError(
        Text("{placeholder} is in the query", placeholder=f"{{{name}}}"),
        hint=Text("Enter it as a row of Query parameters, with the variable as value."),
        field=field,
    )


def fill_segment_path(
    path: str, values: Values, *, declared: Collection[str], field: str = "path"
) -> str:
    """Return a path whose variables are filled, each one encoded segment or a part.

    Names that are not declared stay as they are, and so does all after the path: query
    and fragment. So does an origin before it.
    """
    if "{" not in path:
        return path  # nearly every path; each request has one
    start = len(path) - len(_ORIGIN.sub("", path))
    end = _path_end(path)
    filled = fill_segments(path[start:end], values, declared=declared, field=field)
    return f"{path[:start]}{filled}{path[end:]}"


def fill_segments(
    path: str, values: Values, *, declared: Collection[str], field: str
) -> str:
    """Return a path without origin and query, whose variables are filled."""
    return "/".join(
        _fill_segment(segment, values, declared, field) for segment in path.split("/")
    )


def _path_end(path: str) -> int:
    end = _PATH_END.search(path)
    return end.start() if end else len(path)


def _fill_segment(
    segment: str, values: Values, declared: Collection[str], field: str
) -> str:
    """Return a segment with its variables; refuse one that leads elsewhere."""
    if "{" not in segment:
        return segment
    names = [name for name in placeholders_in(segment) if name in declared]
    if not names:
        return segment
    encoded = {name: percent_encoded(value_of(name, values)) for name in names}
    filled = PLACEHOLDER.sub(lambda match: encoded.get(match[1], match[0]), segment)
    # Two values may become `..` only together, or behind a dot of the path.
    if unquote(filled) in _DOTS or has_parent_segment(filled):
        problem = Text("it leads the path elsewhere")
        raise invalid_variable(names[0], problem, field)
    return filled


def fill_text(template: str, values: Values) -> str:
    """Return the value of a header or query row with its variables as they are.

    What else a header cannot carry, such as letters outside ASCII, the check of headers
    refuses; a query row is encoded when it is sent.
    """
    return PLACEHOLDER.sub(lambda match: value_of(match[1], values), template)
