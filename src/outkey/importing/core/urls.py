"""The URLs of an import: their parts, the Base URL they share, and their parameters."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus, urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Origin, parse_base_url
from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.placeholders import (
    VARIABLE,
    is_secret_segment,
    is_secret_value,
)
from outkey.sending.core.configuration.query_credentials import (
    QueryCredentials,
    is_credential,
    query_credentials,
)
from outkey.sending.core.request.addresses import is_address, is_internal, judge
from outkey.sending.core.request.headers import looks_like_credential

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_UNSAFE_IN_LABEL = re.compile(r"[^A-Za-z0-9]+")
# A part of a path that tells a version or begins an API.
_VERSION = re.compile(
    r"v?\d{1,3}(?:\.\d{1,3}){0,2}|v\d{1,3}[a-z]{0,6}\d*|\d{4}-\d{2}(?:-\d{2})?"
    r"|api|rest|latest|graph|services?|odata|json",
    re.IGNORECASE,
)
_MAX_BASE_PARTS = 5
MAX_URL = 16 * 1024
_GENERIC_LABELS = words(
    "www api apis rest app apps gateway gw sandbox secure auth login connect my web dev"
    " test staging prod production eu us int stage public services service v1 v2 go"
    " data account accounts platform oauth id"
)
_SECOND_LEVEL = words("co com org net ac gov edu")


@dataclass(frozen=True, slots=True, repr=False)
class SeenUrl:
    """The parts of a URL; a password in it is apart."""

    origin: str
    path: str
    query: str
    username: str = ""
    password: str = ""
    has_user: bool = False
    unknown_host: bool = False

    @property
    def host(self) -> str:
        """The host without its port."""
        return urlsplit(self.origin).hostname or ""


def split_url(text: str) -> SeenUrl:
    """Return the parts of a URL; variables in its host become a name to replace.

    Without a scheme it is http, as for curl and for browsers.
    """
    text = text.strip()
    if len(text) > MAX_URL:
        raise ConfigError(
            Text("a URL is longer than {limit} characters", limit=MAX_URL)
        )
    if not _SCHEME.match(text):
        text = f"http://{text.removeprefix('//')}"
    scheme, _, rest = text.partition("://")
    end = min((rest.find(sign) for sign in "/?#" if sign in rest), default=len(rest))
    authority = rest[:end]
    rest = rest[end:].partition("#")[0]
    user, at, host = authority.rpartition("@")
    unknown = bool(VARIABLE.search(host)) or not host or "<" in host or "{" in host
    if unknown:
        label = _UNSAFE_IN_LABEL.sub("-", host).strip("-").lower()[:60].rstrip("-")
        host = f"{label or 'host'}.invalid"
    if scheme.lower() not in {"http", "https"}:
        raise ConfigError(Text("the URL must start with https:// or http://"))
    origin = f"{scheme.lower()}://{host}"
    parse_base_url(origin)
    path, _, query = rest.partition("?")
    name, _, password = user.partition(":")
    return SeenUrl(
        origin=origin,
        path=_without_dot_segments(_readable_variables(path) or "/"),
        query=query,
        username=unquote(name),
        password=unquote(password),
        has_user=bool(at and user),
        unknown_host=unknown,
    )


def _readable_variables(path: str) -> str:
    """Return a path with its variables in single braces, as lines have them."""
    return VARIABLE.sub(lambda match: "{" + match[1].strip(" _.") + "}", path)


def _without_dot_segments(path: str) -> str:
    """Return a path without `.` and `..`, as clients send it (RFC 3986 §5.2.4)."""
    if "/." not in path:
        return path
    segments: list[str] = []
    parts = path.split("/")[1:]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part in {".", ".."}:
            segments = segments[:-1] if part == ".." else segments
            segments += [""] if is_last else []
        else:
            segments.append(part)
    return "/" + "/".join(segments)


def is_internal_host(host: str) -> bool:
    """Whether a host is literally one of this machine or of a private network."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return is_address(host) and is_internal(judge(host))


def secure_origin(origin: str) -> tuple[str, bool]:
    """Return an origin as a configuration may have it, and whether that is another.

    Plain http is for internal networks.
    """
    parsed: Origin = parse_base_url(origin).origin
    if parsed.scheme == "https" or is_internal_host(parsed.host):
        return str(parsed), False
    port = "" if parsed.port == 80 else f":{parsed.port}"
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    return f"https://{host}{port}", True


def base_path(paths: list[str]) -> str:
    """Return the path that a Base URL has: up to the API's version, if all share it."""
    split_paths = [path.strip("/").split("/")[:-1] for path in paths]
    shared: list[str] = []
    for parts in zip(*split_paths, strict=False):
        is_end = len(shared) == _MAX_BASE_PARTS or is_secret_segment(parts[0])
        if len(set(parts)) > 1 or is_end:
            break
        shared.append(parts[0])
    while shared and not _VERSION.fullmatch(shared[-1]):
        shared.pop()
    return "/" + "/".join(shared) if shared else ""


def name_of_host(host: str) -> str:
    """Return a name for a configuration from its host: the company's label."""
    if is_address(host) or "." not in host:
        return host
    labels = host.split(".")[:-1]
    if len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
        labels.pop()
    named = [label for label in labels if label not in _GENERIC_LABELS]
    return named[-1] if named else labels[-1]


def query_pairs(query: str) -> list[tuple[str, str, str]]:
    """Return the parameters of a query: name, value, and both as they are written."""
    pairs = []
    for part in query.split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((unquote_plus(name), unquote_plus(value), part))
    return pairs


def credentials_of(query: str) -> QueryCredentials:
    """Return which parameters of a query are credentials."""
    return query_credentials([(name, value) for name, value, _ in query_pairs(query)])


def without_credentials(query: str) -> str:
    """Return a query without the parameters that carry credentials."""
    credentials = credentials_of(query)
    names = credentials.secrets | credentials.users
    return "&".join(part for name, _, part in query_pairs(query) if name not in names)


def has_credentials(text: str) -> bool:
    """Whether a text is a URL with a password or a credential in its query."""
    _, scheme, rest = text.partition("://")
    has_user = "@" in rest.partition("/")[0]
    has_secret = bool(credentials_of(rest.partition("?")[2]).secrets)
    return bool(scheme) and (has_user or has_secret)


def is_secret_header(name: str, value: str) -> bool:
    """Whether a header carries a credential, by its name or by its value."""
    if name.lower() == "x-amz-target":  # an operation with a version: it looks random
        return False
    return (
        looks_like_credential(name)
        or is_secret_value(value)
        or is_credential(name, value)
        or has_credentials(value)
    )
