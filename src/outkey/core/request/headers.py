"""The grammar of header lines, and the rule "one header, one source".

HTTP clients let control characters, folded lines and doubled names through, and put the value
they refuse into their exception. So everything is checked here, before any client sees it, and a
refusal names the place and never the value.
"""

import re
from collections.abc import Iterable

from outkey.core.errors import (
    ConfigError,
    HeaderConflict,
    HeaderFormatError,
    SecretMissing,
)
from outkey.core.request.message import Header, Source

MAX_HEADERS = 64
MAX_VALUE = 8 * 1024
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
# Visible ASCII with blanks inside. A recipient strips blanks at the ends (RFC 9110 §5.5), so a
# value that has some would not arrive as it is.
_VALUE_FAULT = re.compile(r"[^ \t!-~]|\A[ \t]|[ \t]\Z")
_TOKEN_FAULT = re.compile(r"[^!-~]")
_BLANKS = " \t\r\n"
# Framing and connection headers are the transport's own; Proxy-* would be a second credential.
_OF_CONNECTION = {
    name.lower(): name
    for name in (
        "Connection",
        "Content-Length",
        "Expect",
        "Host",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    )
}
_CREDENTIAL_NAME = re.compile(
    r"auth|key|token|secret|password|passwd|signature|session|cookie|credential",
    re.IGNORECASE,
)


def check_name(name: str, *, field: str) -> str:
    """Return the name if it may be set by a person, else say why not."""
    if not _TOKEN.fullmatch(name):
        message = (
            "the header name is empty or has a character that no header name may have"
        )
        hint = "Use letters, digits and hyphens, without blanks or a colon."
        raise HeaderFormatError(message, field=field, hint=hint)
    if of_connection(name):
        message = f"the header {name} belongs to the connection and cannot be set"
        hint = "Remove it; outkey sets it where it is needed."
        raise HeaderFormatError(message, field=field, hint=hint)
    return name


def of_connection(name: str) -> str | None:
    """Return our own spelling of a name that belongs to the connection, None for any other."""
    lower = name.lower()
    return "Proxy-…" if lower.startswith("proxy-") else _OF_CONNECTION.get(lower)


def check_value(text: str, *, field: str) -> str:
    """Return the value if it would arrive exactly as it is, else say where it would not."""
    if fault := _VALUE_FAULT.search(text):
        raise _refused("value", text, fault, field)
    return check_length(text, field=field)


def check_token(text: str, *, field: str) -> str:
    """Return a token that may stand behind `Bearer `: visible ASCII, no blank.

    RFC 6750's b64token is not enforced: real tokens hold `^`, `#`, `!` and `:` (eBay, Salesforce).
    """
    if not text:
        raise SecretMissing("the token is empty", field=field)
    if text.startswith("{"):
        hint = (
            f"{HeaderFormatError.default_hint} Enter only the value of its"
            " access_token."
        )
        raise HeaderFormatError(
            "the token looks like a JSON document", field=field, hint=hint
        )
    # The quick look first: nearly every token passes it.
    visible = text.isascii() and text.isprintable() and " " not in text
    if not visible and (fault := _TOKEN_FAULT.search(text)):
        raise _refused("token", text, fault, field)
    return check_length(text, field=field)


def check_length(text: str, *, field: str) -> str:
    """Return a value that is not too long for common servers."""
    if len(text) > MAX_VALUE:
        raise HeaderFormatError(
            f"the value is longer than {MAX_VALUE} characters", field=field
        )
    return text


def tidy_value(text: str) -> str:
    """Remove the blanks around a pasted header value."""
    return text.strip(_BLANKS)


def tidy_token(text: str) -> str:
    """Remove what comes along when a token is pasted: blanks around it and one `Bearer `."""
    text = text.strip(_BLANKS)
    scheme, _, rest = text.partition(" ")
    return rest.strip(_BLANKS) if scheme.lower() == "bearer" else text


def looks_like_credential(name: str) -> bool:
    """Tell whether a header of this name usually carries a secret."""
    return bool(_CREDENTIAL_NAME.search(name))


def compose(headers: Iterable[Header]) -> tuple[Header, ...]:
    """Put the headers of all sources together; a second source for one name is an error.

    Client defaults alone give way to whoever else sets them.
    """
    taken: dict[str, Header] = {}
    for header in headers:
        key = header[0].lower()
        other = taken.setdefault(key, header)
        if other is header:
            continue
        if other.source is Source.DEFAULT:
            taken[key] = header
        elif header.source is not Source.DEFAULT:
            raise _conflict(header, other)
    composed = tuple(taken.values())
    ours = (header.source is not Source.DEFAULT for header in composed)
    if len(composed) > MAX_HEADERS and sum(ours) > MAX_HEADERS:
        raise ConfigError(f"more than {MAX_HEADERS} headers", field="headers")
    return composed


def _conflict(header: Header, other: Header) -> HeaderConflict:
    if header.source is other.source:
        message = f"the header {other.name} is set twice by one source: {header.source}"
    else:
        message = (
            f"the header {other.name} is set by two sources: {other.source},"
            f" {header.source}"
        )
    return HeaderConflict(message, field=f"header:{other.name}")


def _refused(
    what: str, text: str, fault: re.Match[str], field: str
) -> HeaderFormatError:
    """Say what kind of character is at fault, where, and what to enter, without showing it."""
    character = fault.group()
    kind = "a character outside ASCII (perhaps an invisible one)"
    remedy = (
        "Enter the value anew, typed or copied as plain text, without blanks around it."
    )
    if character in "\r\n":
        kind = "a line break"
    elif character in " \t":
        kind = "a blank"
        if what == "token":
            remedy = (
                "Enter the value alone, without the word Bearer and without blanks."
            )
    elif character.isascii():
        kind = "a control character"
    message = f"the {what} has {kind} at position {fault.start() + 1} of {len(text)}"
    hint = f"{HeaderFormatError.default_hint} {remedy}"
    return HeaderFormatError(message, hint=hint, field=field)
