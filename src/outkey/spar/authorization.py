"""The authorization server: OAuth 2.0 over HTTP, played properly unless the query says otherwise.

Its clients are made up and public: `spar-client` with secret `spar-client-secret`, `spar-public`
without one, and `spar client:2` with secret `50% open+sesame:/ü`, which Basic has to encode.
"""

from collections.abc import Callable
from html import escape

from outkey.spar import odd
from outkey.spar.approval import ISSUER_PATH, authorize, device
from outkey.spar.asking import NO_STORE, authenticated, claimed, read_form, read_pairs, refuse
from outkey.spar.authority import CLIENT, DEVICE_GRANT, GRANTS
from outkey.spar.records import SCOPE, Refused, Terms, needed
from outkey.spar.stage import Stage

WELL_KNOWN = ".well-known/oauth-authorization-server"
_AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"]
_GRANT_NAMES = {grant: grant for grant in GRANTS} | {DEVICE_GRANT: "device_code"}


# ── the token endpoint ───────────────────────────────────────────────────────────────────────


def _token(stage: Stage) -> None:
    """Issue tokens (RFC 6749) to `spar-client` with `spar-client-secret`; refresh tokens rotate.

    In seconds: `?lifetime=` of a token, `claim=` what its answer says instead, `before=` and
    `delay=` waits before and after the grant, `grace=` to retry an old refresh token, `skew=` of
    the Date. Ways: `rotate=0` keeps the refresh token, `single=1` ends the previous access token,
    `omit=FIELD,FIELD`, `auth=basic` or `auth=body` takes one style only, `basic=raw` decodes
    nothing, `format=json` wants a JSON body, `odd=NAME` gives an odd answer.
    """
    if stage.method != "POST":
        stage.answer(405, {"error": "invalid_request"}, ("Allow", "POST"))
        return
    _play(stage, stage.query.get("odd") or stage.authority.next_answer())


def _odd(stage: Stage) -> None:
    """Give the token answer that `/oauth/odd/NAME` names; `/oauth/odd` lists the names."""
    name = stage.rest.partition("/")[2]
    if name:
        _play(stage, name)
    else:
        stage.answer(200, {"names": odd.names()})


def _play(stage: Stage, name: str) -> None:
    _count(stage, name)
    stage.sleep(0, "before")
    try:
        if name:
            odd.play(stage, name, lambda: _granted(stage))
        else:
            stage.answer(200, _granted(stage), *NO_STORE)
    except Refused as refused:
        refuse(stage, refused)


def _count(stage: Stage, name: str) -> None:
    form = dict(read_pairs(stage))
    client = claimed(stage, form)[0]
    known = client if stage.authority.knows(client) else "unknown"
    # Names of our own only: what a client made up might be a credential in the wrong field.
    grant = _GRANT_NAMES.get(form["grant_type"], "other") if "grant_type" in form else "none"
    stage.authority.ledger.requested(grant, known)
    if name in odd.names():
        stage.authority.ledger.played(name)


def _granted(stage: Stage) -> dict[str, object]:
    try:
        fields = _fields(stage)
    finally:
        stage.sleep(0, "delay")
    omitted = stage.query.get("omit", "").split(",")
    return {name: value for name, value in fields.items() if name not in omitted}


def _fields(stage: Stage) -> dict[str, object]:
    terms = Terms(
        lifetime=stage.number("lifetime", 3600),
        claim=stage.number("claim", 3600) if "claim" in stage.query else None,
        grace=stage.number("grace", 0),
        rotate=stage.query.get("rotate") != "0",
        single=stage.query.get("single") == "1",
    )
    if not stage.body and stage.rest.startswith("odd"):
        return stage.authority.mint(terms)
    form = read_form(stage)
    return stage.authority.grant(authenticated(stage, form), form, terms)


# ── tokens that were issued ──────────────────────────────────────────────────────────────────


def _revoke(stage: Stage) -> None:
    """Revoke a token (RFC 7009); a refresh token takes its whole family along."""
    try:
        form = read_form(stage)
        stage.authority.revoke(authenticated(stage, form), needed(form, "token"))
    except Refused as refused:
        refuse(stage, refused)
    else:
        stage.answer(200, b"", *NO_STORE)


def _introspect(stage: Stage) -> None:
    """Tell a client what a token is (RFC 7662)."""
    try:
        form = read_form(stage)
        authenticated(stage, form)
        stage.answer(200, stage.authority.introspect(needed(form, "token")), *NO_STORE)
    except Refused as refused:
        refuse(stage, refused)


def _api(stage: Stage) -> None:
    """Demand a live access token, with `?need=SCOPE`; `?forbidden=1` says 403 to a dead one."""
    scheme, _, token = stage.headers.get("authorization", "").partition(" ")
    need = " ".join(stage.query.get("need", "").split())
    access = stage.authority.access(token.strip())
    if scheme.lower() != "bearer":
        # RFC 6750 §3.1: who showed nothing is told nothing.
        stage.answer(401, {"error": "unauthorized"}, ("WWW-Authenticate", 'Bearer realm="spar"'))
    elif access is None and stage.query.get("forbidden") == "1":
        # As django-oauth-toolkit answers: no challenge, and not 401.
        stage.answer(403, {"detail": "Authentication credentials were not provided."})
    elif access is None:
        _challenge(stage, 401, "invalid_token", 'error_description="Expired, revoked or unknown"')
    elif need and need not in access.scope.split():
        _challenge(stage, 403, "insufficient_scope", f'scope="{escape(need)}"')
    else:
        stage.answer(200, {"token": "accepted", "client": access.client, "scope": access.scope})


def _challenge(stage: Stage, status: int, code: str, more: str) -> None:
    text = f'Bearer realm="spar", error="{code}", {more}'
    stage.answer(status, {"error": code}, ("WWW-Authenticate", text))


def _metadata(stage: Stage) -> None:
    """Describe the authorization server (RFC 8414), with `/oauth`, the issuer's path, at the end.

    The other origin states the issuer of the main one, which RFC 8414 §3.3 has clients refuse.
    """
    # RFC 8414 §3.1: the well-known part goes between the host and the path of the issuer.
    if stage.path != f"/{WELL_KNOWN}{ISSUER_PATH}":
        stage.answer(404, {"error": "no such issuer", "try": f"/{WELL_KNOWN}{ISSUER_PATH}"})
        return
    issuer = stage.neighbours.main if stage.server == "elsewhere" else stage.origin
    names = {"authorize": "authorization", "device": "device_authorization", "token": "token"}
    names |= {"revoke": "revocation", "introspect": "introspection"}
    stage.answer(
        200,
        {
            "issuer": issuer + ISSUER_PATH,
            **{f"{name}_endpoint": f"{stage.origin}/oauth/{at}" for at, name in names.items()},
            "response_types_supported": ["code"],
            "grant_types_supported": list(GRANTS),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": _AUTH_METHODS,
            "authorization_response_iss_parameter_supported": True,
        },
    )


# ── steering from another process ────────────────────────────────────────────────────────────


def _journal(stage: Stage) -> None:
    """Count token requests, reuses, families and credentials gone astray, without values."""
    stage.answer(200, stage.authority.counts().facts())


def _seed(stage: Stage) -> None:
    """Return a live refresh token, as if somebody had approved; `?client=`, `?scope=`."""
    client, scope = stage.query.get("client", CLIENT), stage.query.get("scope", SCOPE)
    token = stage.authority.seed_refresh(client, scope)
    stage.answer(200, {"refresh_token": token}, *NO_STORE)


def _expire(stage: Stage) -> None:
    """Let every access token expire now."""
    stage.authority.expire_all()
    stage.answer(200)


def _disown(stage: Stage) -> None:
    """Revoke all families of tokens, as if everybody had withdrawn approval."""
    stage.answer(200, {"families": stage.authority.revoke_family()})


def _next(stage: Stage) -> None:
    """Play the odd answers of `?odd=NAME,NAME` to the next requests at the token endpoint."""
    names = [name for name in stage.query.get("odd", "").split(",") if name]
    if set(names) <= set(odd.names()):
        stage.authority.next_answers(*names)
        stage.answer(200, {"next": len(names)})
    else:
        stage.answer(404, {"error": "no such answer", "names": odd.names()})


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
    "oauth/disown": _disown,
    "oauth/next": _next,
    WELL_KNOWN: _metadata,
}
