"""Somebody writes to the database and has no key: what they get is nothing."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection, connections
from django.db.models import F

from database.test_installation import application, installed, spar  # noqa: F401 - fixtures
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import EditConflict, OutkeyError, SecretUnreadable
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.drafts import ConfigurationDraft
from outkey.sending.core.vault import voucher
from outkey.spar import Spar

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


@pytest.fixture
def attacker() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def wait_for_caches() -> None:
    time.sleep(0.15)


def test_one_update_does_not_post_the_environment_to_another_token_url(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
    attacker: Spar,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue

    monkeypatch.setenv("SHOP_SECRET", "spar-client-secret")
    text = f"""
[configuration.shop]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.shop.oauth2]
token_url = "{spar.url}/oauth/token"
client_id = "spar-client"
client_secret = "env:SHOP_SECRET"
"""
    application.apply(
        application.administration("tester"), parse_document(text), dry_run=False
    )
    row = Configuration.objects.get(name="shop")
    binding = application.registry.get("shop").binding_of("client_secret")
    moved = binding.replace(spar.url.split("//")[1], attacker.url.split("//")[1], 1)
    for reference in ("file:/proc/self/environ", "env:PATH"):
        settings = row.settings | {"oauth2.token_url": f"{attacker.url}/oauth/token"}
        Configuration.objects.filter(pk=row.pk).update(
            settings=settings, revision=F("revision") + 1
        )
        SecretValue.objects.filter(configuration=row, field="client_secret").update(
            reference=reference, origin=moved
        )
        wait_for_caches()
        with pytest.raises(OutkeyError):
            application.gateway.send("shop", "GET", "/echo")
    assert attacker.journal == []


def test_a_reference_that_sql_put_in_the_place_of_a_secret_is_not_sent(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
    tmp_path: Path,
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue

    application.administration("tester").set_secret(
        "acme", "token", Secret("spar-token")
    )
    application.administration("tester").set_secret(
        "acme", "header:X-API-Key", Secret("a-key")
    )
    (tmp_path / "other").write_text("somebody's secret", encoding="ascii")
    SecretValue.objects.filter(field="token").update(
        reference=f"file:{tmp_path / 'other'}", sealed=None, key_id=""
    )
    Configuration.objects.update(revision=F("revision") + 1)
    wait_for_caches()
    with pytest.raises(SecretUnreadable):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_labels_that_sql_swapped_bring_no_replaced_secret_back(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue
    from outkey.sending.core.vault.versions import SecretLabel

    administration = application.administration("tester")
    administration.set_secret("acme", "header:X-API-Key", Secret("a-key"))
    for value in ("replaced-long-ago", "the-current-one"):
        administration.set_secret("acme", "token", Secret(value))
    assert application.gateway.send("acme", "GET", "/echo").status == 200
    spar.clear()
    versions = SecretValue.objects.filter(field="token")
    previous = versions.filter(label=SecretLabel.PREVIOUS)
    assert previous.count() == 1, "there is one to bring back"
    versions.filter(label=SecretLabel.CURRENT).update(label=SecretLabel.PENDING)
    previous.update(label=SecretLabel.CURRENT)
    Configuration.objects.update(revision=F("revision") + 1)
    wait_for_caches()
    with pytest.raises(SecretUnreadable):
        application.gateway.send("acme", "GET", "/echo")
    assert SecretValue.objects.filter(field=voucher.VOUCHER_FIELD).count() == 1, (
        "and no older voucher"
    )
    assert spar.journal == []


def test_an_older_copy_of_a_whole_configuration_brings_no_secret_back(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue

    administration = application.administration("tester")
    administration.set_secret("acme", "header:X-API-Key", Secret("a-key"))
    administration.set_secret("acme", "token", Secret("replaced-long-ago"))
    copies = [*Configuration.objects.all(), *SecretValue.objects.all()]
    administration.set_secret("acme", "token", Secret("the-current-one"))
    assert application.gateway.send("acme", "GET", "/echo").status == 200
    spar.clear()
    SecretValue.objects.all().delete()
    for row in copies:
        row.save()
    Configuration.objects.update(revision=F("revision") + 1)
    wait_for_caches()
    with pytest.raises(SecretUnreadable):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_an_editor_who_saves_in_between_gets_no_secret_of_an_administrator(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
    attacker: Spar,
) -> None:
    """The editor saves when the secret is about to be stored: the critical moment."""
    stored = application.registry.get("acme")
    made = replace(stored, notes="entered by the administrator")

    class Between:
        """The audit of an administrator, during whose record the editor saves."""

        def note(self, *changes: Change) -> None:
            application.audit.note(*changes)
            if any(change.tag is Tag.SECRET_SET for change in changes):
                text = f'[configuration.acme]\nbase_url = "{attacker.url}"'
                application.apply(
                    application.administration("editor"),
                    parse_document(text),
                    dry_run=False,
                )

    administration = replace(
        application.administration("administrator"), audit=Between()
    )  # type: ignore[arg-type]
    with pytest.raises(EditConflict):
        administration.save(
            ConfigurationChange(stored, made, {"token": Secret("spar-token")})
        )
    with pytest.raises(OutkeyError):
        application.gateway.send("acme", "GET", "/echo")
    assert application.registry.get("acme").secrets == {}
    assert attacker.journal == []


def test_secrets_are_bound_to_the_origin_that_was_entered_whoever_saves_beside(
    application: "Application",  # noqa: F811
    attacker: Spar,
) -> None:
    """Two users save as fast as they can; the editor always names the next version."""
    ours = application.registry.get("acme").base.origin.bound
    done = threading.Event()

    def edit() -> None:
        try:
            while not done.is_set():
                stored = application.registry.find(["acme"])["acme"]
                moved = ConfigurationDraft(
                    "acme", {"base_url": attacker.url}, None, None, {}
                ).merged(stored)
                try:
                    application.administration("editor").save(
                        ConfigurationChange(stored, moved)
                    )
                except OutkeyError:
                    continue
        finally:
            connection.close()

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        saved = 0
        deadline = time.monotonic() + 10
        while saved < 20 and time.monotonic() < deadline:
            stored = application.registry.find(["acme"])["acme"]
            made = ConfigurationDraft(
                "acme", {"base_url": ours}, None, None, {}
            ).merged(stored)
            change = ConfigurationChange(stored, made, {"token": Secret("spar-token")})
            try:
                application.administration("administrator").save(change)
            except OutkeyError:
                continue
            saved += 1
            assert (
                application.registry.find(["acme"])["acme"].secrets["token"].origin
                == ours
            )
    finally:
        done.set()
        editor.join(20)
        connections.close_all()
    assert saved


@pytest.mark.parametrize(
    "place", ["lock", "put_settings", "set_value", "note_secrets_changed", "vouch"]
)
def test_a_save_that_fails_in_the_middle_leaves_everything_as_it_was(
    application: "Application",  # noqa: F811
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    administration = application.administration("tester")
    administration.set_secret("acme", "token", Secret("before"))
    before = application.registry.find(["acme"])["acme"]
    made = replace(before, notes="after")
    target: object = administration.registry
    if place in {"set_value", "vouch"}:
        target = administration.secrets
    original = getattr(target, place)

    def fail_afterwards(*args: object, **kwargs: object) -> None:
        original(*args, **kwargs)
        raise RuntimeError("the power fails")

    monkeypatch.setattr(target, place, fail_afterwards)
    with pytest.raises(RuntimeError):
        administration.save(
            ConfigurationChange(before, made, {"token": Secret("after")})
        )
    monkeypatch.undo()
    after = installed(application.keys.source.file.parent.parent).registry.get("acme")
    assert (after.notes, after.secrets, after.version) == (
        "",
        before.secrets,
        before.version,
    )
    assert application.secrets.open(after, "token") == Secret("before")


@pytest.mark.parametrize(
    "facts",
    [{}, [], {"obtained_at": "soon"}, {"lifetime": None}, {"lifetime": 10**400}],
)
@pytest.mark.parametrize("query", [7, [7], [{"key": "a"}]])
def test_rows_that_cannot_be_read_do_not_end_the_list_of_configurations(
    application: "Application",  # noqa: F811
    facts: object,
    query: object,
) -> None:
    from outkey.hosts.django.models import Configuration, Token
    from outkey.hosts.django.pages.configurations.listed_rows import (
        ends_of_tokens,
        rows_with_key,
    )

    text = """
[configuration.keyed]
base_url = "https://a.example"
query = [{ key = "api_key", secret = true, value = "env:KEY" }]
[configuration.fetched]
base_url = "https://b.example"
authentication_type = "bearer"
token_source = "oauth2"
oauth2 = { token_url = "https://b.example/token", client_id = "c" }
"""
    administration = application.administration("tester")
    application.apply(administration, parse_document(text), dry_run=False)
    keyed, fetched = Configuration.objects.filter(name__in=["keyed", "fetched"])[::-1]
    token = {"generation": 1, "serial": 1, "origin": "", "sealed": b"x"}
    good = {"obtained_at": 1.0, "lifetime": 2.0}
    Token.objects.create(configuration=fetched, facts=good, **token)
    rows = [keyed, fetched]
    assert (rows_with_key(rows), ends_of_tokens(rows)) == (
        {keyed.pk},
        {fetched.pk: 3.0},
    )
    Token.objects.update(facts=facts)
    keyed.settings["query"] = query
    keyed.save()
    assert rows_with_key(rows) == set()
    assert ends_of_tokens(rows).get(fetched.pk, 0.0) == 0.0


def test_the_list_of_configurations_has_the_end_of_a_fetched_token(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
) -> None:
    from outkey.hosts.django.models import Configuration
    from outkey.hosts.django.pages.configurations.listed_rows import ends_of_tokens

    text = f"""
[configuration.fetching]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.fetching.oauth2]
token_url = "{spar.url}/oauth/token?lifetime=900"
client_id = "spar-client"
"""
    administration = application.administration("tester")
    application.apply(administration, parse_document(text), dry_run=False)
    administration.set_secret("fetching", "client_secret", Secret("spar-client-secret"))
    assert application.gateway.send("fetching", "GET", "/echo").status == 200
    row = Configuration.objects.get(name="fetching")
    assert 800 < ends_of_tokens([row])[row.pk] - time.time() <= 900
