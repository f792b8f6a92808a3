"""Canonical origins and the addresses built on them. One spelling for one place, or an error.

A credential belongs to an origin, so two spellings of one origin must compare equal, and a text
that two parsers could read differently is refused instead of interpreted.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, urlencode, urljoin, urlsplit

from outkey.core.errors import ConfigError

DEFAULT_PORTS = {"http": 80, "https": 443}
# One label of a host name; the underscore is no host name but occurs in internal networks.
_LONGEST_HOST = 253
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_ABSOLUTE = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]*://")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_FRAGMENT = "Remove '#' and the rest."
_SURROGATE = re.compile("[\ud800-\udfff]")
_NETLOC = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]:]+)(?::\d*)?")
# IDNA 2003 (Python's codec) and IDNA 2008 (browsers) read these as different hosts.
_AMBIGUOUS_IDNA = re.compile("[\u00df\u03c2\u200c\u200d]")
# Everything RFC 3986 permits in path and query, so that what is already encoded stays as it is.
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?"

Params = Mapping[str, str | int | float | Sequence[str | int | float]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port, in canonical form."""

    scheme: str
    host: str
    port: int
    # The value of the Host header, kept because every request needs it: the port stands there
    # only where it is not the scheme's own.
    authority: str = field(init=False, compare=False, repr=False)
    # The form that secrets are bound to: the port always stands there.
    bound: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        own = self.port == DEFAULT_PORTS[self.scheme]
        object.__setattr__(self, "authority", host if own else f"{host}:{self.port}")
        object.__setattr__(self, "bound", f"{self.scheme}://{host}:{self.port}")

    def __hash__(self) -> int:
        return hash(self.bound)  # a text keeps its hash, and every send asks for it

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Location:
    """An origin and the path and query behind it."""

    origin: Origin
    target: str


def parse_base_url(text: str, field: str = "base_url") -> Location:
    """Read a Base URL: scheme, host, optional port and path, nothing else."""
    location = _parse(text, field)
    if "?" in text:
        hint = (
            "Leave out everything from the question mark; send parameters with each"
            " request."
        )
        raise ConfigError("the address holds a query string", field=field, hint=hint)
    return Location(location.origin, location.target.rstrip("/"))


def parse_endpoint(text: str, field: str) -> Location:
    """Read an address that is used exactly as it is, with its query and its last slash."""
    return _parse(text, field)


def parse_redirect(current: Origin, target: str, reference: str) -> Location:
    """Read a Location header against the address that sent it (RFC 9110 §10.2.2)."""
    if _UNSAFE.search(reference):
        raise ConfigError("the redirect's address holds characters that no address has")
    try:
        joined = urljoin(f"{current}{target}", reference)
    except ValueError:  # a bracket that is never closed
        raise ConfigError("the redirect's address cannot be read") from None
    return _parse(joined.partition("#")[0], "location")


def parse_url(text: str) -> Location:
    """Read a whole address with path and query."""
    return _parse(text.partition("#")[0], "url")


def build_target(base: Location, path: str, params: Params | None = None) -> str:
    """Join the Base URL's path, a request's path and its parameters, percent-encoded."""
    target = _joined(base, path)
    if not params:
        return target
    query = urlencode(query_pairs(params, "params"))
    return f"{target}{'&' if '?' in target else '?'}{query}"


@lru_cache(maxsize=1024)
def _joined(base: Location, path: str) -> str:
    if _ABSOLUTE.match(path):
        path = _path_of_same_origin(base.origin, path)
        prefix = ""
    else:
        prefix = base.target
    if "#" in path:
        raise ConfigError("the path holds a fragment", field="path", hint=_FRAGMENT)
    if _UNSAFE.search(path.replace(" ", "")):
        raise ConfigError(
            "the path holds characters that no path may have", field="path"
        )
    path, _, query = path.partition("?")
    joined = f"{prefix}/{path.removeprefix('/')}" if path else (prefix or "/")
    query = quote(query, safe=_QUERY_SAFE)
    return quote(joined, safe=_PATH_SAFE) + (f"?{query}" if query else "")


def query_pairs(params: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    """Spread parameters into pairs; a missing value is refused, not sent as the word None."""
    pairs: list[tuple[str, str]] = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            if isinstance(one, bool):
                pairs.append((name, "true" if one else "false"))
            elif isinstance(one, str | int | float):
                pairs.append((name, str(one)))
            else:
                raise ConfigError(
                    f"the parameter {name} is neither text nor number", field=field
                )
    if any(_SURROGATE.search(name + value) for name, value in pairs):
        raise ConfigError(
            "a parameter holds a character that UTF-8 cannot encode", field=field
        )
    return pairs


def _path_of_same_origin(origin: Origin, url: str) -> str:
    """Accept a whole address only where it is the configuration's own (pagination links)."""
    location = _parse(url, "path")
    if location.origin != origin:
        message = "the path is an address at another origin than the Base URL"
        hint = "Give the path only; another origin needs a configuration of its own."
        raise ConfigError(message, field="path", hint=hint)
    return location.target


def _parse(text: str, field: str) -> Location:
    if _UNSAFE.search(text):
        message = "the address holds blanks, control characters or a backslash"
        raise ConfigError(message, field=field)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError("the address cannot be read", field=field) from None
    if parts.scheme not in DEFAULT_PORTS or not parts.netloc:
        raise ConfigError(
            "the address must start with https:// or http://", field=field
        )
    if "@" in parts.netloc:
        hint = "Remove everything before the '@' and use the Authentication fields."
        raise ConfigError(
            "the address holds a user name or password", field=field, hint=hint
        )
    if not _NETLOC.fullmatch(parts.netloc):
        raise ConfigError("the address cannot be read", field=field)
    if "#" in text:
        raise ConfigError("the address holds a fragment", field=field, hint=_FRAGMENT)
    if port == 0:
        raise ConfigError("port 0 is no port", field=field)
    # RFC 3986 §3.2.2 has other forms in brackets, which would be read as a host name here.
    canonical = _canonical_ipv6 if parts.netloc.startswith("[") else _canonical_host
    host = canonical(parts.hostname or "", field)
    origin = Origin(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])
    target = quote(parts.path or "/", safe=_PATH_SAFE)
    query = quote(parts.query, safe=_QUERY_SAFE)
    return Location(origin, f"{target}?{query}" if query else target)


def _canonical_host(host: str, field: str) -> str:
    if not host.isascii():
        host = _to_ascii(host, field)
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or not all(
        _LABEL.fullmatch(label) for label in labels
    ):
        raise ConfigError("the host name is not valid", field=field)
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return _canonical_ipv4(host, field)
    return host


def _to_ascii(host: str, field: str) -> str:
    if _AMBIGUOUS_IDNA.search(host):
        message = "the host name has a letter that standards encode differently"
        hint = "Write the name in its xn-- form."
        raise ConfigError(message, field=field, hint=hint)
    if len(host) > _LONGEST_HOST:  # the codec would take a second for 60,000 letters
        raise ConfigError("the host name is not valid", field=field)
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ConfigError("the host name is not valid", field=field) from None


def _canonical_ipv4(host: str, field: str) -> str:
    # 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1 to a resolver.
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        message = "the host is a number but not an IPv4 address"
        hint = "Write the address as four decimal numbers."
        raise ConfigError(message, field=field, hint=hint) from None


def _canonical_ipv6(host: str, field: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise ConfigError("the host is not a valid IPv6 address", field=field) from None
    if address.scope_id is not None:
        raise ConfigError("an address with a zone cannot be used", field=field)
    return str(address)
