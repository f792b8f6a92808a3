"""A secret that a sender offers is accepted once, while there is none."""

import json
from dataclasses import replace
from hashlib import sha256
from hmac import new

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, Tag
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.settings.stored import SECRET
from outkey.webhooks.engine.offers import accept_offer
from outkey.webhooks.engine.reception import WebhookResponse
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.webhooks.engine.test_webhook_reception import DOCUMENT, Hooks

OFFERED = "b537207f20cbfa02357cf448134da559"
ASANA = DOCUMENT.replace('"shopify"', '"asana"')
NOTION = DOCUMENT.replace('"shopify"', '"notion"')


def asana(text: str = OFFERED) -> Delivery:
    return Delivery("POST", "/hooks/x", (("X-Hook-Secret", text),), b"")


def notion(token: str = OFFERED) -> Delivery:
    body = json.dumps({"verification_token": token}).encode()
    return Delivery("POST", "/hooks/x", (), body)


def signed(header: str, prefix: str = "", key: str = OFFERED) -> Delivery:
    body = b'{"id": "a"}'
    signature = prefix + new(key.encode(), body, sha256).hexdigest()
    return Delivery("POST", "/hooks/x", ((header, signature),), body)


def test_the_first_offer_is_stored_sealed_and_audited() -> None:
    hooks = Hooks(ASANA, secret="")
    response = WebhookResponse(200, b"", (("X-Hook-Secret", OFFERED),))
    assert hooks.receive(asana()) == response
    stored = hooks.settings.get("shop")
    assert stored.secrets[SECRET].set_by == "handshake"
    assert OFFERED not in repr(stored.facts())
    (event,) = hooks.host.audit.events
    assert isinstance(event, Change)
    assert (event.tag, event.actor, event.fields) == (
        Tag.SECRET_SET,
        "handshake",
        ("shop", "secret"),
    )
    assert hooks.receive(signed("X-Hook-Signature")).status == 200


def test_a_notice_shows_where_an_offer_came_from() -> None:
    hooks = Hooks(ASANA, secret="")
    hooks.receive(replace(asana(), address="203.0.113.7"))
    (event,) = hooks.host.audit.events
    assert isinstance(event, Change)
    assert event.fields == ("shop", "secret", "203.0.113.7")
    stored = hooks.settings.get("shop")
    assert stored.secrets[SECRET].offered_from == "203.0.113.7"
    (notice,) = [
        finding
        for finding in hooks.application.webhooks.findings(stored)
        if finding.id == "H014"
    ]
    assert notice.level is Level.NOTICE
    assert notice.message == (
        "the secret was offered from 203.0.113.7 at 2027-01-15 08:00:00 UTC"
    )
    hooks.receive(replace(asana("c" * 32), address="198.51.100.1"))  # refused
    assert hooks.settings.get("shop") == stored
    hooks.changes.set_secret("shop", Secret("entered"))
    entered = hooks.settings.get("shop")
    findings = hooks.application.webhooks.findings(entered)
    assert "H014" not in {finding.id for finding in findings}


def test_a_later_offer_replaces_nothing() -> None:
    hooks = Hooks(ASANA, secret="")
    hooks.receive(asana())
    assert hooks.receive(asana("c" * 32)).status == 401
    assert hooks.receive(asana()).status == 200  # the same one again
    assert hooks.receive(signed("X-Hook-Signature")).status == 200
    assert hooks.tags() == [Tag.SECRET_SET]
    entered = Hooks(ASANA, secret="entered")
    assert entered.receive(asana()).status == 401
    referring = ASANA.replace('"asana"', '"asana"\nsecret = "env:NO_SUCH_NAME"')
    assert Hooks(referring, secret="").receive(asana()).status == 503


def test_of_two_offers_at_once_one_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks(ASANA, secret="")
    before = hooks.settings.get("shop")
    monkeypatch.setattr(WebhookSettings, "by_endpoint", lambda *_: before)
    assert hooks.receive(asana()).status == 200
    assert hooks.receive(asana("c" * 32)) == WebhookResponse(401)
    stored = hooks.settings.get("shop")
    audit = hooks.host.audit
    assert accept_offer(hooks.settings, audit, stored, offered=Secret(OFFERED))
    assert not accept_offer(hooks.settings, audit, stored, offered=Secret("other"))


def test_the_token_of_notion_is_shown_until_it_has_sent_a_delivery() -> None:
    hooks = Hooks(NOTION, secret="")
    with pytest.raises(ConfigError, match="no offered token"):
        hooks.changes.view_offer("shop")
    assert hooks.receive(notion()) == WebhookResponse(200)
    assert hooks.changes.view_offer("shop") == Secret(OFFERED)
    assert hooks.tags() == [Tag.SECRET_SET, Tag.OFFER_VIEWED]
    assert hooks.receive(signed("X-Notion-Signature", "sha256=")).status == 200
    with pytest.raises(ConfigError, match="no offered token"):
        hooks.changes.view_offer("shop")


def test_no_other_secret_is_shown() -> None:
    entered = Hooks(NOTION, secret="entered")
    asana_hooks = Hooks(ASANA, secret="")
    asana_hooks.receive(asana())
    for hooks in (entered, asana_hooks):
        with pytest.raises(ConfigError, match="no offered token"):
            hooks.changes.view_offer("shop")
