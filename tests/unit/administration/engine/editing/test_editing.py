"""A form of a configuration: what it needs, saves, and may be tried with.

No case here has a page or a request: these are the rules that every host shares.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.drafts import (
    CandidateConfiguration,
    DraftSecrets,
)
from outkey.administration.engine.editing.editing import (
    Edit,
    Editor,
    EnteredRow,
    Errors,
    add_error,
    entered_rows,
    is_left_alone,
    text_of_value,
    typed_value,
)
from outkey.foundation.core.errors import (
    AuditUnavailable,
    ConfigError,
    EditConflict,
    HeaderConflict,
    OutkeyError,
    ScriptFailed,
    SecretMissing,
    SecretRebindRequired,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import QueryParameter
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.request.headers import MAX_HEADERS
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.script import SCRIPT_FACT, secret_digest
from outkey.sending.engine.exchange.sender import Sender
from outkey.testing import MemoryAudit, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from outkey.testing.fakes.storage import MemoryStorage
from unit.administration.engine.editing.test_changes import Office
from unit.sending.core.configuration.test_oauth2_fields import oauth

EVERYTHING = frozenset(Permission)
EDITOR = frozenset(
    {Permission.VIEW, Permission.ADD, Permission.CHANGE, Permission.TEST}
)
SCRIPT = "def compute_auth_header(line):\n    return {}\n"
OTHER_SCRIPT = SCRIPT.replace("{}", '{"X-Other": "1"}')
STORED = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
headers = [{ key = "X-API-Key" }]
[configuration.acme.oauth2]
token_url = "https://auth.acme.example/token"
client_id = "acme-client"
client_auth = "client_secret_jwt"
"""
SECRETS = {
    "token": "token-canary-of-the-administrator",
    "client_secret": "client-secret-canary-of-the-administrator",
    "header:X-API-Key": "row-canary-of-the-administrator",
}


def office_with(text: str = STORED, **secrets: str) -> Office:
    """Return an installation that an administrator has filled in."""
    office = Office()
    office.apply(text)
    for name, value in (secrets or SECRETS).items():
        office.administration.set_secret("acme", name, Secret(value))
    return office


def form_of(stored: Configuration, **changes: str | None) -> dict[str, str]:
    """Return the form of a stored configuration as a page posts it, with changes.

    `limits__retries` stands for the field path `limits.retries`; None removes an input.
    """
    values = {
        path: str(text_of_value(value))
        for path, value in stored.values().items()
        if value
    }
    for number, row in enumerate(stored.headers):
        values |= {f"row-key-{number}": row.key, f"row-value-{number}": row.value}
        if row.secret:
            values[f"row-secret-{number}"] = "on"
    values["version"] = str(stored.version)
    for name, text in changes.items():
        path = name.replace("__", ".")
        if text is None:
            values.pop(path, None)
        else:
            values[path] = text
    return values


def editor(permissions: Collection[Permission] = EVERYTHING) -> Editor:
    return Editor(allowed=permissions.__contains__)


def edit_of(
    values: Mapping[str, str], stored: Configuration | None, **options: object
) -> Edit:
    edit = Edit.read(values, stored, **options)  # type: ignore[arg-type]
    assert isinstance(edit, Edit), {path: error.code for path, error in edit.items()}
    return edit


def errors_of(
    permissions: Collection[Permission],
    values: Mapping[str, str],
    stored: Configuration | None,
) -> Errors:
    result = editor(permissions).read(values, stored)
    return {} if isinstance(result, Edit) else result


def save(
    office: Office, permissions: Collection[Permission], values: Mapping[str, str]
) -> bool:
    """Save a form as a page does; return whether it was saved."""
    edit = editor(permissions).read(values, office.registry.get("acme"))
    if not isinstance(edit, Edit):
        return False
    edit.save(office.administration, office.sender, allowed=lambda _: True)
    return True


# ── steps of a login ────────────────────────────────────────────────────────────────


LOGIN_IN_STEPS = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token_source = "login"
username = "api"
[configuration.acme.login]
token = "{session}"
[[configuration.acme.login.steps]]
method = "GET"
url = "https://login.acme.example/start"
take = { nonce = "header:X-Nonce" }
[[configuration.acme.login.steps]]
path = "/login"
format = "form"
body = "user={username}&pass={password}&nonce={nonce}"
take = { session = "data.token" }
"""
FIRST = {
    "step-method-1": "GET",
    "step-url-1": "https://login.acme.example/start",
    "step-take-1": "nonce = header:X-Nonce",
}
SECOND = {
    "step-path-4": "/login",
    "step-format-4": "form",
    "step-body-4": "user={username}&pass={password}&nonce={nonce}",
    "step-take-4": "session = data.token",
}


def steps_form(*steps: dict[str, str]) -> tuple[dict[str, str], Configuration]:
    office = office_with(LOGIN_IN_STEPS, password="open-sesame-4711")
    stored = office.registry.get("acme")
    values = form_of(stored, login__steps="")  # as the page posts it beside the inputs
    for step in steps:
        values |= step
    return values, stored


def test_steps_in_a_form_are_those_of_a_document() -> None:
    empty = {"step-path-2": " ", "step-take-2": "a = b"}
    removed = {"step-path-3": "/other", "step-gone-3": "on"}
    values, stored = steps_form(FIRST, empty, removed, SECOND)
    edit = edit_of(values, stored)
    assert edit.configuration.login.steps == stored.login.steps


def test_an_error_of_a_step_is_at_the_steps_and_names_its_number() -> None:
    values, stored = steps_form(FIRST, SECOND | {"step-format-4": "yaml"})
    errors = Edit.read(values, stored)
    assert isinstance(errors, dict)
    assert set(errors) == {"login.steps"}
    assert "2" in errors["login.steps"].message


# ── reading ─────────────────────────────────────────────────────────────────────────


def test_a_form_that_nobody_changed_gives_what_is_stored() -> None:
    stored = office_with().registry.get("acme")
    edit = edit_of(form_of(stored), stored)
    assert edit.configuration == stored
    assert (edit.secrets, edit.references, edit.cleared) == ({}, {}, ())
    assert edit.needs() == {Permission.CHANGE}


def test_a_new_configuration_is_read_with_defaults_for_what_the_form_lacks() -> None:
    values = {"name": " shop ", "base_url": "https://shop.example"}
    edit = edit_of(values | {"active": "on", "script_enabled": "on"}, None)
    assert edit.configuration.name == "shop"
    assert edit.configuration.limits.retries == BY_PATH["limits.retries"].default
    assert edit.configuration.version == 0
    assert edit.needs() == {Permission.ADD}


def test_every_kind_of_value_is_read_as_it_was_written() -> None:
    stored = configuration(
        authentication_type="bearer",
        limits__retries=3,
        limits__read_timeout=2.5,
        oauth2__extra={"account": "7", "region": "eu"},
        notes="one\ntwo ",
    )
    stored = replace(stored, record="1", version=4)
    values = form_of(
        stored,
        token_expires_on="2031-02-03",
        notes="one\r\ntwo ",
        base_url=" https://api.acme.example ",
    )
    edited = edit_of(values, stored).configuration
    assert str(edited.token_expires_on) == "2031-02-03"
    assert edited.limits == stored.limits
    assert edited.oauth2.extra == {"account": "7", "region": "eu"}
    assert edited.notes == "one\ntwo "
    assert edited.base_url == "https://api.acme.example"
    assert edited.version == 4


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("limits.retries", "many"),
        ("limits.read_timeout", "soon"),
        ("token_expires_on", "tomorrow"),
        ("oauth2.extra", "no sign here"),
        ("base_url", "nonsense"),
        ("name", ""),
    ],
)
def test_what_is_wrong_is_said_at_its_field_without_its_value(
    path: str, text: str
) -> None:
    values = {"name": "shop", "base_url": "https://shop.example"} | {path: text}
    errors = editor().read(values, None)
    assert not isinstance(errors, Edit)
    assert list(errors) == [path]
    assert not text or text not in str(errors[path])


def test_an_empty_number_or_date_is_not_set_and_an_empty_text_is_empty() -> None:
    stored = replace(
        configuration(limits__requests_per_minute=5, notes="some"), record="1"
    )
    values = form_of(stored, limits__requests_per_minute="", notes="")
    edited = edit_of(values, stored).configuration
    assert edited.limits.requests_per_minute is None
    assert edited.notes == ""


def test_an_error_of_a_whole_configuration_is_noted_too() -> None:
    values = {
        "name": "shop",
        "base_url": "https://shop.example",
        "token_header": "Accept",
    }
    errors = Edit.read(values)
    assert not isinstance(errors, Edit)
    assert list(errors) == ["token_header"]


def test_values_and_dates_are_written_as_they_are_typed() -> None:
    expires = BY_PATH["token_expires_on"]
    day = typed_value(expires, "2031-02-03")
    assert text_of_value(day) == "2031-02-03"
    assert text_of_value(2.5) == "2.5"
    assert text_of_value({"a": "1", "b": "2"}) == "a = 1\nb = 2"
    assert typed_value(expires, "never") == "never"
    assert typed_value(BY_PATH["oauth2.extra"], "a = 1\n\nb=2") == {"a": "1", "b": "2"}


# ── secrets and rows ────────────────────────────────────────────────────────────────


def test_a_secret_is_set_referenced_cleared_or_left() -> None:
    stored = office_with().registry.get("acme")
    reference = parse_reference("env:ACME_SECRET", field="client_secret")
    values = form_of(stored) | {
        "secret:password": "typed-password-canary",
        "reference:oauth2.client_secret": "env:ACME_SECRET",
        "clear:token": "on",
    }
    edit = edit_of(values, stored, references=[reference])
    assert edit.secrets == {"password": Secret("typed-password-canary")}
    assert edit.references == {"client_secret": reference}
    assert edit.cleared == ("token",)
    assert "token" not in edit.configuration.secrets
    assert edit.configuration.secrets["client_secret"].reference == reference
    assert edit.needs() == {Permission.CHANGE, Permission.SET_SECRET}


def test_a_reference_that_is_not_offered_is_not_taken() -> None:
    stored = office_with().registry.get("acme")
    values = form_of(stored) | {"reference:token": "env:OUTKEY_KEY"}
    assert edit_of(values, stored).configuration == stored


def test_a_key_of_several_lines_loses_only_the_line_breaks_around_it() -> None:
    stored = office_with().registry.get("acme")
    pem = "-----BEGIN PRIVATE KEY-----\r\nabc\r\n-----END PRIVATE KEY-----\r\n"
    edit = edit_of(form_of(stored) | {"secret:tls.client_key": pem}, stored)
    expected = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert edit.secrets == {"client_key": Secret(expected)}


def test_a_key_of_several_lines_may_be_in_an_input_of_its_own() -> None:
    stored = office_with().registry.get("acme")
    values = form_of(stored) | {"lines:oauth2.client_secret": "-----BEGIN\r\nx\r\n"}
    assert edit_of(values, stored).secrets == {
        "client_secret": Secret("-----BEGIN\nx"),
    }
    values["secret:oauth2.client_secret"] = "one line"
    assert edit_of(values, stored).secrets == {"client_secret": Secret("one line")}


def test_an_entered_secret_is_tidied_where_the_form_says_so() -> None:
    values = {
        "name": "shop",
        "base_url": "https://shop.example",
        "authentication_type": "bearer",
        "secret:token": '"Bearer abc"',
        "row-key-3": "X-API-Key",
        "row-value-3": "'k'",
        "row-secret-3": "on",
    }
    left = edit_of(values, None).secrets
    assert left["token"] == Secret('"Bearer abc"')
    assert left["header:X-API-Key"] == Secret("'k'")
    tidied = edit_of(values | {"tidy:token": "on", "row-tidy-3": "on"}, None).secrets
    assert tidied["token"] == Secret("abc")
    assert tidied["header:X-API-Key"] == Secret("k")


def test_rows_are_read_and_the_values_of_secret_ones_are_secrets() -> None:
    values = {
        "row-key-0": " X-Tenant ",
        "row-value-0": "7",
        "row-key-1": "X-Key",
        "row-value-1": "row-value-canary",
        "row-secret-1": "on",
        "row-key-2": "X-Removed",
        "row-gone-2": "on",
        "row-key-4": "X-Unset",
        "row-secret-4": "on",
    }
    assert list(entered_rows(values)) == [
        EnteredRow("X-Tenant", "7"),
        EnteredRow("X-Key", "", Secret("row-value-canary"), is_secret=True),
        EnteredRow("X-Unset", "", None, is_secret=True),
    ]
    values |= {"name": "shop", "base_url": "https://shop.example"}
    edit = edit_of(values, None)
    assert edit.secrets == {"header:X-Key": Secret("row-value-canary")}
    assert "row-value-canary" not in repr(edit)


@pytest.mark.parametrize(("key", "start"), [("X Bad", "X Bad: "), ("", "row: ")])
def test_a_row_with_an_error_is_named(key: str, start: str) -> None:
    values = {"name": "shop", "base_url": "https://shop.example"}
    errors = Edit.read(values | {"row-key-0": key, "row-value-0": "value"})
    assert not isinstance(errors, Edit)
    assert errors["headers"].message.startswith(start)
    assert isinstance(errors["headers"].message, Text)


def test_a_query_row_and_a_text_around_a_secret_are_read() -> None:
    values = {"name": "shop", "base_url": "https://shop.example"}
    values |= {"query-key-0": "api_key", "query-value-0": "k", "query-secret-0": "on"}
    values |= {"row-key-0": "Authorization", "row-secret-0": "on"}
    values |= {"row-text-0": "Token token={secret}"}
    edit = edit_of(values, None)
    assert edit.configuration.query == (QueryParameter("api_key", "", secret=True),)
    assert edit.secrets == {"query:api_key": Secret("k")}
    assert edit.configuration.headers[0].value == "Token token={secret}"
    errors = Edit.read(values | {"row-text-0": "Token token="})
    assert not isinstance(errors, Edit)
    assert errors["headers"].message.endswith("lacks {secret}")


@pytest.mark.parametrize(
    ("text", "prefix"), [("", None), ("-", ""), ("Token", "Token")]
)
def test_a_hyphen_is_no_prefix_and_an_empty_input_the_usual_one(
    text: str, prefix: str | None
) -> None:
    values = {"name": "shop", "base_url": "https://shop.example"}
    values |= {"authentication_type": "bearer", "token_prefix": text}
    assert edit_of(values, None).configuration.token_prefix == prefix


def test_there_are_not_more_rows_than_a_request_can_have() -> None:
    values = {"name": "shop", "base_url": "https://shop.example"}
    errors = Edit.read(values | {f"row-key-{MAX_HEADERS}": "X-More"})
    assert not isinstance(errors, Edit)
    assert str(MAX_HEADERS) in errors["headers"].message


def test_errors_go_to_the_field_of_the_form() -> None:
    errors: Errors = {}
    settings = oauth(grant="jwt_bearer").values()
    add_error(errors, HeaderConflict("two sources"), settings)
    add_error(errors, ConfigError("first", field="client_secret"), settings)
    add_error(errors, ConfigError("second", field="client_secret"), settings)
    add_error(errors, AuditUnavailable(), settings)
    add_error(errors, ConfigError("third", field="private_key"), settings)
    others = {"authentication_type": "oauth1", "oauth1.signature_method": "RSA-SHA1"}
    add_error(errors, ConfigError("fourth", field="private_key"), others)
    assert list(errors) == [
        "headers",
        "oauth2.client_secret",
        "",
        "oauth2.private_key",
        "oauth1.private_key",
    ]
    assert errors["oauth2.client_secret"].message == "first"


# ── versions ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 5000, "3"])
def test_a_form_without_the_version_it_was_drawn_from_is_refused(version: str) -> None:
    office = office_with()
    stored = office.registry.get("acme")
    assert stored.version < 3
    errors = Edit.read(form_of(stored, version=version, notes="lost"), stored)
    assert not isinstance(errors, Edit)
    assert [type(error) for error in errors.values()] == [EditConflict]


def test_a_form_of_an_older_version_is_read_but_not_saved() -> None:
    office = office_with()
    older = form_of(office.registry.get("acme"), notes="lost")
    assert save(office, EVERYTHING, form_of(office.registry.get("acme"), notes="fine"))
    with pytest.raises(EditConflict):
        save(office, EVERYTHING, older)
    assert office.registry.get("acme").notes == "fine"


# ── permissions ─────────────────────────────────────────────────────────────────────


def test_an_editor_saves_what_moves_no_secret() -> None:
    office = office_with()
    values = form_of(office.registry.get("acme"), notes="fine", limits__retries="1") | {
        "row-key-1": "Accept-Language",
        "row-value-1": "de",
    }
    assert save(office, EDITOR, values)
    stored = office.registry.get("acme")
    assert (stored.notes, stored.limits.retries) == ("fine", 1)
    assert len(stored.headers) == 2
    assert office.secrets.open(stored, "token") == Secret(SECRETS["token"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"oauth2__token_url": "https://evil.example/token"}, "oauth2.token_url"),
        ({"oauth2__authorization_url": "https://evil.example"}, "oauth2."),
        ({"oauth2__client_auth": "body"}, "oauth2.client_auth"),
        ({"oauth2__dpop": "on"}, "oauth2.dpop"),
        ({"token_header": "X-Logged"}, "token_header"),
        ({"oauth2__issuer": "https://evil.example"}, "oauth2.issuer"),
        ({"authentication_type": "none"}, "authentication_type"),
        ({"token_source": "oauth2"}, "token_source"),
        ({"base_url": "https://evil.example"}, "base_url"),
        ({"tls__ca_file": "/tmp/evil.pem"}, "tls.ca_file"),
        ({"tls__minimum_version": "1.3"}, "tls.minimum_version"),
        ({"tls__client_certificate": "/tmp/evil.pem"}, "tls.client_certificate"),
        ({"verification__expired_marker": "token-c"}, "verification.expired_marker"),
        ({"row-key-0": "X-Logged"}, "header:X-API-Key"),
        ({"row-gone-0": "on"}, "header:X-API-Key"),
        ({"row-secret-0": None, "row-value-0": "mine"}, "header:X-API-Key"),
        ({"row-key-1": "Authorization", "row-value-1": "Bearer x"}, "header:Auth"),
        ({"secret:token": "another-token"}, "token"),
        ({"clear:token": "on"}, "token"),
        ({"network": "internal"}, "network"),
        ({"script": SCRIPT, "script_enabled": "on"}, "script"),
    ],
)
def test_an_editor_does_not_lead_a_secret_elsewhere(
    changes: dict[str, str | None], field: str
) -> None:
    office = office_with()
    before = office.registry.get("acme")
    values = form_of(before, **changes)
    errors = errors_of(EDITOR, values, before)
    assert any(path.startswith(field) for path in errors), list(errors)
    assert all("you may not" in error.message for error in errors.values())
    assert not save(office, EDITOR, values)
    assert office.registry.get("acme") == before
    assert errors_of(EVERYTHING, values, before) == {}


@pytest.mark.parametrize("away", [{"token_source": "entered"}, {"username": "x"}])
def test_two_saves_do_not_do_what_one_may_not(away: dict[str, str]) -> None:
    text = STORED.replace(
        'authentication_type = "bearer"',
        'authentication_type = "bearer"\ntoken_source = "oauth2"',
    )
    office = office_with(text)
    before = office.registry.get("acme")
    first = form_of(before, **away, oauth2__client_auth="body")
    assert not save(office, EDITOR, first)
    back = form_of(
        office.registry.get("acme"), authentication_type="bearer", token_source="oauth2"
    )
    save(office, EDITOR, back)
    stored = office.registry.get("acme")
    assert stored.oauth2 == before.oauth2


def test_an_internal_configuration_is_not_moved_to_another_internal_address() -> None:
    stored = replace(configuration(network="internal"), record="1")
    moved = form_of(stored, base_url="https://other.acme.example")
    assert "network" in errors_of(EDITOR, moved, stored)
    assert "network" not in errors_of(EDITOR, form_of(stored, notes="new"), stored)


def test_a_new_configuration_needs_the_permission_to_add() -> None:
    values = {"name": "shop", "base_url": "https://shop.example"}
    assert list(errors_of(EDITOR - {Permission.ADD}, values, None)) == ["name"]
    assert errors_of({Permission.ADD}, values, None) == {}


def test_a_user_who_may_not_write_scripts_leaves_them_and_forges_none() -> None:
    stored = replace(configuration(script=SCRIPT), record="1")
    scriptless = EVERYTHING - {Permission.EDIT_SCRIPT}
    page = form_of(stored, script=None, script_enabled=None, notes="theirs")
    edit = editor(scriptless).read(page, stored)
    assert isinstance(edit, Edit)
    assert edit.configuration == replace(stored, notes="theirs")
    for forged in (
        {"script": OTHER_SCRIPT},
        {"script": ""},
        {"script_enabled": ""},
    ):
        errors = errors_of(scriptless, page | forged, stored)
        assert list(errors) == ["script"], forged
    assert errors_of(EVERYTHING, page | {"script": OTHER_SCRIPT}, stored) == {}
    fresh = {"name": "new", "base_url": "https://a.example", "script": SCRIPT}
    assert list(errors_of(scriptless, fresh, None)) == ["script"]


def test_only_fields_without_an_input_are_left_alone() -> None:
    stored = configuration()
    assert is_left_alone("name", {"name": "another"}, stored, ())
    assert not is_left_alone("name", {}, None, ())
    assert is_left_alone("script", {}, stored, ("script",))
    assert not is_left_alone("script", {"script": ""}, stored, ("script",))
    assert not is_left_alone("script", {}, stored, ())


def test_a_stored_configuration_keeps_its_name() -> None:
    stored = office_with().registry.get("acme")
    assert edit_of(form_of(stored, name="other"), stored).configuration.name == "acme"


# ── saving ──────────────────────────────────────────────────────────────────────────


def test_a_secret_that_cannot_be_used_is_refused_and_nothing_is_saved() -> None:
    office = office_with()
    before = office.registry.get("acme")
    values = form_of(before, notes="half") | {"secret:token": "****"}
    assert list(errors_of(EVERYTHING, values, before)) == ["token"]
    assert not save(office, EVERYTHING, values)
    assert office.registry.get("acme") == before


def test_settings_and_secrets_are_saved_together() -> None:
    office = office_with()
    values = form_of(office.registry.get("acme"), notes="both") | {
        "secret:token": "another-token",
        "clear:oauth2.client_secret": "on",
    }
    assert save(office, EVERYTHING, values)
    stored = office.registry.find(["acme"])["acme"]
    assert stored.notes == "both"
    assert "client_secret" not in stored.secrets
    assert office.secrets.open(stored, "token") == Secret("another-token")


def test_a_new_configuration_is_saved_with_its_secret() -> None:
    office = Office()
    values = {
        "name": "shop",
        "base_url": "https://shop.example",
        "authentication_type": "bearer",
        "secret:token": "shop-token",
        "active": "on",
    }
    edit = editor().read(values, None)
    assert isinstance(edit, Edit)
    edit.save(office.administration, office.sender, allowed=lambda _: True)
    stored = office.registry.find(["shop"])["shop"]
    assert office.secrets.open(stored, "token") == Secret("shop-token")


def test_a_new_configuration_gets_the_record_its_form_was_drawn_with() -> None:
    office = Office()
    values = {
        "name": "shop",
        "base_url": "https://shop.example",
        "no_auth_reason": "public_api",
    }
    record = uuid4().hex
    edit = edit_of(values, None)
    edit.save(
        office.administration, office.sender, allowed=lambda _: True, record=record
    )
    assert office.registry.get("shop").record == record
    twice = edit_of(values | {"name": "another"}, None)
    with pytest.raises(ConfigError, match="saved before"):
        twice.save(
            office.administration, office.sender, allowed=lambda _: True, record=record
        )


class Faults:
    """Fails before one of the writes of rows, counted from 1; 0 for none."""

    def __init__(self, storage: MemoryStorage) -> None:
        self.writes: list[str] = []
        self.fails_before = 0
        for name in ("configurations", "secrets"):
            rows = getattr(storage, name)
            rows.swap = self._counted(name, rows.swap)

    def _counted(self, name: str, swap: Callable[..., bool]) -> Callable[..., bool]:
        def write(before: object, after: object) -> bool:
            self.writes.append(name)
            if len(self.writes) == self.fails_before:
                raise StorageUnavailable
            return swap(before, after)

        return write


def everything_in(storage: MemoryStorage) -> dict[str, object]:
    tables = (storage.configurations, storage.lines, storage.secrets)
    return {type(table).__name__: dict(table.rows) for table in tables}


def full_edit(stored: Configuration | None) -> Edit:
    """Return an edit that writes in every way a form can."""
    values = {
        "name": "acme",
        "base_url": "https://api.acme.example",
        "authentication_type": "bearer",
        "active": "on",
    }
    if stored is not None:
        values = form_of(stored, notes="changed")
    values |= {
        "secret:token": "another-token",
        "secret:secret_key": "another-key",
        "row-key-1": "X-More",
        "row-value-1": "more",
        "row-secret-1": "on",
        "reference:password": "env:ACME_PASSWORD",
        "clear:oauth2.client_secret": "on",
    }
    reference = parse_reference("env:ACME_PASSWORD", field="password")
    return edit_of(values, stored, references=[reference])


@pytest.mark.parametrize("is_new", [True, False])
def test_a_fault_before_any_write_leaves_nothing_of_the_save(*, is_new: bool) -> None:
    number = 0
    while True:
        number += 1
        office = Office()
        faults = Faults(office.storage)
        stored = None
        if not is_new:
            office.apply(STORED)
            for name, value in SECRETS.items():
                office.administration.set_secret("acme", name, Secret(value))
            stored = office.registry.get("acme")
        before = everything_in(office.storage)
        faults.writes.clear()
        faults.fails_before = number
        edit = full_edit(stored)
        try:
            edit.save(office.administration, office.sender, allowed=lambda _: True)
        except StorageUnavailable:
            assert everything_in(office.storage) == before, (number, faults.writes)
            continue
        break
    assert everything_in(office.storage) != before
    assert number == len(faults.writes) + 1
    assert number > 6
    assert set(faults.writes) == {"configurations", "secrets"}


def test_what_a_user_may_not_do_is_not_saved_even_where_a_host_does_not_ask() -> None:
    office = office_with()
    before = office.registry.get("acme")
    edit = edit_of(form_of(before, **{"secret:token": "new"}), before)
    assert edit.needs() == {Permission.CHANGE, Permission.SET_SECRET}
    events = list(office.audit.events)
    with pytest.raises(ConfigError, match="may not save"):
        edit.save(
            office.administration,
            office.sender,
            allowed=lambda permission: permission is Permission.CHANGE,
        )
    assert office.registry.get("acme") == before
    assert office.audit.events == events


def test_what_cannot_be_recorded_is_not_saved() -> None:
    office = office_with()
    before = office.registry.get("acme")
    office.audit.broken = True
    with pytest.raises(AuditUnavailable):
        save(office, EVERYTHING, form_of(before, notes="unrecorded"))
    assert office.registry.get("acme") == before


GOLDEN = (
    'GOLDEN = [{"method": "GET", "url": "https://api.acme.example/",'
    ' "expect": {"X-Signed": "right"}}]\n'
)


def test_a_new_script_passes_its_examples_before_it_is_saved() -> None:
    office = office_with()
    scripts = office.sender.scripts
    limits: list[str] = []

    @contextmanager
    def limit() -> Iterator[None]:
        limits.append("held")
        yield

    def save_script(text: str) -> None:
        stored = office.registry.get("acme")
        values = form_of(stored, script=text, script_enabled="on")
        edit_of(values, stored).save(
            office.administration, office.sender, allowed=lambda _: True, limit=limit
        )

    scripts.answer = lambda _call: {"X-Signed": "wrong"}  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="GOLDEN") as raised:
        save_script(GOLDEN + SCRIPT)
    assert raised.value.field == "script"
    assert office.registry.get("acme").script == ""

    def fail(_call: object) -> Mapping[str, str]:
        raise ScriptFailed

    scripts.answer = fail  # type: ignore[attr-defined]
    with pytest.raises(ConfigError) as raised:
        save_script(GOLDEN + SCRIPT)
    assert raised.value.hint
    assert "example of GOLDEN" in raised.value.hint
    scripts.answer = lambda _call: {"X-Signed": "right"}  # type: ignore[attr-defined]
    save_script(GOLDEN + SCRIPT)
    assert limits == ["held"] * 3
    assert save(office, EVERYTHING, form_of(office.registry.get("acme"), notes="new"))
    assert limits == ["held"] * 3, "a script that stays is not proven again"


# ── trying what is not saved ────────────────────────────────────────────────────────


class Bench:
    """A stored configuration, and a gateway with fakes that a form is tried with."""

    def __init__(
        self,
        permissions: Collection[Permission] = EVERYTHING,
        respond: Callable[[Request], Response] = lambda _request: Response(200),
        **values: object,
    ) -> None:
        settings = {"authentication_type": "bearer", "verification__compare": False}
        self.office = Office()
        made = configuration(**settings | values)
        self.office.administration.save(ConfigurationChange(None, made))
        self.office.administration.set_secret(
            "acme", "token", Secret("stored-token-canary")
        )
        self.stored = self.office.registry.find(["acme"])["acme"]
        self.world: FakeWorld = fake_gateway(self.stored, responses=respond)
        ports = replace(self.world.ports, secrets=self.office.secrets)
        self.sender = Sender(ports)
        self.editor = editor(permissions)

    def candidate(self, **changes: str | None) -> CandidateConfiguration | Errors:
        return self.editor.candidate(
            form_of(self.stored, **changes),
            self.stored,
            registry=self.office.registry,
            secrets=self.office.secrets,
        )

    def tried(self, **changes: str | None) -> CandidateConfiguration:
        candidate = self.candidate(**changes)
        assert isinstance(candidate, CandidateConfiguration), list(candidate)
        return candidate

    def test(self, **changes: str | None) -> str | None:
        """Test a form; return the cause of its failure, if it fails."""
        candidate = self.tried(**changes)
        tokens = MemoryTokens(self.world.clock.now)
        trial = candidate.begin_test(self.office.administration, self.sender, tokens)
        list(trial.steps())
        report = trial.report()
        candidate.finish_test(self.office.administration, report, 1_800_000_000.0)
        return report.cause

    @property
    def noted(self) -> Change:
        """The last change that was recorded."""
        event = self.office.audit.events[-1]
        assert isinstance(event, Change)
        return event

    @property
    def tags(self) -> list[Tag]:
        events = self.office.audit.events
        return [event.tag for event in events if isinstance(event, Change)]

    @property
    def health(self) -> Health:
        return self.office.registry.summaries()[0].health

    @property
    def tokens_sent(self) -> set[str]:
        return {
            header.value.reveal()
            for request, _route in self.world.transport.sent
            for header in request.headers
            if isinstance(header.value, Secret)
        }


def test_a_test_of_what_is_stored_is_remembered_and_one_of_a_draft_is_not() -> None:
    bench = Bench()
    assert bench.tried(notes="new").is_saved is False
    assert bench.test(notes="new") is None
    assert bench.health.tested_at is None
    assert bench.test() is None
    assert bench.health.tested_at == 1_800_000_000.0
    names = {getattr(event, "configuration", "") for event in bench.world.audit.events}
    assert "acme (draft)" in names
    assert bench.tokens_sent == {"Bearer stored-token-canary"}


def digest_of(office: Office, values: Mapping[str, str], key: bytes = b"k") -> str:
    stored = office.registry.get("acme")
    return edit_of(values, stored).candidate(office.secrets).digest(key)


def test_a_digest_is_shared_only_by_equal_drafts_with_equal_secrets() -> None:
    office = office_with()
    stored = office.registry.get("acme")
    values = form_of(stored) | {"secret:token": "one"}
    same = digest_of(office, values)
    assert digest_of(office, dict(values)) == same
    others = [
        values | {"secret:token": "two"},
        values | {"notes": "other"},
        values | {"row-value-1": "7", "row-key-1": "X-Tenant"},
        values | {"clear:oauth2.client_secret": "on"},
        form_of(stored),
    ]
    digests = [digest_of(office, other) for other in others]
    assert len({same, *digests}) == len(others) + 1
    assert digest_of(office, values, b"another key") != same
    office.administration.set_secret("acme", "token", Secret("set-meanwhile"))
    assert digest_of(office, values) != same


def test_a_good_test_of_the_saved_values_counts_as_a_test() -> None:
    office = office_with()
    stored = office.registry.get("acme")
    assert save(office, EVERYTHING, form_of(stored, notes="tested before"))
    saved = office.administration.current("acme")
    office.administration.save_good_test(saved, 50.0, {"tls": "TLSv1.3"})
    (summary,) = office.registry.summaries()
    assert (summary.health.tested_at, summary.health.current) == (50.0, True)
    assert summary.health.seen == {"tls": "TLSv1.3"}


def test_who_may_not_change_configurations_tries_the_stored_one() -> None:
    bench = Bench(permissions={Permission.VIEW, Permission.TEST})
    candidate = bench.tried(base_url="https://evil.example")
    assert candidate.is_saved
    assert candidate.configuration == bench.stored
    with pytest.raises(UnknownConfiguration):
        bench.editor.candidate(
            {}, None, registry=bench.office.registry, secrets=bench.office.secrets
        )


def test_a_draft_has_no_name_of_another_configuration() -> None:
    bench = Bench()
    values = form_of(bench.stored) | {"name": "acme"}
    for permissions in (EVERYTHING, EVERYTHING - {Permission.ADD}):
        errors = editor(permissions).candidate(
            values, None, registry=bench.office.registry, secrets=bench.office.secrets
        )
        assert not isinstance(errors, CandidateConfiguration)
        assert "already" in errors["name"].message


def test_a_draft_that_may_not_be_saved_is_not_tried() -> None:
    bench = Bench(permissions=EDITOR)
    errors = bench.candidate(tls__ca_file="/tmp/evil.pem")
    assert not isinstance(errors, CandidateConfiguration)
    assert list(errors) == ["tls.ca_file"]
    broken = bench.candidate(base_url="nonsense")
    assert not isinstance(broken, CandidateConfiguration)
    assert list(broken) == ["base_url"]


def test_a_stored_secret_is_not_sent_to_the_url_of_a_draft() -> None:
    bench = Bench()
    assert bench.test(base_url="https://evil.example") is not None
    assert bench.tokens_sent == set()
    typed = {"secret:token": "typed-token", "verification__test_path": "/me"}
    assert bench.test(**typed) is None
    assert bench.tokens_sent == {"Bearer typed-token"}


def test_a_stored_secret_is_not_used_with_other_tls_settings() -> None:
    bench = Bench()
    candidate = bench.tried(tls__minimum_version="1.3")
    with pytest.raises(SecretMissing, match="TLS"):
        candidate.secrets.open(candidate.configuration, "token")
    bench.test(tls__minimum_version="1.3")
    assert bench.tokens_sent == set()


def test_a_draft_is_compared_with_the_stored_marker_only() -> None:
    """So that no test says what a secret that a response echoes begins with."""

    def refuse(_request: Request) -> Response:
        return Response(403, body=b'{"code": "EXPIRED"}')

    plain = Bench(respond=refuse)
    cause = plain.test()
    assert plain.test(verification__expired_marker="EXPIRED") == cause
    marked = Bench(respond=refuse, verification__expired_marker="EXPIRED")
    assert marked.test() != cause
    assert marked.test(verification__expired_marker="OTHER") != cause
    tokens = MemoryTokens(plain.world.clock.now)
    new = edit_of(
        form_of(plain.stored, verification__expired_marker="EXPIRED", name="new")
        | {"secret:token": "typed-token"},
        None,
    )
    candidate = new.candidate(plain.office.secrets)
    trial = candidate.begin_test(plain.office.administration, plain.sender, tokens)
    list(trial.steps())
    assert trial.report().cause == cause


def test_secrets_of_a_draft_are_typed_cleared_referenced_or_stored() -> None:
    office = office_with()
    stored = office.registry.find(["acme"])["acme"]
    values = form_of(stored) | {
        "secret:password": "typed-password",
        "clear:token": "on",
        "reference:secret_key": "env:ACME_KEY_THAT_IS_NOT_SET",
    }
    reference = parse_reference("env:ACME_KEY_THAT_IS_NOT_SET", field="secret_key")
    edit = edit_of(values, stored, references=[reference])
    candidate = edit.candidate(office.secrets)
    draft = candidate.configuration
    assert draft.secrets["password"].origin == draft.binding_of("password")
    secrets = candidate.secrets
    assert secrets.open(draft, "password") == Secret("typed-password")
    expected = Secret(SECRETS["client_secret"])
    assert secrets.open(draft, "client_secret") == expected
    with pytest.raises(SecretMissing, match="token is not set"):
        secrets.open(draft, "token")
    with pytest.raises(OutkeyError, match="ACME_KEY"):
        secrets.open(draft, "secret_key")
    secrets.refuse_changed_settings(draft)


def test_a_new_draft_has_only_the_secrets_that_were_typed() -> None:
    draft = configuration(authentication_type="bearer")
    secrets = DraftSecrets(None, Office().secrets)
    with pytest.raises(SecretMissing, match="token is not set"):
        secrets.open(draft, "token")


def test_a_script_that_nobody_saved_is_not_vouched_for_by_a_draft() -> None:
    """What was written into the database gets no secret, whoever tests it."""
    office = office_with()
    stored = replace(office.registry.find(["acme"])["acme"], script=SCRIPT)
    secrets = DraftSecrets(stored, office.secrets)
    with pytest.raises(SecretMissing):
        secrets.open(replace(stored, notes="another"), SCRIPT_FACT)
    written = replace(stored, script=OTHER_SCRIPT)
    assert secrets.open(written, SCRIPT_FACT) == secret_digest(OTHER_SCRIPT)


def test_a_preview_masks_secrets_and_is_recorded_where_it_runs_a_new_script() -> None:
    bench = Bench()
    sender = replace(bench.sender.context, secrets=bench.office.secrets)
    stored = bench.tried()
    assert stored.needs_for_preview() == {Permission.VIEW}
    preview = stored.preview(bench.office.administration, sender)
    assert "stored-token-canary" not in repr(preview)
    assert not any(
        e for e in bench.office.audit.events if "test" in str(e).lower()
    ) or (bench.office.audit.events)
    scripted = bench.tried(script=SCRIPT, script_enabled="on")
    assert scripted.needs_for_preview() == {Permission.VIEW, Permission.TEST}
    scripted.preview(bench.office.administration, sender)
    assert bench.noted.key.startswith("script ")
    assert bench.world.scripts.calls[-1].configuration == "acme (draft)"


def test_a_script_is_run_once_with_the_secret_of_the_form() -> None:
    bench = Bench()
    sender = replace(bench.sender.context, secrets=bench.office.secrets)
    candidate = bench.tried(script=SCRIPT, script_enabled="on")
    bench.world.scripts.answer = lambda call: {
        "X-Signed": call.secret.reveal() if call.secret else ""
    }
    result = candidate.run_script(bench.office.administration, sender, None)
    assert result.headers == (("X-Signed", len("stored-token-canary")),)
    assert bench.noted.key.startswith("script ")
    moved = bench.tried(
        script=SCRIPT, script_enabled="on", base_url="https://evil.example"
    )
    refused = moved.run_script(bench.office.administration, sender, None)
    assert isinstance(refused.error, SecretRebindRequired)


def test_a_test_of_a_new_script_is_recorded_with_its_fingerprint() -> None:
    bench = Bench()
    bench.test(notes="new")
    assert bench.noted.key == ""
    bench.test(script=SCRIPT, script_enabled="on")
    assert bench.noted.key.startswith("script ")


def test_the_fields_of_a_script_are_locked_without_the_permission() -> None:
    assert editor(EVERYTHING).locked == ()
    assert editor(EDITOR).locked == ("script_enabled", "script")


def test_errors_repeat_no_secret() -> None:
    office = office_with()
    stored = office.registry.get("acme")
    values = form_of(stored) | {"secret:token": "typed canary\x00of a token"}
    errors = errors_of(EDITOR, values, stored)
    assert list(errors) == ["token"]
    assert "canary" not in repr(errors)
    assert "canary" not in str(MemoryAudit().events)
