"""Google Secret Manager, with tokens that a service account signs itself.

https://cloud.google.com/secret-manager/docs/reference/rest and
https://google.aip.dev/auth/4111: no token endpoint is asked, so that nothing goes to
another address than that of the store.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from urllib.parse import quote

from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends.checksum import crc32c
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
    address_of,
    bearer,
    fail,
    json_object,
    member,
    no_renewal,
    refuse_outage,
    store_request,
)
from outkey.sending.core.backends.values import (
    StoredValue,
    StoreKey,
    WholeText,
    refuse_value,
)
from outkey.sending.core.oauth2.assertions import Assertion
from outkey.sending.core.request.message import Response

# The audience is the service, also at an address of one region.
_AUDIENCE = "https://secretmanager.googleapis.com/"
_LIFE = 3600
_VERSION = re.compile(r"projects/[^/]+/secrets/([^/]+)/versions/([0-9]{1,18})")
renew = no_renewal


def log_in(
    backend: Backend, credentials: Mapping[str, Secret], moment: Moment
) -> StoreSteps[Session]:
    """Return a token that the service account signs; nothing is sent for it."""
    del backend
    issued = int(moment.now)
    claims = {"aud": _AUDIENCE, "iat": issued, "exp": issued + _LIFE}
    token = yield Assertion(
        claims=claims,
        key=credentials["service_account"],
        key_name="private_key",
        is_about_issuer=True,
    )
    return Session(token, float(issued + _LIFE))


def read(key: StoreKey, session: Session, moment: Moment) -> StoreSteps[StoredValue]:
    """Read a version of a secret in one request."""
    del moment
    backend = key.backend
    if len(key.path) > 1:  # no name has a slash
        refuse_value("secret-absent", backend)
    project = quote(backend.text("project"), safe="")
    secret = quote(key.path[0], safe="")
    version = key.version or "latest"
    target = f"/v1/projects/{project}/secrets/{secret}/versions/{version}:access"
    headers = bearer(session.token)
    response = yield store_request("GET", address_of(backend), target, headers)
    _refuse_status(response, key)
    return _value(json_object(response), key)


def _value(document: Mapping[str, object], key: StoreKey) -> WholeText:
    """Return the text of a secret, if name and checksum are right."""
    # The name has the number of the project, where the request has its id.
    place = _VERSION.fullmatch(str(document.get("name")))
    if place is None or place[1] != key.path[0]:
        fail("backend-unreachable", key.backend)
    version = place[2]
    if version != (key.version or version):
        fail("backend-unreachable", key.backend)
    data = _payload(document.get("payload"), key.backend)
    text = _decoded(data)
    if text is None:
        refuse_value("secret-not-text", key.backend)
    return WholeText(text, version)


def _decoded(data: bytes) -> Secret | None:
    """Return a text; no exception leaves, since that would have the bytes."""
    try:
        return Secret(data.decode())
    except UnicodeDecodeError:
        return None


def _payload(payload: object, backend: Backend) -> bytes:
    """Return the bytes of a payload; without data it is empty."""
    text = member(payload, "data")
    checksum = member(payload, "dataCrc32c")
    try:
        data = b64decode(str(text or ""), validate=True)
    except ValueError:
        data = None
    if data is None or not isinstance(payload, dict):
        fail("backend-unreachable", backend)
    # A number of 64 bits is a text in Google's JSON. Old versions may have none.
    if checksum is not None and str(checksum) != str(crc32c(data)):
        fail("backend-unreachable", backend)
    return data


def _refuse_status(response: Response, key: StoreKey) -> None:
    """Raise the error for everything but 200."""
    backend = key.backend
    refuse_outage(response, backend)
    if response.status == 401:
        fail("backend-login", backend)
    if response.status == 403:
        refuse_value("backend-denied", backend)
    status = member(json_object(response), "error", "status")
    if response.status == 400 and status == "FAILED_PRECONDITION":
        refuse_value("secret-deleted", backend)  # disabled or destroyed
    if response.status in {400, 404}:  # 400: a name that cannot be one
        refuse_value("version-absent" if key.version else "secret-absent", backend)
    if response.status != 200:
        fail("backend-unreachable", backend)
