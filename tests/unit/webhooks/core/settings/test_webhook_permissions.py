"""What a user needs to change a webhook, by what the change causes."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.permission import Permission
from outkey.sync.core.line.line import Sync
from outkey.webhooks.core.schemes.scheme import HmacHash, SignatureEncoding
from outkey.webhooks.core.settings.permissions import (
    FETCH,
    RULES,
    VERIFY,
    requirements_of_test,
    webhook_requirements,
)
from outkey.webhooks.core.settings.section import WEBHOOK_FIELDS
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import SECRET
from outkey.webhooks.engine.form import WebhookForm, form_values
from unit.webhooks.engine.test_webhook_form import NEW, Rights
from unit.webhooks.engine.test_webhook_reception import DOCUMENT, LINE, Hooks

HOOK = Webhook("shop", "shopify", line="orders")
CHANGED: dict[str, object] = {
    "scheme": "graph",
    "secret": "env:OTHER",
    "previous_secret": "env:OTHER",
    "verify_token": "env:OTHER",
    "configuration": "acme",
    "line": "contacts",
    "run": "orders",
    "handler": "shop.hooks.order",
    "records": "items",
    "confirm": "/orders/{id}",
    "confirm_id": "order_id",
    "tolerance_seconds": 86_400,
    "reason": "none",
    "topic": "arn:aws:sns:a:b:c",
    "webhook_id": "7",
    "signature_header": "X-Other",
    "signature_prefix": "v1=",
    "algorithm": HmacHash.SHA1,
    "encoding": SignatureEncoding.BASE64,
    "signed": "{method}{body}",
    "timestamp_header": "X-Time",
    "id_header": "X-Id",
    "id": "id",
    "token_header": "X-Word",
    "username": "bob",
}
TABLE_LINE = LINE.replace('target = "contact"', 'target = "table:orders"')


def needed(
    stored: Webhook | None, edited: Webhook, secrets: Collection[str] = ()
) -> list[Permission]:
    found = webhook_requirements(stored, edited, secrets)
    return [requirement.permission for requirement in found]


def test_every_setting_has_a_rule() -> None:
    assert set(RULES) == {field.key for field in WEBHOOK_FIELDS} == set(CHANGED)


@pytest.mark.parametrize("key", CHANGED)
def test_a_changed_setting_needs_what_its_rule_says(key: str) -> None:
    edited = replace(HOOK, **{key: CHANGED[key]})  # type: ignore[arg-type]
    more = FETCH if key == "confirm" else ()
    expected = [Permission.CHANGE_WEBHOOK, *RULES[key]]
    assert set(needed(HOOK, edited)) == {*expected, *more}
    assert needed(HOOK, HOOK) == [Permission.CHANGE_WEBHOOK]


def test_what_verifies_deliveries_needs_set_secret() -> None:
    free = {"configuration", "handler", "records"}
    causing = {"line", "run", "confirm", "confirm_id"}
    assert {key for key, rule in RULES.items() if rule == VERIFY} == (
        set(CHANGED) - free - causing
    )


def test_a_new_webhook_may_state_how_it_is_verified_but_not_that_it_is_not() -> None:
    new = replace(HOOK, scheme="hmac", signature_header="X-Proof")
    assert needed(None, new) == [Permission.ADD_WEBHOOK, Permission.RUN_LINE]
    assert needed(None, HOOK, [SECRET]) == [
        Permission.ADD_WEBHOOK,
        Permission.SET_SECRET,
        Permission.RUN_LINE,
    ]
    unverified = replace(HOOK, scheme="unverified", reason="a test")
    assert Permission.SET_SECRET in needed(None, unverified)
    unknown = replace(HOOK, scheme="of a later version")
    assert Permission.SET_SECRET not in needed(None, unknown)


def test_fetching_with_other_credentials_needs_what_sending_needs() -> None:
    fetching = replace(HOOK, confirm="/orders/{id}", configuration="acme")
    assert set(FETCH) <= set(needed(None, fetching))
    other = replace(fetching, configuration="other")
    assert needed(fetching, other) == [Permission.CHANGE_WEBHOOK, *FETCH]
    assert needed(fetching, fetching) == [Permission.CHANGE_WEBHOOK]
    # The credentials are those of the line where no configuration is named.
    of_line = replace(fetching, configuration="")
    assert set(FETCH) <= set(needed(of_line, replace(of_line, line="contacts")))


def test_a_form_is_refused_at_the_input_that_needs_more() -> None:
    hooks = Hooks()
    stored = hooks.settings.get("shop")

    def save(*lacking: Permission, **values: str) -> dict[str, str]:
        form = WebhookForm("shop", {**form_values(stored), **values}, {}, stored)
        errors = form.save(
            hooks.changes, Rights(), allowed=lambda need: need not in lacking
        )
        return {key: str(error.message) for key, error in errors.items()}

    changing = "you may not change how deliveries are verified"
    assert save(Permission.SET_SECRET, scheme="graph") == {"scheme": changing}
    assert hooks.settings.get("shop").webhook.scheme == "shopify"
    (field,) = save(Permission.RUN_LINE, does="run")
    assert field == "target"
    assert save(Permission.SET_SECRET, Permission.RUN_LINE, records="data") == {}
    assert save(scheme="graph") == {}


def test_a_new_form_with_a_secret_needs_set_secret() -> None:
    hooks = Hooks()
    form = WebhookForm("pay", NEW, {}, None)
    errors = form.save(
        hooks.changes, Rights(), allowed=lambda need: need != Permission.ADD_WEBHOOK
    )
    assert set(errors) == {"name"}


TABLE = Sync(target="table:orders", keys=("id",))
MODEL = Sync(target="contact", keys=("id",))
LITERAL = "[{id: 'a', total: `0`}]"


@pytest.mark.parametrize(
    ("before", "changes", "sync", "is_needed"),
    [
        ({}, {"records": LITERAL}, TABLE, True),
        ({"records": LITERAL}, {"records": "@"}, TABLE, True),
        ({"records": LITERAL}, {"topic": "other"}, TABLE, False),
        ({}, {"records": LITERAL}, MODEL, False),  # the rights on the model count
        ({}, {"records": LITERAL}, None, False),
        ({}, {"records": LITERAL, "line": "", "run": "orders"}, TABLE, False),
        # Not in two steps either: the line comes after the expression.
        ({"records": LITERAL, "line": ""}, {"line": "orders"}, TABLE, True),
        ({"records": LITERAL, "line": "other"}, {"line": "orders"}, TABLE, True),
        ({"line": "other"}, {"line": "orders"}, TABLE, False),
        (None, {"records": LITERAL}, TABLE, True),
        (None, {}, TABLE, False),
    ],
)
def test_to_choose_the_records_of_a_table_needs_the_right_to_change_lines(
    before: dict[str, str] | None,
    changes: dict[str, str],
    sync: Sync | None,
    *,
    is_needed: bool,
) -> None:
    stored = None if before is None else replace(HOOK, **before)  # type: ignore[arg-type]
    edited = replace(stored or HOOK, **changes)  # type: ignore[arg-type]
    needs = [need.permission for need in webhook_requirements(stored, edited, (), sync)]
    assert (Permission.CHANGE_LINE in needs) is is_needed


def test_records_that_an_expression_invents_are_refused_as_a_test_delivery_is() -> None:
    hooks = Hooks(DOCUMENT.replace(LINE, TABLE_LINE))
    stored = hooks.settings.get("shop")

    def save(*lacking: Permission, **values: str) -> list[tuple[str, str]]:
        form = WebhookForm("shop", {**form_values(stored), **values}, {}, stored)
        errors = form.save(
            hooks.changes, Rights(), allowed=lambda need: need not in lacking
        )
        return [(key, str(error.message)) for key, error in errors.items()]

    ((field, message),) = save(Permission.CHANGE_LINE, records=LITERAL)
    assert field == "records"
    assert "choose what is written to their tables" in message
    assert hooks.settings.get("shop").webhook.records == "@"
    assert save(records=LITERAL) == []


@pytest.mark.parametrize(
    ("document", "lacking", "words"),
    [
        (DOCUMENT, Permission.CHANGE_WEBHOOK, "change webhooks"),
        (DOCUMENT, Permission.CHANGE_LINE, ""),  # the rights on the model count
        (DOCUMENT.replace(LINE, TABLE_LINE), Permission.CHANGE_LINE, "tables"),
        (DOCUMENT.replace("line = ", "run = "), Permission.RUN_LINE, "start runs"),
        (DOCUMENT + 'confirm = "/orders/{id}"\n', Permission.ADD_LINE, "credentials"),
        (DOCUMENT + 'confirm = "/orders/{id}"\n', "", ""),
        ('[webhook.shop]\nscheme = "token"\nhandler = "shop.hooks.x"\n', "", ""),
    ],
)
def test_a_test_delivery_needs_the_rights_of_what_it_writes(
    document: str, lacking: str, words: str
) -> None:
    hooks = Hooks(document)
    webhook = hooks.settings.get("shop").webhook
    changes = hooks.changes

    def refuse(rights: Rights) -> str:
        try:
            changes.refuse_forbidden_test(
                webhook, rights, allowed=lambda need: need != lacking
            )
        except ConfigError as error:
            return str(error.message)
        return ""

    message = refuse(Rights())
    assert words in message
    assert bool(message) is bool(words)
    assert refuse(Rights(is_allowed=False)) or not webhook.line


def test_a_missing_line_has_nothing_to_write() -> None:
    needs = requirements_of_test(HOOK, None)
    assert [need.permission for need in needs] == [Permission.CHANGE_WEBHOOK]
