"""The authorization server over HTTP: OAuth 2.0 by the RFCs, unless the query says otherwise.

Its clients are made up and public: `spar-client` with secret `spar-client-secret`, and
`spar-public` without one. Who approves is in `approval.py`, what is odd in `odd.py`.
"""

import json
from collections.abc import Callable

from outkey.spar import malformed_responses as odd
from outkey.spar.approval import ISSUER_PATH, authorize, device
from outkey.spar.authority import CLIENT, GRANTS
from outkey.spar.exchange import Stage
from outkey.spar.records import SCOPE, Fields, Refused, Terms, needed
from outkey.spar.token_requests import NO_STORE, authenticated, read_form, read_pairs

WELL_KNOWN = ".well-known/oauth-authorization-server"


# ── the token endpoint ───────────────────────────────────────────────────────────────────────


def _token(stage: Stage) -> None:
    """Issue tokens (RFC 6749) to `spar-client` with `spar-client-secret`; refresh tokens rotate.

    In seconds: `?lifetime=` of a token, `before=` a wait before the grant, `grace=` to repeat an
    old refresh token, `skew=` of the Date. The answer: `bend=` with a JSON object replaces fields,
    `omit=FIELD,FIELD` leaves some out, `status=` is another. `format=json` wants a JSON body.
    """
    if stage.method != "POST":
        stage.answer(405, {"error": "invalid_request"}, ("Allow", "POST"))
        return
    _play(stage, stage.authority.next_answer())


def _odd(stage: Stage) -> None:
    """Give the token answer that `/oauth/odd/NAME` names; `/oauth/odd` lists the names.

    `/oauth/odd/literal?status=&type=&body=` gives exactly that one.
    """
    name = stage.rest.partition("/")[2]
    if name:
        _play(stage, name)
    else:
        stage.answer(200, {"names": odd.names()})


def _play(stage: Stage, name: str) -> None:
    stage.authority.requested(dict(read_pairs(stage)).get("grant_type", ""))
    stage.sleep(0, "before")
    if name:
        odd.play(stage, name, lambda: _granted(stage))
    else:
        stage.answer(int(stage.number("status", 200)), _granted(stage), *NO_STORE)


def _granted(stage: Stage) -> Fields:
    bent = _bent(stage.query.get("bend", "{}"))
    terms = Terms(stage.number("lifetime", 3600), stage.number("grace", 0))
    form = read_form(stage)
    fields = stage.authority.grant(authenticated(stage, form), form, terms) | bent
    omitted = stage.query.get("omit", "").split(",")
    return {name: value for name, value in fields.items() if name not in omitted}


def _bent(text: str) -> Fields:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise Refused("invalid_request", "bend must be a JSON object") from None


# ── tokens that were issued ──────────────────────────────────────────────────────────────────


def _revoke(stage: Stage) -> None:
    """Revoke a token (RFC 7009); a refresh token takes its whole family along."""
    form = read_form(stage)
    stage.authority.revoke(authenticated(stage, form), needed(form, "token"))
    stage.answer(200, b"", *NO_STORE)


def _introspect(stage: Stage) -> None:
    """Tell a client what a token is (RFC 7662)."""
    form = read_form(stage)
    authenticated(stage, form)
    stage.answer(200, stage.authority.introspect(needed(form, "token")), *NO_STORE)


def _api(stage: Stage) -> None:
    """Demand a live access token."""
    scheme, _, token = stage.headers.get("authorization", "").partition(" ")
    access = stage.authority.access(token.strip())
    challenge = 'Bearer realm="spar"'
    if scheme.lower() != "bearer":
        # RFC 6750 §3.1: who showed nothing is told nothing.
        stage.answer(401, {"error": "unauthorized"}, ("WWW-Authenticate", challenge))
    elif access is None:
        challenge += (
            ', error="invalid_token", error_description="Expired, revoked or unknown"'
        )
        stage.answer(401, {"error": "invalid_token"}, ("WWW-Authenticate", challenge))
    else:
        stage.answer(
            200, {"token": "accepted", "client": access.client, "scope": access.scope}
        )


def _metadata(stage: Stage) -> None:
    """Describe the authorization server (RFC 8414), with `/oauth`, the issuer's path, at the end.

    The other origin states the issuer of the main one, which RFC 8414 §3.3 has clients refuse.
    """
    # RFC 8414 §3.1: the well-known part goes between the host and the path of the issuer.
    if stage.path != f"/{WELL_KNOWN}{ISSUER_PATH}":
        stage.answer(
            404, {"error": "no such issuer", "try": f"/{WELL_KNOWN}{ISSUER_PATH}"}
        )
        return
    issuer = stage.neighbours.main if stage.server == "elsewhere" else stage.origin
    names = {
        "authorize": "authorization",
        "device": "device_authorization",
        "token": "token",
    }
    names |= {"revoke": "revocation", "introspect": "introspection"}
    methods = ["client_secret_basic", "client_secret_post", "none"]
    stage.answer(
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


# ── steering by hand ─────────────────────────────────────────────────────────────────────────


def _journal(stage: Stage) -> None:
    """Count token requests, reuses, families and live tokens, without values."""
    stage.answer(200, stage.authority.counts()._asdict())


def _seed(stage: Stage) -> None:
    """Return a live refresh token, as if somebody had approved; `?client=`, `?scope=`."""
    client, scope = stage.query.get("client", CLIENT), stage.query.get("scope", SCOPE)
    stage.answer(
        200, {"refresh_token": stage.authority.seed_refresh(client, scope)}, *NO_STORE
    )


def _expire(stage: Stage) -> None:
    """Let every access token expire now."""
    stage.authority.expire_all()
    stage.answer(200)


AUTHORIZATION: dict[str, Callable[[Stage], None]] = {
    "oauth/token": _token,
    "oauth/odd": _odd,
    "oauth/authorize": authorize,
    "oauth/device": device,
    "oauth/revoke": _revoke,
    "oauth/introspect": _introspect,
    "oauth/api": _api,
    "oauth/journal": _journal,
    "oauth/seed": _seed,
    "oauth/expire": _expire,
    WELL_KNOWN: _metadata,
}
