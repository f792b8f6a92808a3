"""The steps of a read and the errors of a store, for all stores.

A store is a module with `log_in`, `read` and where it can `renew`: generators that
yield requests and are sent the responses. They open nothing themselves.
"""

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeVar

from outkey.foundation.core.errors import BackendUnavailable
from outkey.foundation.core.origin import Location
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.values import StoredValue, StoreKey
from outkey.sending.core.oauth2.assertions import Assertion
from outkey.sending.core.request.message import Header, Request, Response, Source

Result = TypeVar("Result")
# A request is sent, and its response is the result; an assertion is signed, and the
# result is the signed one.
StoreSteps = Generator[Request | Assertion, Any, Result]
# Of a version, which the audit and tests show: a store could name it by anything.
_VERSION = re.compile(r"[!-~]{1,64}")
_REASONS = {
    "backend-unreachable": Text("it does not respond as it should"),
    "backend-sealed": Text("it is sealed or in maintenance"),
    "backend-throttled": Text("it permits no more requests at the moment"),
    "backend-login": Text("it refuses outkey's log-in"),
}
# What an operator does about each of them, for the check that the usual hint names.
ADVICE = {
    "backend-unreachable": Text(
        "Compare the settings of the backend in config/backends.toml with the store,"
        " and see whether it runs."
    ),
    "backend-sealed": Text(
        "Unseal the store, or wait until its maintenance has ended."
    ),
    "backend-throttled": Text(
        "Raise cache_seconds of the backend in config/backends.toml."
    ),
    "backend-login": Text(
        "Replace the credentials of the log-in in config/backends.toml, or correct the"
        " clock."
    ),
}


@dataclass(frozen=True, slots=True)
class Session:
    """A log-in to a store; its end is Unix time, None if it has none."""

    token: Secret
    ends: float | None = None
    renewable: bool = False
    # What a store needs besides, such as the id of a temporary key.
    parts: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a step, and a random text that does not repeat."""

    now: float
    number: str


class StoreRules(Protocol):
    """The pure rules of one store."""

    def log_in(
        self, backend: Backend, credentials: Mapping[str, Secret], moment: Moment
    ) -> StoreSteps[Session]:
        """Log in, or raise BackendUnavailable with the reason backend-login."""

    def renew(
        self, backend: Backend, session: Session, moment: Moment
    ) -> StoreSteps[Session | None]:
        """Extend a log-in; None where it cannot be extended."""

    def read(
        self, key: StoreKey, session: Session, moment: Moment
    ) -> StoreSteps[StoredValue]:
        """Read a path, or raise SecretMissing or BackendUnavailable."""


def fail(reason: str, backend: Backend) -> NoReturn:
    """Raise the error for a backend that cannot be read now."""
    raise unavailable(reason, backend)


def unavailable(reason: str, backend: Backend) -> BackendUnavailable:
    """Return the error for a backend that cannot be read now."""
    return BackendUnavailable(
        Text(
            "the backend {backend} cannot be used: {problem}",
            backend=backend.name,
            problem=_REASONS[reason],
        ),
        hint=Text(
            "See what fails with: outkey backend check {name}", name=backend.name
        ),
        reason=reason,
    )


def store_request(
    method: str,
    address: Location,
    path: str,
    headers: Mapping[str, str | Secret],
    body: bytes | Secret = b"",
    *,
    content_type: str = "application/json",
) -> Request:
    """Return a request to a store; the path follows that of its address."""
    pairs: dict[str, str | Secret] = {
        "Host": address.origin.authority,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "outkey",
        **headers,
    }
    if body:
        length = body.wire_length if isinstance(body, Secret) else len(body)
        pairs |= {"Content-Type": content_type, "Content-Length": str(length)}
    return Request(
        method,
        address.origin,
        f"{address.target}{path}",
        tuple(Header(name, value, Source.DEFAULT) for name, value in pairs.items()),
        body,
    )


def json_body(values: Mapping[str, str | Secret]) -> Secret:
    """Return a JSON object of texts and secrets as the body of a request."""
    parts: list[str | Secret] = []
    for name, value in values.items():
        parts += ["," if parts else "{", json.dumps(name), ":"]
        if isinstance(value, Secret):
            parts.append(value.derive(json.dumps))
        else:
            parts.append(json.dumps(value))
    return Secret.joined(*(parts or ["{"]), "}")


def parsed_json(response: Response) -> object:
    """Return the JSON of a response; None if it is something else."""
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return None


def json_object(response: Response) -> dict[str, object]:
    """Return the JSON object of a response; empty if it is something else."""
    value = parsed_json(response)
    return value if isinstance(value, dict) else {}


def member(value: object, *names: str) -> object:
    """Return what is at a path of names in parsed JSON, None if it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def checked_version(version: object, backend: Backend) -> str:
    """Return a version as the store names it, if that is a name or a number."""
    text = str(version)
    if type(version) not in {int, str} or not _VERSION.fullmatch(text):
        fail("backend-unreachable", backend)
    return text


def refuse_outage(response: Response, backend: Backend) -> None:
    """Raise the error for a status that says nothing about the secret itself."""
    if response.status == 429:
        fail("backend-throttled", backend)
    if response.status >= 500:
        fail("backend-unreachable", backend)


def no_renewal(
    backend: Backend, session: Session, moment: Moment
) -> StoreSteps[Session | None]:
    """Extend no log-in: the store has nothing but a new one."""
    del backend, session, moment
    yield from ()
    return None


def bearer(token: Secret) -> dict[str, str | Secret]:
    """Return the header that carries a token (RFC 6750 §2.1)."""
    return {"Authorization": Secret.joined("Bearer ", token)}


def address_of(backend: Backend) -> Location:
    """Return the address that the section of this backend must have."""
    assert backend.address is not None  # noqa: S101 - its section needs one
    return backend.address
