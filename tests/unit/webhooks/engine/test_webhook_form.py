"""The form of a webhook: the same rules as a document, with errors by input."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.section import webhook_table
from outkey.webhooks.core.settings.stored import PREVIOUS, SECRET, VERIFY_TOKEN
from outkey.webhooks.engine.form import (
    WebhookForm,
    form_values,
    offered_schemes,
    refuse_unfit_secret,
    schemes_of_inputs,
)
from unit.webhooks.engine.test_webhook_reception import (
    DOCUMENT,
    KEY,
    OTHER_KEY,
    Hooks,
    signed,
)

STANDARD_SECRET = "whsec_" + "A" * 32
NEW = {"scheme": "stripe", "does": "line", "target": "orders", "records": "@"}


class Rights:
    """The rights of a user, who may or may not change records."""

    def __init__(self, *, is_allowed: bool = True) -> None:
        self.is_allowed = is_allowed

    def demand(self, target: str, *verbs: str) -> None:
        if not self.is_allowed:
            raise ConfigError(Text("you may not change {target}", target=target))


def save(
    hooks: Hooks,
    values: Mapping[str, str],
    name: str = "pay",
    secrets: Mapping[str, str] | None = None,
    *,
    is_allowed: bool = True,
) -> dict[str, str]:
    stored = hooks.settings.all().get(name)
    opened = {key: Secret(text) for key, text in (secrets or {}).items()}
    form = WebhookForm(name, {**form_values(stored), **values}, opened, stored)
    errors = form.save(
        hooks.changes, Rights(is_allowed=is_allowed), allowed=lambda _need: True
    )
    return {key: str(error.message) for key, error in errors.items()}


def table_of(hooks: Hooks, name: str = "pay") -> dict[str, object]:
    return webhook_table(hooks.settings.get(name).webhook)


def test_a_new_webhook_is_saved_with_its_secret() -> None:
    hooks = Hooks()
    assert save(hooks, NEW, secrets={SECRET: "stripe-secret"}) == {}
    assert table_of(hooks) == {"scheme": "stripe", "line": "orders"}
    stored = hooks.settings.get("pay")
    assert hooks.settings.open_secrets(stored).current == Secret("stripe-secret")
    assert [str(tag) for tag in hooks.tags()] == ["api:webhook:kept", "api:secret:set"]


def test_what_the_scheme_does_not_use_is_left_out() -> None:
    hooks = Hooks()
    entered = {**NEW, "signature_header": "X-Old", "username": "u", "topic": "x"}
    assert save(hooks, entered) == {}
    assert table_of(hooks) == {"scheme": "stripe", "line": "orders"}


def test_a_custom_scheme_has_its_fields() -> None:
    hooks = Hooks()
    entered = {
        **NEW,
        "scheme": "hmac",
        "does": "run",
        "signature_header": " X-Sig ",
        "signature_prefix": "v1 ",
        "signed": "{timestamp}.{body}",
        "timestamp_header": "X-Time",
        "tolerance_seconds": "60",
    }
    assert save(hooks, entered) == {}
    assert table_of(hooks) == {
        "scheme": "hmac",
        "run": "orders",
        "signature_header": "X-Sig",
        "signature_prefix": "v1 ",
        "signed": "{timestamp}.{body}",
        "timestamp_header": "X-Time",
        "tolerance_seconds": 60,
    }
    assert form_values(hooks.settings.get("pay"))["tolerance_seconds"] == "60"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"scheme": ""}, "scheme"),
        ({"scheme": "strip"}, "scheme"),
        ({"target": ""}, "target"),
        ({"does": ""}, "target"),
        ({"does": "handler", "target": "os.system"}, "target"),
        ({"does": "handler", "handler": "os.system"}, "handler"),
        ({"does": "handler", "handler": "system"}, "handler"),
        ({"target": "unknown"}, "target"),
        ({"records": "]["}, "records"),
        ({"configuration": "unknown"}, "configuration"),
        ({"tolerance_seconds": "soon"}, "tolerance_seconds"),
        ({"tolerance_seconds": "0"}, "tolerance_seconds"),
        ({"scheme": "hmac"}, "signature_header"),
        ({"scheme": "unverified"}, "reason"),
        ({"scheme": "sns", "topic": "x"}, "topic"),
        ({"scheme": "twilio"}, "scheme"),
    ],
)
def test_an_error_belongs_to_its_input(values: dict[str, str], place: str) -> None:
    hooks = Hooks()
    assert list(save(hooks, {**NEW, **values})) == [place]
    assert list(hooks.settings.all()) == ["shop"]
    assert hooks.tags() == []


def test_several_errors_are_shown_at_once() -> None:
    hooks = Hooks()
    entered = {**NEW, "scheme": "unverified", "target": ""}
    errors = save(hooks, entered, name="\n", secrets={SECRET: "••••"})
    assert set(errors) == {"name", SECRET, "target", "reason"}


def test_a_name_is_not_taken_twice() -> None:
    hooks = Hooks()
    form = WebhookForm("shop", NEW)
    errors = form.save(hooks.changes, Rights(), allowed=lambda _need: True)
    assert list(errors) == ["name"]
    assert table_of(hooks, "shop")["scheme"] == "shopify"


def test_a_user_needs_the_rights_on_the_records_of_the_line() -> None:
    hooks = Hooks()
    errors = save(hooks, NEW, is_allowed=False)
    assert errors == {"target": "you may not change contact"}
    assert list(hooks.settings.all()) == ["shop"]


def refused_field(scheme: str, field: str, text: str) -> str | None:
    """Return the field of the error for a secret; None if it is accepted."""
    try:
        refuse_unfit_secret(scheme, field, Secret(text))
    except ConfigError as error:
        return error.field
    return None


@pytest.mark.parametrize(
    ("scheme", "field", "text"),
    [
        ("standard", SECRET, "not base64!"),
        ("standard", PREVIOUS, "whsec_A"),
        ("stripe", SECRET, ""),
        ("discord", SECRET, "zz"),
    ],
)
def test_a_secret_of_another_form_is_refused(
    scheme: str, field: str, text: str
) -> None:
    assert refused_field(scheme, field, text) == field


@pytest.mark.parametrize(
    ("scheme", "field", "text"),
    [
        ("standard", SECRET, STANDARD_SECRET),
        ("unknown", SECRET, "x"),
        ("meta", VERIFY_TOKEN, "x"),
    ],
)
def test_a_secret_of_the_right_form_is_accepted(
    scheme: str, field: str, text: str
) -> None:
    assert refused_field(scheme, field, text) is None


def test_a_reference_stays_until_a_value_takes_its_place() -> None:
    hooks = Hooks(DOCUMENT + 'secret = "env:SHOP"\n', secret="")
    assert save(hooks, {"records": "data"}, name="shop") == {}
    assert table_of(hooks, "shop")["secret"] == "env:SHOP"
    assert save(hooks, {}, name="shop", secrets={SECRET: KEY}) == {}
    assert "secret" not in table_of(hooks, "shop")
    assert hooks.receive(signed()).status == 200


def test_a_reference_goes_with_a_scheme_that_has_no_secret() -> None:
    hooks = Hooks(DOCUMENT + 'secret = "env:SHOP"\n', secret="")
    entered = {"scheme": "unverified", "reason": "inside the building"}
    assert save(hooks, entered, name="shop") == {}
    assert "secret" not in table_of(hooks, "shop")


def test_a_handler_is_one_that_the_operator_has_listed() -> None:
    hooks = Hooks()
    hooks.application = replace(hooks.application, listed_handlers=("shop.hooks",))
    entered = {"does": "handler", "handler": " shop.hooks.order "}
    assert save(hooks, entered, name="shop") == {}
    assert table_of(hooks, "shop")["handler"] == "shop.hooks.order"
    assert "line" not in table_of(hooks, "shop")
    values = form_values(hooks.settings.get("shop"))
    assert (values["does"], values["target"]) == ("handler", "")
    errors = save(hooks, {"handler": "os.system"}, name="shop")
    assert list(errors) == ["handler"]
    assert save(hooks, {"does": "run", "target": "orders"}, name="shop") == {}
    assert "handler" not in table_of(hooks, "shop")


def test_a_form_shows_what_is_stored_and_not_what_is_not() -> None:
    assert form_values(None)["signed"] == "{body}"
    assert form_values(None)["tolerance_seconds"] == ""
    assert form_values(Hooks().settings.get("shop"))["target"] == "orders"
    assert SECRET not in form_values(Hooks().settings.get("shop"))


def test_every_scheme_is_offered_once() -> None:
    senders, custom = offered_schemes()
    assert sorted(name for name, _ in (*senders, *custom)) == sorted(SCHEMES)
    assert [name for name, _ in custom] == ["hmac", "token", "basic", "unverified"]


def test_inputs_know_their_schemes() -> None:
    users = schemes_of_inputs()
    assert users["signature_header"] == ["hmac"]
    assert users["reason"] == ["unverified"]
    assert "shopify" in users[SECRET]
    assert "sns" not in users[SECRET]
    assert "stripe" in users["tolerance_seconds"]
    assert "records" not in users


def test_a_secret_is_rotated_without_being_known() -> None:
    hooks = Hooks(secret="")
    hooks.changes.rotate_secret("shop", Secret(OTHER_KEY))
    assert PREVIOUS not in hooks.settings.get("shop").secrets
    hooks.changes.rotate_secret("shop", Secret(KEY))
    assert hooks.receive(signed(event="e1", key=OTHER_KEY)).status == 200
    assert hooks.receive(signed(event="e2")).status == 200
    hooks.changes.clear_previous("shop")
    assert hooks.receive(signed(event="e3", key=OTHER_KEY)).status == 401
    assert hooks.receive(signed(event="e4")).status == 200
    assert [str(tag) for tag in hooks.tags()][:4] == [
        "api:secret:set",
        "api:secret:set",
        "api:secret:set",
        "api:secret:cleared",
    ]
