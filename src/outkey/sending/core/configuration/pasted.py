"""Characters that were pasted along with a secret: recognized and removed."""

import re
import unicodedata

PASTED_JSON = "pasted-json"
IN_QUOTES = "secret-in-quotes"
DOUBLED_PREFIX = "doubled-prefix"
INVISIBLE = "invisible-characters"
FAULTS = (PASTED_JSON, IN_QUOTES, DOUBLED_PREFIX, INVISIBLE)
QUOTES = "\"'`\u2018\u2019\u201c\u201d"
PREFIX = re.compile(
    r"(?:(?:authorization|x-[a-z-]{2,30})\s*[:=]"
    r"|(?:bearer|basic|token|api-?key)[\s:=]|access_token=)\s*",
    re.IGNORECASE,
)


def fault_of(text: str) -> str:
    """Return the reason id of the fault of a value, "" if it has none."""
    if text.lstrip().startswith(("{", "[")):
        return PASTED_JSON
    if len(text) > 1 and text[0] in QUOTES and text[-1] in QUOTES:
        return IN_QUOTES
    if PREFIX.match(text):
        return DOUBLED_PREFIX
    return "" if text == visible_text(text) else INVISIBLE


def tidy(text: str, *, keeps_scheme: bool = False) -> str:
    """Remove each fault of a value, one after the other, until it has none.

    A JSON document stays one: which of its members is the secret is not known here.
    With `keeps_scheme` the last scheme stays before the value.
    """
    scheme = ""
    while True:
        match fault_of(text):
            case "secret-in-quotes":
                text = text[1:-1]
            case "doubled-prefix":
                text, scheme = _without_prefix(text, scheme)
            case "invisible-characters":
                text = visible_text(text)
            case _:
                return f"{scheme} {text}".lstrip(" ") if keeps_scheme else text


def tidy_secret(name: str, text: str) -> str:
    """Remove each fault of the secret of this name, but the one scheme it needs."""
    return tidy(text, keeps_scheme=may_have_scheme(name))


def may_have_scheme(name: str) -> bool:
    """Whether this is the secret of a header row whose value begins with a scheme."""
    kind, _, key = name.partition(":")
    return kind == "header" and "auth" in key.lower()


def _without_prefix(text: str, scheme: str) -> tuple[str, str]:
    """Return a text without its first prefix, and the scheme: this one or the last."""
    rest = PREFIX.sub("", text, count=1)
    word = text[: len(text) - len(rest)].strip()
    return rest, word if word.isalpha() else scheme


def visible_text(text: str) -> str:
    """Return a text without invisible characters, and without spaces at its ends.

    Web pages and word processors have no-break and other wide spaces where a user
    would type an ordinary one, so those become one.
    """
    if not text.isprintable():
        text = "".join(map(_visible_character, text))
    return text.strip(" ")


def _visible_character(character: str) -> str:
    """Return a character as it was meant: itself, a space, or nothing."""
    if character.isprintable():
        return character
    return " " if unicodedata.category(character) == "Zs" else ""
