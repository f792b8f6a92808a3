"""An installation on a real database: what it stores, refuses, and never shows."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.db.models import F

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import (
    AuditUnavailable,
    ConfigError,
    ScriptFailed,
    Sealed,
    SecretMissing,
    SecretRebindRequired,
    SecretUnreadable,
    StorageUnavailable,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.chain import ChainVerdict, verify
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.vault import voucher
from outkey.sending.engine.exchange.scripts import try_script
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from outkey.testing.contracts_tokens import RESPONSE

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


SCRIPT = """
def compute_auth_header(sync_line):
    return {"X-Signature": str(len(sync_line.api_config_id.get_secret_key()))}
"""


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def installed(home: Path, **environment: str) -> "Application":
    from outkey.hosts.django.wiring import install

    return install(home, environment)


@pytest.fixture
def application(database: str, tmp_path: Path, spar: Spar) -> Iterator["Application"]:
    made = installed(tmp_path / "home")
    (tmp_path / "home" / "config").mkdir(parents=True)
    spar.clear()
    text = f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
headers = [{{ key = "X-API-Key" }}]
[configuration.acme.limits]
retries = 0
"""
    administration = Administration(made.registry, made.secrets, made.audit, "tester")
    made.apply(administration, parse_document(text), dry_run=False)
    yield made
    made.gateway.close()


def set_both(application: "Application", token: str, key: str) -> None:
    for field, value in (("token", token), ("header:X-API-Key", key)):
        application.administration("tester").set_secret("acme", field, Secret(value))


def verdict(application: "Application") -> ChainVerdict:
    key = application.keys.ring().derive("audit")
    return verify(
        application.audit_trail.rows.read(),
        lambda _: key,
        checkpoints=application.audit_trail.checkpoints.read(),
        tombstones=(),
    )


def test_a_stored_secret_reaches_the_api_and_stands_nowhere_else(
    application: "Application", spar: Spar, canary: Canaries
) -> None:
    token, key = canary("token"), canary("key")
    set_both(application, token, key)
    assert application.gateway.send("acme", "GET", "/echo").status == 200
    (arrival,) = spar.journal
    assert arrival.values("Authorization") == [f"Bearer {token}"]
    assert arrival.values("X-API-Key") == [key]
    application.administration("tester").set_secret(
        "acme", "token", Secret(canary("newer"))
    )
    preview = application.gateway.preview("acme")
    shown = f"{preview} {application.registry.all()} {verdict(application)}"
    assert list(canary.leaks("what is shown", shown.encode())) == []
    application.registry.remove("acme")


def test_the_same_secret_saved_twice_gives_different_ciphertexts(
    application: "Application",
) -> None:
    from outkey.hosts.django.models import SecretValue

    seen = set()
    for _ in range(2):
        set_both(application, "same", "same")
        configuration = application.registry.get("acme")
        for field in ("token", "header:X-API-Key"):
            version = configuration.secrets[field].version
            row = SecretValue.objects.get(field=field, version=version)
            seen.add(bytes(row.sealed or b""))
    assert len(seen) == 4
    assert configuration.secrets["token"].version == 2


def test_a_missing_secret_sends_nothing(application: "Application", spar: Spar) -> None:
    with pytest.raises(SecretMissing):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_ciphertexts_swapped_by_sql_do_not_open_and_nothing_is_sent(
    application: "Application", spar: Spar
) -> None:
    from outkey.hosts.django.models import SecretValue

    set_both(application, "one", "two")
    first, second = SecretValue.objects.exclude(field=voucher.VOUCHER_FIELD).order_by(
        "id"
    )
    first.sealed, second.sealed = second.sealed, first.sealed
    first.save()
    second.save()
    with pytest.raises(SecretUnreadable):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_a_script_that_was_changed_by_sql_gets_no_secret(
    application: "Application", spar: Spar
) -> None:
    from outkey.hosts.django.models import Configuration

    set_both(application, "a-token", "a-key")
    text = f"[configuration.acme]\nscript = '''{SCRIPT}'''"
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    application.apply(administration, parse_document(text), dry_run=False)
    assert application.gateway.send("acme", "GET", "/echo").status == 200
    spar.clear()
    row = Configuration.objects.get()
    for settings in (row.settings | {"script": SCRIPT + "#"}, row.settings):
        Configuration.objects.update(settings=settings, revision=F("revision") + 1)
        time.sleep(0.15)  # what this process remembers of a configuration
        if settings == row.settings:
            assert application.gateway.send("acme", "GET", "/echo").status == 200
            continue
        with pytest.raises(ScriptFailed, match="was changed outside of outkey"):
            application.gateway.send("acme", "GET", "/echo")
        assert not try_script(
            application.sender.context, application.registry.get("acme")
        ).ok
        assert spar.journal == []


def test_a_script_that_was_put_there_by_sql_gets_no_secret(
    application: "Application", spar: Spar
) -> None:
    from outkey.hosts.django.models import Configuration

    set_both(application, "a-token", "a-key")
    row = Configuration.objects.get()
    settings = row.settings | {"script": SCRIPT, "script_enabled": True}
    Configuration.objects.update(settings=settings, revision=F("revision") + 1)
    time.sleep(0.15)
    with pytest.raises(ScriptFailed, match="was changed outside of outkey"):
        application.gateway.send("acme", "GET", "/echo")
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    text = (
        f'[configuration.acme]\nbase_url = "{spar.url}/v2"\nnotes = "changed by a'
        ' person"'
    )
    application.apply(administration, parse_document(text), dry_run=False)
    with pytest.raises(ScriptFailed, match="was changed outside of outkey"):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == [], "another change vouches for nothing"


def test_a_voucher_is_never_read_from_elsewhere(
    application: "Application", spar: Spar, tmp_path: Path
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue

    set_both(application, "a-token", "a-key")
    text = f"[configuration.acme]\nscript = '''{SCRIPT}'''"
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    application.apply(administration, parse_document(text), dry_run=False)
    forged = replace(application.registry.get("acme"), script=SCRIPT + "#")
    facts = voucher.Voucher(voucher.vouchable_facts(forged))
    (tmp_path / "voucher").write_text(facts.text().reveal())
    row = Configuration.objects.get()
    settings = row.settings | {"script": SCRIPT + "#"}
    Configuration.objects.update(settings=settings, revision=F("revision") + 1)
    place = f"file:{tmp_path / 'voucher'}"
    SecretValue.objects.filter(field=voucher.VOUCHER_FIELD).update(
        reference=place, sealed=None, key_id=""
    )
    time.sleep(0.15)
    with pytest.raises(SecretUnreadable):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_a_base_url_changed_by_sql_makes_the_secret_unusable(
    application: "Application", spar: Spar
) -> None:
    from outkey.hosts.django.models import Configuration, SecretValue

    set_both(application, "one", "two")
    Configuration.objects.update(base_url=spar.elsewhere)
    with pytest.raises(SecretRebindRequired):
        application.gateway.send("acme", "GET", "/echo")
    # Whoever changes the recorded origin as well
    # still has no ciphertext that opens for it.
    SecretValue.objects.update(
        origin=application.registry.get("acme").base.origin.bound
    )
    with pytest.raises(SecretUnreadable):
        installed(application.keys.source.file.parent.parent).gateway.send(
            "acme", "GET", "/echo"
        )
    assert spar.journal == []


def test_without_the_right_key_it_is_sealed_and_the_right_key_restores_everything(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")
    file = application.keys.source.file
    right = file.read_text()
    home = file.parent.parent
    file.unlink()
    with pytest.raises(Sealed, match="missing"):
        installed(home).gateway.send("acme", "GET", "/echo")
    assert not file.exists()
    other = installed(home.parent / "other")
    other.keys.source.create()
    with pytest.raises(Sealed):
        installed(home, OUTKEY_KEY_FILE=str(other.keys.source.file)).gateway.send(
            "acme", "GET", "/"
        )
    with pytest.raises(ConfigError, match="different keys"):
        installed(
            home,
            OUTKEY_KEY=right,
            OUTKEY_KEY_FILE=str(other.keys.source.file),
        ).keys.ring()
    assert spar.journal == []
    with installed(home, OUTKEY_KEY=right).gateway as gateway:
        assert gateway.send("acme", "GET", "/bearer").status == 200


@pytest.mark.parametrize("link", [False, True])
def test_the_key_file_cannot_be_sent_as_a_secret(
    application: "Application", spar: Spar, tmp_path: Path, *, link: bool
) -> None:
    set_both(application, "one", "two")
    place = application.keys.source.file
    if link:
        (tmp_path / "link").symlink_to(place)
        place = tmp_path / "link"
    administration = Administration(
        application.registry, application.secrets, application.audit, "attacker"
    )
    administration.set_reference(
        "acme", "token", parse_reference(f"file:{place}", field="token")
    )
    with pytest.raises(SecretMissing, match="cannot be read"):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []


def test_the_chain_is_clean_and_an_edited_row_is_found(
    application: "Application",
) -> None:
    from outkey.hosts.django.models import AuditRecord

    set_both(application, "spar-token", "two")
    for _ in range(3):
        application.gateway.send("acme", "GET", "/echo")
    before = verdict(application)
    assert before.ok
    assert before.rows >= 5
    row = AuditRecord.objects.order_by("number")[1]
    row.body = bytes(row.body).replace(b'"acme"', b'"evil"')
    row.save()
    assert verdict(application).first_bad == f"{row.stream}:{row.number}"


def test_an_audit_that_cannot_be_written_refuses_and_recovers(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE outkey_auditrecord RENAME TO hidden")
    with pytest.raises(AuditUnavailable):
        application.gateway.send("acme", "GET", "/echo")
    assert spar.journal == []
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE hidden RENAME TO outkey_auditrecord")
    assert application.gateway.send("acme", "GET", "/echo").status == 200
    assert verdict(application).ok


def test_a_database_error_is_ours_and_shows_no_sql(application: "Application") -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE outkey_configuration RENAME TO hidden")
    try:
        with pytest.raises(StorageUnavailable) as caught:
            application.registry.get("acme")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE hidden RENAME TO outkey_configuration")
    assert caught.value.__context__ is None
    assert "outkey_configuration" not in str(caught.value)


def test_lists_read_no_ciphertext(application: "Application") -> None:
    from django.test.utils import CaptureQueriesContext

    set_both(application, "one", "two")
    application.registry.add(replace(application.registry.get("acme"), name="another"))
    with CaptureQueriesContext(connection) as queries:
        assert len(application.registry.all()) == 2
    assert len(queries) == 4
    *others, vouchers = [query["sql"] for query in queries]
    assert all('"sealed"' not in sql.split(" FROM ")[0] for sql in others)
    assert "\"field\" = 'voucher'" in vouchers, "and of those, no secret"


@pytest.mark.parametrize("kind", ["secret", "token", "webhook", "delivery", "audit"])
def test_no_key_is_made_over_what_was_written_with_another(
    application: "Application", tmp_path: Path, kind: str
) -> None:
    from outkey.hosts.django import models

    application.audit.close()
    configuration = models.Configuration.objects.get(name="acme")
    stored = {
        "secret": models.SecretValue(
            configuration=configuration,
            field="token",
            version=1,
            label="current",
            sealed=b"123",
        ),
        "token": models.Token(
            configuration=configuration,
            generation=1,
            serial=1,
            sealed=b"123",
            facts={},
        ),
        "webhook": models.SharedStateRow(
            kind="webhook", key="w", generation=1, value="[]"
        ),
        "delivery": models.Delivery(
            endpoint="e", key="k", received_at=1.0, due_at=1.0, state="x", body=b"1"
        ),
        "audit": models.Stream(name="0123.4567"),
    }
    models.KnownKey.objects.all().delete()
    models.SecretValue.objects.all().delete()
    models.AuditRecord.objects.all().delete()
    models.Stream.objects.all().delete()
    stored[kind].save(force_insert=True)
    application.key_file.unlink()
    later = installed(tmp_path / "home")
    assert later.keys.is_sealed()
    with pytest.raises(Sealed):
        later.keys.ring()
    assert not application.key_file.exists()


def test_a_ciphertext_without_the_name_of_its_key_is_counted_and_rewrapped(
    application: "Application",
) -> None:
    from outkey.hosts.django.models import SecretValue

    administration = application.administration("tester")
    administration.set_secret("acme", "token", Secret("spar-token"))
    SecretValue.objects.filter(field="token").update(key_id="")
    keys = application.key_administration(administration)
    old = application.keys.ring().primary.name
    assert application.rotation.uses() == {old: 1}
    new = keys.add()
    keys.promote(new)
    assert sum(keys.rewrap()) == 1
    assert application.rotation.uses() == {new: 1}


@pytest.mark.parametrize("end", ["deletion", "key rotation"])
def test_a_csrf_token_ends_with_its_configuration_and_with_its_key(
    application: "Application", end: str
) -> None:
    configuration = application.registry.get("acme")
    granted = TokenState().granted(RESPONSE, at=0.0, default_lifetime=60.0)
    tokens = application.sender.context.tokens.csrf()
    assert tokens.swap(configuration, TokenState(), granted) is not None
    states = application.states
    assert len(states.read(StateKind.TOKEN_BESIDE)) == 1
    administration = application.administration("tester")
    if end == "deletion":
        administration.remove("acme", application.sync_settings)
    else:
        keys = application.key_administration(administration)
        keys.promote(keys.add())
        assert len(states.read(StateKind.TOKEN_BESIDE)) == 1
        list(keys.rewrap())
    assert states.read(StateKind.TOKEN_BESIDE) == {}


def test_machines_whose_clocks_differ_share_the_pace_of_a_rate_limit(
    application: "Application",
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if database == "sqlite":
        return  # it is for one machine, and so for one clock
    with monkeypatch.context() as patched:
        real = time.time
        patched.setattr("time.time", lambda: real() + 7200)
        other = installed(tmp_path / "home")
        ahead = other.sender.context.permits
        assert ahead.reserve("acme", 1, 0.0) == 0.0
        other.gateway.close()
    permits = application.sender.context.permits
    wait = permits.reserve("acme", 1, 300.0)
    assert wait is not None
    assert 0 < wait <= 60
