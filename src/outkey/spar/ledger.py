"""What the authorization server counts: requests, refusals, and credentials that went astray.

Names and numbers only. No value of a request is kept here.
"""

import binascii
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

_REFRESH_TOKEN = re.compile(r"spar-rt-[0-9a-f]{32}")
_ACCESS_TOKEN = re.compile(r"spar-at-[0-9a-f]{32}")
# A client authenticates here, and here only.
_CREDENTIAL_SCENES = frozenset(
    {"oauth/token", "oauth/odd", "oauth/revoke", "oauth/introspect", "oauth/device"}
)
# RFC 6749 §2.3.1: client credentials MUST NOT be included in the request URI.
_CREDENTIAL_PARTS = frozenset({"authorization", "body"})


class Stray(NamedTuple):
    """A credential where none belongs; `scene` is a name of the index, never a path."""

    what: str
    server: str
    scene: str
    part: str


@dataclass(frozen=True, slots=True)
class Counts:
    """What came and went so far."""

    token_requests: int
    by_grant: dict[str, int]
    by_client: dict[str, int]
    refused: dict[str, int]
    odd: dict[str, int]
    issued: int
    reuses: int
    live_families: int
    dead_families: int
    live_access_tokens: int
    strays: list[Stray]

    def facts(self) -> dict[str, object]:
        """Return the counts as JSON takes them."""
        facts: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        return facts | {"strays": [stray._asdict() for stray in self.strays]}


class Ledger:
    """Counters that many threads may use at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._grants: Counter[str] = Counter()
        self._clients: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._odd: Counter[str] = Counter()
        self._strays: Counter[Stray] = Counter()
        self._issued = self._reuses = 0

    def requested(self, grant: str, client: str) -> None:
        """Count a token request."""
        with self._lock:
            self._grants[grant] += 1
            self._clients[client] += 1

    def refused(self, code: str) -> None:
        """Count an error answer."""
        with self._lock:
            self._refused[code] += 1

    def played(self, name: str) -> None:
        """Count an odd answer."""
        with self._lock:
            self._odd[name] += 1

    def issued(self) -> None:
        """Count an access token."""
        with self._lock:
            self._issued += 1

    def reused(self) -> None:
        """Count a refresh token or a code that came a second time."""
        with self._lock:
            self._reuses += 1

    def strayed(self, strays: Iterable[Stray]) -> None:
        """Count credentials that went astray."""
        with self._lock:
            self._strays.update(strays)

    def counts(self, *, families: tuple[int, int], access_tokens: int) -> Counts:
        """Return a copy, with the numbers of live and dead families and of live access tokens."""
        with self._lock:
            return Counts(
                token_requests=self._grants.total(),
                by_grant=dict(self._grants),
                by_client=dict(self._clients),
                refused=dict(self._refused),
                odd=dict(self._odd),
                issued=self._issued,
                reuses=self._reuses,
                live_families=families[0],
                dead_families=families[1],
                live_access_tokens=access_tokens,
                strays=sorted(self._strays.elements()),
            )


def astray(
    server: str, scene: str, parts: Mapping[str, str], secrets: Iterable[str]
) -> Iterator[Stray]:
    """Find the credentials in a request that do not belong to where it arrived."""
    secrets = tuple(secrets)
    for part, text in parts.items():
        forms = tuple(_forms(text))
        for what in _found(forms, secrets):
            if not _belongs(what, server, scene, part):
                yield Stray(what, server, scene, part)


def _found(forms: tuple[str, ...], secrets: tuple[str, ...]) -> Iterator[str]:
    if any(secret in form for secret in secrets for form in forms):
        yield "client_secret"
    if any(_REFRESH_TOKEN.search(form) for form in forms):
        yield "refresh_token"
    if any(_ACCESS_TOKEN.search(form) for form in forms):
        yield "access_token"


def _belongs(what: str, server: str, scene: str, part: str) -> bool:
    if server == "elsewhere" or part not in _CREDENTIAL_PARTS:
        return False
    return what == "access_token" or scene in _CREDENTIAL_SCENES


def _forms(text: str) -> Iterator[str]:
    yield text
    if "%" in text or "+" in text:
        yield from (unquote(text), unquote_plus(text))
    if text[:6].lower() == "basic ":
        try:
            pair = b64decode(text[6:]).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield from (pair, unquote(pair), unquote_plus(pair))
