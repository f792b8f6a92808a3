"""The view of endpoints, as a project mounts it, and what it hands to reception."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.test import RequestFactory

from database.test_webhooks import DOCUMENT, KEY, signed
from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.hosts.webhook_ports import body_limit, find_handler

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

BODY = b'{"id": 1}'
MEBIBYTE = 1024 * 1024


@pytest.fixture
def application(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator["Application"]:
    from outkey.hosts.django.web import hooks
    from outkey.hosts.django.wiring import install

    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    made = replace(install(home, {}), public_url="https://outkey.example/")
    administration = made.administration("tester")
    made.apply(administration, parse_document(DOCUMENT), dry_run=False)
    made.webhooks.administration(administration).set_secret("shop", Secret(KEY))
    monkeypatch.setattr(hooks, "installation", lambda: made)
    yield made
    made.audit.close()


def endpoint(application: "Application") -> str:
    return application.webhooks.inbox().settings.get("shop").endpoint


def headers(body: bytes, event: str = "e1") -> dict[str, str]:
    sent = signed(body, event).headers
    return {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in sent}


def test_the_view_stores_what_was_sent(application: "Application") -> None:
    from outkey.hosts.django.web.hooks import receive

    path = endpoint(application)
    request = RequestFactory().post(
        f"/hooks/{path}?x=1", BODY, content_type="application/json", **headers(BODY)
    )
    response = receive(request, path)
    assert (response.status_code, response.content) == (200, b"")
    assert response["Content-Length"] == "0"
    assert "Content-Type" not in response
    assert receive.csrf_exempt  # type: ignore[attr-defined]
    assert receive._non_atomic_requests == {"default"}  # type: ignore[attr-defined]
    (delivery,) = application.webhooks.inbox().newest("shop")
    assert application.webhooks.inbox().content("shop", delivery.id).body == BODY


def test_a_body_that_a_middleware_has_read_is_received_too(
    application: "Application",
) -> None:
    from outkey.hosts.django.web.hooks import receive

    request = RequestFactory().post(
        "/hooks/x", BODY, content_type="application/json", **headers(BODY)
    )
    assert request.body == BODY
    assert receive(request, endpoint(application)).status_code == 200


def test_a_body_over_the_limit_is_not_read(application: "Application") -> None:
    from outkey.hosts.django.web.hooks import receive

    path = endpoint(application)
    stated = RequestFactory().post("/hooks/x", b"", content_type="text/plain")
    stated.META["CONTENT_LENGTH"] = str(MEBIBYTE + 1)
    assert receive(stated, path).status_code == 413
    stated.META["CONTENT_LENGTH"] = "9" * 5000
    assert receive(stated, path).status_code == 413
    stated.META["CONTENT_LENGTH"] = "0" * 5000
    assert receive(stated, path).status_code == 401
    unstated = RequestFactory().post("/hooks/x", b"", content_type="text/plain")
    unstated.META["CONTENT_LENGTH"] = "not a number"
    unstated._stream = BytesIO(b"x" * (MEBIBYTE + 2))
    assert receive(unstated, path).status_code == 413


def test_few_large_bodies_are_read_at_the_same_time(
    application: "Application", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.django.web import hooks

    monkeypatch.setattr(hooks, "LARGE", len(BODY) - 1)
    monkeypatch.setattr(hooks, "LARGE_WAIT_SECONDS", 0.01)

    def post(body: bytes) -> int:
        request = RequestFactory().post(
            "/hooks/x", body, content_type="application/json", **headers(body)
        )
        return hooks.receive(request, endpoint(application)).status_code

    with ExitStack() as stack:
        for _ in range(hooks.LARGE_AT_ONCE):
            assert stack.enter_context(hooks.place_in_memory(len(BODY)))
        assert post(BODY) == 503
        assert post(b"{}") == 200
    assert post(BODY) == 200


def test_the_url_is_the_public_one_whatever_the_request_says(
    application: "Application",
) -> None:
    from outkey.hosts.django.web.hooks import url_of

    request = RequestFactory().get("/hooks/x?a=1", HTTP_HOST="evil.example").META
    assert url_of(request, application.public_url) == (
        "https://outkey.example/hooks/x?a=1"
    )
    assert url_of(request, "") == "/hooks/x?a=1"
    assert url_of(request | {"SCRIPT_NAME": "/app"}, "") == "/app/hooks/x?a=1"


def test_only_endpoints_are_answered_by_the_gate(
    application: "Application",
) -> None:
    from outkey.hosts.django.web.hooks import WebhookGate

    statuses: list[str] = []

    def start(status: str, headers: object) -> None:
        statuses.append(status)

    def page(environ: object, start_response: object) -> list[bytes]:
        return [b"a page"]

    gate = WebhookGate(page)  # type: ignore[arg-type]

    def answer(path: str, **values: object) -> bytes:
        made = RequestFactory().post(path, BODY, content_type="application/json")
        environ = made.environ | values | {"wsgi.input": BytesIO(BODY)}
        return b"".join(gate(environ, start))  # type: ignore[arg-type]

    assert answer("/other") == b"a page"
    assert statuses == []
    assert answer("/hooks/" + "x" * 22) == b""
    assert answer(f"/hooks/{endpoint(application)}", **headers(BODY)) == b""
    assert statuses == ["404 Not Found", "200 OK"]


@pytest.mark.parametrize(
    ("remote", "forwarded", "address"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),  # of a client that lies
        ("10.0.0.1", "198.51.100.1, 192.0.2.9", "192.0.2.9"),
        ("10.0.0.1", "", ""),
        ("::ffff:203.0.113.7", "", "203.0.113.7"),
        ("", "", ""),
    ],
)
def test_an_offered_secret_is_noted_with_the_address_of_its_sender(
    application: "Application",
    monkeypatch: pytest.MonkeyPatch,
    remote: str,
    forwarded: str,
    address: str,
) -> None:
    from outkey.hosts.django.web.hooks import WebhookGate, receive
    from outkey.hosts.server.web.middleware import ClientAddress

    monkeypatch.setenv("OUTKEY_PROXIES", "10.0.0.0/8")
    document = DOCUMENT.replace('scheme = "shopify"', 'scheme = "asana"')
    document = document.replace("[webhook.shop]", "[webhook.tasks]")
    administration = application.administration("tester")
    application.apply(administration, parse_document(document), dry_run=False)
    stored = application.webhooks.inbox().settings.get("tasks")
    request = RequestFactory().post(
        f"/hooks/{stored.endpoint}",
        HTTP_X_HOOK_SECRET="a" * 32,
        REMOTE_ADDR=remote,
        HTTP_X_FORWARDED_FOR=forwarded,
    )
    gate = WebhookGate(lambda *_: [], ClientAddress())
    environ = request.environ | {"wsgi.input": BytesIO(b"")}
    assert b"".join(gate(environ, lambda *_: None)) == b""  # type: ignore[arg-type, return-value]
    stored = application.webhooks.inbox().settings.get("tasks")
    assert stored.secrets["secret"].offered_from == address
    assert receive(request, stored.endpoint).status_code == 200  # the same one again


def test_a_host_without_deliveries_has_no_endpoints(
    application: "Application", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.django.web import hooks

    bare = replace(application, hook_ports=None)
    monkeypatch.setattr(hooks, "installation", lambda: bare)
    request = RequestFactory().post("/hooks/x")
    assert hooks.receive(request, endpoint(application)).status_code == 404


def test_a_project_mounts_the_endpoints(application: "Application") -> None:
    from outkey.hosts.django import hook_urls
    from outkey.hosts.django.web import hooks

    (pattern,) = hook_urls.urlpatterns
    assert pattern.callback is hooks.receive


def test_a_function_of_the_host_is_found_by_its_name() -> None:
    assert find_handler("json.loads").__name__ == "loads"
    received: list[object] = []
    signal = find_handler("django.core.signals.got_request_exception")
    from django.core.signals import got_request_exception

    def note(event: object, **_: object) -> None:
        received.append(event)

    class Event:
        webhook = "shop"

    got_request_exception.connect(note)
    try:
        signal(Event())  # type: ignore[arg-type]
    finally:
        got_request_exception.disconnect(note)
    assert len(received) == 1
    for name in ("no.such.module", "json.nothing", "json.decoder", "json.__name__"):
        with pytest.raises(ConfigError, match="no function"):
            find_handler(name)


def test_a_module_that_cannot_be_imported_has_no_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_hooks.py").write_text("raise RuntimeError('no settings')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="no function"):
        find_handler("broken_hooks.order")


@pytest.mark.parametrize("listed", ["erp.hooks, shop", ["erp.hooks", "shop"]])
def test_a_project_lists_the_functions_that_webhooks_may_name(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: object
) -> None:
    from django.conf import settings

    from outkey.hosts.django.wiring import install

    (tmp_path / "config").mkdir()
    options = {"WEBHOOK_HANDLERS": listed}
    monkeypatch.setattr(settings, "OUTKEY", options, raising=False)
    made = install(tmp_path, {"OUTKEY_WEBHOOK_HANDLERS": "own.function"})
    assert made.listed_handlers == ("own.function", "erp.hooks", "shop")
    made.audit.close()


def test_the_limit_of_a_body_is_read_from_the_environment() -> None:
    name = "OUTKEY_WEBHOOK_MEBIBYTES"
    assert body_limit({}) == MEBIBYTE
    assert body_limit({name: "25"}) == 25 * MEBIBYTE
    for wrong in ("0", "26", "x", "-1", "1.5"):
        with pytest.raises(ConfigError, match="from 1 to 25"):
            body_limit({name: wrong})
