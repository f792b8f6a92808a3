"""Azure Key Vault, with Microsoft Entra ID as the authority.

https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret
"""

from collections.abc import Mapping
from urllib.parse import quote

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.origin import Location, parse_base_url
from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
    address_of,
    bearer,
    checked_version,
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
from outkey.sending.core.oauth2.assertions import ASSERTION_TYPE
from outkey.sending.core.oauth2.grants import form_body
from outkey.sending.core.oauth2.responses import read_token
from outkey.sending.core.request.message import Request, Response

_API_VERSION = "7.4"
_RESOURCE = "vault.azure.net"
# The national clouds have vaults, and tokens for them, under names of their own.
_NATIONAL = ("vault.azure.cn", "vault.usgovcloudapi.net", "vault.microsoftazure.de")
_HOUR = 3600.0
renew = no_renewal


def log_in(
    backend: Backend, credentials: Mapping[str, Secret], moment: Moment
) -> StoreSteps[Session]:
    """Get a token by the client's secret, or by the token of a workload."""
    proof = credentials[backend.login].derive(str.strip)
    response = yield _token_request(backend, credentials, proof)
    refuse_outage(response, backend)
    try:
        granted = read_token(response, secrets=[proof], now=moment.now)
    except OutkeyError:
        fail("backend-login", backend)
    life = _HOUR if granted.lifetime is None else granted.lifetime
    return Session(granted.access, moment.now + life)


def _token_request(
    backend: Backend, credentials: Mapping[str, Secret], proof: Secret
) -> Request:
    """Return the request for a token (RFC 6749 §4.4, RFC 7523 §2.2)."""
    form: dict[str, str | Secret] = {
        "grant_type": "client_credentials",
        "client_id": credentials["client_id"],
        "scope": f"https://{_resource(backend)}/.default",
    }
    if backend.login == "client_secret":
        form["client_secret"] = proof
    else:
        form |= {"client_assertion_type": ASSERTION_TYPE, "client_assertion": proof}
    authority = _authority(backend)
    request = store_request(
        "POST",
        authority,
        "/TENANT/oauth2/v2.0/token",
        {},
        form_body(form),
        content_type="application/x-www-form-urlencoded",
    )
    tenant = credentials["tenant_id"].derive(lambda text: quote(text, safe=""))
    target = Secret.joined(f"{authority.target}/", tenant, "/oauth2/v2.0/token")
    return request._replace(secret_target=target)


def _authority(backend: Backend) -> Location:
    return parse_base_url(
        backend.text("authority"), f"backend.{backend.name}.authority"
    )


def _resource(backend: Backend) -> str:
    """Return what a token is for: the vaults of the cloud that this one is in."""
    host = address_of(backend).origin.host
    national = (name for name in _NATIONAL if host.endswith(f".{name}"))
    return next(national, _RESOURCE)


def read(key: StoreKey, session: Session, moment: Moment) -> StoreSteps[StoredValue]:
    """Read a version of a secret in one request.

    A refused token comes back with a challenge, which is not followed: it could name
    another authority than that of the operator's file.
    """
    del moment
    if len(key.path) > 1:  # no name has a slash
        refuse_value("secret-absent", key.backend)
    path = "/".join(quote(part, safe="") for part in (*key.path, key.version) if part)
    target = f"/secrets/{path}?api-version={_API_VERSION}"
    headers = bearer(session.token)
    response = yield store_request("GET", address_of(key.backend), target, headers)
    _refuse_status(response, key)
    return _value(json_object(response), key)


def _value(document: Mapping[str, object], key: StoreKey) -> WholeText:
    """Return the text of a secret, if its id is that of the one asked for."""
    place = document.get("id")
    steps = place.lower().split("/") if isinstance(place, str) else []
    # Names and versions are the same in upper and lower case.
    is_right = steps[-3:-1] == ["secrets", key.path[0].lower()]
    version = steps[-1] if is_right else ""
    if not version or version != (key.version.lower() or version):
        fail("backend-unreachable", key.backend)
    if member(document, "attributes", "enabled") is False:
        refuse_value("secret-deleted", key.backend)
    text = document.get("value")
    if not isinstance(text, str):
        refuse_value("secret-not-text", key.backend)
    return WholeText(Secret(text), checked_version(version, key.backend))


def _refuse_status(response: Response, key: StoreKey) -> None:
    """Raise the error for everything but 200."""
    backend = key.backend
    refuse_outage(response, backend)
    if response.status == 401:
        fail("backend-login", backend)
    if response.status == 403:
        code = member(json_object(response), "error", "innererror", "code")
        is_disabled = code == "SecretDisabled"
        refuse_value("secret-deleted" if is_disabled else "backend-denied", backend)
    if response.status in {400, 404}:  # 400: a name or version that cannot be one
        refuse_value("version-absent" if key.version else "secret-absent", backend)
    if response.status != 200:
        fail("backend-unreachable", backend)
