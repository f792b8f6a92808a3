"""Authentication Type AWS Signature Version 4: the key itself never travels."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from outkey.foundation.core.fields.choices import AwsPayload
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.error_codes import says_session_expired
from outkey.sending.core.aws.requests import AwsKeys, hash_of_body, signed_request
from outkey.sending.core.aws.signing import UNSIGNED_PAYLOAD, stamp_at
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.sections import AwsSettings
from outkey.sending.core.request.flow import (
    AuthFlow,
    AuthStep,
    Scheme,
    Send,
    need_body_hash,
    need_time,
    need_token,
    send,
)
from outkey.sending.core.request.headers import check_value, tidy_value
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.schemes.none import NoAuthentication


class AwsSignature(NamedTuple):
    """Sign each request with a key, or with the keys of a role's session."""

    settings: AwsSettings
    keys: AwsKeys | None  # None: those of a session, which is a token
    # Signed last: a script's headers may be among those that have to be signed.
    inner: Scheme = NoAuthentication()

    def flow(self, request: Request) -> AuthFlow:
        """Sign and send; with a session that has expired, renew it once."""
        if self.keys is not None:
            return (yield from self._send(request, self.keys))
        session = yield from need_token()
        response = yield from self._send(request, AwsKeys.of_session(session))
        if not says_session_expired(response):
            return response
        renewed = yield from need_token(rejected=session, token_was_refused=True)
        if renewed.value == session.value:
            return response
        return (yield from self._send(request, AwsKeys.of_session(renewed)))

    def _send(self, request: Request, keys: AwsKeys) -> Generator[Any, Any, Response]:
        """Send with a new date and signature."""
        request = yield from _prepared(self.inner, request)
        now = yield from need_time(request.origin)
        stamp = stamp_at(now, self.settings.region, self.settings.service)
        signed = signed_request(
            request, keys, stamp, body_hash=(yield from self._body_hash(request))
        )
        return (yield from send(signed))

    def _body_hash(self, request: Request) -> Generator[Any, Any, str | Secret]:
        if self.settings.payload is AwsPayload.UNSIGNED:
            return UNSIGNED_PAYLOAD
        if isinstance(request.body, bytes | Secret):
            return hash_of_body(request.body)
        return (yield from need_body_hash(request.body))


def aws_signature(
    configuration: Configuration, secret: Callable[[str], Secret]
) -> AwsSignature:
    """Return the scheme of a configuration, with its keys unless a role has others."""
    keys = None
    if not configuration.uses_aws_role:
        keys = entered_keys(configuration, secret)
    return AwsSignature(configuration.aws, keys)


def entered_keys(
    configuration: Configuration, secret: Callable[[str], Secret]
) -> AwsKeys:
    """Return the access key that was entered."""
    session = None
    if "session_token" in configuration.secrets:
        session = secret("session_token").derive(_session_value)
    key = secret("secret_access_key").derive(tidy_value)
    return AwsKeys.of(configuration.aws.access_key_id, key, session)


def _session_value(text: str) -> str:
    """Return a Session Token that a header can carry, or raise."""
    return check_value(tidy_value(text), field="session_token")


def _prepared(scheme: Scheme, request: Request) -> Generator[AuthStep, Any, Request]:
    """Return a request as another scheme would send it."""
    flow = scheme.flow(request)
    try:
        step = next(flow)
        while not isinstance(step, Send):
            step = flow.send((yield step))
    finally:
        flow.close()
    return step.request
