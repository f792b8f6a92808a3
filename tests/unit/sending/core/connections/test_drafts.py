"""Connections as a document describes them, and as they are written there."""

from dataclasses import replace

import pytest

from outkey.administration.core.document.document import Document, parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import ConfigError, EgressDenied
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.account import with_account

BOOKS = """
[configuration.books]
base_url = "https://books.example"
authentication_type = "basic"
username = "erp"
connections = "required"
headers = [
    { key = "X-App-Key", secret = true },
    { key = "X-Key", secret = true },
]
[configuration.books.connect]
shared = ["header:X-App-Key"]
[configuration.books.connect.variables]
region = "entered"
tenant = "entered"
"""
ACME = """
[configuration.books.connection.acme]
owner = "north"
username = "ann"
password = "env:ACME_PASSWORD"
"header:X-Key" = "file:/run/acme"
variables = { region = "eu1" }
"""


def read(table: str, settings: str = BOOKS) -> Document:
    return parse_document(f"{settings}{table}")


def connected(document: Document) -> list[Configuration]:
    return [each for each in document.configurations() if each.connection is not None]


def refusal(table: str, settings: str = BOOKS) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(table, settings).configurations()
    return caught.value


def test_a_connection_has_what_its_table_names() -> None:
    (acme,) = connected(read(ACME))
    assert acme.connection is not None
    assert acme.connection.id == "acme"
    assert acme.connection.owner == "north"
    assert acme.connection.variables == {"region": "eu1"}
    assert acme.username == "ann"
    references = {name: str(state.reference) for name, state in acme.secrets.items()}
    assert references == {
        "password": "env:ACME_PASSWORD",
        "header:X-Key": "file:/run/acme",
    }
    assert acme.secrets["password"].origin == "https://books.example:443"


def test_a_connection_without_a_key_is_one() -> None:
    (acme,) = connected(read("[configuration.books.connection.acme]"))
    assert acme.connection_id == "acme"
    assert not acme.secrets


def test_what_is_stored_of_a_connection_and_not_named_stays() -> None:
    first = read(ACME)
    (stored,) = connected(first)
    draft = read('[configuration.books.connection.acme]\nvariables = { tenant = "7" }')
    books = draft.drafts[0].configuration()
    made = draft.connections["books"][0].merged(books, stored)
    assert made.secrets == stored.secrets
    assert made.connection is not None
    assert made.connection.owner == "north"
    assert made.connection.variables == {"region": "eu1", "tenant": "7"}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('password = "hunter2"', "connection.acme.password"),
        ("password = 7", "connection.acme.password"),
        ('"header:X-Key" = "hunter2"', "connection.acme.header:X-Key"),
        ('"header:X-Other" = "env:A"', "connection.acme.header:X-Other"),
        ('"header:x-key" = "env:A"', "connection.acme.header:x-key"),
        ('"header:X-App-Key" = "env:A"', "connection.acme.header:X-App-Key"),
        ('client_key = "env:A"', "connection.acme.client_key"),
        ('client_secret = "env:A"', "connection.acme.client_secret"),
        ('consumer_secret = "env:A"', "connection.acme.consumer_secret"),
        ('client_id = "erp"', "connection.acme.client_id"),
        ("username = 7", "connection.acme.username"),
        ('username = "a:b"', "connection.acme.username"),
        ("owner = 7", "connection.acme.owner"),
        ('pasword = "hunter2"', "connection.acme.pasword"),
        ('base_url = "https://a.example"', "connection.acme.base_url"),
        ("active = false", "connection.acme.active"),
        ("variables = 7", "connection.acme.variables"),
        ('variables = { region = "" }', "connection.acme.variables.region"),
        ('variables = { other = "x" }', "connection.acme.variables.other"),
        ("variables = { region = [] }", "connection.acme.variables.region"),
        ('variables = { "a b" = "hunter2" }', "connection.acme.variables.a b"),
    ],
)
def test_a_wrong_key_is_refused_with_its_field(line: str, field: str) -> None:
    error = refusal(f"[configuration.books.connection.acme]\n{line}")
    assert error.code == "configuration"
    assert error.field == field
    assert "configuration books" in str(error)
    assert "hunter2" not in f"{error} {error.hint}"


@pytest.mark.parametrize(
    "table",
    [
        '[configuration.books.connection."no id"]',
        f"[configuration.books.connection.{'a' * 121}]",
        "[configuration.books]\nconnection = 7",
    ],
)
def test_a_wrong_id_is_refused(table: str) -> None:
    settings = "" if "= 7" in table else BOOKS
    error = refusal(table, settings)
    assert error.code == "configuration"
    assert error.field == "connection"


def test_a_connection_must_be_a_table() -> None:
    error = refusal("[configuration.books.connection]\nacme = 7")
    assert error.field == "connection.acme"


def test_an_id_with_a_dot_that_is_not_quoted_is_refused_with_the_reason() -> None:
    error = refusal("[configuration.books.connection.acme.1]")
    assert error.field == "connection.acme.1"
    assert "quotes" in str(error.hint)


def test_a_configuration_without_connections_has_none() -> None:
    error = refusal(
        ACME,
        BOOKS.replace('"required"', '"none"').partition(
            "[configuration.books.connect]"
        )[0],
    )
    assert error.field == "connections"
    assert "books" in str(error)


def test_a_similar_secret_is_named() -> None:
    error = refusal('[configuration.books.connection.acme]\n"header:X-Keys" = "env:A"')
    assert str(error.hint) == "Did you mean header:X-Key?"


def test_a_shared_user_name_belongs_to_the_configuration() -> None:
    settings = BOOKS.replace("shared = [", 'shared = ["username", ')
    assert refusal(ACME, settings).field == "connection.acme.username"


def test_an_own_client_is_named() -> None:
    settings = """
    [configuration.books]
    base_url = "https://books.example:443"
    authentication_type = "bearer"
    token_source = "oauth2"
    connections = "required"
    [configuration.books.oauth2]
    token_url = "https://books.example/token"
    client_id = "erp"
    [configuration.books.connect]
    own = ["client_id", "client_secret"]
    """
    (acme,) = connected(
        read(
            '[configuration.books.connection.acme]\nclient_id = "acme"\n'
            'client_secret = "env:A"',
            settings,
        )
    )
    assert acme.oauth2.client_id == "acme"
    assert list(acme.secrets) == ["client_secret"]


def test_what_is_written_is_read_as_the_same() -> None:
    document = read(ACME + '[configuration.books.connection."a:1"]\nowner = "x\\"y"')
    (books, *accounts) = document.configurations()
    text = render([books], [], connections=accounts)
    assert '[configuration.books.connection."a:1"]' in text
    assert connected(parse_document(text)) == accounts
    again = [each.connection for each in connected(parse_document(text))]
    assert again == [each.connection for each in accounts]


def test_what_a_document_refuses_is_not_written() -> None:
    (_, acme) = read(ACME).configurations()
    shared = BOOKS.replace("shared = [", 'shared = ["username", "header:X-Key", ')
    other = parse_document(shared).drafts[0].configuration()
    assert acme.connection is not None
    moved = with_account(other, acme.connection, acme.secrets)
    text = render([other], [], connections=[moved])
    assert 'username = "ann"' not in text
    assert "/run/acme" not in text
    assert parse_document(text).configurations()


def test_a_stored_secret_is_a_comment() -> None:
    (books, acme) = read(ACME).configurations()
    stored = SecretState("https://books.example", set_at=0.0)
    acme = replace(acme, secrets={"password": stored})
    text = render([books], [], connections=[acme])
    assert "# password: set" in text
    assert not connected(parse_document(text))[0].secrets


def test_a_variable_that_leads_elsewhere_is_refused() -> None:
    settings = """
    [configuration.books]
    base_url = "{instance_url}/v2"
    allowed_origins = ["https://*.books.example"]
    authentication_type = "bearer"
    connections = "required"
    [configuration.books.connect.variables]
    instance_url = "entered"
    """
    acme_table = "[configuration.books.connection.acme]"
    table = acme_table + '\nvariables = {{ instance_url = "{}" }}'
    (acme,) = connected(read(table.format("https://eu.books.example"), settings))
    assert acme.base_url == "https://eu.books.example/v2"
    with pytest.raises(EgressDenied):
        read(table.format("https://evil.example"), settings).configurations()
    error = refusal(table.format("no URL"), settings)
    assert error.field
    assert "no URL" not in str(error)
    assert connected(read(acme_table, settings))


def test_without_a_similar_secret_those_of_accounts_are_named() -> None:
    error = refusal('[configuration.books.connection.acme]\n"query:zzz" = "env:A"')
    assert "header:X-Key" in str(error.hint)
    assert "X-App-Key" not in str(error.hint)
