"""Another program writes rows that outkey acts on, without a key: none is obeyed."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from hmac import digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models import F

from outkey.administration.core.access.api_tokens import ApiToken, Scope
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.administration.engine.editing.confirming import confirm_rows, reject_rows
from outkey.foundation.core.errors import (
    OutkeyError,
    SecretUnreadable,
    TokenRefused,
    UnknownConfiguration,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.webhooks.core.inbox.delivery import Delivery

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.administration.engine.editing.administration import Administration

DOCUMENT = """
[configuration.shop]
base_url = "{url}"
network = "internal"
no_auth_reason = "internal"
[database.warehouse]
url = "sqlite:///{folder}/warehouse.db"
[line.orders]
configuration = "shop"
path = "/orders"
records = "items"
direction = "pull"
target = "table:warehouse.orders"
keys = ["id"]
schedule = "* * * * *"
fields = [{{ api = "id", host = "id" }}, {{ api = "name", host = "name" }}]
[line."send orders"]
configuration = "shop"
direction = "push"
target = "table:warehouse.orders"
create = {{ method = "POST", path = "/orders" }}
update = {{ method = "POST", path = "/orders/{{remote_id}}" }}
remote_id = "id"
fields = [{{ api = "id", host = "id" }}, {{ api = "name", host = "name" }}]
[line.customers]
configuration = "shop"
path = "/customers"
records = "items"
direction = "pull"
target = "table:customers"
keys = ["id"]
schedule = "* * * * *"
fields = [{{ api = "id", host = "id" }}]
[pair.orders]
pull = "orders"
push = "send orders"
[webhook.shop]
scheme = "hmac"
signature_header = "X-Signature"
line = "customers"
"""
ORDERS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


class OrdersApi(ThreadingHTTPServer):
    """An API with two orders that remembers the requests to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), OrdersHandler)
        self.received: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class OrdersHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, OrdersApi)
        server.received.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps({"items": ORDERS, "id": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the library calls

    def log_message(self, *_values: object) -> None:
        return


@pytest.fixture
def api() -> Iterator[OrdersApi]:
    with OrdersApi() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "config").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def application(database: str, home: Path, api: OrdersApi) -> Iterator["Application"]:
    from outkey.hosts.django.wiring import install

    made = install(home, {"OUTKEY_SQLITE_FOLDERS": str(home.parent)})
    text = DOCUMENT.format(url=api.url, folder=home.parent)
    made.apply(user(made), parse_document(text), dry_run=False)
    hooks = made.webhooks.administration(user(made))
    hooks.set_secret("shop", Secret("hook-secret"))
    yield made
    made.gateway.close()


def user(application: "Application") -> "Administration":
    return application.administration("tester")


def run(application: "Application", line: str) -> None:
    for _ in application.sync.runner().run(line, "tester"):
        pass


def write(kind: str, key: str, **changes: object) -> dict[str, Any]:
    """Change a state as another program does; return what was there."""
    from outkey.hosts.django.models import SharedStateRow

    rows = SharedStateRow.objects.filter(kind=kind, key=key)
    row = rows.first()
    before = json.loads(row.value) if row else {}
    after = json.dumps({**before, **changes})
    if row is None:
        SharedStateRow.objects.create(kind=kind, key=key, generation=1, value=after)
    else:
        rows.update(value=after, generation=F("generation") + 1)
    return dict(before)


def put_back(kind: str, key: str, value: dict[str, Any]) -> None:
    from outkey.hosts.django.models import SharedStateRow

    SharedStateRow.objects.update_or_create(
        kind=kind, key=key, defaults={"value": json.dumps(value), "generation": 1}
    )


def changed(application: "Application") -> list[str]:
    return [row.label for row in application.vouched_rows.changed()]


def test_all_that_outkey_has_saved_works(
    application: "Application", api: OrdersApi
) -> None:
    run(application, "orders")
    run(application, "send orders")
    assert changed(application) == []
    assert api.received


def test_a_planted_database_is_not_opened(
    application: "Application", home: Path
) -> None:
    target = home.parent / "authorized_keys"
    write("database", "warehouse", url=f"sqlite:///{target}")
    with pytest.raises(SecretUnreadable, match="database:warehouse was changed"):
        run(application, "orders")
    assert not target.exists()
    assert changed(application) == ["database:warehouse"]
    assert application.sync_settings.databases()["warehouse"].url.endswith("keys")


def test_tables_of_others_are_not_adopted_by_a_planted_row(
    application: "Application", home: Path
) -> None:
    with closing(sqlite3.connect(home.parent / "warehouse.db")) as other, other:
        other.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    run(application, "orders")
    layout = write("table", "table:warehouse.orders")
    put_back("table", "table:warehouse.people", layout | {"id_column": "id"})
    stored = application.registry.line("send orders")
    assert stored.sync is not None
    moved = replace(stored.sync, target="table:warehouse.people")
    user(application).save_line(replace(stored, name="steal", sync=moved))
    with pytest.raises(OutkeyError, match=r"table:warehouse\.people was changed"):
        run(application, "steal")


def test_a_changed_line_sends_nothing_and_stops_no_other_schedule(
    application: "Application", api: OrdersApi
) -> None:
    from outkey.hosts.django.models import SyncLine

    SyncLine.objects.filter(name="orders").update(path="/elsewhere")
    api.received.clear()
    with pytest.raises(SecretUnreadable, match="line:orders was changed"):
        run(application, "orders")
    with pytest.raises(SecretUnreadable):
        application.gateway.send("shop", "GET", "/orders", line="orders")
    assert api.received == []
    planner = application.sync.planner()
    application.states.put(StateKind.MARK, {"schedules": {"at": 1.0}})
    planner.plan("tester")
    for due in planner.due():
        planner.work(due.run.id)
    causes = {each.line: each.cause for each in application.runs.newest(10)}
    assert causes == {"orders": "secret_unreadable", "customers": ""}


def test_a_planted_line_is_not_run(application: "Application", api: OrdersApi) -> None:
    from outkey.hosts.django.models import SyncLine

    row = SyncLine.objects.get(name="customers")
    row.pk = None
    row.name = "planted"
    row.save(force_insert=True)
    api.received.clear()
    with pytest.raises(SecretUnreadable):
        run(application, "planted")
    assert api.received == []
    application.lines.remove(user(application), "planted")
    assert changed(application) == []


def test_a_changed_pair_lets_none_of_its_lines_run(
    application: "Application", api: OrdersApi
) -> None:
    run(application, "orders")
    write("pair", "orders", conflict="host")
    api.received.clear()
    for line in ("orders", "send orders"):
        with pytest.raises(SecretUnreadable, match="pair:orders was changed"):
            run(application, line)
    assert api.received == []
    run(application, "customers")


def test_a_pause_that_was_deleted_does_not_let_a_line_run(
    application: "Application", api: OrdersApi
) -> None:
    from outkey.hosts.django.models import SharedStateRow

    application.lines.pause(user(application), "customers")
    SharedStateRow.objects.filter(kind="paused_line").delete()
    api.received.clear()
    with pytest.raises(OutkeyError):
        run(application, "customers")
    assert api.received == []
    assert "customers" in application.runs.paused_lines()
    application.lines.resume(user(application), "customers")
    run(application, "customers")


def test_a_webhook_that_was_changed_accepts_nothing(
    application: "Application",
) -> None:
    stored = application.webhooks.ports().settings.get("shop")
    reception = application.webhooks.reception()
    delivery = Delivery("POST", f"/hooks/{stored.endpoint}", (), b'{"id": 7}')
    assert reception.receive(stored.endpoint, delivery).status == 401
    settings = write("webhook", "shop")["settings"]
    changes = settings | {"scheme": "unverified", "reason": "x"}
    del changes["signature_header"]
    write("webhook", "shop", settings=changes)
    assert reception.receive(stored.endpoint, delivery).status == 503
    assert (
        application.webhooks.reception().receive(stored.endpoint, delivery).status
        == 503
    )
    assert application.webhooks.stored()["shop"].webhook.scheme == "unverified"
    hooks = application.webhooks.administration(user(application))
    with pytest.raises(SecretUnreadable):
        hooks.pause("shop")
    hooks.remove("shop")
    assert reception.receive(stored.endpoint, delivery).status == 410
    assert changed(application) == []


def test_a_replaced_secret_of_a_webhook_does_not_come_back(
    application: "Application",
) -> None:
    old = write("webhook", "shop")
    hooks = application.webhooks.administration(user(application))
    hooks.set_secret("shop", Secret("another"))
    put_back("webhook", "shop", old)
    with pytest.raises(SecretUnreadable):
        application.webhooks.ports().settings.get("shop")


def test_an_endpoint_is_not_given_to_another_webhook(
    application: "Application",
) -> None:
    endpoint = "A" * 22
    write("hook_endpoint", endpoint, webhook="shop")
    settings = application.webhooks.ports().settings
    with pytest.raises(SecretUnreadable):
        settings.by_endpoint(endpoint)
    with pytest.raises(UnknownConfiguration):
        settings.by_endpoint("B" * 22)


def test_waiting_deliveries_of_a_changed_webhook_wait_and_stop_no_other(
    application: "Application",
) -> None:
    from outkey.hosts.django.models import Delivery as DeliveryRow

    text = """
[webhook.other]
scheme = "unverified"
reason = "a test"
line = "customers"
"""
    application.apply(user(application), parse_document(text), dry_run=False)
    for name in ("shop", "other"):
        settings = application.webhooks.ports().settings
        stored = settings.get(name)
        body = b'{"id": 1}'
        headers: tuple[tuple[str, str], ...] = ()
        if name == "shop":
            code = digest(b"hook-secret", body, sha256).hex()
            headers = (("X-Signature", code),)
        delivery = Delivery("POST", f"/hooks/{stored.endpoint}", headers, body)
        response = application.webhooks.reception().receive(stored.endpoint, delivery)
        assert response.status == 200
    endpoint = write("webhook", "shop", paused=False, planted=True)["endpoint"]
    work = application.webhooks.work()
    assert work.round() == 2
    assert work.round() == 0, "it waits for a moment"
    states = {row.endpoint: row.state for row in DeliveryRow.objects.all()}
    assert states.pop(endpoint) == "received"
    assert list(states.values()) == ["processed"]
    reasons = DeliveryRow.objects.filter(endpoint=endpoint)
    assert [row.reason for row in reasons] == ["secret_unreadable"]


def test_a_planted_api_token_is_not_accepted_and_a_revoked_one_stays_so(
    application: "Application",
) -> None:
    text = "ok_" + "A" * 43
    token = ApiToken(
        name="planted",
        digest=sha256(text.encode()).hexdigest(),
        scopes=frozenset(Scope),
        created_at=0.0,
        created_by="x",
        allow_internal=True,
    )
    put_back("api_token", token.digest, token.facts())
    tokens = application.api_tokens
    with pytest.raises(TokenRefused):
        tokens.authenticate(text, 1.0)
    assert [each.name for each in tokens.all()] == ["planted"]
    assert changed(application) == ["api_token:planted"]
    wish = TokenWish(name="ci", scopes=frozenset({Scope.SEND}))
    created = tokens.create(user(application), wish)
    assert tokens.authenticate(created.text, 1.0) == created.token
    old = write("api_token", created.token.digest)
    tokens.revoke(user(application), "ci")
    put_back("api_token", created.token.digest, old)
    with pytest.raises(TokenRefused):
        tokens.authenticate(created.text, 9.0)


def test_a_token_is_not_found_by_a_name_that_somebody_gave_it(
    application: "Application",
) -> None:
    tokens = application.api_tokens
    for name in ("ci", "backup"):
        wish = TokenWish(name=name, scopes=frozenset({Scope.READ}))
        last = tokens.create(user(application), wish)
    write("api_token_name", "ci", digest=last.token.digest)
    assert tokens.revoke(user(application), "ci").name == "ci"
    assert [token.name for token in tokens.active()] == ["backup"]


def test_what_was_changed_is_confirmed_or_rejected_with_an_audit_record(
    application: "Application", api: OrdersApi
) -> None:
    from outkey.hosts.django.models import SyncLine

    SyncLine.objects.filter(name="customers").update(path="/orders")
    write("database", "loot", url="sqlite:////tmp/loot.db")
    rows = application.vouched_rows
    loot, customers = rows.changed()
    confirm_rows(user(application), rows, [customers])
    reject_rows(user(application), rows, [loot])
    assert changed(application) == []
    run(application, "customers")
    assert list(application.sync_settings.databases()) == ["warehouse"]
    facts = application.audit_trail.rows.newest(20)
    noted = {(fact["tag"], *fact["fields"]) for fact in facts if fact.get("fields")}  # type: ignore[misc]
    assert {
        ("api:row:confirmed", "line:customers"),
        ("api:row:rejected", "database:loot"),
    } <= noted


def test_keys_are_rotated_with_all_that_they_vouch_for(
    application: "Application", home: Path
) -> None:
    from outkey.hosts.django.wiring import install

    run(application, "orders")
    steps = application.key_administration(user(application))
    first = application.keys.ring().primary.name
    steps.promote(steps.add())
    with pytest.raises(OutkeyError):
        steps.retire(first)
    assert sum(steps.rewrap()) >= 1
    steps.retire(first)
    again = install(home, {"OUTKEY_SQLITE_FOLDERS": str(home.parent)})
    assert changed(again) == []
    run(again, "orders")
    again.gateway.close()


def test_secrets_of_an_unconfirmed_webhook_follow_a_rotation_and_stay_unconfirmed(
    application: "Application",
) -> None:
    write("webhook", "shop", planted=1)
    steps = application.key_administration(user(application))
    first = application.keys.ring().primary.name
    steps.promote(steps.add())
    assert sum(steps.rewrap()) >= 1
    assert changed(application) == ["webhook:shop"]
    confirm_rows(
        user(application), application.vouched_rows, application.vouched_rows.changed()
    )
    settings = application.webhooks.ports().settings
    opened = settings.open_secrets(settings.get("shop"))
    assert opened.current == Secret("hook-secret")
    steps.retire(first)


def test_without_a_key_nothing_runs_and_all_is_listed(
    application: "Application", home: Path
) -> None:
    from outkey.hosts.django.wiring import install

    (home / "config" / "key").rename(home / "config" / "elsewhere")
    sealed = install(home, {"OUTKEY_SQLITE_FOLDERS": str(home.parent)})
    assert [each.name for each in sealed.registry.lines()]
    assert sealed.webhooks.stored().keys() == {"shop"}
    with pytest.raises(OutkeyError) as caught:
        run(sealed, "customers")
    assert caught.value.code == "sealed"
    sealed.gateway.close()
