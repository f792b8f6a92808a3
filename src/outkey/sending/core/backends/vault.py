"""HashiCorp Vault and OpenBao: the KV store, versions 1 and 2.

https://developer.hashicorp.com/vault/api-docs
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
    address_of,
    checked_version,
    fail,
    json_body,
    json_object,
    member,
    refuse_outage,
    store_request,
)
from outkey.sending.core.backends.values import (
    NamedFields,
    StoredValue,
    StoreKey,
    refuse_value,
)
from outkey.sending.core.request.message import Request, Response

_TOKEN = re.compile(r"[!-~]+")  # it is sent as a header
_LONGEST_LEASE = 10**10  # seconds; Vault counts nanoseconds in 64 bits


def log_in(
    backend: Backend, credentials: Mapping[str, Secret], moment: Moment
) -> StoreSteps[Session]:
    """Return a session; a token from outside is one already."""
    if backend.login == "token":
        return Session(credentials["token"])
    mount = _path(backend.text("login_mount") or backend.login)
    request = _request(
        backend, "POST", f"auth/{mount}/login", body=json_body(credentials)
    )
    response = yield request
    return _session_of(response, backend, moment)


def renew(
    backend: Backend, session: Session, moment: Moment
) -> StoreSteps[Session | None]:
    """Extend a token; None if that needs a new log-in."""
    if not session.renewable:
        return None
    request = _request(
        backend, "POST", "auth/token/renew-self", session.token, json_body({})
    )
    response = yield request
    if response.status in {400, 403, 404}:
        return None  # it reached its longest life, or was revoked
    return _session_of(response, backend, moment)


def read(key: StoreKey, session: Session, moment: Moment) -> StoreSteps[StoredValue]:
    """Read a path of the KV store in one request."""
    del moment
    backend = key.backend
    mount = _path(backend.text("mount"))
    path = "/".join(quote(segment, safe="") for segment in key.path)
    if backend.kv == 1:
        if key.version:
            refuse_value("version-absent", backend)  # KV 1 has none
        response = yield _request(backend, "GET", f"{mount}/{path}", session.token)
        _refuse_status(response, key)
        return _fields(member(json_object(response), "data"), "", backend)
    query = f"?version={key.version}" if key.version else ""
    target = f"{mount}/data/{path}{query}"
    response = yield _request(backend, "GET", target, session.token)
    _refuse_status(response, key)
    document = json_object(response)
    number = member(document, "data", "metadata", "version")
    version = checked_version(number, backend) if type(number) is int else ""
    if not version or version != (key.version or version):
        fail("backend-unreachable", backend)  # not the version that was asked for
    return _fields(member(document, "data", "data"), version, backend)


def _fields(data: object, version: str, backend: Backend) -> NamedFields:
    if not isinstance(data, dict):
        fail("backend-unreachable", backend)
    fields = {
        name: Secret(value) if isinstance(value, str) else None
        for name, value in data.items()
    }
    return NamedFields(fields, version)


def _refuse_status(response: Response, key: StoreKey) -> None:
    """Raise the error for everything but 200."""
    backend = key.backend
    if response.status == 503:
        fail("backend-sealed", backend)
    refuse_outage(response, backend)
    if response.status == 403:
        refuse_value("backend-denied", backend)
    if response.status == 404:
        _refuse_absent(response, key)
    if response.status != 200:
        fail("backend-unreachable", backend)


def _refuse_absent(response: Response, key: StoreKey) -> None:
    """Raise the error for a 404: KV 2 describes a version that was deleted."""
    metadata = member(json_object(response), "data", "metadata")
    if isinstance(metadata, dict):
        refuse_value("secret-deleted", key.backend)
    # A version that never was gets the same response as a path that never was.
    refuse_value("version-absent" if key.version else "secret-absent", key.backend)


def _session_of(response: Response, backend: Backend, moment: Moment) -> Session:
    """Return the session of a log-in or a renewal."""
    if response.status == 503:
        fail("backend-sealed", backend)
    refuse_outage(response, backend)
    auth = member(json_object(response), "auth")
    token = member(auth, "client_token")
    seconds = member(auth, "lease_duration")
    if response.status != 200 or not isinstance(token, str):
        fail("backend-login", backend)
    if not _TOKEN.fullmatch(token):
        fail("backend-login", backend)
    if type(seconds) is not int or not 0 <= seconds <= _LONGEST_LEASE:
        fail("backend-login", backend)
    ends = moment.now + seconds if seconds else None  # 0: a token without an end
    return Session(Secret(token), ends, member(auth, "renewable") is True)


def _request(
    backend: Backend,
    method: str,
    path: str,
    token: Secret | None = None,
    body: Secret | bytes = b"",
) -> Request:
    headers: dict[str, str | Secret] = {"X-Vault-Request": "true"}
    if backend.text("namespace"):
        headers["X-Vault-Namespace"] = backend.text("namespace")
    if token is not None:
        headers["X-Vault-Token"] = token
    return store_request(method, address_of(backend), f"/v1/{path}", headers, body)


def _path(text: str) -> str:
    return quote(text.strip("/"), safe="/")
