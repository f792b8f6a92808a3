"""TOML from outside, read within bounds of length, depth and time.

The time and memory that tomllib takes grow with the square of the number of parts of a dotted
key: one key of 12 kB needs 140 MB. So the parts are counted before tomllib reads anything.
"""

import re
import tomllib

from outkey.core.errors import ConfigError

MOST_KEY_PARTS = 16
# Strings and comments, in which a dot separates no parts of a key. Up to two quotes may stand
# before the three that end a string of several lines. Possessive, and a string that never ends
# counts too: each character is then looked at once, and no text makes it slow.
_OPAQUE = re.compile(
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+(?:"{3,5})?+'
    r"|'''(?:[^']++|'{1,2}(?!'))*+(?:'{3,5})?+"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?+'
    r"|'[^'\n]*+'?+"
    r"|#[^\n]*+",
    re.DOTALL,
)
_BETWEEN_KEYS = re.compile(r"[\n=,{}\[\]]+")


def parse_toml(
    text: str, *, longest: int, field: str | None = None
) -> dict[str, object]:
    """Return the table of a TOML document of at most `longest` characters.

    Raises a ConfigError at the field, which repeats no value.
    """
    if len(text) > longest:
        raise ConfigError(
            f"the TOML is longer than {longest} characters",
            hint="Shorten it; a long document can be divided into several.",
            field=field,
        )
    if any(part.count(".") >= MOST_KEY_PARTS for part in _bare_parts(text)):
        raise ConfigError(
            f"a key of the TOML has more than {MOST_KEY_PARTS} parts",
            hint=(
                "Remove the dots that do not belong there; no key needs more than four"
                " parts."
            ),
            field=field,
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Its message holds the position and the kind of mistake, no value.
        raise ConfigError(f"this is not TOML: {error}", field=field) from None
    except (RecursionError, ValueError):
        raise ConfigError(
            "the TOML is nested too deeply or contains a number that is too long",
            field=field,
        ) from None


def _bare_parts(text: str) -> list[str]:
    """Return what stands between keys and values; a dotted key is always within one part."""
    return _BETWEEN_KEYS.split(_OPAQUE.sub("", text))
