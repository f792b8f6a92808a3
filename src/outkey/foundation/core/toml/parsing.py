"""TOML from outside, read within limits of length, depth and time.

The time and memory that tomllib takes grow with the square of the number of parts of a
dotted key: one key of 12 kB needs 140 MB. So the parts are counted before tomllib reads
anything.
"""

import re
import tomllib

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

MAX_KEY_PARTS = 16
# Strings and comments, in which a dot separates no parts of a key. Up to two quotes may
# precede the three that end a string of several lines. Possessive, and a string without
# an end counts too, so that each character is looked at once and no text makes it slow.
STRING_OR_COMMENT = re.compile(
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+(?:"{3,5})?+'
    r"|'''(?:[^']++|'{1,2}(?!'))*+(?:'{3,5})?+"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?+'
    r"|'[^'\n]*+'?+"
    r"|#[^\n]*+",
    re.DOTALL,
)
# tomllib reads one of any length, which Python then refuses to write as a decimal.
LONG_NUMBER = re.compile(r"\b0[xob][0-9A-Fa-f_]{128}")
BETWEEN_KEYS = re.compile(r"[\n=,{}\[\]]+")


def parse_toml(
    text: str, *, longest: int, field: str | None = None
) -> dict[str, object]:
    """Return the table of a TOML document of at most `longest` characters.

    A mistake is a ConfigError with this field, which repeats no value.
    """
    if len(text) > longest:
        raise ConfigError(
            Text("the TOML is longer than {limit} characters", limit=longest),
            hint=Text("Shorten it; a long document can be divided into several."),
            field=field,
        )
    parts = parts_without_strings(text)
    if any(part.count(".") >= MAX_KEY_PARTS for part in parts):
        raise ConfigError(
            Text("a key of the TOML has more than {limit} parts", limit=MAX_KEY_PARTS),
            hint=Text(
                "Remove the dots that do not belong there; no key needs more than four"
                " parts."
            ),
            field=field,
        )
    if any(map(LONG_NUMBER.search, parts)):
        raise _unreadable(field)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Its message has the position and the kind of mistake, but no value.
        message = Text("this is not TOML: {mistake}", mistake=error)
        raise ConfigError(message, field=field) from None
    except (RecursionError, ValueError):
        raise _unreadable(field) from None


def _unreadable(field: str | None) -> ConfigError:
    """Return the error for what would take tomllib or its caller too far."""
    return ConfigError(
        Text("the TOML is nested too deeply or contains a number that is too long"),
        field=field,
    )


def parts_without_strings(text: str) -> list[str]:
    """Return the text between keys and values; a dotted key is always in one part."""
    return BETWEEN_KEYS.split(STRING_OR_COMMENT.sub("", text))
