"""What the key vouches for, and that nothing else is believed of the database."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from tests.unit.administration.engine.editing.test_changes import DOCUMENT, Office

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    SecretMissing,
    SecretUnreadable,
)
from outkey.foundation.core.fields.choices import ClientAuth
from outkey.foundation.core.origin import parse_base_url
from outkey.foundation.core.secret import Secret
from outkey.hosts.cli.printing.presenters import fact_columns
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.rows import settings_of
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.script import SCRIPT_FACT, secret_digest
from outkey.sending.core.rotation.credential_sets import (
    SETS,
    CredentialSet,
    CredentialSets,
    CredentialTrial,
)
from outkey.sending.core.vault.versions import (
    SecretLabel,
    SecretVersion,
    secret_version,
)
from outkey.sending.core.vault.voucher import (
    LATER_FACTS,
    SETTINGS,
    VOUCHER_FIELD,
    Voucher,
    read_voucher,
    vouchable_facts,
    voucher_place,
)

ORIGIN = "https://api.acme.example:443"


def office_with_token() -> Office:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("current"))
    return office


def written_by_sql(office: Office, **changes: object) -> Configuration:
    """Change what is stored, as a writer of the database does who has no key."""
    forged = replace(office.registry.get("acme"), **changes)  # type: ignore[arg-type]
    rows = office.storage.configurations.rows
    settings = settings_of(forged)
    rows["acme"] = replace(
        rows["acme"],
        revision=forged.revision + 1,  # else caches would not read the secrets again
        settings=settings,
        headers=forged.headers,
    )
    versions = office.storage.secrets.rows
    for key, version in versions.items():
        if key[0] == forged.record and key[1] != VOUCHER_FIELD:
            versions[key] = replace(version, label=SecretLabel.PREVIOUS)
    for field, state in forged.secrets.items():
        before = versions.get((forged.record, field, state.version))
        versions[forged.record, field, state.version] = secret_version(
            forged.record,
            field,
            state,
            label=SecretLabel.CURRENT,
            sealed=before.sealed if before else None,
        )
    for key in [key for key in versions if key[:2] == (forged.record, VOUCHER_FIELD)]:
        del versions[key]
    if forged.voucher:
        place = voucher_place(forged.record, forged.voucher.place.version)
        stored = SecretVersion(place, sealed=forged.voucher.stored)
        versions[forged.record, VOUCHER_FIELD, place.version] = stored
    return office.registry.get("acme")


def test_a_saved_secret_reference_and_script_are_vouched_for() -> None:
    office = office_with_token()
    office.sender.scripts.answer = lambda _: {}  # type: ignore[attr-defined]
    script = "def compute_auth_header(sync_line):\n    return {}\n"
    office.apply(f"[configuration.acme]\nscript = '''{script}'''")
    saved = office.registry.get("acme")
    assert office.secrets.voucher(saved).differences(saved) == []
    assert set(vouchable_facts(saved)) == {
        "token",
        "header:X-API-Key",
        SCRIPT_FACT,
        *LATER_FACTS,
        "base_url",
        "authentication_type",
    }
    assert office.secrets.open(saved, SCRIPT_FACT) == secret_digest(script)


def test_a_reference_that_was_written_into_the_database_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOMEBODY_ELSES", "precious")
    office = office_with_token()
    reference = parse_reference("env:SOMEBODY_ELSES", field="token")
    secrets = {**office.registry.get("acme").secrets}
    secrets["token"] = SecretState(ORIGIN, reference, version=2)
    forged = written_by_sql(office, secrets=secrets)
    with pytest.raises(SecretUnreadable, match="was changed outside of outkey"):
        office.sender.open(forged, "token")
    office.apply('[configuration.acme]\nnotes = "a save of something else"')
    office.administration.set_secret(
        "acme", "header:X-API-Key", Secret("a secret of its own")
    )
    with pytest.raises(SecretUnreadable):
        office.sender.open(office.registry.get("acme"), "token")


def test_a_replaced_secret_does_not_come_back_when_labels_are_swapped() -> None:
    office = office_with_token()
    before = office.registry.get("acme").secrets
    office.administration.set_secret("acme", "token", Secret("newer"))
    forged = written_by_sql(office, secrets=before)
    version = before["token"].version
    assert office.storage.secrets.rows[forged.record, "token", version].sealed, (
        "it is still there"
    )
    with pytest.raises(SecretUnreadable):
        office.sender.open(forged, "token")


def test_another_trust_that_was_written_into_the_database_gets_no_secret() -> None:
    office = office_with_token()
    forged = written_by_sql(office, tls=TlsSettings(ca_file="/tmp/forged.pem"))
    with pytest.raises(SecretUnreadable, match="was changed outside of outkey"):
        office.sender.open(forged, "token")
    with pytest.raises(SecretUnreadable, match="was changed outside of outkey"):
        office.secrets.refuse_changed_settings(forged)
    office.apply('[configuration.acme.tls]\nca_file = "/etc/ssl/ours.pem"')
    with pytest.raises(
        SecretUnreadable
    ):  # what it was changed from was not ours either
        office.sender.open(office.registry.get("acme"), "token")
    office.administration.confirm(office.registry.get("acme"))
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("current")


def test_tls_settings_that_a_user_saves_are_vouched_for() -> None:
    office = office_with_token()
    office.apply('[configuration.acme.tls]\nca_file = "/etc/ssl/ours.pem"')
    saved = office.registry.get("acme")
    office.secrets.refuse_changed_settings(saved)
    assert office.sender.open(saved, "token") == Secret("current")


def test_a_save_takes_no_planted_trust_or_script_over() -> None:
    office = office_with_token()
    office.sender.scripts.answer = lambda _: {}  # type: ignore[attr-defined]
    script = "def compute_auth_header(sync_line):\n    return {}\n"
    planted = TlsSettings("1.2", " /tmp/forged.pem ")
    written_by_sql(office, tls=planted, script=script + "# planted\r")
    office.apply('[configuration.acme.tls]\nminimum_version = "1.3"')
    office.apply(f"[configuration.acme]\nscript = '''{script}'''")
    saved = office.registry.get("acme")
    assert set(office.secrets.voucher(saved).differences(saved)) == {
        "tls.ca_file",
        SCRIPT_FACT,
    }


def test_a_secret_entered_again_is_vouched_for_with_the_url_it_was_entered_for() -> (
    None
):
    office = office_with_token()
    other = replace(office.registry.get("acme"), base_url="https://moved.example")
    moved = written_by_sql(
        office, base_url=other.base_url, base=parse_base_url(other.base_url)
    )
    with pytest.raises(SecretUnreadable):
        office.secrets.refuse_changed_settings(moved)
    office.administration.set_secret("acme", "token", Secret("entered-for-the-new-URL"))
    saved = office.registry.get("acme")
    assert office.sender.open(saved, "token") == Secret("entered-for-the-new-URL")
    reference = parse_reference("env:ACME_CLIENT", field="client_secret")
    office.administration.set_reference("acme", "client_secret", reference)
    office.secrets.refuse_changed_settings(office.registry.get("acme"))


def test_a_row_that_is_called_like_a_script_vouches_for_none() -> None:
    office = office_with_token()
    planted = SecretState("", version="0" * 64)  # type: ignore[arg-type]  # SQLite takes any text
    secrets = {
        **office.registry.get("acme").secrets,
        SCRIPT_FACT: planted,
        "tls.ca_file": planted,
    }
    written_by_sql(office, secrets=secrets)
    office.administration.save(
        ConfigurationChange(
            replace(office.registry.get("acme"), script="x = 1"),
            office.registry.get("acme"),
        )
    )
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), SCRIPT_FACT)


def test_an_older_ciphertext_of_the_same_version_does_not_open() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.clear_secret("acme", "token")
    office.administration.set_secret("acme", "token", Secret("replaced"))
    saved = office.registry.get("acme")
    (older,) = [
        r
        for r in office.storage.secrets.sealed_by_others("", 9)
        if r.place.field == "token"
    ]
    office.administration.clear_secret("acme", "token")
    office.administration.set_secret("acme", "token", Secret("current"))
    assert (
        office.registry.get("acme").secrets["token"].version
        == saved.secrets["token"].version
    )
    (newer,) = [
        r
        for r in office.storage.secrets.sealed_by_others("", 9)
        if r.place.field == "token"
    ]
    office.storage.secrets.swap(newer, replace(newer, sealed=older.sealed))
    with pytest.raises(SecretUnreadable):
        office.sender.open(office.registry.get("acme"), "token")


def test_a_key_rotation_leaves_vouchers_and_secrets_usable() -> None:
    office = office_with_token()
    ring, key = office.keys.kept.add()
    office.keys.kept = ring.promote(key.name)
    list(office.secrets.rewrap())
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("current")
    assert set(office.storage.secrets.key_uses(vouchers=True)) == {key.name}


def test_a_voucher_of_another_configuration_or_an_earlier_one_does_not_help() -> None:
    office = office_with_token()
    other = office.registry.get("other").voucher
    forged = written_by_sql(office, voucher=other)
    with pytest.raises(SecretUnreadable):
        office.sender.open(forged, "token")
    forged = written_by_sql(office, voucher=None)
    with pytest.raises(SecretUnreadable):
        office.sender.open(forged, "token")


def test_a_user_can_confirm_what_is_stored() -> None:
    office = office_with_token()
    seen = written_by_sql(office, voucher=None)
    office.administration.confirm(seen)
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("current")
    assert office.audit.events[-1].tag == "api:secret:confirmed"  # type: ignore[union-attr]


def test_only_what_was_seen_is_confirmed() -> None:
    office = office_with_token()
    seen = written_by_sql(office, voucher=None)
    written_by_sql(
        office, tls=TlsSettings(ca_file="/tmp/planted-during-the-prompt.pem")
    )
    office.administration.confirm(seen)
    with pytest.raises(SecretUnreadable):
        office.sender.open(office.registry.get("acme"), "token")


def test_no_save_leaves_a_voucher_behind_that_could_return() -> None:
    office = office_with_token()
    office.administration.set_secret("acme", "token", Secret("newer"))
    rows = office.storage.secrets.sealed_by_others("", 100)
    record = office.registry.get("acme").record
    vouchers = [
        r for r in rows if r.place.record == record and r.place.field == "voucher"
    ]
    assert len(vouchers) == 1


def test_a_save_without_a_change_replaces_no_voucher_that_caches_have() -> None:
    office = office_with_token()
    stored = office.registry.get("acme")
    office.administration.save(ConfigurationChange(stored, stored))
    (now,) = office.registry.find(["acme"]).values()
    assert (now.revision, now.voucher) == (stored.revision, stored.voucher)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"facts": 7, "ciphertexts": {}}', '{"facts": {}}']
)
def test_a_voucher_of_another_format_is_unreadable(text: str) -> None:
    with pytest.raises(SecretUnreadable):
        read_voucher(text)


def test_a_voucher_drops_what_is_not_there_any_more() -> None:
    office = office_with_token()
    saved = office.registry.get("acme")
    smaller = replace(saved, secrets={})
    renewed = Voucher(vouchable_facts(saved)).after_save(smaller, saved.secrets, {})
    assert set(renewed.facts) == {*LATER_FACTS, "base_url", "authentication_type"}


def renamed_by_sql(office: Office, name: str) -> Configuration:
    rows = office.storage.configurations.rows
    rows[name] = replace(rows.pop("acme"), name=name)
    return office.registry.get(name)


def test_a_configuration_that_got_another_name_outside_of_outkey_is_not_used() -> None:
    office = office_with_token()
    changed = renamed_by_sql(office, "crm")
    with pytest.raises(SecretUnreadable, match="changed outside"):
        office.secrets.refuse_changed_settings(changed)
    office.administration.rename("crm", "crm2", 1.0)
    with pytest.raises(SecretUnreadable, match="changed outside"):
        office.secrets.open(office.registry.get("crm2"), "token")
    office.administration.confirm(office.registry.get("crm2"))
    assert office.secrets.open(office.registry.get("crm2"), "token").reveal()


def test_a_rename_is_vouched_for() -> None:
    office = office_with_token()
    office.administration.rename("acme", "crm", 1.0)
    renamed = office.registry.get("crm")
    assert office.secrets.voucher(renamed).differences(renamed) == []
    assert office.secrets.open(renamed, "token") == Secret("current")


def test_a_voucher_of_version_0_2_lacks_some_facts_and_is_accepted() -> None:
    office = office_with_token()
    saved = office.registry.get("acme")
    facts = vouchable_facts(saved)
    for name in LATER_FACTS:
        del facts[name]
    assert Voucher(facts).covers_settings(saved)
    assert Voucher(facts).differences(saved) == [*LATER_FACTS]


def test_a_secret_row_that_is_missing_or_plain_stops_its_requests() -> None:
    office = office_with_token()
    saved = office.registry.get("acme")
    voucher = Voucher(vouchable_facts(saved))
    (row,) = [row for row in saved.headers if row.secret]
    others = tuple(header for header in saved.headers if header != row)
    without = replace(saved, headers=others)
    plain = replace(saved, headers=(*others, replace(row, secret=False, value="x")))
    for changed in (without, plain):
        assert not voucher.covers_settings(changed)
        assert voucher.differences(changed) == [row.secret_field]
        confirmed = voucher.after_save(changed, voucher.differences(changed), {})
        assert confirmed.covers_settings(changed)


@pytest.mark.parametrize("change", [{"script": ""}, {"script_enabled": False}])
def test_a_script_that_was_saved_is_not_switched_off_outside(
    change: dict[str, object],
) -> None:
    office = office_with_token()
    scripted = replace(office.registry.get("acme"), script="x = 1")
    voucher = Voucher(vouchable_facts(scripted))
    assert voucher.covers_settings(scripted)
    changed = replace(scripted, **change)  # type: ignore[arg-type]
    assert not voucher.covers_settings(changed)
    assert len(voucher.differences(changed)) == 1


@pytest.mark.parametrize("path", SETTINGS)
def test_a_setting_that_guides_secrets_is_not_changed_in_the_database(
    path: str,
) -> None:
    office = office_with_token()
    stored = office.registry.get("acme")
    section, _, name = path.rpartition(".")
    forged: Any = "another"
    while section:
        forged = replace(attrgetter(section)(stored), **{name: forged})
        section, _, name = section.rpartition(".")
    forged = replace(stored, **{name: forged})
    # With connections, which rows have a secret is a fact as well.
    assert office.secrets.voucher(forged).differences(forged)[0] == path
    with pytest.raises(SecretUnreadable):
        office.sender.open(forged, "token")


def test_a_setting_that_was_put_back_to_its_default_is_noticed_and_stays_so() -> None:
    office = office_with_token()
    office.apply('[configuration.acme.oauth2]\nclient_auth = "private_key_jwt"')
    stored = office.registry.get("acme")
    body = replace(stored.oauth2, client_auth=ClientAuth.BODY)
    written_by_sql(office, oauth2=body)
    office.apply('[configuration.acme]\nnotes = "a save of something else"')
    with pytest.raises(SecretUnreadable, match="was changed outside of outkey"):
        office.sender.open(office.registry.get("acme"), "token")


def test_a_voucher_that_is_garbage_vouches_for_nothing_and_can_be_replaced() -> None:
    office = office_with_token()
    saved = office.registry.get("acme")
    assert saved.voucher is not None
    garbage = replace(saved.voucher, stored=b"garbage")
    seen = written_by_sql(office, voucher=garbage)
    with pytest.raises(SecretUnreadable):
        office.sender.open(seen, "token")
    office.administration.confirm(seen)
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("current")


def test_many_configurations_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sending.adapters.secrets.secrets_stored._MAX_CACHED", 1)
    office = office_with_token()
    for name in ("acme", "other", "acme"):
        office.secrets.refuse_changed_settings(office.registry.get(name))
    assert len(office.secrets._vouchers) == 1


def test_a_secret_is_refused_where_the_configuration_changed_while_it_was_typed() -> (
    None
):
    office = office_with_token()
    seen = office.registry.get("acme")
    office.apply('[configuration.acme]\nbase_url = "https://elsewhere.example"')
    with pytest.raises(EditConflict):
        office.administration.set_secret("acme", "token", Secret("typed"), seen=seen)
    reference = parse_reference("env:ACME_TOKEN", field="token")
    with pytest.raises(EditConflict):
        office.administration.set_reference("acme", "token", reference, seen=seen)
    stored = office.registry.get("acme").secrets["token"]
    assert (stored.version, stored.origin) == (2, ORIGIN)


def test_settings_and_secrets_of_one_save_stand_or_fall_together() -> None:
    office = office_with_token()
    stored = office.registry.get("acme")
    made = replace(stored, notes="changed")
    office.apply('[configuration.acme]\nbase_url = "https://elsewhere.example"')
    change = ConfigurationChange(
        stored, made, {"token": Secret("typed")}, ("header:X-API-Key",)
    )
    with pytest.raises(EditConflict):
        office.administration.save(change)
    saved = office.registry.get("acme")
    assert (saved.notes, saved.base_url) == ("", "https://elsewhere.example")
    assert saved.secrets["token"].origin == ORIGIN
    assert "header:X-API-Key" in saved.secrets


def test_a_configuration_that_was_deleted_and_made_again_is_another_one() -> None:
    office = office_with_token()
    seen = office.registry.get("acme")
    office.administration.remove("acme", office.settings)
    office.apply(DOCUMENT)
    office.apply('[configuration.acme]\nnotes = "so that it has the same version"')
    assert office.registry.get("acme").version >= seen.version
    with pytest.raises(EditConflict):
        office.administration.set_secret("acme", "token", Secret("typed"), seen=seen)


KEYS = {
    "token": "token",
    "password": "password",
    "secret_key": "secret_key",
    "client_secret": "oauth2.client_secret",
    "client_key": "tls.client_key",
}


@pytest.mark.parametrize("field", KEYS)
@pytest.mark.parametrize("value", ["a\x1bb", "a\x7fb", "a\tb", "two\nlines"])
def test_an_opened_secret_with_control_characters_is_refused(
    monkeypatch: pytest.MonkeyPatch, field: str, value: str
) -> None:
    monkeypatch.setenv("GIVEN", value)
    office = office_with_token()
    office.apply(f'[configuration.acme]\n{KEYS[field]} = "env:GIVEN"')
    with pytest.raises(ConfigError, match="control character"):
        office.sender.open(office.registry.get("acme"), field)


@pytest.mark.parametrize("field", KEYS)
@pytest.mark.parametrize(
    "value", ["a\0b", "HOME=/root\0PATH=/bin\0", "a\x1bb", "two\nlines"]
)
def test_a_secret_with_control_characters_is_not_stored(field: str, value: str) -> None:
    office = office_with_token()
    with pytest.raises(ConfigError):
        office.administration.set_secret("acme", field, Secret(value))


def test_a_private_key_may_have_lines() -> None:
    office = office_with_token()
    for field in ("client_secret", "secret_key", "client_key"):
        pem = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
        office.administration.set_secret("acme", field, Secret(pem))
        assert office.sender.open(office.registry.get("acme"), field) == Secret(pem)


def test_a_secret_that_is_not_set_is_missing_and_not_unreadable() -> None:
    office = office_with_token()
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), "password")


ROWS = """
[configuration.acme]
[[configuration.acme.headers]]
key = "X-API-Key"
value = "Token {secret}"
secret = true
[[configuration.acme.query]]
key = "api_key"
value = "id:{secret}"
secret = true
"""


@pytest.mark.parametrize("text", ["", "Other {secret}"])
@pytest.mark.parametrize("path", ["headers", "query"])
def test_the_text_around_the_secret_of_a_row_is_vouched_for(
    path: str, text: str
) -> None:
    office = office_with_token()
    office.apply(ROWS)
    saved = office.registry.get("acme")
    assert office.secrets.voucher(saved).differences(saved) == []
    row = getattr(saved, path)[0]
    forged = written_by_sql(office, **{path: (replace(row, value=text),)})
    with pytest.raises(SecretUnreadable):
        office.secrets.open(forged, "token")
    assert office.secrets.voucher(forged).differences(forged) == [
        f"text:{row.secret_field}"
    ]
    assert fact_columns(forged, f"text:{row.secret_field}") == (text, "")
    # Another save does not confirm it, but a user who has seen it does.
    office.apply('[configuration.acme]\nnotes = "x"\n')
    stored = office.registry.get("acme")
    with pytest.raises(SecretUnreadable):
        office.secrets.open(stored, "token")
    office.administration.confirm(stored)
    assert office.secrets.open(office.registry.get("acme"), "token")


def test_planted_sets_are_shown_with_all_that_a_confirmation_accepts() -> None:
    office = office_with_token()
    planted = SecretState(ORIGIN, parse_reference("env:PLANTED", field="token"))
    made = CredentialSet(2, {"token": planted}, {"username": "mallory"})
    sets = CredentialSets(newest=2, next=made, trial=CredentialTrial(97, 1, 0.0))
    forged = replace(office.registry.get("acme"), sets=sets)
    assert office.secrets.voucher(forged).differences(forged) == [SETS]
    value, _ = fact_columns(forged, SETS)
    for part in ("env:PLANTED", "mallory", ORIGIN, '"trial": [97, 1, 0.0]'):
        assert part in value
    assert fact_columns(office.registry.get("acme"), SETS) == ("", "")


def test_a_setting_that_was_set_back_to_its_default_can_be_confirmed() -> None:
    office = office_with_token()
    office.apply('[configuration.acme]\ntoken_prefix = "Token"\n')
    forged = written_by_sql(office, token_prefix=None)
    with pytest.raises(SecretUnreadable):
        office.secrets.open(forged, "token")
    office.administration.confirm(forged)
    assert office.secrets.open(office.registry.get("acme"), "token")


def test_a_new_text_around_a_secret_is_vouched_for_by_its_save() -> None:
    office = office_with_token()
    office.apply(ROWS)
    office.apply(ROWS.replace("Token", "Key"))
    office.apply(ROWS.replace("id:", ""))
    saved = office.registry.get("acme")
    assert office.secrets.voucher(saved).differences(saved) == []
    assert office.secrets.open(saved, "token")
