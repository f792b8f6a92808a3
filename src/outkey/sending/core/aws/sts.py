"""Assuming a role at STS: the request, the session in its response, and failures."""

import re
from collections.abc import Sequence

from outkey.foundation.core.errors import (
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
    drop_traceback,
)
from outkey.foundation.core.moments import parse_iso
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.aws import faults, signing
from outkey.sending.core.aws.error_codes import error_code
from outkey.sending.core.aws.requests import AwsKeys, hash_of_body, signed_request
from outkey.sending.core.aws.xml_fields import xml_fields
from outkey.sending.core.configuration.configuration import STS_URL
from outkey.sending.core.configuration.sections import AwsSettings
from outkey.sending.core.oauth2.grants import common_headers, form_body
from outkey.sending.core.oauth2.responses import (
    REDIRECTED,
    TokenResponse,
    failure_elsewhere,
    repeats,
)
from outkey.sending.core.request.message import Request, Response, server_time

KIND = "AWS"  # of a token that is a session
_SERVICE = "sts"
_VERSION = "2011-06-15"
_REGION_OF_HOST = re.compile(r"sts(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_GLOBAL_HOST = "sts.amazonaws.com"
_GLOBAL_REGION = "us-east-1"
_KEY_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_KEY = re.compile(r"[!-~]{1,1024}")
_SESSION = re.compile(r"[!-~]{1,8192}")  # it is sent in a header
_LABEL = Text("STS URL")
# Why there is no session, what to do, and the field that it is about; by the name of
# the reason in `diagnosis/reasons.py`.
_STS_FAILURES: dict[str, tuple[Text, Text, str]] = {
    faults.SECRET: (
        Text("STS finds that the signature is wrong"),
        Text("Check Secret Access Key: it does not belong to this Access Key ID."),
        "aws.secret_access_key",
    ),
    faults.KEY: (
        Text("STS does not know the Access Key ID"),
        Text("Check Access Key ID; one that begins with ASIA needs a Session Token."),
        "aws.access_key_id",
    ),
    faults.SCOPE: (
        Text("STS expects a signature for another region"),
        Text("Check Region and STS URL."),
        "aws.region",
    ),
    faults.CLOCK: (
        Text("STS rejects the time of the request"),
        Text("Correct the clock of this machine (NTP)."),
        STS_URL,
    ),
    faults.EXPIRED: (
        Text("STS finds that the token in the request has expired"),
        Text("Have the web identity token, or the Session Token, issued anew."),
        STS_URL,
    ),
    "aws-role-denied": (
        Text("STS does not allow to assume the role"),
        Text(
            "Check Role ARN and External ID, whether the role trusts this identity, and"
            " whether the access key may call sts:AssumeRole."
        ),
        "aws.role_arn",
    ),
    "aws-identity-refused": (
        Text("STS does not accept the web identity token"),
        Text(
            "Check that it is from the identity provider that the role trusts, and its"
            " audience and subject."
        ),
        "aws.web_identity_token",
    ),
    "aws-invalid-value": (
        Text("STS calls a value of the request invalid"),
        Text("Check Role ARN, Session name, External ID and Session duration."),
        "aws.role_arn",
    ),
    "aws-region-disabled": (
        Text("STS is not active in this region"),
        Text("Activate it in the account's settings, or set another STS URL."),
        "aws.region",
    ),
}
_BY_CODE = {
    "AccessDenied": "aws-role-denied",
    "InvalidIdentityToken": "aws-identity-refused",
    "IDPRejectedClaim": "aws-identity-refused",
    "IDPCommunicationError": "server_error",
    "ValidationError": "aws-invalid-value",
    "InvalidParameterValue": "aws-invalid-value",
    "NoSuchEntity": "aws-role-denied",
    "RegionDisabled": "aws-region-disabled",
    "Throttling": "rate_limited",
}


def assume_role(settings: AwsSettings, keys: AwsKeys, now: float) -> Request:
    """Return the signed request for a session, by an access key."""
    request = _request("AssumeRole", settings, None)
    host = request.origin.host
    named = _REGION_OF_HOST.fullmatch(host)
    region = named[1] if named else settings.region
    stamp = signing.stamp_at(
        now, _GLOBAL_REGION if host == _GLOBAL_HOST else region, _SERVICE
    )
    return signed_request(request, keys, stamp, body_hash=hash_of_body(request.body))


def assume_role_with_web_identity(
    settings: AwsSettings, token: Secret, role_arn: Secret | None = None
) -> Request:
    """Return the request for a session, by a token of another issuer; not signed.

    A role that is given replaces that of the settings.
    """
    return _request("AssumeRoleWithWebIdentity", settings, token, role_arn)


def _request(
    action: str,
    settings: AwsSettings,
    token: Secret | None,
    role_arn: Secret | None = None,
) -> Request:
    parameters: dict[str, str | Secret] = {
        "Action": action,
        "Version": _VERSION,
        "RoleArn": role_arn or settings.role_arn,
        "RoleSessionName": settings.session_name,
        "DurationSeconds": str(settings.duration_seconds),
    }
    if token is not None:
        parameters["WebIdentityToken"] = token
    elif settings.external_id:
        parameters["ExternalId"] = settings.external_id
    body = form_body(parameters)
    location = parse_endpoint(settings.sts_endpoint, STS_URL)
    more = {
        "Accept": "text/xml",  # STS has JSON too, for those who accept it
        "Content-Length": str(body.wire_length),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    headers = tuple(common_headers(location, more))
    secrets = () if token is None else (token,)
    return Request("POST", location.origin, location.target, headers, body, secrets)


@drop_traceback  # its traceback would hold the response
def read_session(
    response: Response, *, secrets: Sequence[Secret], now: float
) -> TokenResponse:
    """Return the keys of a session as one token, or raise the failure.

    It must not repeat one of `secrets`: they are for STS, and the Session Token is sent
    to the API.
    """
    if response.status >= 300:
        raise sts_failure(_failure_reason(response), server_time(response))
    fields = xml_fields(response.body)
    if "SessionToken" not in fields:
        reason = "no_token" if fields else "not_a_token_endpoint"
        raise sts_failure(reason)
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken")
    texts = [fields.get(name, "") for name in names]
    grammars = (_KEY_ID, _KEY, _SESSION)
    if not all(map(re.Pattern.fullmatch, grammars, texts)):
        raise sts_failure("bad_token")
    key_id, key, session = texts
    if any(repeats(Secret(session), secret) for secret in secrets if secret):
        raise sts_failure("own_secret")
    ends = parse_iso(fields.get("Expiration", ""))
    lifetime = None
    if ends is not None:
        # The moment is by the clock of STS.
        lifetime = max(ends.timestamp() - (server_time(response) or now), 0.0)
    packed = AwsKeys.of(key_id, Secret(key), Secret(session)).packed
    return TokenResponse(
        access=packed, refresh=None, kind=KIND, lifetime=lifetime, scope=""
    )


def _failure_reason(response: Response) -> str:
    """Return the reason for a response without a session."""
    if response.status < 400:
        return REDIRECTED
    code = error_code(response)
    if reason := _BY_CODE.get(code):
        return reason
    if (fault := faults.fault_of(response)) in _STS_FAILURES:
        return fault
    if response.status == 429 or response.status >= 500:
        return "rate_limited" if response.status == 429 else "server_error"
    if code:
        return "refused"
    return "not_found" if response.status in {404, 405} else "not_a_token_endpoint"


def sts_failure(reason: str, their_time: float | None = None) -> OutkeyError:
    """Return the error for a reason, also from a stored one."""
    if reason == REDIRECTED:
        return RedirectBlocked(
            Text("STS redirected, and secrets are not sent to another URL"),
            hint=Text("Check the STS URL."),
            field=STS_URL,
        )
    if reason not in _STS_FAILURES:
        return failure_elsewhere({}, reason, their_time, field=STS_URL, label=_LABEL)
    message, hint, field = _STS_FAILURES[reason]
    return TokenEndpointFailed(
        message, hint=hint, reason=reason, their_time=their_time, field=field
    )


def words_of(response: Response) -> str:
    """Return the code and the message of an error; remote text, not to be shown yet."""
    fields = xml_fields(response.body)
    parts = (fields.get("Code", ""), fields.get("Message", ""))
    return ": ".join(filter(None, parts))
