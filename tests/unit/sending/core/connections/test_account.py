"""A configuration with an account: whose credentials it has, and what it is called."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionMissing,
    ConnectionPaused,
    InactiveConfiguration,
    SecretUnreadable,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.core.configuration.checks import (
    configuration_findings,
    refuse_unsendable,
)
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, TokenHeader
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.configuration.rows import new_connection_row, new_row
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import (
    USE_SECONDS,
    Connection,
    ConnectionState,
    account_name,
    connection_record,
    is_account_name,
    parse_account_name,
    row_of_record,
)
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

ORIGIN = "https://api.example:443"
RECORD = "0" * 32


def secrets(*names: str) -> dict[str, SecretState]:
    return {name: SecretState(ORIGIN, set_at=float(len(name))) for name in names}


def books(**values: object) -> Configuration:
    settings = {
        "base_url": "https://api.example",
        "authentication_type": "basic",
        "username": "erp",
        "connections": "optional",
    }
    made = build(
        "books",
        settings | {key.replace("__", "."): value for key, value in values.items()},
        headers=(CustomHeader("X-Key", "", secret=True),),
        token_headers=(TokenHeader("X-App", "", secret=True),),
        secrets=secrets("password", "header:X-Key", "client_secret"),
    )
    return replace(made, record=RECORD)


ACME = Connection("acme", RECORD, username="ann", client_id="of-acme")


def test_an_account_has_its_own_secrets_and_those_that_all_share() -> None:
    view = with_account(books(), ACME, secrets("password", "client_secret"))
    assert view.username == "ann"
    assert set(view.secrets) == {"password", "client_secret"}
    assert view.holder_of("password") is view
    assert view.holder_of("client_secret") is view.unconnected
    assert (view.account, view.connection_id) == (account_name(RECORD, "acme"), "acme")


def test_nothing_of_the_configuration_stands_in_for_what_an_account_lacks() -> None:
    view = with_account(books(), replace(ACME, username=""), {})
    assert view.username == ""
    assert set(view.secrets) == {"client_secret"}
    assert view.unset_secrets() == ["password", "header:X-Key"]


def test_what_is_shared_comes_from_the_configuration_after_all() -> None:
    shared = ["username", "header:X-Key"]
    view = with_account(books(connect__shared=shared), ACME, {})
    assert view.username == "erp"
    assert set(view.secrets) == {"client_secret", "header:X-Key"}
    assert view.holder_of("header:X-Key") is view.unconnected


def test_an_own_client_is_that_of_the_account() -> None:
    own = books(connect__own=["client_id", "client_secret"])
    view = with_account(own, ACME, secrets("client_secret"))
    assert view.oauth2.client_id == "of-acme"
    assert view.holder_of("client_secret") is view
    assert with_account(books(), ACME, {}).oauth2.client_id == ""


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("connect__shared", ["client_key"]),
        ("connect__shared", ["no such secret"]),
        ("connect__own", ["password"]),
    ],
)
def test_names_that_mean_nothing_there_are_refused(
    field: str, names: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        books(**{field: names})
    assert caught.value.field == field.replace("__", ".")


def test_without_a_needed_connection_nothing_is_sent() -> None:
    required = books(connections="required")
    with pytest.raises(ConnectionMissing):
        refuse_unsendable(required)
    refuse_unsendable(with_account(required, ACME, {}))
    refuse_unsendable(books())


def test_a_paused_account_and_an_inactive_configuration_send_nothing() -> None:
    paused = replace(ACME, active=False)
    with pytest.raises(ConnectionPaused):
        refuse_unsendable(with_account(books(), paused, {}))
    with pytest.raises(InactiveConfiguration):
        refuse_unsendable(with_account(books(active=False), ACME, {}))


def test_names_and_records_can_be_told_apart_and_taken_apart() -> None:
    name = account_name(RECORD, "a:b")
    assert is_account_name(name)
    assert not is_account_name("books")
    assert parse_account_name(name) == (RECORD, "a:b")
    assert row_of_record(connection_record("1" * 32, RECORD, "a/b")) == "1" * 32
    assert row_of_record(RECORD) == RECORD


def test_a_row_is_refused_with_the_name_or_the_record_of_another_one() -> None:
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(books(), ACME, record, {})
    assert row.configuration({}, unconnected=books()).connection == ACME
    other = connection_record("1" * 32, RECORD, "other")
    for changed in ({"name": account_name(RECORD, "other")}, {"record": other}):
        with pytest.raises(SecretUnreadable):
            replace(row, **changed).configuration({}, unconnected=books())


def test_an_account_is_new_until_it_has_all_that_it_needs() -> None:
    unconnected = books(connect__shared=["header:X-Key"])
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(unconnected, ACME, record, {})
    assert row.connection_state is ConnectionState.NEW
    complete = row.after_secrets(secrets("password"), unconnected)
    assert complete.connection_state is ConnectionState.WORKING
    assert complete.connection is not None
    assert complete.connection.connected_at == len("password")
    incomplete = complete.after_secrets({}, unconnected)
    assert incomplete.connection_state is ConnectionState.NEEDS_PERSON
    consent = replace(complete, health=Health(needs_person=True))
    assert consent.connection_state is ConnectionState.NEEDS_PERSON


def test_an_account_is_paused_by_a_user_or_by_refusals() -> None:
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(books(), ACME, record, {})
    refused = replace(row, health=Health(refused=5, paused_at=1.0))
    assert refused.connection_state is ConnectionState.PAUSED
    paused = row.after_connection(replace(ACME, active=False), {}, books())
    assert paused.connection_state is ConnectionState.PAUSED
    assert not paused.health.active
    resumed = refused.after_connection(ACME, {}, books())
    assert resumed.connection_state is ConnectionState.NEW


def test_a_consent_connects_by_its_token_and_not_by_secrets() -> None:
    unconnected = books(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__grant="authorization_code",
        oauth2__token_url="https://login.example/token",
        oauth2__authorization_url="https://login.example/authorize",
        oauth2__client_id="erp",
    )
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(unconnected, ACME, record, {})
    stored = row.after_secrets(secrets("header:X-Key"), unconnected)
    assert stored.connection_state is ConnectionState.NEW


def test_an_account_that_needs_no_secret_is_complete_from_the_beginning() -> None:
    unconnected = books(connect__shared=["header:X-Key", "password"])
    created = replace(ACME, created_at=7.0)
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(unconnected, created, record, {})
    complete = row.after_secrets({}, unconnected)
    assert complete.connection is not None
    assert complete.connection.connected_at == 7.0
    reference = {"password": SecretState(ORIGIN), "header:X-Key": SecretState(ORIGIN)}
    complete = row.after_secrets(reference, books())
    assert complete.connection is not None
    assert complete.connection.connected_at == 7.0


def test_the_first_token_completes_an_account() -> None:
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(books(), ACME, record, {})
    for at in (None, 8.0, 9.0):
        row = row.after_token(dead=False, obtained_at=at)
        assert row.connection is not None
        assert row.connection.connected_at == (at and 8.0)
    assert row.after_token(dead=True, obtained_at=None).health.needs_person


def test_a_configuration_leaves_the_secrets_of_accounts_to_them() -> None:
    required = books(connections="required")
    assert required.needed_secrets() == []
    assert books().needed_secrets() == ["password", "header:X-Key"]
    view = with_account(required, ACME, {})
    assert view.needed_secrets() == ["password", "header:X-Key"]


def test_commands_name_the_account() -> None:
    assert books().command_name == "books"
    view = with_account(books(), ACME, {})
    assert view.command_name == "books --connection acme"


def test_who_paused_an_account_is_stated() -> None:
    record = connection_record("1" * 32, RECORD, "acme")
    row = new_connection_row(books(), ACME, record, {})
    assert row.paused_because is None
    refused = replace(row, health=Health(refused=5, paused_at=1.0))
    assert refused.paused_because == "refusals"
    paused = refused.after_connection(replace(ACME, active=False), {}, books())
    assert paused.paused_because == "operator"


def test_findings_about_the_settings_are_not_about_a_missing_account() -> None:
    required = books(connections="required", username="", active=False)
    findings = configuration_findings(required, lambda _: Secret("x"), now=0.0)
    assert {finding.id for finding in findings} >= {"E-inactive"}
    assert not {"E-connection_missing", "W002"} & {each.id for each in findings}
    view = with_account(books(connections="required"), replace(ACME, username=""), {})
    findings = configuration_findings(view, lambda _: Secret("x"), now=0.0)
    assert "W002" in {finding.id for finding in findings}


def test_a_use_is_stored_now_and_then() -> None:
    unused = new_connection_row(books(), ACME, "r", {})
    used = unused.after_use(100.0)
    assert used.connection is not None
    assert used.connection.last_used_at == 100.0
    assert used.after_use(100.0 + USE_SECONDS / 2) == used
    later = used.after_use(100.0 + USE_SECONDS).connection
    assert later is not None
    assert later.last_used_at == 100.0 + USE_SECONDS
    # The clock was set back.
    assert used.after_use(1.0) != used
    configuration = new_row(books(), "r")
    assert configuration.after_use(100.0) == configuration


def test_in_memory_an_accepted_request_replaces_the_account_now_and_then() -> None:
    view = with_account(books(), ACME, secrets("password"))
    store = MemoryConfigurations([books(), view])
    guard = LockoutGuard(store)
    for at in (100.0, 101.0):
        guard.record_status(view, 200, at)
        used = store.get(view.account)
        assert used.connection is not None
        assert used.connection.last_used_at == 100.0
    guard.record_status(view, 200, 102.0)
    assert store.get(view.account) is used
