"""Which permissions an edit needs; no sequence of edits leads a secret elsewhere."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.administration.core.access.roles import ROLES
from outkey.foundation.core.errors import ConfigError, OutkeyError, SecretMissing
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.permission import Permission, Requirement
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    Configuration,
    build,
    kept_secrets,
)
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.fields import FIELDS
from outkey.sending.core.configuration.permissions import (
    RULES,
    changes_script,
    refuse_other_tls,
    requirements,
)
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.message import Request, Response
from outkey.testing import configuration, fake_gateway

ROW = CustomHeader("X-API-Key", "", secret=True)
SECRETS = {
    "token": "token-canary-of-the-administrator",
    "password": "password-canary-of-the-administrator",
    "client_secret": "client-secret-canary-of-the-administrator",
    "refresh_token": "refresh-token-canary-of-the-administrator",
    "header:X-API-Key": "row-canary-of-the-administrator",
}
STORED: dict[str, object] = {
    "base_url": "https://api.acme.example/v1",
    "username": "api-user",
    "oauth2.token_url": "https://auth.acme.example/token",
    "oauth2.client_id": "acme-client",
    "tls.ca_file": "/etc/ssl/acme.pem",
}


def stored_by_administrator(**values: object) -> Configuration:
    """Return a configuration whose every secret was entered for it."""
    paths = {key.replace("__", "."): value for key, value in values.items()}
    made = build("acme", STORED | paths, headers=(ROW,))
    states = {name: SecretState(made.binding_of(name)) for name in SECRETS}
    return replace(made, secrets=states, record="1")


def edited(
    stored: Configuration,
    changes: Mapping[str, object],
    headers: tuple[CustomHeader, ...],
) -> Configuration:
    """Return what the page makes of the values on it."""
    states = kept_secrets(stored.secrets, headers)
    made = build("acme", stored.values() | changes, headers=headers, secrets=states)
    return replace(made, record=stored.record, version=stored.version)


def needs(
    stored: Configuration | None, made: Configuration, *secrets: str
) -> set[tuple[Permission, str]]:
    return {
        (need.permission, need.field) for need in requirements(stored, made, secrets)
    }


def test_every_field_has_a_rule_or_is_compared_by_a_function_of_its_own() -> None:
    fields = {
        field.path for field in FIELDS if field.kind not in {Kind.SECRET, Kind.ROWS}
    }
    assert set(RULES) == fields


def test_a_field_without_a_rule_needs_the_permission_for_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sending.core.configuration.permissions.RULES", {})
    stored = stored_by_administrator()
    made = edited(stored, {"notes": "changed"}, stored.headers)
    assert (Permission.SET_SECRET, "notes") in needs(stored, made)


OTHER: dict[str, object] = {
    "base_url": "https://api.acme.example/v2",
    "environment": "test",
    "network": "internal",
    "active": False,
    "owner": "another",
    "notes": "changed",
    "preset": "another",
    "preset_day": date(2031, 1, 1),
    "authentication_type": "basic",
    "no_auth_reason": "internal",
    "username": "another",
    "token_source": "oauth2",
    "token_expires_on": date(2031, 1, 1),
    "key_as_username": True,
    "token_header": "X-Logged",
    "token_prefix": "Token",
    "token_value": "{username}:{token}",
    "token_encoding": "base64",
    "login.steps": [{"path": "/login", "body": '{"p": "{password}"}'}],
    "login.cookies": True,
    "csrf.path": "/odata/",
    "csrf.header": "X-XSRF",
    "csrf.methods": ["POST"],
    "csrf.lifetime_seconds": 60,
    "connections": "optional",
    "connect.shared": ["token"],
    "connect.own": ["client_id"],
    "allowed_origins": ["https://*.acme.example"],
    "connect.variables": {"region": "entered"},
    "connect.account": "region",
    "connect.request_url": "https://api.acme.example/me",
    "rotation.share": 50,
    "rotation.successes": 5,
    "rotation.automatic": False,
    "rotation.overlap_days": 30,
    "rotation.rotate_after_days": 90,
    "login.method": "PUT",
    "login.path": "/another",
    "login.format": "form",
    "login.body": "password={password}&to=another",
    "login.token": "another",
    "login.expires_in": "expires",
    "login.expires_unit": "ms",
    "login.lifetime_seconds": 61,
    "login.refresh_path": "/another",
    "login.refresh_body": "token={refresh_token}",
    "login.refresh_token": "another",
    "login.logout_path": "/another",
    "proxy.url": "http://evil.example:3128",
    "proxy.username": "another",
    "oauth2.grant": "device_code",
    "oauth2.token_url": "https://auth.acme.example/another",
    "oauth2.authorization_url": "https://evil.example/authorize",
    "oauth2.device_url": "https://auth.acme.example/device",
    "oauth2.refresh_url": "https://evil.example/refresh",
    "oauth2.revocation_url": "https://auth.acme.example/revoke",
    "oauth2.introspection_url": "https://auth.acme.example/introspect",
    "oauth2.client_id": "another",
    "oauth2.client_auth": "basic",
    "oauth2.body_format": "json",
    "oauth2.issuer": "https://evil.example",
    "oauth2.assertion.issuer": "another",
    "oauth2.assertion.subject": "another",
    "oauth2.assertion.audience": "https://evil.example",
    "oauth2.assertion.key_id": "another",
    "oauth2.assertion.algorithm": "PS256",
    "oauth2.assertion.lifetime_seconds": 3600,
    "oauth2.assertion.scope_in": "both",
    "oauth2.assertion.claims": {"role": "admin"},
    "oauth2.scope": "everything",
    "oauth2.audience": "another",
    "oauth2.resource": "https://evil.example",
    "oauth2.extra": {"account": "7"},
    "oauth2.dpop": True,
    "oauth2.pkce": "off",
    "oauth2.subject_token_from": "caller",
    "oauth2.subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "oauth2.actor_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "oauth2.requested_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "oauth2.pushed_authorization_url": "https://evil.example/",
    "oauth2.leeway_seconds": 61,
    "oauth2.default_lifetime_seconds": 61,
    "aws.access_key_id": "AKIAANOTHER",
    "aws.region": "eu-west-1",
    "aws.service": "another",
    "aws.payload": "unsigned",
    "aws.role_arn": "arn:aws:iam::2:role/another",
    "aws.sts_url": "https://evil.example/",
    "aws.session_name": "another",
    "aws.external_id": "another",
    "aws.duration_seconds": 901,
    "oauth1.consumer_key": "another",
    "oauth1.signature_method": "PLAINTEXT",
    "oauth1.realm": "another",
    "oauth1.request_url": "https://evil.example/initiate",
    "oauth1.authorization_url": "https://evil.example/authorize",
    "oauth1.access_url": "https://evil.example/token",
    "script_enabled": False,
    "script": "def compute_auth_header(line):\n    return {}\n",
    "tls.minimum_version": "1.3",
    "tls.ca_file": "/tmp/evil.pem",
    "tls.client_certificate": "/tmp/evil.pem",
    "limits.connect_timeout": 7,
    "limits.read_timeout": 7,
    "limits.total_timeout": 7,
    "limits.requests_per_minute": 7,
    "limits.rate_headers": "off",
    "limits.response_mebibytes": 7,
    "limits.retries": 7,
    "limits.runs_at_once": 7,
    "verification.test_path": "/me",
    "verification.test_body": '{"method": "list"}',
    "verification.test_content_type": "text/plain",
    "verification.test_method": "HEAD",
    "verification.accepted_statuses": "200",
    "verification.forbidden_means_expired": True,
    "verification.expired_statuses": "498",
    "verification.expired_marker": "tok",
    "verification.compare": False,
    "verification.follow_clock": True,
}


@pytest.mark.parametrize("path", [path for path in RULES if path != "name"])
@pytest.mark.parametrize("kind", ["none", "bearer"])
def test_a_change_needs_what_the_rule_says_whether_or_not_the_field_is_in_use(
    path: str, kind: str
) -> None:
    stored = stored_by_administrator(authentication_type=kind)
    made = edited(stored, {path: OTHER[path]}, stored.headers)
    assert made != stored
    expected = {(Permission.CHANGE, "name")}
    if path == "network":
        expected.add((Permission.USE_INTERNAL_NETWORK, "network"))
    if (rule := RULES[path]) is not None:
        expected.add((rule, "script" if rule is Permission.EDIT_SCRIPT else path))
    assert needs(stored, made) == expected


@pytest.mark.parametrize(
    "first",
    [
        {"token_source": "entered", "oauth2.token_url": "https://evil.example/token"},
        {"token_source": "entered", "oauth2.client_auth": "basic"},
        {
            "authentication_type": "none",
            "oauth2.token_url": "https://evil.example/token",
        },
        {"authentication_type": "none", "oauth2.client_auth": "basic"},
        {"authentication_type": "basic"},
    ],
)
def test_leaving_oauth2_does_not_open_its_fields(first: dict[str, object]) -> None:
    stored = stored_by_administrator(
        authentication_type="bearer", token_source="oauth2"
    )
    found = needs(stored, edited(stored, first, stored.headers))
    assert {(Permission.SET_SECRET, path) for path in first} <= found


def test_an_origin_may_change_only_where_no_token_would_follow() -> None:
    elsewhere = {"base_url": "https://evil.example"}
    stored = stored_by_administrator(authentication_type="none")
    made = edited(stored, elsewhere, stored.headers)
    assert (Permission.SET_SECRET, "base_url") in needs(stored, made)
    plain = configuration(authentication_type="bearer")
    moved = edited(plain, elsewhere, ())
    assert needs(plain, moved) == {(Permission.CHANGE, "name")}


def test_a_new_configuration_is_free_but_for_network_secrets_and_scripts() -> None:
    made = build("acme", STORED | {"authentication_type": "bearer"}, headers=(ROW,))
    assert needs(None, made) == {(Permission.ADD, "name")}
    assert needs(None, made, "token") == {
        (Permission.ADD, "name"),
        (Permission.SET_SECRET, "token"),
    }
    plain = configuration(headers=(CustomHeader("X-Token", "mine", secret=False),))
    assert (Permission.SET_SECRET, "header:X-Token") in needs(None, plain)
    inner = configuration(network="internal")
    assert (Permission.USE_INTERNAL_NETWORK, "network") in needs(None, inner)
    scripted = configuration(script=str(OTHER["script"]))
    assert (Permission.EDIT_SCRIPT, "script") in needs(None, scripted)
    assert changes_script(None, configuration(script_enabled=False))


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ((), "header:X-API-Key"),
        ((CustomHeader("X-Api-Key", "", secret=True),), "header:X-Api-Key"),
        ((ROW, CustomHeader("X-More", "", secret=True)), "header:X-More"),
        ((CustomHeader("X-API-Key", "mine", secret=False),), "header:X-API-Key"),
        ((ROW, CustomHeader("Cookie", "mine", secret=False)), "header:Cookie"),
    ],
)
def test_rows_with_secrets_are_not_renamed_added_or_removed(
    headers: tuple[CustomHeader, ...], field: str
) -> None:
    stored = stored_by_administrator()
    assert (Permission.SET_SECRET, field) in needs(stored, edited(stored, {}, headers))


def test_a_plain_row_is_free() -> None:
    stored = stored_by_administrator()
    made = edited(
        stored, {}, (ROW, CustomHeader("Accept-Language", "de", secret=False))
    )
    assert needs(stored, made) == {(Permission.CHANGE, "name")}


def test_a_secret_that_is_dropped_or_bound_anew_counts_though_nobody_names_it() -> None:
    stored = stored_by_administrator()
    dropped = {name: state for name, state in stored.secrets.items() if name != "token"}
    assert (Permission.SET_SECRET, "token") in needs(
        stored, replace(stored, secrets=dropped)
    )
    bound = {**stored.secrets, "token": SecretState("https://evil.example:443")}
    assert (Permission.SET_SECRET, "token") in needs(
        stored, replace(stored, secrets=bound)
    )


def test_an_internal_configuration_does_not_move_to_another_internal_address() -> None:
    stored = configuration(network="internal")
    moved = edited(stored, {"base_url": "https://other.acme.example"}, ())
    needed = (Permission.USE_INTERNAL_NETWORK, "network")
    assert needed in needs(stored, moved)
    assert needed not in needs(stored, edited(stored, {"notes": "changed"}, ()))
    assert needed not in needs(stored, edited(stored, {"network": "public"}, ()))


def test_every_message_can_be_translated() -> None:
    stored = stored_by_administrator()
    needed: list[Requirement] = requirements(
        stored, edited(stored, OTHER, ()), ["token"]
    )
    needed += requirements(None, stored)
    assert all(isinstance(need.message, Text) for need in needed)
    assert {need.permission for need in needed} == {
        Permission.ADD,
        Permission.CHANGE,
        Permission.SET_SECRET,
        Permission.USE_INTERNAL_NETWORK,
        Permission.EDIT_SCRIPT,
    }


def test_a_draft_uses_stored_secrets_only_with_the_stored_tls_settings() -> None:
    stored = stored_by_administrator()
    refuse_other_tls(
        stored, edited(stored, {"notes": "changed"}, stored.headers), "token"
    )
    for path in ("tls.minimum_version", "tls.ca_file", "tls.client_certificate"):
        draft = edited(stored, {path: OTHER[path]}, stored.headers)
        with pytest.raises(SecretMissing, match="TLS settings") as refused:
            refuse_other_tls(stored, draft, "token")
        assert refused.value.field == "token"


# ── no sequence of edits leads a secret elsewhere ─────────────────────────────────────

HOSTS = ("api.acme.example", "auth.acme.example", "evil.example")
NAMES = dict.fromkeys(HOSTS, ("93.184.215.14",))
KINDS = (
    {"authentication_type": "none", "no_auth_reason": "public_api"},
    {"authentication_type": "basic"},
    {"authentication_type": "bearer"},
    {"authentication_type": "bearer", "token_source": "oauth2"},
    {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__client_auth": "client_secret_jwt",
    },
    {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__grant": "refresh_token",
    },
)
POOLS: dict[str, list[object]] = {
    "base_url": [
        "https://api.acme.example/v1",
        "https://api.acme.example/other",
        "https://api.acme.example:8443/v1",
        "https://evil.example",
        "http://api.acme.example/v1",
    ],
    "network": ["public", "internal"],
    "active": [True, False],
    "notes": ["", "changed"],
    "authentication_type": ["none", "basic", "digest", "bearer"],
    "no_auth_reason": ["public_api"],
    "token_source": ["entered", "oauth2"],
    "username": ["api-user", "another"],
    "oauth2.grant": ["client_credentials", "refresh_token"],
    "oauth2.token_url": [
        "https://auth.acme.example/token",
        "https://evil.example/token",
    ],
    "oauth2.client_id": ["acme-client", "another"],
    "oauth2.client_auth": ["body", "basic", "basic_raw", "client_secret_jwt"],
    "oauth2.issuer": ["", "https://evil.example"],
    "oauth2.body_format": ["form", "json"],
    "token_header": ["Authorization", "X-Logged", "query:logged"],
    "token_prefix": [None, "Token"],
    "token_value": ["{token}", "{username}:{token}"],
    "token_encoding": ["none", "base64"],
    "proxy.url": ["", "http://evil.example:3128"],
    "oauth2.extra": [{}, {"account": "7"}],
    "oauth2.scope": ["", "everything"],
    "tls.ca_file": ["/etc/ssl/acme.pem", "", "/tmp/evil.pem"],
    "tls.minimum_version": ["1.2", "1.3"],
    "limits.retries": [0, 1],
    "verification.test_path": ["/", "/me"],
    "verification.expired_marker": ["", "tok"],
}
ROWS = (
    (ROW,),
    (),
    (CustomHeader("X-Logged", "", secret=True),),
    (ROW, CustomHeader("Accept-Language", "de", secret=False)),
)
CHANGES = st.sampled_from(
    [(path, value) for path, pool in POOLS.items() for value in pool]
)
EDITS = st.tuples(st.lists(CHANGES, max_size=3).map(dict), st.sampled_from(ROWS))


def saved(
    stored: Configuration, changes: Mapping[str, object], rows: object
) -> Configuration:
    """Return what is stored after an editor pressed Save."""
    assert isinstance(rows, tuple)
    try:
        made = edited(stored, changes, rows)
    except ConfigError:
        return stored
    lacking = {need.permission for need in requirements(stored, made)} - {
        Permission.CHANGE
    }
    return stored if lacking else made


def uses(made: Configuration) -> set[tuple[object, ...]]:
    """Return where secrets go: URL or origin, TLS settings, and the header or body."""

    def respond(request: Request) -> Response:
        granted = {
            "access_token": "fetched-canary",
            "token_type": "Bearer",
            "expires_in": 900,
        }
        return Response(200, body=json.dumps(granted).encode())

    world = fake_gateway(made, responses=respond, secrets=SECRETS, names=NAMES)
    with suppress(OutkeyError):  # what was sent before the failure counts
        world.gateway.send("acme", "GET", "/")
    found: set[tuple[object, ...]] = set()
    for request, route in world.transport.sent:
        sent = [(header.name, header.value) for header in request.headers]
        sent.append(("body", request.body))  # type: ignore[arg-type]  # bytes where it is no secret
        for name, value in sent:
            if isinstance(value, Secret):
                found.add((str(request.origin), route.tls, name, shape(value.reveal())))
    return found


def shape(text: str) -> str:
    """Return a value as it is, but of a signed assertion only for whom it is."""
    assertion = parse_qs(text).get("client_assertion", [""])[0]
    if not assertion:
        return text
    payload = assertion.split(".")[1]
    return str(json.loads(urlsafe_b64decode(payload + "=="))["aud"])


@given(st.sampled_from(KINDS), st.lists(EDITS, min_size=1, max_size=4))
def test_no_sequence_of_saves_by_an_editor_leads_a_secret_elsewhere(
    kind: dict[str, object], edits: list[tuple[dict[str, object], object]]
) -> None:
    entered = stored_by_administrator(**kind)
    permitted = uses(entered)
    stored = entered
    for changes, rows in edits:
        stored = saved(stored, changes, rows)
        assert uses(stored) <= permitted
        for name in stored.secrets:
            try:
                stored.refuse_unbound(name)
            except ConfigError:
                continue
            assert stored.binding_of(name) == entered.binding_of(name)
            assert stored.tls == entered.tls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "away", [{}, {"token_source": "entered"}, {"authentication_type": "none"}]
)
def test_a_change_that_is_saved_while_it_is_not_in_use_has_no_effect_later(
    kind: dict[str, object], away: dict[str, object]
) -> None:
    entered = stored_by_administrator(**kind)
    back = {path: entered.values()[path] for path in away}
    permitted = uses(entered)
    for path, pool in POOLS.items():
        for value in pool:
            stored = saved(entered, {**away, path: value}, (ROW,))
            stored = saved(stored, back, (ROW,))
            assert uses(stored) <= permitted, (path, value)


def test_the_uses_of_every_kind_are_seen() -> None:
    seen = {
        text for kind in KINDS for *_, text in uses(stored_by_administrator(**kind))
    }
    for name in ("token", "client_secret", "refresh_token", "header:X-API-Key"):
        assert any(SECRETS[name] in str(text) for text in seen), name
    assert any("Basic " in str(text) for text in seen)
    assert "https://auth.acme.example/token" in seen  # for whom an assertion is signed


def test_the_roles_are_these() -> None:
    assert ROLES["Administrator"] == frozenset(Permission)
    assert ROLES["Operator"] == {
        Permission.VIEW,
        Permission.VIEW_LINE,
        Permission.VIEW_AUDIT,
        Permission.VIEW_RUN,
        Permission.RUN_LINE,
        Permission.VIEW_WEBHOOK,
        Permission.RUN_WEBHOOK,
        Permission.TEST,
    }
    assert ROLES["Auditor"] == {Permission.VIEW_AUDIT}
