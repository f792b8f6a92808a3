"""Client authentication at the Token URL (RFC 6749 §2.3, RFC 7523, RFC 8705)."""

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, assert_never
from urllib.parse import quote

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import ClientAuth
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.assertions import (
    ASSERTION_TYPE,
    Sign,
    client_assertion,
)
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import Header, Source

Parameters = list[tuple[str, str | Secret]]
# As in RFC 6749 §2.3.1, with a space as %20: some servers refuse a plus.
_encode = partial(quote, safe="")


class Proof(NamedTuple):
    """The headers and parameters that authenticate a token request."""

    headers: tuple[Header, ...] = ()
    parameters: tuple[tuple[str, str | Secret], ...] = ()


def prove(
    configuration: Configuration,
    secret: Callable[[str], Secret],
    sign: Sign,
    *,
    now: float,
    number: str,
) -> Proof:
    """Return the proof of the configured kind; `number` is unique (jti)."""
    settings = configuration.oauth2
    identity = ("client_id", settings.client_id)

    def client_secret() -> Secret:
        entered = secret("client_secret").derive(tidy_value)
        may_be_key = settings.client_auth is ClientAuth.PRIVATE_KEY_JWT
        return entered if may_be_key else entered.derive(_refuse_private_key)

    match settings.client_auth:
        case ClientAuth.BODY:
            if not settings.client_id:
                # An assertion (RFC 7521 §4.1) or a subject token is the only proof.
                return Proof()
            if "client_secret" not in configuration.needed_secrets():
                return Proof(parameters=(identity,))
            return Proof(parameters=(identity, ("client_secret", client_secret())))
        case ClientAuth.BASIC | ClientAuth.BASIC_RAW as way:
            encode = _encode if way is ClientAuth.BASIC else str
            value = _basic_value(settings.client_id, client_secret(), encode)
            return Proof(
                headers=(Header("Authorization", value, Source.AUTHENTICATION),)
            )
        case ClientAuth.MTLS:
            # RFC 8705 §2: the certificate is the proof.
            return Proof(parameters=(identity,))
        case ClientAuth.FEDERATED:
            token = secret("client_assertion").derive(tidy_value)
        case ClientAuth.CLIENT_SECRET_JWT | ClientAuth.PRIVATE_KEY_JWT as way:
            content = client_assertion(
                settings,
                client_secret(),
                is_shared=way is ClientAuth.CLIENT_SECRET_JWT,
                now=now,
                number=number,
            )
            token = sign(content)
        case other:
            assert_never(other)
    named = ("client_assertion_type", ASSERTION_TYPE)
    return Proof(parameters=(identity, named, ("client_assertion", token)))


def _refuse_private_key(text: str) -> str:
    """Refuse to send a private key, also after a change of Client Authentication."""
    if "PRIVATE KEY-----" in text or (text.startswith("{") and '"d"' in text):
        raise ConfigError(
            Text("Client Secret is a private key, which must not be sent"),
            field="client_secret",
            hint=Text(
                "Choose private key JWT, or enter the secret that the provider issued."
            ),
        )
    return text


def _basic_value(
    client_id: str, secret: Secret, encode: Callable[[str], str]
) -> Secret:
    """Return the value of the Authorization header for HTTP Basic."""
    pair = Secret.joined(encode(client_id), ":", secret.derive(encode))
    return pair.derive(lambda text: "Basic " + b64encode(text.encode()).decode("ascii"))
