"""A token endpoint for applications without a secret: assertions and passwords.

It takes assertions of `spar-issuer`, whose made-up key `/keyless/key` shows; tokens of
the workload that `/keyless/workload` issues; and `spar-user` with `spar-password`.
Descriptions are those of providers, so that each failure can be told apart.
"""

import json
import time
from collections.abc import Callable, Mapping

from outkey.spar.exchange import Stage
from outkey.spar.records import SCOPE, Fields, OAuthError, Terms, required_parameter
from outkey.spar.token_requests import NO_STORE, authenticate_client, read_form

ISSUER = "spar-issuer"
DENIED_SUBJECT = "denied@spar.example"
WORKLOAD_ISSUER = "https://workloads.spar.example"
WORKLOAD_SUBJECT = "workload:erp"
WORKLOAD_CLIENT = "spar-workload"
USER = "spar-user"
USER_PASSWORD = "spar-password"  # noqa: S105 - made up and public
# Made up and public.
KEY: dict[str, str] = {
    "kty": "EC",
    "crv": "P-256",
    "kid": "spar-key",
    "x": "PvI3sR6BMzdUFoifcZ6iAYqhrg4AMKUjYj9fuhgT6SE",
    "y": "-5N7wyoY6Z-DoopivoIKxYlj4SR620nFNbLpBB7n1GY",
    "d": "OIE3ciyHFy04Vxk3VcYk2qjnnY7q1zUUn6QS6Nee5MQ",
}
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_JWT_CLIENT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_LONGEST = 3600
_TOLERANCE = 60


def _play_token(stage: Stage) -> None:
    """Issue tokens for assertions (RFC 7523), workloads, and `spar-user`.

    `?lifetime=` of a token in seconds, `skew=` of this server's clock.
    """
    form = read_form(stage)
    grant = required_parameter(form, "grant_type")
    stage.authority.count_request(grant)
    terms = Terms(stage.number("lifetime", 3600))
    stage.respond(200, _granted(stage, grant, form, terms), *NO_STORE)


def _granted(stage: Stage, grant: str, form: dict[str, str], terms: Terms) -> Fields:
    """Return the token response, or refuse the request."""
    if grant == _JWT_BEARER:
        _check_bearer(stage, required_parameter(form, "assertion"))
        return stage.authority.mint(terms, scope=form.get("scope", SCOPE))
    if form.get("client_assertion_type") == _JWT_CLIENT:
        _check_workload(stage, form)
        return stage.authority.mint(terms, WORKLOAD_CLIENT)
    client = authenticate_client(stage, form)
    if grant != "password":
        return stage.authority.grant(client, form, terms)
    user = required_parameter(form, "username"), required_parameter(form, "password")
    if user != (USER, USER_PASSWORD):
        raise OAuthError("invalid_grant", "Invalid user credentials")
    return stage.authority.log_in(terms)


def _check_bearer(stage: Stage, assertion: str) -> None:
    """Refuse an assertion that is not a grant of `spar-issuer` (RFC 7523 §3)."""
    claims = _claims(stage, assertion, "invalid_grant")
    if claims.get("iss") != ISSUER:
        raise OAuthError("invalid_grant", "Unknown issuer")
    if not claims.get("sub"):
        raise OAuthError("invalid_grant", "The sub claim is missing")
    if claims["sub"] == DENIED_SUBJECT:
        raise OAuthError("invalid_grant", "user hasn't approved this consumer")
    if claims.get("aud") != stage.origin + stage.path:
        raise OAuthError("invalid_grant", "The audience is not this token endpoint")
    if not stage.authority.note_assertion(str(claims.get("jti", ""))):
        raise OAuthError("invalid_grant", "The assertion was already used (jti)")


def _check_workload(stage: Stage, form: Mapping[str, str]) -> None:
    """Refuse a client without the token of its workload (RFC 7523 §2.2)."""
    code = "invalid_client"
    if form.get("client_id") != WORKLOAD_CLIENT:
        raise OAuthError(code, "AADSTS700016: unknown application", 401)
    claims = _claims(stage, required_parameter(form, "client_assertion"), code)
    matches = {
        "issuer": claims.get("iss") == WORKLOAD_ISSUER,
        "subject": claims.get("sub") == WORKLOAD_SUBJECT,
        "audience": claims.get("aud") == stage.origin,
    }
    for name, is_right in matches.items():
        if not is_right:
            words = "No matching federated identity record found for presented"
            raise OAuthError(code, f"{words} assertion {name}", 401)


def _claims(stage: Stage, assertion: str, code: str) -> Fields:
    """Return the claims of an assertion that the key signed and that is not over."""
    from joserfc import errors, jwk, jwt  # noqa: PLC0415 - only who signs needs it

    try:
        token = jwt.decode(assertion, jwk.ECKey.import_key(dict(KEY)))
    except (errors.JoseError, ValueError):
        raise OAuthError(code, "Invalid JWT Signature.") from None
    if token.header.get("kid", KEY["kid"]) != KEY["kid"]:
        raise OAuthError(code, "Unknown kid")
    now = time.time() + stage.number("skew", 0)
    times = [token.claims.get(name) for name in ("iat", "exp")]
    issued, ends = (each if isinstance(each, int) else 0 for each in times)
    if issued > now + _TOLERANCE:
        raise OAuthError(code, "The assertion was issued in the future")
    if ends <= now - _TOLERANCE or ends - issued > _LONGEST:
        raise OAuthError(code, "The assertion has expired, or is too long lived")
    return dict(token.claims)


def _play_key(stage: Stage) -> None:
    """Return the made-up key of `spar-issuer`, as JWK."""
    stage.respond(200, KEY)


def _play_workload(stage: Stage) -> None:
    """Return a new token of the workload, for `?seconds=` (300).

    `?sub=` is another subject, `?aud=` another audience.
    """
    now = int(time.time())
    claims: Fields = {
        "iss": WORKLOAD_ISSUER,
        "sub": stage.query.get("sub", WORKLOAD_SUBJECT),
        "aud": stage.query.get("aud", stage.origin),
        "iat": now,
        "exp": now + int(stage.number("seconds", 300)),
    }
    stage.respond(200, sign(claims).encode(), ("Content-Type", "text/plain"))


def sign(claims: Fields) -> str:
    """Return a token that the made-up key has signed."""
    from joserfc import jwk, jwt  # noqa: PLC0415 - only who signs needs it

    header = {"alg": "ES256", "kid": KEY["kid"]}
    return jwt.encode(header, claims, jwk.ECKey.import_key(dict(KEY)))


def key_text() -> str:
    """Return the made-up key as the text of a JWK."""
    return json.dumps(KEY)


KEYLESS: dict[str, Callable[[Stage], None]] = {
    "keyless/token": _play_token,
    "keyless/key": _play_key,
    "keyless/workload": _play_workload,
}
