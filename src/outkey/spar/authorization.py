"""The authorization server over HTTP: OAuth 2.0 by the RFCs, or as the query says.

Its clients are made up and public: `spar-client` with secret `spar-client-secret`, and
`spar-public` without one. Approval is in `approval.py`, odd responses in
`malformed_responses.py`.
"""

import json
from collections.abc import Callable

from outkey.spar import malformed_responses
from outkey.spar.approval import ISSUER_PATH, authorize, device, push
from outkey.spar.authority import CLIENT, GRANTS
from outkey.spar.exchange import Stage
from outkey.spar.records import SCOPE, Fields, OAuthError, Terms, required_parameter
from outkey.spar.token_requests import (
    NO_STORE,
    authenticate_client,
    read_form,
    read_pairs,
)

WELL_KNOWN = ".well-known/oauth-authorization-server"


# ── the token endpoint ────────────────────────────────────────────────────────────────


def _play_token(stage: Stage) -> None:
    """Issue tokens (RFC 6749) to `spar-client` with `spar-client-secret`.

    Refresh tokens rotate. In seconds: `?lifetime=` of a token, `before=` a wait before
    the grant, `grace=` to repeat an old refresh token, `skew=` of the Date. `bend=`
    with a JSON object replaces fields of the response, `omit=FIELD,FIELD` removes some,
    `status=` is another status. `format=json` expects a JSON body.

    Subject tokens of an exchange (RFC 8693) are `spar-user-NAME`, of which those that
    end with `-expired` have expired; the actor token is `spar-actor`. `audience=` is
    the only one permitted, `actor=needed` requires an actor, and `client=none` takes a
    request without a client.
    """
    if stage.method != "POST":
        stage.respond(405, {"error": "invalid_request"}, ("Allow", "POST"))
        return
    _send_token_response(stage, stage.authority.next_response())


def _play_odd(stage: Stage) -> None:
    """Send the token response that `/oauth/odd/NAME` names.

    `/oauth/odd` lists the names. `/oauth/odd/literal?status=&type=&body=` sends exactly
    that one.
    """
    name = stage.rest.partition("/")[2]
    if name:
        _send_token_response(stage, name)
    else:
        stage.respond(200, {"names": malformed_responses.names()})


def _send_token_response(stage: Stage, name: str) -> None:
    """Send the odd response of that name, or else tokens."""
    stage.authority.count_request(dict(read_pairs(stage)).get("grant_type", ""))
    stage.sleep(0, "before")
    if name:
        malformed_responses.play(stage, name, lambda: _grant_response(stage))
    else:
        status = int(stage.number("status", 200))
        stage.respond(status, _grant_response(stage), *NO_STORE)


def _grant_response(stage: Stage) -> Fields:
    """Return the fields of a token response, changed as the query says."""
    replacements = _replacement_fields(stage.query.get("bend", "{}"))
    terms = Terms(
        lifetime=stage.number("lifetime", 3600),
        grace=stage.number("grace", 0),
        audience=stage.query.get("audience", ""),
        needs_actor=stage.query.get("actor") == "needed",
    )
    form = read_form(stage)
    is_nameless = stage.query.get("client") == "none" and "client_id" not in form
    client = "" if is_nameless else authenticate_client(stage, form)
    fields = stage.authority.grant(client, form, terms) | replacements
    for name in stage.query.get("omit", "").split(","):
        fields.pop(name, None)
    return fields


def _replacement_fields(text: str) -> Fields:
    """Return the fields of `?bend=`."""
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise OAuthError("invalid_request", "bend must be a JSON object") from None


# ── tokens that were issued ───────────────────────────────────────────────────────────


def _play_revocation(stage: Stage) -> None:
    """Revoke a token (RFC 7009); a refresh token with its whole family."""
    form = read_form(stage)
    stage.authority.revoke(
        authenticate_client(stage, form), required_parameter(form, "token")
    )
    stage.respond(200, b"", *NO_STORE)


def _play_introspection(stage: Stage) -> None:
    """Describe a token to a client (RFC 7662)."""
    form = read_form(stage)
    authenticate_client(stage, form)
    stage.respond(
        200, stage.authority.introspect(required_parameter(form, "token")), *NO_STORE
    )


def _play_api(stage: Stage) -> None:
    """Demand a live access token."""
    scheme, _, token = stage.headers.get("authorization", "").partition(" ")
    access = stage.authority.access(token.strip())
    challenge = 'Bearer realm="spar"'
    if scheme.lower() != "bearer":
        # RFC 6750 §3.1: no error code for a request without credentials.
        stage.respond(401, {"error": "unauthorized"}, ("WWW-Authenticate", challenge))
    elif access is None:
        challenge += (
            ', error="invalid_token", error_description="Expired, revoked or unknown"'
        )
        stage.respond(401, {"error": "invalid_token"}, ("WWW-Authenticate", challenge))
    else:
        facts = {"client": access.client, "scope": access.scope}
        if access.subject:
            facts["subject"] = access.subject
        stage.respond(200, {"token": "accepted"} | facts)


def _play_metadata(stage: Stage) -> None:
    """Describe the authorization server (RFC 8414); the path ends with `/oauth`.

    The other origin names the issuer of the main one, which clients must refuse
    (RFC 8414 §3.3).
    """
    # RFC 8414 §3.1: the well-known part is between host and path of the issuer.
    if stage.path != f"/{WELL_KNOWN}{ISSUER_PATH}":
        stage.respond(
            404, {"error": "no such issuer", "try": f"/{WELL_KNOWN}{ISSUER_PATH}"}
        )
        return
    issuer = stage.neighbours.main if stage.server == "elsewhere" else stage.origin
    names = {
        "authorize": "authorization",
        "device": "device_authorization",
        "par": "pushed_authorization_request",
        "token": "token",
    }
    names |= {"revoke": "revocation", "introspect": "introspection"}
    methods = ["client_secret_basic", "client_secret_post", "none"]
    stage.respond(
        200,
        {
            "issuer": issuer + ISSUER_PATH,
            **{
                f"{name}_endpoint": f"{stage.origin}/oauth/{at}"
                for at, name in names.items()
            },
            "response_types_supported": ["code"],
            "grant_types_supported": list(GRANTS),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": True,
        },
    )


# ── control by hand ──────────────────────────────────────────────────────────────────


def _play_counts(stage: Stage) -> None:
    """Count token requests, reuses, families and live tokens, without values."""
    stage.respond(200, stage.authority.counts()._asdict())


def _play_seed(stage: Stage) -> None:
    """Return a live refresh token, as if a user had approved; `?client=`, `?scope=`."""
    client = stage.query.get("client", CLIENT)
    scope = stage.query.get("scope", SCOPE)
    token = stage.authority.seed_refresh(client, scope)
    stage.respond(200, {"refresh_token": token}, *NO_STORE)


def _play_expiry(stage: Stage) -> None:
    """Let every access token expire now."""
    stage.authority.expire_all()
    stage.respond(200)


AUTHORIZATION: dict[str, Callable[[Stage], None]] = {
    "oauth/token": _play_token,
    "oauth/odd": _play_odd,
    "oauth/authorize": authorize,
    "oauth/par": push,
    "oauth/device": device,
    "oauth/revoke": _play_revocation,
    "oauth/introspect": _play_introspection,
    "oauth/api": _play_api,
    "oauth/journal": _play_counts,
    "oauth/seed": _play_seed,
    "oauth/expire": _play_expiry,
    WELL_KNOWN: _play_metadata,
}
