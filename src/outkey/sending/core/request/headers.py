"""The grammar of header lines, and the rule "one header, one source".

HTTP clients let control characters, folded lines and doubled names through, and put
the value they refuse into their exception. So everything is checked here, before any
client gets it, and an error names the position and never the value.
"""

import re

from outkey.foundation.core.errors import (
    ConfigError,
    HeaderConflict,
    HeaderFormatError,
    SecretMissing,
)
from outkey.foundation.core.text import Text, join_texts
from outkey.sending.core.request.message import Header, Request, Source

MAX_HEADERS = 64
MAX_NAME = 256
MAX_VALUE = 8 * 1024
NAME_HINT = Text("Use letters, digits and hyphens, without spaces or a colon.")
NAME_GRAMMAR = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # the token of RFC 9110 §5.6.2
_NAME = re.compile(NAME_GRAMMAR)
# Visible ASCII with spaces inside. A recipient strips spaces at the ends (RFC 9110
# §5.5), so a value that has some would not arrive unchanged.
_VALUE_FAULT = re.compile(r"[^ \t!-~]|\A[ \t]|[ \t]\Z")
_TOKEN_FAULT = re.compile(r"[^!-~]")
# Neither a user name nor a password may have one (RFC 7617 §2).
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
_SPACES = " \t\r\n"
# Framing and connection headers belong to the transport; Proxy-* would be a second
# credential.
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
# A valid name that is not of the connection, found in one step: scripts return names
# with every request. Only a name that does not match is examined for the reason.
_SETTABLE = re.compile(
    rf"(?!(?:{'|'.join(map(re.escape, _OF_CONNECTION))})\Z|proxy-){NAME_GRAMMAR}",
    re.IGNORECASE | re.ASCII,
)
_CREDENTIAL_NAME = re.compile(
    r"auth|key|token|secret|password|passwd|signature|session|cookie|credential",
    re.IGNORECASE,
)


def check_name(name: str, *, field: str) -> str:
    """Return the name of a header that a user may set, else raise."""
    if is_settable_name(name):
        return name
    if len(name) > MAX_NAME:
        raise HeaderFormatError(
            Text("the header name is longer than {limit} characters", limit=MAX_NAME),
            field=field,
        )
    if not is_header_name(name):
        raise HeaderFormatError(
            Text("the header name is empty or has an invalid character"),
            field=field,
            hint=NAME_HINT,
        )
    raise HeaderFormatError(
        Text(
            "the header {name} belongs to the connection and cannot be set",
            name=name,
        ),
        field=field,
        hint=Text("Remove it; outkey sets it where it is needed."),
    )


def is_settable_name(name: str) -> bool:
    """Whether a text is a valid header name, and not one of the connection's."""
    return len(name) <= MAX_NAME and _SETTABLE.fullmatch(name) is not None


def is_header_name(name: str) -> bool:
    """Whether a text is a valid header name (RFC 9110 §5.6.2)."""
    return bool(_NAME.fullmatch(name))


def of_connection(name: str) -> str | None:
    """Return our spelling of a connection header's name, None for any other name."""
    lower = name.lower()
    return "Proxy-…" if lower.startswith("proxy-") else _OF_CONNECTION.get(lower)


def check_value(text: str, *, field: str) -> str:
    """Return a value that arrives unchanged, else raise with the invalid position."""
    # The quick check first: nearly every value passes it.
    visible = text.isascii() and text.isprintable() and text == text.strip(" ")
    if visible and len(text) <= MAX_VALUE:
        return text
    if fault := _VALUE_FAULT.search(text):
        raise _character_error(fault, field=field, is_token=False)
    return check_length(text, field=field)


def check_token(text: str, *, field: str) -> str:
    """Return a token that may follow `Bearer `: visible ASCII without spaces.

    RFC 6750's b64token is not enforced: real tokens have `^`, `#`, `!` and `:` (eBay,
    Salesforce).
    """
    if not text:
        raise SecretMissing(Text("the token is empty"), field=field)
    if text.startswith("{"):
        raise HeaderFormatError(
            Text("the token looks like a JSON document"),
            field=field,
            hint=_format_hint(Text("Enter only the value of its access_token.")),
            fault="pasted-json",
        )
    # The quick check first: nearly every token passes it.
    visible = text.isascii() and text.isprintable() and " " not in text
    if not visible and (fault := _TOKEN_FAULT.search(text)):
        raise _character_error(fault, field=field, is_token=True)
    return check_length(text, field=field)


def check_length(text: str, *, field: str) -> str:
    """Return a value that is not too long for common servers."""
    if len(text) > MAX_VALUE:
        raise HeaderFormatError(
            Text("the value is longer than {limit} characters", limit=MAX_VALUE),
            field=field,
            fault="header-too-large",
        )
    return text


def tidy_value(text: str) -> str:
    """Remove the spaces around a pasted header value."""
    return text.strip(_SPACES)


def tidy_token(text: str, prefix: str = "") -> str:
    """Remove the spaces around a pasted token, and one `Bearer ` before it.

    The prefix that the request has anyway is removed as well.
    """
    text = text.strip(_SPACES)
    scheme, _, rest = text.partition(" ")
    word = scheme.lower()
    is_prefix = word == "bearer" or (bool(rest) and word == prefix.strip().lower())
    return rest.strip(_SPACES) if is_prefix else text


def looks_like_credential(name: str) -> bool:
    """Whether a header of this name usually carries a secret."""
    return bool(_CREDENTIAL_NAME.search(name))


def with_composed_headers(request: Request) -> Request:
    """Return a request whose headers are merged; the same one if nothing is."""
    headers = compose(request.headers)
    return request if headers is request.headers else request.with_headers(headers)


def compose(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    """Merge the headers of all sources; a second source for one name is an error.

    Only the defaults of the client can be overridden by another source.
    """
    names = {header[0].lower() for header in headers}
    if len(names) == len(headers) <= MAX_HEADERS:
        return headers  # as of nearly every request
    taken: dict[str, Header] = {}
    for header in headers:
        key = header[0].lower()
        other = taken.setdefault(key, header)
        if other is header:
            continue
        if other.source is Source.DEFAULT:
            taken[key] = header
        elif header.source is not Source.DEFAULT:
            raise _conflict_error(header, other)
    composed = tuple(taken.values())
    ours = (header.source is not Source.DEFAULT for header in composed)
    if len(composed) > MAX_HEADERS and sum(ours) > MAX_HEADERS:
        raise ConfigError(
            Text("more than {limit} headers", limit=MAX_HEADERS), field="headers"
        )
    return composed


def _conflict_error(header: Header, other: Header) -> HeaderConflict:
    """Return the error for a header that was set twice."""
    if header.source is other.source:
        message = Text(
            "the header {name} is set twice by one source: {source}",
            name=other.name,
            source=header.source.label,
        )
    else:
        message = Text(
            "the header {name} is set by two sources: {first}, {second}",
            name=other.name,
            first=other.source.label,
            second=header.source.label,
        )
    return HeaderConflict(message, field=f"header:{other.name}")


def _character_error(
    fault: re.Match[str], *, field: str, is_token: bool
) -> HeaderFormatError:
    """Return the error for an invalid character: kind, position and remedy.

    The character itself is not shown.
    """
    character = fault.group()
    reason = "invisible-characters"
    remedy = Text(
        "Enter the value again, typed or copied as plain text, without spaces around"
        " it."
    )
    if character in "\r\n":
        kind = Text("a line break")
    elif character in " \t":
        kind = Text("a space")
        reason = "doubled-prefix"
        if is_token:
            remedy = Text("Enter the value only, without the word Bearer or spaces.")
    elif character.isascii():
        kind = Text("a control character")
    else:
        kind = Text("a character outside ASCII (perhaps an invisible one)")
    message = Text(
        "the {what} has {character} at position {position} of {length}",
        what=Text("token") if is_token else Text("value"),
        character=kind,
        position=fault.start() + 1,
        length=len(fault.string),
    )
    return HeaderFormatError(
        message, hint=_format_hint(remedy), field=field, fault=reason
    )


def _format_hint(remedy: Text) -> Text:
    """Return a remedy behind the general one for header formats."""
    return join_texts([HeaderFormatError.default_hint, remedy])
