"""Connections in documents: applied to a whole installation, and exported from it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.administration.engine.editing.applied_connections import (
    is_about_connection,
)
from outkey.administration.engine.editing.applying import Applied, warnings_error
from outkey.foundation.core.errors import (
    BackendUnknown,
    ConfigError,
    EditConflict,
    SecretMissing,
    SecretUnreadable,
)
from outkey.sending.core.connections.connection import ConnectionState
from third_host.test_connections import Books, Server

VARIABLES = """
[configuration.books.connect.variables]
region = "entered"
tenant = "entered"
"""
ACME = """
[configuration.books.connection."acme:1"]
owner = "north"
username = "ann"
password = "env:ANN_PASSWORD"
variables = { region = "eu1" }
[configuration.books.connection."acme:2"]
username = "bob"
"""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def books(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Books]:
    monkeypatch.setenv("ANN_PASSWORD", "of-ann")
    made = Books(tmp_path, server.url)
    apply(made, VARIABLES)
    yield made
    made.application.gateway.close()


def apply(books: Books, text: str, *, dry_run: bool = False) -> Applied:
    return books.application.apply(
        books.administration, parse_document(text), dry_run=dry_run
    )


def exported(books: Books) -> str:
    registry = books.application.registry
    return render(
        registry.all(),
        [],
        connections=registry.each_connection(registry.get("books")),
    )


def outcomes(applied: Applied) -> dict[str, tuple[str, ...]]:
    return {name: names for name, names in applied.connections.items() if names}


def test_an_applied_connection_sends(books: Books, server: Server) -> None:
    applied = apply(books, ACME)
    assert outcomes(applied) == {"created": ("books/acme:1", "books/acme:2")}
    assert applied.unchanged == ("books",)
    assert books.send("acme:1") == 200
    assert server.accepted == ["ann"]
    with pytest.raises(SecretMissing):
        books.send("acme:2")
    connection = books.accounts.current("books", "acme:1").connection
    assert connection is not None
    assert (connection.owner, connection.variables) == ("north", {"region": "eu1"})
    assert connection.created_at == connection.connected_at is not None
    assert books.state("acme:1") is ConnectionState.WORKING
    assert books.state("acme:2") is ConnectionState.NEW


def test_a_document_makes_a_configuration_and_its_connections(
    books: Books, server: Server
) -> None:
    apply(
        books,
        f"""
        [configuration.new]
        base_url = "{server.url}"
        network = "internal"
        authentication_type = "basic"
        connections = "optional"
        [configuration.new.connection.acme]
        username = "ann"
        password = "env:ANN_PASSWORD"
        """,
    )
    gateway = books.application.gateway
    # Without the key of the application it is refused, but it was sent.
    assert gateway.send("new", "GET", "/", connection="acme").status == 401
    assert server.requests == 1


def test_what_is_applied_again_changes_nothing(books: Books) -> None:
    apply(books, ACME)
    before = books.application.registry.connected("books", "acme:1")
    applied = apply(books, ACME)
    assert outcomes(applied) == {"unchanged": ("books/acme:1", "books/acme:2")}
    assert not applied.differences
    after = books.application.registry.connected("books", "acme:1")
    assert (after.version, after.revision) == (before.version, before.revision)


def test_only_what_a_document_names_is_changed(
    books: Books, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(books, ACME)
    books.set_password("acme:2", "of-bob")
    monkeypatch.setenv("NEW_PASSWORD", "of-ann")
    applied = apply(
        books,
        """
        [configuration.books.connection."acme:1"]
        password = "env:NEW_PASSWORD"
        variables = { tenant = "7" }
        """,
    )
    assert outcomes(applied) == {"updated": ("books/acme:1",)}
    (difference,) = applied.differences
    assert difference.facts() == {
        "section": "connection",
        "name": "books/acme:1",
        "outcome": "updated",
        "fields": [
            {"field": "variables.tenant", "old": None, "new": "7"},
            {"field": "password", "old": "env:ANN_PASSWORD", "new": "env:NEW_PASSWORD"},
        ],
    }
    connection = books.accounts.current("books", "acme:1").connection
    assert connection is not None
    assert connection.username == "ann"
    assert connection.variables == {"region": "eu1", "tenant": "7"}
    assert books.send("acme:1") == books.send("acme:2") == 200
    assert server.accepted == ["ann", "bob"]


def test_a_dry_run_saves_nothing(books: Books) -> None:
    applied = apply(books, ACME, dry_run=True)
    assert outcomes(applied) == {"created": ("books/acme:1", "books/acme:2")}
    assert "password" in [change.path for change in applied.differences[0].fields]
    assert not list(
        books.application.registry.each_connection(
            books.application.registry.get("books")
        )
    )


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('password = "hunter2"', ConfigError),
        ('"header:X-App-Key" = "env:A"', ConfigError),
        ('password = "vault:main/acme#password"', BackendUnknown),
    ],
)
def test_a_wrong_connection_saves_nothing_of_the_document(
    books: Books, line: str, error: type[Exception]
) -> None:
    table = '[configuration.books.connection."acme:3"]'
    text = f'[configuration.books]\nnotes = "new"{ACME}{table}\n{line}'
    with pytest.raises(error) as caught:
        apply(books, text)
    assert "hunter2" not in str(caught.value)
    registry = books.application.registry
    assert registry.get("books").notes == ""
    assert not list(registry.each_connection(registry.get("books")))


def test_a_reference_that_cannot_be_read_is_a_warning_with_its_place(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANN_PASSWORD")
    findings = {finding.field: finding for _, finding in apply(books, ACME).findings}
    finding = findings["connection.acme:1.password"]
    assert (finding.id, finding.level) == ("E-secret_missing", "warning")
    assert is_about_connection(finding)
    assert "connection.acme:2.password" not in findings


def test_a_reference_that_cannot_be_read_replaces_no_stored_secret(
    books: Books, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.connect("acme:1", "ann", "of-ann")
    monkeypatch.delenv("ANN_PASSWORD")
    applied = apply(books, ACME)
    fields = [finding.field for _, finding in applied.findings]
    assert "connection.acme:1.password" in fields
    assert books.send("acme:1") == 200
    monkeypatch.setenv("ANN_PASSWORD", "of-ann")
    apply(books, ACME)
    state = books.accounts.current("books", "acme:1").secrets["password"]
    assert str(state.reference) == "env:ANN_PASSWORD"
    assert books.send("acme:1") == 200


def test_an_export_is_applied_without_a_change(books: Books) -> None:
    apply(books, ACME)
    books.set_password("acme:2", "of-bob")
    text = exported(books)
    assert "# password: set" in text
    assert "of-bob" not in text
    applied = apply(books, text)
    assert applied.unchanged == ("books",)
    assert outcomes(applied) == {"unchanged": ("books/acme:1", "books/acme:2")}


def test_an_export_reads_more_connections_than_one_page(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outkey.sending.engine.registry.READ_AT_ONCE", 2)
    for number in range(5):
        books.accounts.create("books", f"a{number}", {})
    registry = books.application.registry
    found = registry.each_connection(registry.get("books"))
    assert [each.connection_id for each in found] == ["a0", "a1", "a2", "a3", "a4"]


def test_connections_are_saved_some_at_once(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "outkey.administration.engine.editing.applied_connections"
    monkeypatch.setattr(f"{place}.SAVED_AT_ONCE", 2)
    monkeypatch.setattr(f"{place}.READ_AT_ONCE", 3)
    text = "".join(
        f"[configuration.books.connection.a{n}]\npassword = 'env:ANN_PASSWORD'\n"
        for n in range(7)
    )
    counts: list[int] = []
    books.application.apply(
        books.administration,
        parse_document(text),
        dry_run=False,
        progress=counts.append,
    )
    assert counts == [2, 2, 2, 1]
    assert len(outcomes(apply(books, text))["unchanged"]) == 7


def test_the_audit_names_what_was_changed_of_an_account(books: Books) -> None:
    apply(books, ACME)
    apply(books, '[configuration.books.connection."acme:2"]\nowner = "south"')
    facts = books.application.audit_trail.rows.newest(3)
    assert [
        (fact["tag"], fact["connection"], fact.get("fields"), fact["actor"])
        for fact in facts
    ] == [
        ("api:connection:updated", "acme:2", ["owner"], "tests"),
        ("api:connection:created", "acme:2", ["username"], "tests"),
        (
            "api:connection:created",
            "acme:1",
            ["username", "owner", "variables.region", "password"],
            "tests",
        ),
    ]


def test_a_document_confirms_nothing_that_was_changed_outside(
    books: Books, server: Server
) -> None:
    apply(books, ACME)
    books.execute(
        "UPDATE configuration SET connection = replace(connection, 'eu1', 'us1')"
        " WHERE connection_id = 'acme:1'"
    )
    apply(books, '[configuration.books.connection."acme:1"]\nowner = "south"')
    with pytest.raises(SecretUnreadable):
        books.send("acme:1")
    assert server.requests == 0


def test_a_required_connection_is_nothing_that_a_configuration_lacks(
    books: Books,
) -> None:
    applied = apply(books, ACME)
    assert warnings_error(applied.findings) is None
    configuration = books.application.registry.get("books")
    ids = {finding.id for finding in books.application.findings(configuration)}
    assert not {"E-connection_missing", "E-secret_missing", "W002"} & ids
    books.administration.clear_secret("books", "header:X-App-Key")
    (finding,) = books.application.findings(books.administration.current("books"))
    assert (finding.id, finding.field) == ("E-secret_missing", "header:X-App-Key")


def test_an_account_that_somebody_made_meanwhile_is_not_replaced(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = parse_document(ACME)
    registry = books.application.registry
    find = registry.find
    books.accounts.create("books", "acme:1", {})
    monkeypatch.setattr(
        type(registry),
        "find",
        lambda _self, names: {
            name: found
            for name, found in find(names).items()
            if found.connection is None
        },
    )
    with pytest.raises(EditConflict):
        books.application.apply(books.administration, document, dry_run=False)
