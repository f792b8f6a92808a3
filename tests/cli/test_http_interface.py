"""The HTTP interface of a running server, used as programs of others use it."""

import hmac
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from cli.served_interface import SCOPES, Interface, create_token, serving_interface
from outkey.spar import Spar, aws, oauth1
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET
from ports import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"
MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def interface(
    session_spar: Spar, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Interface]:
    with serving_interface(
        session_spar, tmp_path_factory.mktemp("interface")
    ) as served:
        yield served


# ── every route and every token ───────────────────────────────────────────────────────

# The operations of the document by the scopes that open them.
OPERATIONS = {
    ("read", "manage"): (
        *("list_configurations", "show_configuration", "preview_request"),
        *("list_presets", "list_lines", "show_line"),
        *("list_webhooks", "show_webhook", "list_deliveries", "show_rotation"),
    ),
    ("manage",): (
        *("stage_secret", "start_trial", "promote_credentials", "go_back"),
        *("retire_credentials", "discard_credentials"),
        *("put_configuration", "patch_configuration", "delete_configuration"),
        *("set_secret", "clear_secret"),
        *("put_line", "patch_line", "delete_line"),
        *("put_webhook", "patch_webhook", "delete_webhook", "set_webhook_secret"),
    ),
    ("read", "manage", "run"): ("list_runs", "show_run"),
    ("run",): ("start_run", "cancel_run"),
    ("audit",): ("list_audit",),
    ("data",): ("list_tables", "list_rows", "list_changes"),
    ("send",): (
        *("test_next_credentials", "probe_previous_credentials"),
        *("test_configuration", "send_get", "send_head", "send_options"),
        *("send_post", "send_put", "send_patch", "send_delete"),
    ),
}
OPENED_BY = {
    operation: scopes
    for scopes, operations in OPERATIONS.items()
    for operation in operations
}
# What the names in paths stand for; all of it belongs to the configuration acme.
NAMES = {
    "configurations": "acme",
    "lines": "contacts",
    "webhooks": "contacts",
    "tables": "contacts",
    "secrets": "token",
}


class Operation(NamedTuple):
    """One operation of the OpenAPI document, with a path that exists."""

    id: str
    method: str
    path: str
    described: dict[str, Any]

    @property
    def is_about_acme(self) -> bool:
        return "{" in self.path_template

    @property
    def path_template(self) -> str:
        return str(self.described["path"])

    def content(self) -> dict[str, Any]:
        """Return a body that no operation accepts: others are refused before it."""
        return {"content": b"[1"} if "requestBody" in self.described else {}


def operations_of(interface: Interface) -> list[Operation]:
    """Return every operation of the document."""
    return [
        Operation(
            described["operationId"],
            method.upper(),
            filled_path(interface, path.removeprefix("/api/v1/")),
            described | {"path": path},
        )
        for path, methods in interface.document()["paths"].items()
        for method, described in methods.items()
    ]


def filled_path(interface: Interface, template: str) -> str:
    """Return a path with names of what belongs to acme."""
    if template.startswith("send/"):
        return "send/acme/echo"
    parts = template.split("/")
    for index, part in enumerate(parts):
        if part == "{run}":
            parts[index] = run_of(interface)
        elif part.startswith("{"):
            parts[index] = NAMES[parts[index - 1]]
    return "/".join(parts)


def run_of(interface: Interface) -> str:
    """Return the id of a run of acme's line."""
    runs = interface.call("GET", "runs?line=contacts").json()
    if not runs:
        runs = [interface.call("POST", "lines/contacts/runs").json()]
    return str(runs[0]["run"])


def test_every_operation_is_in_the_table(interface: Interface) -> None:
    assert {operation.id for operation in operations_of(interface)} == {*OPENED_BY}


@pytest.mark.parametrize(
    "token", ["", "malformed", "unknown", "expired", "revoked"], ids=lambda t: t or "no"
)
def test_no_operation_opens_without_a_valid_token(
    interface: Interface, token: str
) -> None:
    for operation in operations_of(interface):
        refused = interface.call(
            operation.method, operation.path, token, **operation.content()
        )
        assert refused.status_code == 401, operation.id
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
        assert_error(refused, "unauthorized")


@pytest.mark.parametrize("scope", SCOPES)
def test_an_operation_opens_for_its_scopes_only(
    interface: Interface, scope: str
) -> None:
    """A missing scope is refused as such, whatever the body is."""
    for operation in operations_of(interface):
        if scope in OPENED_BY[operation.id] and operation.method == "DELETE":
            continue  # other tests delete
        response = interface.call(
            operation.method, operation.path, scope, **operation.content()
        )
        if scope in OPENED_BY[operation.id]:
            assert response.status_code not in {401, 403}, operation.id
        else:
            assert response.status_code == 403, operation.id
            assert_error(response, "forbidden")


def test_what_belongs_to_another_configuration_is_not_found(
    interface: Interface,
) -> None:
    for operation in operations_of(interface):
        response = interface.call(
            operation.method, operation.path, "shop", **operation.content()
        )
        if operation.is_about_acme:
            assert response.status_code == 404, operation.id
        else:
            assert "acme" not in response.text, operation.id
    for name in ("webhooks/deploys", "webhooks/deploys/deliveries"):
        assert interface.call("GET", name, "all").status_code == 200
        assert interface.call("GET", name, "shop").status_code == 404


def test_other_methods_of_a_path_are_refused_with_those_that_it_has(
    interface: Interface,
) -> None:
    methods: dict[str, set[str]] = {}
    for operation in operations_of(interface):
        methods.setdefault(operation.path, set()).add(operation.method)
    for path, allowed in methods.items():
        if path.startswith("send/"):
            continue  # any method can be sent
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - allowed:
            refused = interface.call(method, path)
            assert refused.status_code == 405, (method, path)
            assert set(refused.headers["Allow"].split(", ")) == allowed


def test_a_session_of_the_pages_opens_no_operation(interface: Interface) -> None:
    with httpx.Client(timeout=60) as browser:
        sign_in(browser, interface)
        for operation in operations_of(interface):
            refused = browser.request(
                operation.method,
                f"{interface.url}/{operation.path}",
                headers={"X-CSRFToken": browser.cookies["outkey_csrf"]},
                **operation.content(),
            )
            assert refused.status_code == 401, operation.id
            assert "Set-Cookie" not in refused.headers


def sign_in(browser: httpx.Client, interface: Interface) -> None:
    """Give a browser a session that may use the pages."""
    base = interface.url.removesuffix("/api/v1")
    browser.get(f"{base}/login/")
    form = {
        "username": "admin",
        "password": interface.password,
        "csrfmiddlewaretoken": browser.cookies["outkey_csrf"],
    }
    entered = browser.post(f"{base}/login/", data=form, headers={"Origin": base})
    assert entered.status_code == 302, entered.text
    assert "outkey_session" in browser.cookies


def test_a_response_sets_no_cookie_and_is_not_cached(interface: Interface) -> None:
    opened = interface.call("GET", "configurations")
    assert "Set-Cookie" not in opened.headers
    assert opened.headers["Cache-Control"] == "no-store"


def test_the_document_is_made_once_and_sent_again_only_if_it_changed(
    interface: Interface,
) -> None:
    """It needs no token, and takes much of the processor."""
    first = interface.call("GET", "openapi.json", "")
    tag = first.headers["ETag"]
    before = processor_seconds(interface.process)
    for _ in range(20):
        assert interface.call("GET", "openapi.json", "").content == first.content
    assert processor_seconds(interface.process) - before < 2
    for known in (tag, f'"other", {tag}', f"W/{tag}, {tag}", "*"):
        same = interface.call(
            "GET", "openapi.json", "", headers={"If-None-Match": known}
        )
        assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)
    other = interface.call("GET", "openapi.json", "", headers={"If-None-Match": '"x"'})
    assert other.content == first.content


def processor_seconds(process: int) -> float:
    """Return how much of the processor a process has used."""
    facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


def assert_error(response: httpx.Response, code: str) -> None:
    if response.request.method == "HEAD":
        return
    error = response.json()["error"]
    assert error.keys() == {"code", "message", "hint", "field"}
    assert error["code"] == code
    assert error["message"]


def test_every_operation_is_described(interface: Interface) -> None:
    for operation in operations_of(interface):
        described = operation.described
        assert described["security"] == [{"TokenAuthentication": []}]
        statuses = {"400", "401", "403", "404", "429", "503"}
        assert statuses <= described["responses"].keys(), operation.id
        assert described["summary"]
    document = interface.document()
    assert document["components"]["securitySchemes"]["TokenAuthentication"] == {
        "type": "http",
        "scheme": "bearer",
        "description": "An API token, `ok_` and 43 characters.",
    }


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic eDp5", "Token ok_" + "a" * 43]
)
def test_what_is_no_token_is_refused(interface: Interface, header: str) -> None:
    refused = interface.call(
        "GET", "configurations", "", headers={"Authorization": header}
    )
    assert refused.status_code == 401


def test_a_token_has_a_rate_limit(interface: Interface) -> None:
    interface.call("GET", "configurations", "once")
    limited = interface.call("GET", "configurations", "once")
    assert limited.status_code == 429
    assert limited.headers["Retry-After"] == "60"
    assert_error(limited, "rate_limited")


def test_the_rate_limit_of_a_configuration_is_a_429(interface: Interface) -> None:
    shown = interface.call("GET", "configurations/acme").json()
    facts = {
        "base_url": shown["base_url"],
        "network": "internal",
        "authentication_type": "none",
        "no_auth_reason": "public_api",
        "limits": {"requests_per_minute": 1, "total_timeout": 1},
    }
    made = interface.call("PUT", "configurations/slow", "internal", json=facts)
    assert made.status_code == 201, made.text
    assert interface.call("GET", "send/slow/echo", "send").status_code == 200
    limited = interface.call("GET", "send/slow/echo", "send")
    assert limited.status_code == 429
    assert int(limited.headers["Retry-After"]) >= 1
    assert limited.headers["X-Outkey-Cause"] == "rate_limited"
    assert_error(limited, "rate_limited")
    interface.call("DELETE", "configurations/slow")


def test_a_program_of_the_provider_brings_the_next_token(
    interface: Interface,
) -> None:
    shown = interface.call("GET", "configurations/acme").json()
    facts = {
        "base_url": shown["base_url"],
        "network": "internal",
        "authentication_type": "bearer",
        "verification": {"test_path": "/records/contacts?count=1"},
    }
    interface.call("PUT", "configurations/turned", "internal", json=facts)
    path = "configurations/turned"
    interface.call("PUT", f"{path}/secrets/token", json={"value": "old-token"})
    path += "/rotation"
    assert_error(interface.call("POST", f"{path}/promote"), "rotation_none")
    wrong = {"value": "wrong-token"}
    assert interface.call("PUT", f"{path}/secrets/token", json=wrong).status_code == 204
    failed = interface.call("POST", f"{path}/test", "send")
    assert (failed.status_code, failed.json()["ok"]) == (200, False)
    early = interface.call("POST", f"{path}/start", json={"share": 20})
    assert early.status_code == 409
    assert_error(early, "rotation_untested")
    interface.call("PUT", f"{path}/secrets/token", json={"value": "spar-token"})
    tested = interface.call("POST", f"{path}/test", "send").json()
    assert (tested["ok"], tested["serial"]) == (True, 2)
    started = interface.call("POST", f"{path}/start", json={"share": 20}).json()
    assert (started["done"], started["share"], started["after"]) == ("started", 20, 20)
    pending = interface.call("PUT", f"{path}/secrets/token", json=wrong)
    assert pending.status_code == 409
    assert_error(pending, "rotation_pending")
    interface.call("POST", f"{path}/back")
    interface.call("POST", f"{path}/test", "send")
    promoted = interface.call("POST", f"{path}/promote").json()
    assert promoted == {"done": "promoted", "configuration": "turned", "serial": 2}
    assert interface.call("GET", "send/turned/echo", "send").status_code == 200
    probe = interface.call("POST", f"{path}/probe-old", "send").json()
    assert (probe["refused"], probe["serial"], probe["status"]) == (True, 1, 401)
    status = interface.call("GET", path, "read").json()
    assert status["previous"]["revoked_at"] == probe["at"]
    assert interface.call("POST", f"{path}/retire").json()["done"] == "retired"
    interface.call("DELETE", "configurations/turned")


def test_a_token_that_is_revoked_stops_at_once(interface: Interface) -> None:
    token = create_token(interface.outkey, "brief", "--scope", "read")
    headers = {"Authorization": f"Bearer {token}"}
    path = "configurations"
    assert interface.call("GET", path, "", headers=headers).status_code == 200
    interface.outkey("api-token", "revoke", "brief")
    time.sleep(1)
    assert interface.call("GET", path, "", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "nothing", {}, 404),
        ("GET", "", {}, 404),
        ("POST", "presets", {}, 405),
        ("GET", "runs?limit=0", {}, 422),
        ("GET", "runs?state=odd", {}, 422),
        ("GET", "audit?before=-1", {}, 422),
        ("GET", "webhooks/contacts/deliveries?state=odd", {}, 422),
        ("GET", "webhooks/contacts/deliveries?limit=1001", {}, 422),
        ("GET", "webhooks/nothing", {}, 404),
        ("GET", "configurations/a%0Ab%0A", {}, 404),
        ("GET", "send/a%0Ab/%0A", {}, 404),
        ("TRACE", "send/acme/echo", {}, 405),
        ("GET", "runs?line=a%00b", {}, 400),
        ("GET", "configurations/a%00b", {}, 400),
        ("PATCH", "configurations/acme", {"content": b"{"}, 400),
        ("PATCH", "configurations/acme", {"content": b'{"notes":NaN}'}, 400),
        ("PATCH", "configurations/acme", {"content": b'{"a":1,"a":2}'}, 400),
        ("PATCH", "configurations/acme", {"content": b"[" * 100_000}, 400),
        ("PATCH", "configurations/acme", {"content": b'{"notes":"\\u0000"}'}, 400),
        ("PATCH", "configurations/acme", {"content": b'["notes"]'}, 422),
        ("PATCH", "configurations/acme", {"json": {"base_url": 5}}, 422),
        ("PATCH", "configurations/acme", {"content": b"9" * 3 * MEBIBYTE}, 413),
        ("PUT", "configurations/acme/secrets/token", {"json": {"valu": "x"}}, 422),
        ("PUT", "lines/contacts", {"content": b"[" * 100_000}, 400),
        ("PUT", "lines/contacts", {"content": b'{"a":' * 500 + b"1" + b"}" * 500}, 422),
        ("PUT", "lines/contacts", {"content": b'["configuration"]'}, 422),
        ("PUT", "lines/contacts", {"content": b"9" * 3 * MEBIBYTE}, 413),
        ("PUT", "lines/contacts", {"json": {"configuration": ["acme"]}}, 422),
        ("PATCH", "lines/contacts", {"json": {"max_minutes": 10**300}}, 422),
        ("PATCH", "lines/contacts", {"json": {"fields": [[[]]]}}, 422),
        ("PATCH", "lines/contacts", {"json": {"query": {"a": {"b": 1}}}}, 422),
        ("PATCH", "lines/nothing", {"json": {}}, 404),
        ("DELETE", "lines/nothing", {}, 404),
        ("DELETE", "lines/contacts", {}, 422),  # a webhook needs it
        ("PUT", "webhooks/contacts", {"content": b"[" * 100_000}, 400),
        ("PUT", "webhooks/contacts", {"json": {"scheme": {"a": [1]}}}, 422),
        ("PATCH", "webhooks/contacts", {"json": {"scheme": "x" * 10_000}}, 422),
        ("PATCH", "webhooks/contacts", {"json": {"records": "[" * 1000}}, 422),
        ("PUT", "webhooks/contacts/secrets/odd", {"json": {"value": "x"}}, 422),
        ("PUT", "webhooks/contacts/secrets/secret", {"json": {"value": None}}, 422),
        ("PUT", "webhooks/contacts/secrets/secret", {"json": {"value": ""}}, 422),
        ("PUT", "configurations/acme/secrets/odd", {"json": {"value": "x"}}, 422),
        ("POST", "configurations/acme/preview", {"json": {"path": 5}}, 422),
    ],
)
def test_what_is_wrong_is_refused_in_one_shape(
    interface: Interface, method: str, path: str, content: dict[str, Any], status: int
) -> None:
    response = interface.call(method, path, **content)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error.keys() == {"code", "message", "hint", "field"}


# ── managing ────────────────────────────────────────────────────────────────────────


def test_a_configuration_lives_by_http(interface: Interface) -> None:
    call = interface.call
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    assert call("PUT", "configurations/new", json=facts).status_code == 201
    shown = call("GET", "configurations/new").json()
    assert shown["token"] == {"set": False, "set_at": None, "reference": None}
    secret = {"value": "swordfish-of-a-test"}
    path = "configurations/new/secrets/token"
    assert call("PUT", path, json=secret).status_code == 204
    shown = call("GET", "configurations/new").json()
    assert shown["token"]["set"]
    assert "swordfish" not in json.dumps(shown)
    shown["notes"] = "by http"
    assert call("PUT", "configurations/new", json=shown).json()["token"]["set"]
    reference = {"reference": "env:ACME_TOKEN"}
    assert call("PUT", path, json=reference).status_code == 204
    for text in ("env:HOME", "vault:main/other#token", "credential:other"):
        other = call("PUT", path, json={"reference": text})
        assert other.status_code == 403
    internal = {"network": "internal"}
    assert call("PATCH", "configurations/new", json=internal).status_code == 403
    allowed = call("PATCH", "configurations/new", "internal", json=internal)
    assert allowed.json()["network"] == "internal"
    masked = call("POST", "configurations/acme/preview", json={"path": "/x"}).json()
    assert masked["url"].endswith("/x")
    assert "spar-token" not in json.dumps(masked)
    assert call("DELETE", "configurations/new").status_code == 204
    assert call("GET", "configurations/new").status_code == 404
    records = [r for r in interface.audit() if r.get("configuration") == "new"]
    assert {record["actor"] for record in records} == {"token:all", "token:internal"}


SIGNED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "aws_sigv4": (
        {
            "aws": {
                "access_key_id": aws.KEY_ID,
                "region": "eu-central-1",
                "service": "execute-api",
            },
            "verification": {"test_path": "/aws/api"},
        },
        {"secret_access_key": aws.KEY},
    ),
    "oauth1": (
        {
            "oauth1": {"consumer_key": oauth1.CONSUMER},
            "verification": {"test_path": "/oauth1/api"},
        },
        {
            "consumer_secret": oauth1.CONSUMER_SECRET,
            "access_token": OAUTH1_TOKEN,
            "access_token_secret": OAUTH1_TOKEN_SECRET,
        },
    ),
}


@pytest.mark.parametrize("kind", SIGNED)
def test_a_configuration_that_signs_lives_by_http(
    interface: Interface, kind: str
) -> None:
    settings, secrets = SIGNED[kind]
    path = f"configurations/{kind}"
    base_url = interface.call("GET", "configurations/acme").json()["base_url"]
    facts = {"base_url": base_url, "network": "internal", "authentication_type": kind}
    made = interface.call("PUT", path, "internal", json=facts | settings)
    assert made.status_code == 201, made.text
    for field, value in secrets.items():
        url = f"{path}/secrets/{field}"
        secret = {"value": value}
        assert interface.call("PUT", url, json=secret).status_code == 204, field
    shown = interface.call("GET", path).json()
    section = kind.partition("_")[0]
    assert shown[section].items() >= settings[section].items()
    again = interface.call("PUT", path, "internal", json=shown)
    assert again.status_code == 200, again.text
    assert all(again.json()[field]["set"] for field in secrets)
    report = interface.call("POST", f"{path}/test", "send").json()
    assert report["ok"], report
    bodies = {
        "application/octet-stream": b"\xff" * 3 * MEBIBYTE,
        "application/x-www-form-urlencoded": b"b=%C3%BC+x&a=%26&b=",
    }
    test_path = settings["verification"]["test_path"]
    for content_type, body in bodies.items():
        headers = {"Content-Type": content_type}
        url = f"send/{kind}{test_path}?b=2&a=%2f"
        sent = interface.call("POST", url, "send", content=body, headers=headers)
        assert sent.status_code == 200, sent.text
    # With another type its keys are refused, unless they are as by default.
    other = shown | {"authentication_type": "bearer"}
    refused = interface.call("PUT", path, "internal", json=other)
    assert_error(refused, "configuration")
    assert refused.status_code == 422
    changed = interface.call(
        "PATCH", path, "internal", json={"authentication_type": "bearer"}
    ).json()
    back = interface.call("PUT", path, "internal", json=changed)
    assert back.status_code == 200, back.text
    interface.call("DELETE", path)


def test_a_test_is_reported_step_by_step(interface: Interface) -> None:
    report = interface.call("POST", "configurations/acme/test", "send").json()
    assert report["ok"], report
    assert report["steps"][0]["step"] == "configuration"


def test_a_name_may_have_a_slash(interface: Interface) -> None:
    path = "configurations/a%2Fb%20c"
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    assert interface.call("PUT", path, json=facts).status_code == 201
    secret = {"value": "a-secret-of-a-test"}
    set_secret = interface.call("PUT", f"{path}/secrets/token", json=secret)
    assert set_secret.status_code == 204
    assert interface.call("GET", path).json()["name"] == "a/b c"
    assert interface.call("POST", f"{path}/preview").status_code == 200
    assert interface.call("GET", "configurations/a/b%20c").status_code == 404
    assert interface.call("DELETE", path).status_code == 204


def test_a_second_editor_is_noticed(interface: Interface) -> None:
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    path = "configurations/edited"
    tag = interface.call("PUT", path, json=facts).headers["ETag"]
    assert interface.call("GET", path).headers["ETag"] == tag
    seen = {"If-Match": tag}
    first = interface.call("PATCH", path, json={"notes": "a"}, headers=seen)
    assert first.status_code == 200
    second = interface.call("PATCH", path, json={"notes": "b"}, headers=seen)
    assert second.status_code == 412
    assert_error(second, "conflict")
    seen = {"If-Match": first.headers["ETag"]}
    assert interface.call("PUT", path, json=facts, headers=seen).status_code == 200
    assert interface.call("DELETE", path).status_code == 204


def test_a_line_lives_by_http(interface: Interface) -> None:
    call = interface.call
    facts = {
        "configuration": "acme",
        "direction": "pull",
        "path": "/records",
        "target": "table:items",
        "keys": ["id"],
        "fields": [{"api": "id", "host": "id"}],
    }
    made = call("PUT", "lines/items", json=facts)
    assert made.status_code == 201, made.text
    assert made.json()["findings"] == []
    shown = call("GET", "lines/items")
    assert shown.headers["ETag"] == made.headers["ETag"]
    seen = {"If-Match": made.headers["ETag"]}
    changes = {"schedule": "0 6 * * *", "parallel": 2}
    changed = call("PATCH", "lines/items", json=changes, headers=seen)
    assert changed.status_code == 200, changed.text
    assert [row["id"] for row in changed.json()["findings"]] == ["L013"]
    assert interface.outkey("line", "show", "items", "--json").json == changed.json()
    late = call("PUT", "lines/items", json=facts, headers=seen)
    assert late.status_code == 412
    assert_error(late, "conflict")
    model = call("PATCH", "lines/items", json={"target": "file:items.csv"})
    assert model.status_code == 403
    assert_error(model, "policy")
    assert model.json()["error"]["field"] == "target"
    targets = {"target": "file:items.csv"}
    assert call("PATCH", "lines/items", "targets", json=targets).status_code == 200
    assert call("DELETE", "lines/items").status_code == 204
    assert call("GET", "lines/items").status_code == 404
    records = [r for r in interface.audit() if r.get("fields") == ["items"]]
    assert {record["actor"] for record in records} == {"token:all", "token:targets"}


def test_a_webhook_lives_by_http(interface: Interface) -> None:
    call = interface.call
    facts = {"configuration": "acme", "scheme": "github", "line": "contacts"}
    made = call("PUT", "webhooks/made", json=facts)
    assert made.status_code == 201, made.text
    seen = {"If-Match": made.headers["ETag"]}
    assert call("GET", "webhooks/made").headers["ETag"] == made.headers["ETag"]
    secret = {"value": "swordfish-of-a-webhook"}
    path = "webhooks/made/secrets/secret"
    assert call("PUT", path, json=secret).status_code == 204
    shown = call("GET", "webhooks/made").json()
    assert shown["secrets"]["secret"] == "set"
    body = b'{"id": 7, "name": "x"}'
    signature = hmac.digest(b"swordfish-of-a-webhook", body, "sha256").hex()
    endpoint = interface.url.removesuffix("/api/v1") + shown["endpoint"]
    headers = {"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Event": "push"}
    assert httpx.post(endpoint, content=body, headers=headers).status_code == 200
    changed = call("PATCH", "webhooks/made", json={"records": "@"}, headers=seen)
    assert changed.status_code == 200, changed.text
    changed = call("PATCH", "webhooks/made", json={"records": "x"}, headers=seen)
    assert changed.status_code == 200, changed.text
    late = call("PUT", "webhooks/made", json=facts, headers=seen)
    assert late.status_code == 412
    assert_error(late, "conflict")
    for refused in (
        {"line": None, "handler": "os.system"},
        {"secret": "env:HOME"},
    ):
        response = call("PATCH", "webhooks/made", json=refused)
        assert response.status_code == 403
        assert_error(response, "policy")
    offered = {"secret": "env:ACME_TOKEN"}
    referenced = call("PATCH", "webhooks/made", json=offered).json()
    assert referenced["secrets"]["secret"] == "env:ACME_TOKEN"
    assert call("DELETE", "webhooks/made").status_code == 204
    assert httpx.post(endpoint, content=body, headers=headers).status_code == 410
    audit = interface.audit()
    assert "swordfish" not in json.dumps(audit)
    assert "swordfish" not in interface.log.read_text()
    tags = [r["tag"] for r in audit if "made" in (r.get("fields") or ())]
    assert len(tags) == 5, "saved three times, a secret set, deleted"


def test_of_two_editors_at_once_one_wins(interface: Interface) -> None:
    facts = {"configuration": "acme", "path": "/0"}
    seen = {
        "If-Match": interface.call("PUT", "lines/raced", json=facts).headers["ETag"]
    }

    def put(number: int) -> int:
        body = facts | {"path": f"/{number}"}
        return interface.call("PUT", "lines/raced", json=body, headers=seen).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = sorted(threads.map(put, range(1, 5)))
    assert statuses == [200, 412, 412, 412]
    interface.call("DELETE", "lines/raced")


def test_webhooks_and_deliveries_are_read(interface: Interface) -> None:
    listed = interface.call("GET", "webhooks", "read").json()
    assert [webhook["webhook"] for webhook in listed] == ["contacts", "deploys"]
    shown = interface.call("GET", "webhooks/contacts", "read").json()
    assert shown == interface.outkey("webhook", "show", "contacts", "--json").json
    assert shown["secrets"]["secret"] == "set"
    body = b'{"id": 7, "name": "a-name-of-a-person"}'
    endpoint = interface.url.removesuffix("/api/v1") + shown["endpoint"]
    signature = hmac.digest(b"hook-secret-7f3a", body, "sha256").hex()
    headers = {
        "X-Hub-Signature-256": f"sha256={signature}",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "d-1",
    }
    assert httpx.post(endpoint, content=body, headers=headers).status_code == 200
    response = interface.call("GET", "webhooks/contacts/deliveries", "read")
    (delivery,) = response.json()
    assert delivery.keys() == {
        *("id", "event_id", "type", "received_at"),
        *("state", "attempts", "reason", "records", "tested_by"),
    }
    assert (delivery["event_id"], delivery["type"]) == ("d-1", "push")
    assert "a-name-of-a-person" not in response.text
    path = "webhooks/contacts/deliveries?state=ignored&limit=5"
    assert interface.call("GET", path).json() == []


PEOPLE = """
[line.people]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
query = {{ count = "{count}" }}
records = "items"
target = "table:people"
keys = ["id"]
gone = "archive"
guard_percent = 100
feed = {feed}
fields = [
  {{ api = "id", host = "id" }},
  {{ api = "{name}", host = "name" }},
  {{ api = "credit", host = "credit", transform = "decimal" }},
]
"""


def fill_people(
    interface: Interface, count: int, name: str = "full_name", feed: str = "true"
) -> None:
    document = PEOPLE.format(count=count, name=name, feed=feed)
    assert interface.outkey("apply", "-", stdin=document).code == 0
    assert interface.outkey("line", "run", "people").code == 0


def test_rows_and_their_changes_are_read(interface: Interface) -> None:
    fill_people(interface, 5)
    listed = interface.call("GET", "tables", "data").json()
    (table,) = [table for table in listed if table["table"] == "people"]
    columns = {"id": "text", "name": "text", "credit": "decimal"}
    assert (table["rows"], table["columns"]) == (5, columns)
    page = interface.call("GET", "tables/people/rows?limit=3", "data").json()
    assert [row["outkey_id"] for row in page["rows"]] == [1, 2, 3]
    assert isinstance(page["rows"][0]["credit"], str)
    cursor = page["cursor"]
    path = f"tables/people/rows?after={page['next']}"
    page = interface.call("GET", path, "data").json()
    assert (len(page["rows"]), page["next"], page["columns"]) == (2, None, columns)
    fill_people(interface, 4, "mail")
    path = f"tables/people/changes?after={cursor}&limit=3"
    first = interface.call("GET", path, "data").json()
    assert (first["table"], first["more"]) == ("people", True)
    path = f"tables/people/changes?after={first['next']}"
    second = interface.call("GET", path, "data").json()
    changes = [*first["changes"], *second["changes"]]
    kinds = [change["change"] for change in changes]
    assert kinds == ["changed"] * 4 + ["archived"]
    assert [*changes[0]["before"]] == ["name"]
    assert changes[0]["row"]["name"] != changes[0]["before"]["name"]
    assert changes[4]["row"]["archived_at"].endswith("Z")
    assert second["more"] is False
    assert second["next"] == changes[4]["cursor"]
    assert "api:data:exported" in [record["tag"] for record in interface.audit()]
    printed = interface.outkey(
        "data", "changes", "people", "--after", cursor, "--limit", "3", "--json"
    )
    assert printed.json == first
    shown = interface.outkey("data", "changes", "people", "--after", first["next"])
    assert "archived_at: – → 20" in shown.out
    shown = interface.outkey("data", "changes", "people", "--limit", "1").out
    assert "--after" in shown
    assert "added" in shown
    none = interface.outkey("data", "changes", "people", "--after", second["next"])
    assert none.out == "The table people has no changes after this one.\n"


def test_rows_are_filtered_by_their_columns(interface: Interface) -> None:
    fill_people(interface, 5)
    every = interface.call("GET", "tables/people/rows").json()["rows"]
    (wanted,) = [row for row in every if row["id"] == every[1]["id"]]
    path = f"tables/people/rows?id={wanted['id'].upper()}&credit={wanted['credit']}0"
    assert interface.call("GET", path).json()["rows"] == [wanted]
    refused = interface.call("GET", "tables/people/rows?color=red")
    assert refused.status_code == 422
    assert refused.json()["error"]["field"] == "color"
    for path in ("rows?after=x", "rows?limit=1001", "changes?after=x"):
        assert interface.call("GET", f"tables/people/{path}").status_code == 422


def test_changes_that_cannot_be_read_say_why(interface: Interface) -> None:
    fill_people(interface, 5)
    cursor = interface.call("GET", "tables/people/rows").json()["cursor"]
    path = f"tables/people/changes?after={cursor}"
    assert interface.call("GET", path, "acme").status_code == 200
    refused = interface.call("GET", path, "shop")
    assert (refused.status_code, "people" in refused.text) == (404, False)
    assert interface.call("GET", "tables/nothing/rows", "data").status_code == 404
    seen = interface.call("GET", "tables", "shop").json()
    assert "people" not in [table["table"] for table in seen]
    fill_people(interface, 5, feed="false")
    refused = interface.call("GET", path)
    assert refused.status_code == 409
    assert_error(refused, "no_feed")
    done = interface.outkey("data", "changes", "people")
    assert (done.code, "error[no_feed]" in done.err) == (2, True)
    assert interface.call("GET", "tables/people/rows").json()["cursor"] is None
    fill_people(interface, 5)
    refused = interface.call("GET", path)
    assert refused.status_code == 410
    assert_error(refused, "cursor_expired")
    # A line of another configuration fills it too.
    other = PEOPLE.format(count=1, name="mail", feed="false").replace(
        "[line.people]", "[line.others]"
    )
    other = other.replace('"acme"', '"shop"')
    assert interface.outkey("apply", "-", stdin=other).code == 0
    assert interface.call("GET", "tables/people/rows", "acme").status_code == 404
    assert interface.call("GET", "tables/people/rows", "data").status_code == 200
    interface.outkey("line", "delete", "others", "--yes")


# ── sending ─────────────────────────────────────────────────────────────────────────


def test_a_request_is_sent_as_it_came(interface: Interface, spar: Spar) -> None:
    response = interface.call(
        "PATCH",
        "send/acme/echo?x=1&x=2",
        "send",
        content=b"hello",
        headers={"Content-Type": "text/plain", "X-Trace": "7", "Cookie": "a=b"},
    )
    assert response.status_code == 200
    seen = response.json()
    assert (seen["method"], seen["body"]) == ("PATCH", 5)
    assert {"x-trace", "content-type", "authorization"} <= {*seen["headers"]}
    assert "cookie" not in seen["headers"]
    attempt = response.headers["X-Outkey-Attempt"]
    assert "X-Outkey-Cause" not in response.headers
    (intent,) = [
        record
        for record in interface.audit()
        if record.get("attempt") == attempt and record["tag"] == "engine:send:intended"
    ]
    assert intent["actor"] == "token:send"


def test_an_encoded_slash_stays_encoded(interface: Interface) -> None:
    # The echo of a path that the sparring provider does not know.
    response = interface.call("GET", "send/acme/echo/a%2Fb%20c", "send")
    assert response.json()["path"] == "/echo/a%2Fb%20c"


@pytest.mark.parametrize(
    "path", ["%2e%2e/x", "a/%2E%2E/b", "/evil.example/x", "http://evil.example/x"]
)
def test_a_path_that_could_leave_is_refused(interface: Interface, path: str) -> None:
    refused = interface.call("GET", f"send/acme/{path}", "send")
    assert refused.status_code == 400, refused.text
    assert refused.headers["X-Outkey-Cause"] == "configuration"
    assert refused.json()["error"]["field"] == "path"


def test_a_raw_parent_segment_is_refused(interface: Interface) -> None:
    done = subprocess.run(
        [
            *("curl", "--silent", "--path-as-is", "--write-out", "%{http_code}"),
            *("--header", f"Authorization: Bearer {interface.tokens['send']}"),
            f"{interface.url}/send/acme/a/../../b",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("400"), done.stdout


def test_the_status_of_the_api_passes(interface: Interface) -> None:
    refused = interface.call("GET", "send/acme/basic", "send")
    assert refused.status_code == 401
    # The scene demands Basic, and the configuration sends a Bearer token.
    assert refused.headers["X-Outkey-Cause"] == "header_format"
    assert "X-Outkey-Attempt" in refused.headers


def test_a_gateway_that_cannot_send_says_why(interface: Interface) -> None:
    missing = interface.call("GET", "send/shop/x", "send")
    assert missing.status_code == 409
    assert missing.headers["X-Outkey-Cause"] == "secret_missing"
    assert_error(missing, "secret_missing")
    port = free_port()
    facts = {
        "base_url": f"http://127.0.0.1:{port}",
        "network": "internal",
        "authentication_type": "none",
        "no_auth_reason": "public_api",
        "limits": {"retries": 0},
    }
    made = interface.call("PUT", "configurations/gone", "internal", json=facts)
    assert made.status_code == 201, made.text
    failed = interface.call("GET", "send/gone/x", "send")
    assert failed.status_code == 502
    assert failed.headers["X-Outkey-Cause"] == "connection"
    interface.call("DELETE", "configurations/gone")


def test_large_bodies_pass_up_to_the_limit(interface: Interface) -> None:
    whole = interface.call("POST", "send/acme/echo", content=b"x" * 32 * MEBIBYTE)
    assert whole.json()["body"] == 32 * MEBIBYTE
    more = interface.call("POST", "send/acme/echo", content=b"x" * (32 * MEBIBYTE + 1))
    assert more.status_code == 413
    assert_error(more, "invalid_request")


# ── streams ─────────────────────────────────────────────────────────────────────────


def memory_of(process: int) -> int:
    """Return the greatest resident size of a process so far, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = [line for line in lines if line.startswith("VmHWM")]
    return int(peak.split()[1]) * 1024


def forget_peak(process: int) -> None:
    """Let the greatest resident size begin with the current one."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def test_memory_is_flat_while_large_bodies_pass_in_both_directions(
    interface: Interface,
) -> None:
    size = 30 * MEBIBYTE
    small = interface.call("POST", "send/acme/echo", content=b"x" * 100)
    assert small.status_code == 200
    forget_peak(interface.process)
    before = memory_of(interface.process)
    sent = interface.call("POST", "send/acme/echo", content=b"x" * size)
    assert sent.json()["body"] == size
    for kind in ("", "/chunked", "/unannounced"):
        got = interface.call("GET", f"send/acme/huge{kind}?bytes={size}")
        assert got.status_code == 200
        assert len(got.content) == size
        assert "X-Outkey-Attempt" in got.headers
    assert memory_of(interface.process) - before < 8 * MEBIBYTE


def test_a_part_of_a_response_arrives_before_the_next_one(interface: Interface) -> None:
    """The scene sends one byte after another for two seconds, and then breaks off."""
    arrivals: list[float] = []
    headers = {"Authorization": f"Bearer {interface.tokens['send']}"}
    url = f"{interface.url}/send/acme/slow/body?seconds=2"
    with (
        httpx.stream("GET", url, headers=headers, timeout=60) as response,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        arrivals.extend(time.monotonic() for _ in response.iter_raw())
    assert len(arrivals) > 3
    assert arrivals[-1] - arrivals[0] > 1


def outcome_of(interface: Interface, attempt: str) -> dict[str, Any]:
    """Wait for the record of how a request ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for record in interface.audit():
            is_end = record["tag"] == "engine:send:ended"
            if is_end and record.get("attempt") == attempt:
                return record
        # An outcome is written with the next record.
        interface.call("GET", "send/acme/bearer", "send")
    pytest.fail("the audit has no outcome")


def test_a_response_over_the_limit_in_mid_stream_is_an_aborted_connection(
    interface: Interface,
) -> None:
    headers = {"Authorization": f"Bearer {interface.tokens['send']}"}
    url = f"{interface.url}/send/acme/huge/chunked?bytes={33 * MEBIBYTE}"
    sizes: list[int] = []
    with httpx.stream("GET", url, headers=headers, timeout=60) as response:
        assert response.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            sizes.extend(map(len, response.iter_raw()))
    assert 0 < sum(sizes) <= 32 * MEBIBYTE
    record = outcome_of(interface, response.headers["X-Outkey-Attempt"])
    assert record["outcome"] == "response_too_large"
    stated = interface.call("GET", f"send/acme/huge?bytes={33 * MEBIBYTE}", "send")
    assert stated.status_code == 502
    assert_error(stated, "response_too_large")
    assert "/huge" not in interface.log.read_text()


def test_a_caller_that_goes_away_ends_the_request(interface: Interface) -> None:
    headers = {"Authorization": f"Bearer {interface.tokens['send']}"}
    url = f"{interface.url}/send/acme/huge/chunked?bytes={31 * MEBIBYTE}"
    with httpx.stream("GET", url, headers=headers, timeout=60) as response:
        attempt = response.headers["X-Outkey-Attempt"]
        next(response.iter_raw())
    assert outcome_of(interface, attempt)["outcome"] in {"cancelled", "ok"}
    with httpx.stream("GET", url, headers=headers, timeout=60) as response:
        attempt = response.headers["X-Outkey-Attempt"]
        assert sum(map(len, response.iter_raw())) == 31 * MEBIBYTE
    record = outcome_of(interface, attempt)
    assert (record["outcome"], record["status"]) == ("ok", 200)


def test_a_caller_that_does_not_read_is_ended_by_the_total_timeout(
    interface: Interface,
) -> None:
    limits = {"limits": {"total_timeout": 2, "connect_timeout": 1, "read_timeout": 1}}
    assert interface.call("PATCH", "configurations/acme", json=limits).is_success
    parts = urlsplit(interface.url)
    head = [
        f"GET {parts.path}/send/acme/huge/chunked?bytes={31 * MEBIBYTE} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Bearer {interface.tokens['send']}",
    ]
    try:
        with socket.create_connection((parts.hostname, parts.port), 30) as connection:
            connection.sendall("\r\n".join([*head, "", ""]).encode())
            deadline = time.monotonic() + 30
            while is_open(connection):
                assert time.monotonic() < deadline, "it takes longer than the timeout"
                time.sleep(0.1)
    finally:
        limits = {"limits": {"total_timeout": 60, "read_timeout": 15}}
        interface.call("PATCH", "configurations/acme", json=limits)


def is_open(connection: socket.socket) -> bool:
    """Whether the server has not ended a connection, from which nothing is read."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1


@pytest.mark.parametrize(
    ("path", "token"), [("send/acme/echo", ""), ("configurations/acme", "all")]
)
def test_only_the_send_proxy_reads_a_large_body_and_only_with_a_token(
    interface: Interface, path: str, token: str
) -> None:
    """The server refuses by the head alone, before a body is read."""
    parts = urlsplit(interface.url)
    lines = [
        f"POST {parts.path}/{path} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Content-Length: {5 * MEBIBYTE}",
        f"Authorization: Bearer {interface.tokens.get(token, '')}",
    ]
    address = (parts.hostname, parts.port)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def large_head(interface: Interface, token: str, *more: str) -> bytes:
    """Return the head of a request with a large body, which does not follow."""
    parts = urlsplit(interface.url)
    lines = [
        f"POST {parts.path}/send/acme/echo HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Bearer {interface.tokens[token]}",
        *(more or (f"Content-Length: {5 * MEBIBYTE}",)),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [
        ("unknown", 401, "unauthorized"),
        ("revoked", 401, "unauthorized"),
        ("read", 403, "forbidden"),
    ],
)
@pytest.mark.parametrize("more", [(), ("Transfer-Encoding: chunked",)])
def test_a_large_body_is_read_only_with_a_token_that_may_send(
    interface: Interface, token: str, status: int, code: str, more: tuple[str, ...]
) -> None:
    parts = urlsplit(interface.url)
    with socket.create_connection((parts.hostname, parts.port), 30) as connection:
        connection.sendall(large_head(interface, token, *more))
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert json.loads(body)["error"]["code"] == code


def test_only_so_many_large_bodies_are_taken_at_once(interface: Interface) -> None:
    parts = urlsplit(interface.url)
    address = (parts.hostname, parts.port)
    with ExitStack() as closing:

        def send_head(token: str) -> socket.socket:
            connection = socket.create_connection(address, timeout=30)
            closing.enter_context(connection)
            connection.sendall(large_head(interface, token))
            return connection

        for _ in range(16):
            send_head("send")
        # Served after the tokens of these were checked.
        assert interface.call("GET", "send/acme/bearer", "send").status_code == 200
        busy = send_head("send")
        assert busy.recv(100).startswith(b"HTTP/1.1 503")
        # Tokens that are not valid take no place, and others have theirs.
        for _ in range(40):
            send_head("unknown")
        other = interface.call("POST", "send/acme/echo", content=b"x" * MEBIBYTE)
        assert other.status_code == 200
        for _ in range(16):
            send_head("all")
        assert interface.call("GET", "send/acme/bearer").status_code == 200
        assert send_head("internal").recv(100).startswith(b"HTTP/1.1 503")
        small = interface.call("POST", "send/acme/echo", content=b"x" * 1000)
        assert small.status_code == 200
    deadline = time.monotonic() + 30
    status = 503
    while status == 503 and time.monotonic() < deadline:
        large = interface.call("POST", "send/acme/echo", content=b"x" * MEBIBYTE)
        status = large.status_code
    assert status == 200


def test_forms_pass_unread(interface: Interface) -> None:
    form = interface.call("POST", "send/acme/echo", data={"a": "b" * 100})
    assert form.json()["body"] == 102
    files = interface.call("POST", "send/acme/echo", files={"f": b"x" * 1000})
    assert files.json()["body"] > 1000


def test_curl_sends_and_receives(interface: Interface, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(os.urandom(3 * MEBIBYTE))
    headers = tmp_path / "headers"
    headers.write_text(f"Authorization: Bearer {interface.tokens['send']}\n")
    curl = ("curl", "--silent", "--show-error", "--header", f"@{headers}")

    def run(*arguments: str) -> bytes:
        return subprocess.run(
            [*curl, *arguments], capture_output=True, timeout=60, check=True
        ).stdout

    for encoding in ("", "Transfer-Encoding: chunked"):
        seen = run(
            *("--header", encoding) if encoding else (),
            *("--request", "PUT", "--data-binary", f"@{body}"),
            f"{interface.url}/send/acme/echo?a=1",
        )
        assert json.loads(seen)["body"] == 3 * MEBIBYTE
    got = run(f"{interface.url}/send/acme/huge/chunked?bytes={5 * MEBIBYTE}")
    assert got == bytes(5 * MEBIBYTE)
    code = run(
        *("--output", str(tmp_path / "out"), "--write-out", "%{http_code}"),
        f"{interface.url}/send/shop/x",
    )
    assert code == b"409"


@pytest.mark.parametrize("program", ["python", "node"])
def test_the_examples_send(interface: Interface, program: str) -> None:
    command = [sys.executable, str(EXAMPLES / "send_by_http.py")]
    if program == "node":
        command = ["node", str(EXAMPLES / "send_by_http.mjs")]
    environment = {
        "PATH": os.environ["PATH"],
        "OUTKEY_URL": interface.url.removesuffix("/api/v1"),
        "OUTKEY_TOKEN": interface.tokens["send"],
    }
    done = subprocess.run(
        [*command, "acme", "bearer"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout) == {"token": "accepted"}, done.stderr
    failed = subprocess.run(
        [*command, "shop", "x"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 1
    assert "409 secret_missing" in failed.stderr


# ── nothing leaks ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path",
    ["/login/", "/static/outkey/webhooks.css", "/api/v1/openapi.json", "/nothing"],
)
def test_a_response_to_head_has_no_body_that_could_be_the_next_response(
    interface: Interface, path: str
) -> None:
    address = urlsplit(interface.url)
    head = f"HEAD {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n"
    last = (
        f"HEAD {path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n"
    )
    received = b""
    with socket.create_connection((address.hostname, address.port), 30) as connection:
        connection.sendall(f"{head}{last}".encode())
        while part := connection.recv(65536):
            received += part
    responses = received.split(b"HTTP/1.1 ")[1:]
    # Where the length is unknown, the server ends the connection after the first one.
    assert len(responses) in {1, 2}
    for response in responses:
        assert response.index(b"\r\n\r\n") == len(response) - 4


def test_no_token_is_in_the_log_the_audit_or_the_database(interface: Interface) -> None:
    interface.call("GET", "configurations", "all")
    places = {
        "log": interface.log.read_bytes(),
        "audit": json.dumps(interface.audit()).encode(),
        "list": interface.outkey("api-token", "list", "--json").out.encode(),
    }
    for file in (interface.outkey.home / "data").rglob("*"):
        if file.is_file():
            places[file.name] = file.read_bytes()
    for name, token in interface.tokens.items():
        for place, content in places.items():
            assert token.removeprefix("ok_").encode() not in content, (name, place)
    assert b"swordfish-of-a-test" not in b"".join(places.values())


def test_tokens_are_listed_with_their_state(interface: Interface) -> None:
    listed = interface.outkey("api-token", "list", "--json").json
    states = {token["name"]: token["state"] for token in listed}
    assert states["all"] == "active"
    assert states["expired"] == "expired"
    assert states["revoked"] == "revoked"
    (shop,) = [token for token in listed if token["name"] == "shop"]
    assert shop["configurations"] == ["shop"]
    table = interface.outkey("api-token", "list").out
    assert "shop" in table
    taken = interface.outkey("api-token", "create", "all", "--scope", "read")
    assert taken.code == 2
    unknown = interface.outkey("api-token", "revoke", "nobody", "--json")
    assert unknown.json["error"]["field"] == "name"
