"""A secret of a webhook belongs to the scheme that it was entered for."""

from dataclasses import replace

import pytest

from outkey.administration.engine.editing.applying import Applied
from outkey.foundation.core.errors import ConfigError, SecretRebindRequired
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.webhooks.core.settings.settings import secret_binding
from outkey.webhooks.core.settings.stored import (
    PREVIOUS,
    SECRET,
    VERIFY_TOKEN,
    StoredWebhook,
)
from outkey.webhooks.engine.offers import has_offer
from unit.webhooks.engine.test_webhook_offers import ASANA, asana
from unit.webhooks.engine.test_webhook_reception import (
    DOCUMENT,
    KEY,
    OTHER_KEY,
    Hooks,
    signed,
)

GITHUB = DOCUMENT.replace('"shopify"', '"github"')
NAMED = 'scheme = "{}"\nsecret = "env:HOOK_KEY"'


def change_on_the_page(hooks: Hooks, **settings: str) -> None:
    """Save a webhook as the form does: references stay as they are stored."""
    webhook = replace(hooks.settings.get("shop").webhook, **settings)  # type: ignore[arg-type]
    hooks.changes.save_with_secrets(webhook, {})


def finding_ids(hooks: Hooks) -> list[str]:
    stored = hooks.settings.get("shop")
    return [finding.id for finding in hooks.settings.findings(stored)]


def test_a_changed_scheme_refuses_the_secret_until_it_is_entered_again() -> None:
    hooks = Hooks(GITHUB)
    hooks.apply(DOCUMENT)
    assert hooks.receive(signed()).status == 401
    assert hooks.refused() == {"secret_of_other_scheme": 1}
    stored = hooks.settings.get("shop")
    assert hooks.settings.open_secrets(stored).current is None
    assert finding_ids(hooks) == ["H017"]
    with pytest.raises(SecretRebindRequired, match="another scheme"):
        hooks.settings.secret_to_sign(stored)
    hooks.changes.set_secret("shop", Secret(KEY))
    assert hooks.receive(signed()).status == 200
    assert finding_ids(hooks) == []
    again = hooks.settings.get("shop")
    assert hooks.settings.secret_to_sign(again) == Secret(KEY)


def test_the_scheme_that_a_secret_was_entered_for_has_it_again() -> None:
    hooks = Hooks()
    hooks.apply(GITHUB)
    hooks.apply(DOCUMENT)
    assert hooks.receive(signed()).status == 200


def test_a_secret_for_one_header_is_not_sent_in_another() -> None:
    token = DOCUMENT.replace('"shopify"', '"token"')
    hooks = Hooks(token)
    hooks.apply(token + 'token_header = "X-Other"\n')
    stored = hooks.settings.get("shop")
    assert secret_binding(stored.webhook) == "token x-other"
    assert hooks.settings.open_secrets(stored).current is None


def test_a_webhook_of_the_previous_version_keeps_its_secret_until_it_changes() -> None:
    hooks = Hooks()
    hooks.changes.rotate_secret("shop", Secret("new"))
    states = hooks.application.states
    facts = dict(states.read(StateKind.WEBHOOK, ["shop"])["shop"].value)
    del facts["bound"]
    states.put(StateKind.WEBHOOK, {"shop": facts})
    assert hooks.receive(signed(key="new")).status == 200
    assert hooks.receive(signed(event="e2")).status == 200  # the previous one
    hooks.apply(GITHUB)
    stored = hooks.settings.get("shop")
    assert stored.bound[SECRET] == stored.bound[PREVIOUS] == "shopify"
    assert finding_ids(hooks) == ["H017", "H010"]


def test_a_previous_secret_of_another_scheme_is_not_accepted_and_named() -> None:
    hooks = Hooks(GITHUB)
    hooks.changes.set_secret("shop", Secret(OTHER_KEY), PREVIOUS)
    hooks.apply(DOCUMENT)
    hooks.changes.set_secret("shop", Secret(KEY))
    assert hooks.receive(signed(key=OTHER_KEY)).status == 401
    assert finding_ids(hooks) == ["H010"]
    # Not even to explain the refusal: it was replaced for the other scheme.
    assert hooks.refused() == {"wrong_signature": 1}


def test_a_verify_token_of_another_scheme_is_named() -> None:
    meta = DOCUMENT.replace('"shopify"', '"meta"')
    hooks = Hooks(meta)
    hooks.changes.set_secret("shop", Secret("verify"), VERIFY_TOKEN)
    hooks.apply(meta.replace('"meta"', '"whatsapp"'))
    assert finding_ids(hooks) == ["H017", "H011"]
    hooks.apply(DOCUMENT)  # this scheme has none
    assert finding_ids(hooks) == ["H017"]


def test_a_reference_is_bound_until_a_document_names_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK_KEY", KEY)
    github = DOCUMENT.replace('scheme = "shopify"', NAMED.format("github"))
    hooks = Hooks(github, secret="")
    change_on_the_page(hooks, scheme="shopify")
    stored = hooks.settings.get("shop")
    assert stored.webhook.secret == "env:HOOK_KEY"
    assert hooks.receive(signed()).status == 401
    assert finding_ids(hooks) == ["H017"]
    named = DOCUMENT.replace('scheme = "shopify"', NAMED.format("shopify"))
    applied = hooks.apply(named)
    assert isinstance(applied, Applied)
    assert applied.webhooks["updated"] == ("shop",)
    (difference,) = applied.differences
    assert [(change.old, change.new) for change in difference.fields] == [
        ("env:HOOK_KEY for github", "env:HOOK_KEY")
    ]
    assert hooks.receive(signed()).status == 200
    again = hooks.apply(named)
    assert isinstance(again, Applied)
    assert again.webhooks["unchanged"] == ("shop",)


def test_applying_another_scheme_says_what_becomes_of_the_secret() -> None:
    hooks = Hooks(GITHUB)
    applied = hooks.apply(DOCUMENT, dry_run=True)
    assert isinstance(applied, Applied)
    found = [(finding.id, str(finding.level)) for _, finding in applied.findings]
    assert found == [("H017", "warning")]


def test_an_offered_secret_is_shown_for_the_scheme_that_it_was_offered_for() -> None:
    hooks = Hooks(ASANA, secret="")
    assert hooks.receive(asana()).status == 200
    hooks.apply(DOCUMENT.replace('"shopify"', '"notion"'))
    assert not has_offer(hooks.settings.get("shop"))
    with pytest.raises(ConfigError, match="no offered token"):
        hooks.changes.view_offer("shop")


def test_a_sender_may_offer_a_secret_where_the_stored_one_is_of_another() -> None:
    hooks = Hooks(GITHUB)
    hooks.apply(ASANA)
    assert hooks.receive(asana()).status == 200
    assert hooks.receive(asana("c" * 32)).status == 401
    assert finding_ids(hooks) == []


def test_a_rotation_after_a_change_of_scheme_accepts_the_new_secret_only() -> None:
    hooks = Hooks(GITHUB)
    hooks.apply(DOCUMENT)
    hooks.changes.rotate_secret("shop", Secret("new"))
    stored = hooks.settings.get("shop")
    assert PREVIOUS not in stored.secrets
    assert hooks.receive(signed(key="new")).status == 200


def test_the_stored_facts_of_a_webhook_have_its_bindings() -> None:
    stored = Hooks().settings.get("shop")
    assert StoredWebhook.from_facts("shop", stored.facts()) == stored
    assert stored.bound[SECRET] == "shopify"
