"""AWS: Secrets Manager, Parameter Store, and STS for a web identity.

https://docs.aws.amazon.com/secretsmanager/latest/apireference/
https://docs.aws.amazon.com/systems-manager/latest/APIReference/
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import AwsPayload
from outkey.foundation.core.origin import Location, parse_base_url
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws import faults
from outkey.sending.core.aws.error_codes import error_code
from outkey.sending.core.aws.requests import AwsKeys, hash_of_body, signed_request
from outkey.sending.core.aws.signing import stamp_at
from outkey.sending.core.aws.sts import assume_role_with_web_identity, read_session
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
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
from outkey.sending.core.configuration.reference import Store
from outkey.sending.core.configuration.sections import AwsSettings, aws_url
from outkey.sending.core.request.message import Request, Response

_HOUR = 3600
_SESSION_NAME = "outkey"
_CURRENT = "AWSCURRENT"
# Ids of versions have 32 to 64 characters; a stage is a short word.
_SHORTEST_ID = 32
_SESSION_PART = "session_token"
_THROTTLED = frozenset(
    {"Throttling", "Throttled", "TooManyRequests", "RequestLimitExceeded", "SlowDown"}
)
# By the code of an error, without Exception at its end.
_REFUSALS = {
    "ResourceNotFound": "secret-absent",
    "ParameterNotFound": "secret-absent",
    "ParameterVersionNotFound": "version-absent",
    "Validation": "secret-absent",
    "InvalidParameter": "secret-absent",
    "InvalidRequest": "secret-deleted",  # it is marked for deletion
    "AccessDenied": "backend-denied",
    # The key of KMS that encrypts the secret may not be used.
    "DecryptionFailure": "backend-denied",
    "InvalidKeyId": "backend-denied",
}
_LOG_IN_FAULTS = frozenset(
    {
        faults.SECRET,
        faults.KEY,
        faults.SCOPE,
        faults.CLOCK,
        faults.EXPIRED,
        faults.MISSING,
        faults.MALFORMED,
    }
)
renew = no_renewal


class _Question(NamedTuple):
    """An operation of a service, with its parameters."""

    service: str
    operation: str
    values: Mapping[str, str | bool]


def log_in(
    backend: Backend, credentials: Mapping[str, Secret], moment: Moment
) -> StoreSteps[Session]:
    """Return the keys that sign: those that are given, or those of a role's session."""
    if backend.login == "keys":
        session = credentials.get("session_token")
        keys = AwsKeys.of(
            credentials["access_key_id"], credentials["secret_access_key"], session
        )
        return Session(keys.packed, parts={_SESSION_PART: session} if session else {})
    token = credentials["web_identity_token"].derive(str.strip)
    role = credentials["role_arn"]
    response = yield assume_role_with_web_identity(_role_of(backend), token, role)
    if error_code(response) in _THROTTLED:
        fail("backend-throttled", backend)
    refuse_outage(response, backend)
    try:
        granted = read_session(response, secrets=[token], now=moment.now)
    except OutkeyError:
        fail("backend-login", backend)
    life = _HOUR if granted.lifetime is None else granted.lifetime
    # Keys of a role sign with its session token, which is a part of them.
    parts = {_SESSION_PART: granted.access}
    return Session(granted.access, moment.now + life, parts=parts)


def _role_of(backend: Backend) -> AwsSettings:
    """Return the settings of the request to STS, but for the role."""
    return AwsSettings(
        access_key_id="",
        region=backend.text("region"),
        service="",
        payload=AwsPayload.SIGNED,
        role_arn="",
        sts_url=f"{backend.address}/" if backend.address else "",
        session_name=_SESSION_NAME,
        external_id="",
        duration_seconds=_HOUR,
    )


def read(key: StoreKey, session: Session, moment: Moment) -> StoreSteps[StoredValue]:
    """Read a secret or a parameter in one signed request."""
    is_parameter = key.store == Store.AWS_PARAMETER
    question = _parameter_question(key) if is_parameter else _secret_question(key)
    response = yield _signed(question, key.backend, session, moment)
    _refuse_status(response, key)
    document = json_object(response)
    return _parameter(document, key) if is_parameter else _secret(document, key)


def _secret_question(key: StoreKey) -> _Question:
    values: dict[str, str | bool] = {"SecretId": key.shown_path}
    if key.version:
        values[_version_name(key.version)] = key.version
    return _Question("secretsmanager", "secretsmanager.GetSecretValue", values)


def _version_name(version: str) -> str:
    return "VersionId" if len(version) >= _SHORTEST_ID else "VersionStage"


def _parameter_question(key: StoreKey) -> _Question:
    version = f":{key.version}" if key.version else ""
    name = f"{_parameter_name(key)}{version}"
    values: dict[str, str | bool] = {"Name": name, "WithDecryption": True}
    return _Question("ssm", "AmazonSSM.GetParameter", values)


def _parameter_name(key: StoreKey) -> str:
    """Return a name; one of a hierarchy begins with a slash."""
    return f"/{key.shown_path}" if len(key.path) > 1 else key.shown_path


def _signed(
    question: _Question, backend: Backend, session: Session, moment: Moment
) -> Request:
    region = backend.text("region")
    request = store_request(
        "POST",
        backend.address or _address_of(question.service, region),
        "/",
        {"X-Amz-Target": question.operation},
        json.dumps(question.values).encode(),
        content_type="application/x-amz-json-1.1",
    )
    return signed_request(
        request,
        AwsKeys(session.token, has_session=_SESSION_PART in session.parts),
        stamp_at(moment.now, region, question.service),
        body_hash=hash_of_body(request.body),
    )


def _address_of(service: str, region: str) -> Location:
    return parse_base_url(aws_url(service, region), "region")


def _secret(document: Mapping[str, object], key: StoreKey) -> WholeText:
    """Return the text of a secret, if it is the one that was asked for."""
    version = document.get("VersionId")
    stages = document.get("VersionStages")
    names = (document.get("Name"), document.get("ARN"))
    versions = [version, *(stages if isinstance(stages, list) else [])]
    is_right = key.shown_path in names and (key.version or _CURRENT) in versions
    if not is_right or not isinstance(version, str):
        fail("backend-unreachable", key.backend)
    version = checked_version(version, key.backend)
    return _whole_text(document.get("SecretString"), version, key)


def _parameter(document: Mapping[str, object], key: StoreKey) -> WholeText:
    """Return the text of a parameter, if it is the one that was asked for."""
    version = member(document, "Parameter", "Version")
    is_right = member(document, "Parameter", "Name") == _parameter_name(key)
    if not is_right or type(version) is not int:
        fail("backend-unreachable", key.backend)
    number = checked_version(version, key.backend)
    if number != (key.version or number):
        fail("backend-unreachable", key.backend)
    return _whole_text(member(document, "Parameter", "Value"), number, key)


def _whole_text(value: object, version: str, key: StoreKey) -> WholeText:
    if not isinstance(value, str):  # such as the bytes of SecretBinary
        refuse_value("secret-not-text", key.backend)
    return WholeText(Secret(value), version)


def _refuse_status(response: Response, key: StoreKey) -> None:
    """Raise the error for everything but 200, by the code that AWS gives."""
    if response.status == 200:
        return
    code = error_code(response)
    if code in _THROTTLED:
        fail("backend-throttled", key.backend)
    refuse_outage(response, key.backend)
    reason = _REFUSALS.get(code)
    if reason == "secret-absent" and key.version:
        # Secrets Manager has the same code for a version that never was.
        refuse_value("version-absent", key.backend)
    if reason:
        refuse_value(reason, key.backend)
    is_refused = faults.fault_of(response) in _LOG_IN_FAULTS
    fail("backend-login" if is_refused else "backend-unreachable", key.backend)
