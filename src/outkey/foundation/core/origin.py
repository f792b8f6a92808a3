"""Canonical origins and the URLs built on them. One spelling for one URL, or an error.

A credential belongs to an origin, so two spellings of one origin must compare equal,
and a URL that two parsers could read differently is refused instead of interpreted.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, unquote_plus, urlencode, urljoin, urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

DEFAULT_PORTS = {"http": 80, "https": 443}
# One label of a host name; underscores are not allowed but occur in internal networks.
_MAX_HOST = 253
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_ABSOLUTE = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]*://")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_FRAGMENT = Text("Remove '#' and everything after it.")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NETLOC = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]:]+)(?::\d*)?")
# IDNA 2003 (Python's codec) and IDNA 2008 (browsers) read these as different hosts.
_AMBIGUOUS_IDNA = re.compile("[\u00df\u03c2\u200c\u200d]")
# Everything that RFC 3986 permits in path and query, so that an encoded path stays as
# it is.
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?"

Params = Mapping[str, str | int | float | Sequence[str | int | float]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port, in canonical form."""

    scheme: str
    host: str
    port: int
    # The value of the Host header, stored because every request needs it: it has a port
    # only if that is not the default of the scheme.
    authority: str = field(init=False, compare=False, repr=False)
    # The form that secrets are bound to, always with a port.
    bound: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        own = self.port == DEFAULT_PORTS[self.scheme]
        object.__setattr__(self, "authority", host if own else f"{host}:{self.port}")
        object.__setattr__(self, "bound", f"{self.scheme}://{host}:{self.port}")

    def __hash__(self) -> int:
        return hash(self.bound)  # a string caches its hash, and every send needs it

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Location:
    """An origin and the path and query behind it."""

    origin: Origin
    target: str

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse_base_url(text: str, field: str = "base_url") -> Location:
    """Read a Base URL: scheme, host, optional port and path, nothing else."""
    location = _parse(text, field)
    if "?" in text:
        raise ConfigError(
            Text("the URL has a query string"),
            field=field,
            hint=Text(
                "Remove the question mark and everything after it. Enter a key under"
                " Query parameters, as secret; send other parameters with each request."
            ),
        )
    return Location(location.origin, location.target.rstrip("/"))


def parse_proxy_url(text: str, field: str) -> Location:
    """Parse the URL of a proxy; its errors name the fields that a proxy has."""
    scheme, _, rest = text.strip().partition("://")
    if scheme.lower() not in DEFAULT_PORTS or not rest:
        message = Text("the URL must start with http:// or https://")
        if scheme.lower().startswith("socks"):
            message = Text("SOCKS proxies are not supported")
        raise ConfigError(
            message,
            field=field,
            hint=Text("Enter an HTTP proxy, such as http://proxy.example:3128."),
        )
    if "@" in rest.partition("/")[0]:
        raise ConfigError(
            Text("the URL has a user name or password"),
            field=field,
            hint=Text(
                "Remove everything up to the '@', and use Proxy user and Proxy password"
                " (proxy.username, proxy.password)."
            ),
        )
    return parse_endpoint(text, field)


def parse_endpoint(text: str, field: str) -> Location:
    """Read a URL that is used exactly as it is, with its query and its last slash."""
    return _parse(text, field)


@lru_cache(maxsize=1024)
def endpoint_origin(url: str, field: str) -> Origin:
    """Return the origin of an endpoint in a configuration, which every send needs."""
    return parse_endpoint(url, field).origin


def parse_redirect(current: Origin, target: str, reference: str) -> Location:
    """Read a Location header relative to the URL that sent it (RFC 9110 §10.2.2)."""
    if _UNSAFE.search(reference):
        raise ConfigError(
            Text("the URL of the redirect has characters that a URL must not have")
        )
    try:
        joined = urljoin(f"{current}{target}", reference)
    except ValueError:  # a bracket that is never closed
        raise ConfigError(Text("the URL of the redirect is invalid")) from None
    return _parse(joined.partition("#")[0], "location")


def parse_url(text: str) -> Location:
    """Read a complete URL with path and query."""
    return _parse(text.partition("#")[0], "url")


def build_target(base: Location, path: str, params: Params | None = None) -> str:
    """Join the Base URL's path, a request's path and its encoded parameters."""
    if "//" in path and _ABSOLUTE.match(path):
        target = _join_path("", _path_of_same_origin(base.origin, path))
    else:
        target = _join_path(base.target, path)
    if not params:
        return target
    query = urlencode(query_pairs(params, "params"))
    return f"{target}{'&' if '?' in target else '?'}{query}"


@lru_cache(maxsize=1024)
def _join_path(prefix: str, path: str) -> str:
    """Return the path of the Base URL and a path as one, percent-encoded."""
    if "#" in path:
        raise ConfigError(Text("the path has a fragment"), field="path", hint=_FRAGMENT)
    if _UNSAFE.search(path.replace(" ", "")):
        raise ConfigError(
            Text("the path has characters that a path must not have"), field="path"
        )
    path, _, query = path.partition("?")
    joined = f"{prefix}/{path.removeprefix('/')}" if path else (prefix or "/")
    query = quote(query, safe=_QUERY_SAFE)
    return quote(joined, safe=_PATH_SAFE) + (f"?{query}" if query else "")


def parameter_names(target: str) -> list[str]:
    """Return the names of the parameters in a target's query, decoded."""
    query = target.partition("?")[2]
    return [unquote_plus(part.partition("=")[0]) for part in query.split("&") if part]


def without_parameters(target: str, names: Collection[str]) -> str:
    """Return a target without these parameters; the others stay as they are."""
    path, mark, query = target.partition("?")
    if not mark or not names:
        return target
    kept = "&".join(
        part
        for part in query.split("&")
        if part and unquote_plus(part.partition("=")[0]) not in names
    )
    return f"{path}?{kept}" if kept else path


def query_pairs(params: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    """Return parameters as pairs; None is refused, instead of sent as a word."""
    pairs: list[tuple[str, str]] = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        for item in values:
            if isinstance(item, bool):
                pairs.append((name, "true" if item else "false"))
            elif isinstance(item, str | int | float):
                pairs.append((name, str(item)))
            else:
                raise ConfigError(
                    Text("the parameter {name} is not text or a number", name=name),
                    field=field,
                )
    if any(_SURROGATE.search(name + value) for name, value in pairs):
        raise ConfigError(
            Text("a parameter has a character that UTF-8 cannot encode"), field=field
        )
    return pairs


def _path_of_same_origin(origin: Origin, url: str) -> str:
    """Accept a complete URL only at the origin of the Base URL (pagination links)."""
    location = _parse(url, "path")
    if location.origin != origin:
        raise ConfigError(
            Text("the path is a URL of another origin than the Base URL"),
            field="path",
            hint=Text(
                "Enter the path only; another origin needs its own configuration."
            ),
        )
    return location.target


def _parse(text: str, field: str) -> Location:
    if _UNSAFE.search(text):
        raise ConfigError(
            Text("the URL has spaces, control characters or a backslash"), field=field
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError(Text("the URL is invalid"), field=field) from None
    if parts.scheme not in DEFAULT_PORTS or not parts.netloc:
        raise ConfigError(
            Text("the URL must start with https:// or http://"), field=field
        )
    if "@" in parts.netloc:
        raise ConfigError(
            Text("the URL has a user name or password"),
            field=field,
            hint=Text(
                "Remove everything up to the '@', and use the Authentication fields."
            ),
        )
    if not _NETLOC.fullmatch(parts.netloc):
        raise ConfigError(Text("the URL is invalid"), field=field)
    if "#" in text:
        raise ConfigError(Text("the URL has a fragment"), field=field, hint=_FRAGMENT)
    if port == 0:
        raise ConfigError(Text("0 is not a valid port"), field=field)
    # RFC 3986 §3.2.2 has other forms in brackets, which would be read as a host name.
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
    if len(host) > _MAX_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ConfigError(Text("the host name is invalid"), field=field)
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return _canonical_ipv4(host, field)
    return host


def _to_ascii(host: str, field: str) -> str:
    if _AMBIGUOUS_IDNA.search(host):
        raise ConfigError(
            Text(
                "the host name has a letter that browsers and Python encode differently"
            ),
            field=field,
            hint=Text("Write the name in its xn-- form."),
        )
    if len(host) > _MAX_HOST:  # the codec would take a second for 60,000 letters
        raise ConfigError(Text("the host name is invalid"), field=field)
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ConfigError(Text("the host name is invalid"), field=field) from None


def _canonical_ipv4(host: str, field: str) -> str:
    # 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1 to a resolver.
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise ConfigError(
            Text("the host is a number but not an IPv4 address"),
            field=field,
            hint=Text("Write the IP address as four decimal numbers."),
        ) from None


def _canonical_ipv6(host: str, field: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise ConfigError(
            Text("the host is not a valid IPv6 address"), field=field
        ) from None
    if address.scope_id is not None:
        raise ConfigError(
            Text("an IPv6 address with a zone cannot be used"), field=field
        )
    return str(address)
