"""Webhooks that a program creates, changes and deletes with its token."""

from collections.abc import Callable, Mapping

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.engine.access.api_access import ApiAccess, ApiSubject
from outkey.administration.engine.access.api_lines import ApiLines
from outkey.administration.engine.access.api_webhooks import ApiWebhooks, TaggedWebhook
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    EditConflict,
    OutkeyError,
    ScopeMissing,
    UnknownConfiguration,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, Tag
from outkey.webhooks.core.settings.facts import webhook_facts
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.changes import WebhookAdministration
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.administration.core.access.test_api_access import access, prepared
from unit.administration.core.access.test_api_lines import TABLE
from unit.application_in_memory import MemoryHost

HOOK: dict[str, object] = {"configuration": "acme", "scheme": "github", "line": "items"}


def host_with_line() -> MemoryHost:
    """Return a host with the lines items and call of acme."""
    host = prepared()
    lines = ApiLines(access(host, name="maker"))
    lines.save("items", TABLE, whole=True)
    lines.save("call", {"configuration": "acme"}, whole=True)
    return host


def settings_of(host: MemoryHost) -> WebhookSettings:
    ports = host.application.hook_ports
    assert ports is not None
    return ports().settings


def put(granted: ApiAccess, name: str = "shop", **facts: object) -> TaggedWebhook:
    return ApiWebhooks(granted).save(name, HOOK | facts, whole=True)


def patch(granted: ApiAccess, name: str = "shop", **facts: object) -> TaggedWebhook:
    return ApiWebhooks(granted).save(name, facts, whole=False)


def test_a_webhook_that_another_program_has_changed_is_not_deleted() -> None:
    granted = access(host_with_line())
    seen = put(granted).tag
    changed = put(granted, id="x").tag
    with pytest.raises(EditConflict):
        ApiWebhooks(granted).remove("shop", seen)
    assert ApiWebhooks(granted).get("shop").tag == changed
    ApiWebhooks(granted).remove("shop", changed)


def test_a_webhook_is_created_replaced_changed_and_deleted() -> None:
    host = host_with_line()
    granted = access(host)
    made = put(granted, id="delivery.id")
    assert made.created
    changed = patch(granted, records="items", id=None).shown.stored
    assert (changed.webhook.records, changed.webhook.id) == ("items", "")
    assert changed.endpoint == made.shown.stored.endpoint
    replaced = put(granted, id="x").shown.stored.webhook
    assert (replaced.records, replaced.id) == ("@", "x")
    ApiWebhooks(granted).set_secret("shop", "secret", Secret("swordfish"))
    shown = ApiWebhooks(granted).get("shop").shown
    assert webhook_facts(shown)["secrets"] == {
        "secret": "set",
        "previous_secret": None,
        "verify_token": None,
    }
    opened = settings_of(host).open_secrets(shown.stored).current
    assert opened == Secret("swordfish")
    ApiWebhooks(granted).remove("shop")
    assert settings_of(host).by_endpoint(changed.endpoint) is None
    assert [
        (event.tag, event.actor, event.fields)
        for event in host.audit.events
        if isinstance(event, Change)
    ] == [
        (Tag.WEBHOOK_SAVED, "token:ci", ("shop",)),
        (Tag.WEBHOOK_SAVED, "token:ci", ("shop",)),
        (Tag.WEBHOOK_SAVED, "token:ci", ("shop",)),
        (Tag.SECRET_SET, "token:ci", ("shop", "secret")),
        (Tag.WEBHOOK_REMOVED, "token:ci", ("shop",)),
    ]


def test_a_stored_secret_stays_and_the_same_settings_are_no_change() -> None:
    host = host_with_line()
    granted = access(host)
    put(granted)
    ApiWebhooks(granted).set_secret("shop", "secret", Secret("swordfish"))
    tag = ApiWebhooks(granted).get("shop").tag
    host.audit.events.clear()
    shown = webhook_facts(ApiWebhooks(granted).get("shop").shown)
    for whole in (True, False):
        same = ApiWebhooks(granted).save("shop", shown, whole=whole, version=tag)
        assert (same.tag, same.created) == (tag, False)
    assert host.audit.events == []
    put(granted, records="items")
    assert ApiWebhooks(granted).get("shop").shown.stored.has_secret


def test_a_version_that_was_not_seen_is_not_replaced() -> None:
    granted = access(host_with_line())
    webhooks = ApiWebhooks(granted)
    tag = put(granted).tag
    for facts, whole in ((HOOK, True), ({"id": "x"}, False)):
        with pytest.raises(EditConflict, match="If-Match") as caught:
            webhooks.save("shop", facts, whole=whole, version='"other"')
        assert status_of(caught.value) == 412
    with pytest.raises(EditConflict):
        webhooks.save("new", HOOK, whole=True, version="*")
    webhooks.save("shop", {"id": "x"}, whole=False, version=tag)
    webhooks.remove("shop")
    assert put(granted).tag != tag, "another webhook has another endpoint"


@pytest.mark.parametrize(("version", "status"), [("*", 412), ("", 409)])
def test_of_two_editors_at_once_one_wins(
    monkeypatch: pytest.MonkeyPatch, version: str, status: int
) -> None:
    host = host_with_line()
    granted = access(host)
    put(granted)
    save = WebhookAdministration.save_seen

    def save_after_another(
        changes: WebhookAdministration,
        seen: StoredWebhook | None,
        webhook: Webhook,
        *,
        names_references: bool,
    ) -> None:
        monkeypatch.undo()
        patch(granted, id="first")
        save(changes, seen, webhook, names_references=names_references)

    monkeypatch.setattr(WebhookAdministration, "save_seen", save_after_another)
    with pytest.raises(EditConflict) as caught:
        ApiWebhooks(granted).save(
            "shop", {"id": "second"}, whole=False, version=version
        )
    assert status_of(caught.value) == status
    assert settings_of(host).get("shop").webhook.id == "first"


@pytest.mark.parametrize(
    ("facts", "field", "status"),
    [
        ({"scheme": "githb"}, "scheme", 422),
        ({"scheme": 5}, "scheme", 422),
        ({"tolerance_seconds": "5"}, "tolerance_seconds", 422),
        ({"run": "items"}, "run", 422),  # beside a line
        ({"odd": 1}, "odd", 422),
        ({"secret": "swordfish"}, "secret", 422),
        ({"records": "[", "line": "items"}, "records", 422),
        ({"webhook": "other"}, "name", 400),
        ({"line": "nothing"}, "line", 404),
        ({"line": None, "run": "nothing"}, "run", 404),
        ({"configuration": "nothing"}, "configuration", 404),
        ({"line": "call"}, "line", 422),  # it synchronizes nothing
        ({"line": "contacts"}, "line", 403),  # a model
        ({"line": None, "run": "contacts"}, "run", 403),
        ({"line": None, "handler": "shop.hooks.deploy"}, "handler", 403),
        ({"line": None, "handler": "os.system"}, "handler", 403),
        ({"secret": "env:HOME"}, "secret", 403),
        ({"previous_secret": "file:/etc/passwd"}, "previous_secret", 403),
    ],
)
def test_what_is_wrong_is_named_by_its_key(
    facts: Mapping[str, object], field: str, status: int
) -> None:
    host = host_with_line()
    granted = access(host)
    with pytest.raises(OutkeyError) as caught:
        ApiWebhooks(granted).save("shop", HOOK | facts, whole=True)
    assert (caught.value.field, status_of(caught.value)) == (field, status)
    assert "swordfish" not in f"{caught.value} {caught.value.hint}"
    assert "shop" not in settings_of(host).all()


def test_a_handler_that_an_administrator_has_set_stays() -> None:
    host = host_with_line()
    granted = access(host)
    changed = patch(granted, "deploys", id="x").shown.stored.webhook
    assert (changed.handler, changed.id) == ("shop.hooks.deploy", "x")
    with pytest.raises(BlockedByPolicy, match="function"):
        patch(granted, "deploys", handler="shop.hooks.other")
    by_line = patch(granted, "deploys", handler=None, line="items")
    assert by_line.shown.stored.webhook.line == "items"


def test_a_line_of_a_model_needs_a_token_with_allow_targets() -> None:
    host = host_with_line()
    granted = access(host, allow_targets=True)
    assert put(granted, line="contacts").created


def test_only_offered_references_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_HOOK", "swordfish")
    host = host_with_line()
    granted = access(host, references=("env:SHOP_HOOK",))
    stored = put(granted, secret="env:SHOP_HOOK").shown.stored
    assert stored.is_bound("secret")
    # One that an operator has set stays, whoever changes something else.
    bare = access(host, name="bare")
    for changed in (put(bare, id="x"), patch(bare, id="y")):
        assert changed.shown.stored.webhook.secret == "env:SHOP_HOOK"
    shown = webhook_facts(changed.shown)
    assert put(bare, **shown).shown.stored == changed.shown.stored
    assert put(bare, secret="env:SHOP_HOOK").tag != changed.tag, "and may be named"
    assert patch(bare, secret=None).shown.stored.webhook.secret == ""


def test_a_reference_is_not_used_for_another_scheme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A token could choose one whose proof is the secret itself."""
    monkeypatch.setenv("SHOP_HOOK", "swordfish")
    host = host_with_line()
    put(access(host, references=("env:SHOP_HOOK",)), secret="env:SHOP_HOOK")
    bare = access(host, name="bare")
    with pytest.raises(BlockedByPolicy, match="operator offers"):
        patch(bare, scheme="token", secret="env:SHOP_HOOK")
    stored = patch(bare, scheme="token").shown.stored
    assert stored.webhook.secret == "env:SHOP_HOOK"
    assert stored.is_of_other_scheme("secret")


@pytest.mark.parametrize(
    ("field", "value"),
    [("odd", "x"), ("bodies", "x"), ("secret", "")],
)
def test_a_secret_that_cannot_be_one_is_refused(field: str, value: str) -> None:
    host = host_with_line()
    put(access(host))
    with pytest.raises(ConfigError):
        ApiWebhooks(access(host, name="x")).set_secret("shop", field, Secret(value))


@pytest.mark.parametrize("field", ["secret", "previous_secret", "verify_token"])
def test_each_secret_is_set_and_audited(field: str) -> None:
    host = host_with_line()
    granted = access(host)
    put(granted)
    host.audit.events.clear()
    ApiWebhooks(granted).set_secret("shop", field, Secret("swordfish"))
    assert host.audit.events == [
        Change(Tag.SECRET_SET, "token:ci", fields=("shop", field))
    ]
    assert settings_of(host).get("shop").has(field)


ACTIONS: dict[str, Callable[[ApiAccess], object]] = {
    "put": put,
    "patch": lambda granted: patch(granted, id="x"),
    "delete": lambda granted: ApiWebhooks(granted).remove("shop"),
    "secret": lambda granted: ApiWebhooks(granted).set_secret(
        "shop", "secret", Secret("swordfish")
    ),
}


@pytest.mark.parametrize("scope", [scope for scope in Scope if scope != Scope.MANAGE])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_change_needs_its_scope(action: str, scope: Scope) -> None:
    with pytest.raises(ScopeMissing):
        ACTIONS[action](access(host_with_line(), scope))


def test_a_limited_token_changes_webhooks_of_its_configurations_only() -> None:
    host = host_with_line()
    unknown = [act for name, act in ACTIONS.items() if name != "put"]
    for act in unknown:
        with pytest.raises(UnknownConfiguration, match="no webhook"):
            act(access(host, name=f"all{unknown.index(act)}"))
    put(access(host))
    limited = access(host, name="limited", configurations=("other",))
    for action in ACTIONS.values():
        with pytest.raises(UnknownConfiguration, match="no webhook"):
            action(limited)
    for facts in (HOOK, HOOK | {"configuration": "other"}):
        with pytest.raises(UnknownConfiguration) as caught:
            ApiWebhooks(limited).save("mine", facts, whole=True)
        assert "acme" not in f"{caught.value} {caught.value.hint}"
    own = access(host, name="own", configurations=("acme",))
    with pytest.raises(BlockedByPolicy, match="certain configurations") as refused:
        put(own, "mine", configuration="")
    assert refused.value.field == "configuration"
    assert put(own, "mine").created
    with pytest.raises(UnknownConfiguration):
        patch(own, "mine", configuration="other")


def test_a_webhook_of_its_own_or_a_new_one_is_admitted() -> None:
    limited = access(prepared(), configurations=("acme",))
    for name in ("contacts", "new"):
        limited.admit([Scope.MANAGE], ApiSubject.NEW_WEBHOOK, name)
    for name in ("orders", "deploys"):
        with pytest.raises(UnknownConfiguration):
            limited.admit([Scope.MANAGE], ApiSubject.NEW_WEBHOOK, name)
