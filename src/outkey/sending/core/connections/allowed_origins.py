"""The origins that the variables of a connection may lead to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError, EgressDenied
from outkey.foundation.core.origin import DEFAULT_PORTS, Origin, parse_endpoint
from outkey.foundation.core.text import Text

_WILDCARD = "*."
_PATTERN = re.compile(
    r"(https?)://(\*\.)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?"
)
_FEWEST_LABELS = 2
# Under these, each name belongs to somebody else: registries of countries below their
# second level, and hosts of many customers. The public suffix list has thousands; these
# are the ones that a user might take for a provider's own.
_SECOND_LEVELS = frozenset(
    {
        "ac",
        "co",
        "com",
        "edu",
        "go",
        "gob",
        "gov",
        "ltd",
        "mil",
        "ne",
        "net",
        "nom",
        "or",
        "org",
        "plc",
        "sch",
    }
)
_COUNTRY_LENGTH = 2
_SHARED_DOMAINS = frozenset(
    {
        "amazonaws.com",
        "appspot.com",
        "azure-api.net",
        "azureedge.net",
        "azurefd.net",
        "azurewebsites.net",
        "cloudapp.net",
        "cloudfront.net",
        "duckdns.org",
        "firebaseapp.com",
        "fly.dev",
        "github.io",
        "gitlab.io",
        "herokuapp.com",
        "netlify.app",
        "ngrok-free.app",
        "ngrok.app",
        "ngrok.io",
        "nip.io",
        "onrender.com",
        "pages.dev",
        "run.app",
        "sslip.io",
        "trycloudflare.com",
        "vercel.app",
        "web.app",
        "windows.net",
        "workers.dev",
    }
)


@dataclass(frozen=True, slots=True)
class OriginPattern:
    """An origin, or all origins whose host ends with `.` and this one's host."""

    origin: Origin
    below: bool  # `*.` is its first label

    def __str__(self) -> str:
        """Return the pattern in canonical form, always with a port."""
        wildcard = _WILDCARD if self.below else ""
        scheme, mark, rest = self.origin.bound.partition("://")
        return f"{scheme}{mark}{wildcard}{rest}"

    def matches(self, origin: Origin) -> bool:
        """Whether an origin is the one of this pattern, or one of them."""
        if not self.below:
            return origin == self.origin
        is_below = origin.host.endswith(f".{self.origin.host}")
        return is_below and self._place() == (origin.scheme, origin.port)

    def _place(self) -> tuple[str, int]:
        return self.origin.scheme, self.origin.port


def parse_origin_pattern(text: object, field: str) -> OriginPattern:
    """Return the pattern of a text, else raise."""
    parts = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        raise _invalid(Text("this is not an origin"), field)
    scheme, wildcard, host, port = parts.groups()
    origin = parse_endpoint(f"{scheme}://{host}:{port or DEFAULT_PORTS[scheme]}", field)
    found = origin.origin
    # `api.example.` and `[0::1]` are other spellings of one host.
    if host.strip("[]") != found.host:
        raise _invalid(Text("the host name has another canonical form"), field)
    if wildcard:
        _refuse_wide(found.host, field)
    return OriginPattern(found, below=bool(wildcard))


def _refuse_wide(host: str, field: str) -> None:
    """Refuse a wildcard before an IP address, or before a domain of many owners."""
    labels = host.split(".")
    is_address = ":" in host or labels[-1].isdigit()
    if is_address or len(labels) < _FEWEST_LABELS:
        raise _invalid(Text("*. needs two labels of a name behind it"), field)
    is_registry = labels[-2] in _SECOND_LEVELS and len(labels[-1]) == _COUNTRY_LENGTH
    is_suffix = is_registry and len(labels) == _FEWEST_LABELS
    shared = ".".join(labels[-_FEWEST_LABELS:])
    if is_suffix or shared in _SHARED_DOMAINS:
        raise _invalid(Text("names below that domain belong to many owners"), field)


def _invalid(message: Text, field: str) -> ConfigError:
    return ConfigError(
        message,
        hint=Text(
            "Write scheme, host and port only, in lower case, such as"
            " https://api.books.example or https://*.books.example:8443."
        ),
        field=field,
    )


def bound_text(patterns: Iterable[OriginPattern]) -> str:
    """Return the text that secrets are bound to: the same for the same patterns."""
    return " ".join(sorted({str(pattern) for pattern in patterns}))


def refuse_foreign(
    origin: Origin, patterns: Iterable[OriginPattern], field: str
) -> None:
    """Refuse an origin that no pattern allows. It is not shown: a value made it."""
    if any(pattern.matches(origin) for pattern in patterns):
        return
    raise EgressDenied(
        Text("the URL leads to an origin that allowed_origins does not have"),
        hint=Text("Correct the variables of the connection, or add the origin."),
        field=field,
    )
