"""Connections of a configuration in a whole installation, against a real server."""

import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.connections import ConnectionAdministration
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionMissing,
    ConnectionPaused,
    EditConflict,
    EgressDenied,
    OutkeyError,
    SecretMissing,
    SecretRebindRequired,
    SecretUnreadable,
    UnknownConnection,
    VariableMissing,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.connections.connection import (
    ConnectionQuery,
    ConnectionState,
)
from outkey.sending.engine.exchange.scripts import try_script
from third_host.database import SqliteDatabase
from third_host.host import open_application

DOCUMENT = """
[configuration.books]
base_url = "{url}"
network = "internal"
authentication_type = "basic"
username = "erp"
connections = "{mode}"
headers = [{{ key = "X-App-Key", secret = true }}]
[configuration.books.verification]
test_path = "/basic"
[configuration.books.connect]
shared = ["header:X-App-Key"]
"""


class Server:
    """An API with several accounts, and an application key."""

    def __init__(self) -> None:
        self.passwords = {"ann": "of-ann", "bob": "of-bob", "erp": "of-erp"}
        self.accepted: list[str] = []  # users
        self.paths: list[str] = []
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests += 1
                scheme, _, encoded = self.headers.get("Authorization", "").partition(
                    " "
                )
                user, _, password = b64decode(encoded).decode().partition(":")
                is_known = server.passwords.get(user) == password
                has_key = self.headers.get("X-App-Key") == "app-key"
                status = 200 if is_known and has_key and scheme == "Basic" else 401
                if status == 200:
                    server.accepted.append(user)
                    server.paths.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Books:
    """An installation with one configuration, and the accounts under it."""

    def __init__(self, home: Path, url: str, mode: str = "required") -> None:
        self.home = home
        self.application: Application = open_application(home)
        self.administration = self.application.administration("tests")
        document = parse_document(DOCUMENT.format(url=url, mode=mode))
        self.application.apply(self.administration, document, dry_run=False)
        self.administration.set_secret("books", "header:X-App-Key", Secret("app-key"))

    @property
    def accounts(self) -> ConnectionAdministration:
        return self.application.connections(self.administration)

    def connect(self, name: str, username: str, password: str) -> None:
        """Create an account with its password."""
        self.accounts.create("books", name, {"username": username})
        self.set_password(name, password)

    def set_password(self, name: str, password: str) -> None:
        seen = self.accounts.current("books", name)
        self.administration.set_secret(
            seen.account, "password", Secret(password), seen=seen
        )

    def send(self, connection: str | None, path: str = "/basic") -> int:
        """Return the status of a request."""
        gateway = self.application.gateway
        return gateway.send("books", "GET", path, connection=connection).status

    def state(self, name: str) -> ConnectionState:
        (row,) = self.accounts.page("books", ConnectionQuery(prefix=name))
        return row.connection_state

    def execute(self, statement: str) -> None:
        """Change the database without outkey."""
        database = SqliteDatabase(self.home / "data" / "host.sqlite3")
        with database.transaction():
            database.write(statement)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def books(tmp_path: Path, server: Server) -> Iterator[Books]:
    made = Books(tmp_path, server.url)
    made.connect("acme:1", "ann", "of-ann")
    made.connect("acme:2", "bob", "of-bob")
    yield made
    made.application.gateway.close()


def test_each_account_sends_its_own_credentials_and_the_shared_ones(
    books: Books, server: Server
) -> None:
    for name in ("acme:1", "acme:2", "acme:1"):
        assert books.send(name) == 200
    assert server.accepted == ["ann", "bob", "ann"]
    assert books.application.gateway.test("books", connection="acme:2").ok


def test_without_a_connection_nothing_is_sent(books: Books, server: Server) -> None:
    with pytest.raises(ConnectionMissing):
        books.send(None)
    with pytest.raises(ConnectionMissing):
        books.application.gateway.lend("books", "GET", server.url, [])
    assert not books.application.gateway.test("books").ok
    with pytest.raises(UnknownConnection):
        books.send("acme")
    with pytest.raises(ConfigError):
        books.send("no id")
    assert server.requests == 0


def test_an_account_never_gets_the_credentials_of_the_configuration(
    tmp_path: Path, server: Server
) -> None:
    books = Books(tmp_path, server.url, mode="optional")
    books.administration.set_secret("books", "password", Secret("of-erp"))
    assert books.send(None) == 200
    books.accounts.create("books", "new", {"username": "erp"})
    with pytest.raises(SecretMissing):
        books.send("new")
    assert books.state("new") is ConnectionState.NEW
    assert server.accepted == ["erp"]
    books.application.gateway.close()


def test_a_secret_of_all_accounts_cannot_be_entered_for_one(books: Books) -> None:
    seen = books.accounts.current("books", "acme:1")
    with pytest.raises(ConfigError, match="no such secret"):
        books.administration.set_secret(
            seen.account, "header:X-App-Key", Secret("other"), seen=seen
        )


def test_refusals_pause_one_account_alone(books: Books, server: Server) -> None:
    books.set_password("acme:1", "wrong")
    for _ in range(5):
        assert books.send("acme:1") == 401
    with pytest.raises(ConnectionPaused):
        books.send("acme:1")
    assert books.send("acme:2") == 200
    assert books.state("acme:1") is ConnectionState.PAUSED
    assert not books.application.registry.get("books").paused
    assert books.accounts.resume("books", "acme:1")
    assert books.send("acme:1") == 401
    books.set_password("acme:1", "of-ann")
    assert books.send("acme:1") == 200
    assert books.state("acme:1") is ConnectionState.WORKING


def test_the_test_of_an_account_is_stored_and_recorded_with_it(
    books: Books, server: Server
) -> None:
    sender = books.application.sender
    server.passwords["ann"] = "changed"
    for _ in range(5):
        books.send("acme:1")
    assert not books.administration.test(sender, "books", connection="acme:1").ok
    assert books.state("acme:1") is ConnectionState.PAUSED
    assert books.send("acme:2") == 200
    server.passwords["ann"] = "of-ann"
    assert books.administration.test(sender, "books", connection="acme:1").ok
    assert books.state("acme:1") is ConnectionState.WORKING
    fact = next(
        fact
        for fact in books.application.audit_trail.rows.newest(50)
        if fact["tag"] == "api:configuration:tested"
    )
    assert (fact["configuration"], fact["connection"]) == ("books", "acme:1")


def test_it_is_stored_when_the_api_last_accepted_an_account(books: Books) -> None:
    def last_used(name: str) -> float | None:
        row = books.accounts.row("books", name)
        assert row.connection is not None
        return row.connection.last_used_at

    assert last_used("acme:1") is None
    books.send("acme:1", "/basic")
    used = last_used("acme:1")
    assert used is not None
    books.send("acme:1", "/basic")
    assert last_used("acme:1") == used  # not each request writes
    books.execute(
        "UPDATE configuration SET connection ="
        " json_set(connection, '$.last_used_at', 7.0) WHERE connection_id = 'acme:1'"
    )
    fresh = open_application(books.home)
    fresh.gateway.send("books", "GET", "/basic", connection="acme:1")
    fresh.gateway.close()
    assert (last_used("acme:1") or 0.0) >= used
    assert last_used("acme:2") is None


def test_a_test_without_the_account_has_that_as_its_cause(
    books: Books, server: Server
) -> None:
    sender = books.application.sender
    for connection, cause in {
        None: "connection_missing",
        "x": "unknown_connection",
    }.items():
        report = books.administration.test(sender, "books", connection=connection)
        assert (report.ok, report.cause) == (False, cause)
        assert report.remedy
    assert server.requests == 0
    (summary,) = books.application.registry.summaries()
    assert summary.health.tested_at is None


def test_a_preview_and_a_script_need_the_account(books: Books) -> None:
    with pytest.raises(ConnectionMissing):
        books.application.gateway.preview("books")
    configuration = books.application.registry.get("books")
    trial = try_script(books.application.sender.context, configuration)
    assert isinstance(trial.error, ConnectionMissing)
    with pytest.raises(ConnectionMissing):
        books.administration.token(books.application.sender, "books", Tag.TOKEN_RENEWED)


def test_a_user_pauses_and_resumes_an_account(books: Books, server: Server) -> None:
    assert books.accounts.pause("books", "acme:1")
    assert not books.accounts.pause("books", "acme:1")
    with pytest.raises(ConnectionPaused):
        books.send("acme:1")
    assert books.send("acme:2") == 200
    assert books.accounts.resume("books", "acme:1")
    assert not books.accounts.resume("books", "acme:1")
    assert books.send("acme:1") == 200


def test_a_removed_account_begins_with_nothing(books: Books, server: Server) -> None:
    with pytest.raises(EditConflict):
        books.accounts.create("books", "acme:1", {})
    books.accounts.remove("books", "acme:1")
    with pytest.raises(UnknownConnection):
        books.send("acme:1")
    books.accounts.create("books", "acme:1", {"username": "ann"})
    with pytest.raises(SecretMissing):
        books.send("acme:1")
    assert server.requests == 0


def test_a_configuration_that_is_renamed_keeps_its_accounts(books: Books) -> None:
    books.administration.rename("books", "library", at=1.0)
    gateway = books.application.gateway
    assert gateway.send("library", "GET", "/", connection="acme:1").status == 200


# What somebody with the database alone might do to send one account's credentials for
# another one.
SWAPS = {
    "ciphertexts": """
        UPDATE secret SET sealed = (SELECT other.sealed FROM secret other
        WHERE other.field = 'password' AND other.record LIKE '%acme:2')
        WHERE field = 'password' AND record LIKE '%acme:1'
    """,
    "names": """
        UPDATE configuration SET name = 'x' WHERE connection_id = 'acme:1';
        UPDATE configuration SET name = replace(name, 'acme:2', 'acme:1')
        WHERE connection_id = 'acme:2'
    """,
    "names and facts": """
        UPDATE configuration SET name = 'x' WHERE connection_id = 'acme:1';
        UPDATE configuration SET name = replace(name, 'acme:2', 'acme:1'),
        connection = replace(connection, 'acme:2', 'acme:1'), connection_id = 'acme:1'
        WHERE connection_id = 'acme:2'
    """,
    "user name": """
        UPDATE configuration SET connection = replace(connection, 'ann', 'erp')
        WHERE connection_id = 'acme:1'
    """,
    "owner": """
        UPDATE configuration SET connection = json_set(connection, '$.owner', 'north')
        WHERE connection_id = 'acme:1'
    """,
    "secret row": "UPDATE configuration SET headers = '[]' WHERE name = 'books'",
    "shared secret": """
        UPDATE secret SET record = (SELECT record FROM configuration
        WHERE connection_id = 'acme:2') WHERE field = 'header:X-App-Key'
    """,
}


@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_exchanged_in_the_database_does_not_open(
    books: Books, server: Server, swap: str
) -> None:
    for statement in SWAPS[swap].split(";"):
        books.execute(statement)
    fresh = open_application(books.home).gateway
    with pytest.raises((SecretUnreadable, SecretMissing)) as caught:
        fresh.send("books", "GET", "/", connection="acme:1")
    assert "of-" not in str(caught.value)
    assert server.requests == 0
    fresh.close()


def test_the_audit_names_the_account(books: Books) -> None:
    books.send("acme:1")
    books.accounts.pause("books", "acme:1")
    with suppress(OutkeyError):
        books.send("acme:1")
    books.application.audit.flush()
    facts = books.application.audit_trail.rows.newest(50)
    named = [
        fact for fact in facts if fact["tag"].startswith(("engine:send", "api:connec"))
    ]
    assert {fact["tag"]: fact.get("connection") for fact in named[:5]} == {
        "engine:send:refused": "acme:1",
        "api:connection:paused": "acme:1",
        "engine:send:ended": "acme:1",
        "engine:send:intended": "acme:1",
        "api:connection:created": "acme:2",
    }


VARIABLE = """
[configuration.books]
base_url = "{{instance_url}}/v2"
allowed_origins = ["{url}"]
[configuration.books.connect.variables]
instance_url = "entered"
tenant = "entered"
"""


@pytest.fixture
def variable_books(books: Books, server: Server) -> Books:
    document = parse_document(VARIABLE.format(url=server.url))
    books.application.apply(books.administration, document, dry_run=False)
    # Bound to the Base URL before: the origins are others now.
    books.administration.set_secret("books", "header:X-App-Key", Secret("app-key"))
    return books


def set_values(books: Books, name: str, **values: str) -> None:
    books.accounts.update("books", name, {"variables": values})


def test_an_account_is_sent_to_where_its_variables_lead(
    variable_books: Books, server: Server
) -> None:
    with pytest.raises(VariableMissing):
        variable_books.send("acme:1")
    set_values(variable_books, "acme:1", instance_url=server.url, tenant="7/8")
    assert variable_books.send("acme:1", "/{tenant}/me") == 200
    assert server.paths == ["/v2/7%2F8/me"]
    with pytest.raises(VariableMissing):
        variable_books.send("acme:2")


def test_a_secret_is_entered_once_it_is_known_where_it_is_sent(
    variable_books: Books, server: Server
) -> None:
    variable_books.accounts.create("books", "new", {"username": "ann"})
    with pytest.raises(VariableMissing):
        variable_books.set_password("new", "of-ann")
    assert variable_books.state("new") is ConnectionState.NEW
    set_values(variable_books, "new", instance_url=server.url)
    variable_books.set_password("new", "of-ann")
    assert variable_books.state("new") is ConnectionState.WORKING
    assert variable_books.send("new") == 200


def test_a_configuration_is_complete_without_the_values_of_accounts(
    variable_books: Books,
) -> None:
    application = variable_books.application
    findings = application.findings(application.registry.get("books"))
    assert [finding.field for finding in findings if finding.level == "error"] == []


def test_a_value_for_another_origin_is_refused_and_nothing_is_sent(
    variable_books: Books, server: Server
) -> None:
    set_values(variable_books, "acme:1", instance_url=server.url)
    for value in ("http://127.0.0.1:1", "https://evil.example", f"{server.url}@evil"):
        with pytest.raises((EgressDenied, ConfigError)):
            set_values(variable_books, "acme:1", instance_url=value)
    with pytest.raises(ConfigError, match="no such variable"):
        set_values(variable_books, "acme:1", other="x")
    assert server.requests == 0
    assert variable_books.send("acme:1") == 200


def test_a_value_that_is_written_into_the_database_is_not_used(
    variable_books: Books, server: Server
) -> None:
    set_values(variable_books, "acme:1", instance_url=server.url, tenant="7")
    variable_books.execute(
        "UPDATE configuration SET connection ="
        " json_set(connection, '$.variables.tenant', '8')"
        " WHERE connection_id = 'acme:1'"
    )
    fresh = open_application(variable_books.home).gateway
    with pytest.raises(SecretUnreadable):
        fresh.send("books", "GET", "/{tenant}", connection="acme:1")
    assert server.requests == 0
    fresh.close()


def test_another_origin_needs_the_secret_again(
    variable_books: Books, server: Server
) -> None:
    set_values(variable_books, "acme:1", instance_url=server.url)
    other = Server()
    document = parse_document(
        f'[configuration.books]\nallowed_origins = ["{server.url}", "{other.url}"]'
    )
    administration = variable_books.administration
    variable_books.application.apply(administration, document, dry_run=False)
    administration.set_secret("books", "header:X-App-Key", Secret("app-key"))
    set_values(variable_books, "acme:1", instance_url=other.url)
    with pytest.raises(SecretRebindRequired):
        variable_books.send("acme:1")
    assert other.requests == 0
    variable_books.set_password("acme:1", "of-ann")
    assert variable_books.send("acme:1") == 200
    other.close()


@pytest.mark.parametrize("swap", ["user name", "owner"])
def test_no_change_of_an_account_confirms_what_was_changed_outside(
    books: Books, server: Server, swap: str
) -> None:
    for statement in SWAPS[swap].split(";"):
        books.execute(statement)
    fresh = open_application(books.home)
    accounts = fresh.connections(fresh.administration("tests"))
    accounts.pause("books", "acme:1")
    accounts.resume("books", "acme:1")
    accounts.update("books", "acme:1", {"owner": "south"})
    with pytest.raises(SecretUnreadable):
        fresh.gateway.send("books", "GET", "/", connection="acme:1")
    assert server.requests == 0
    seen = accounts.current("books", "acme:1")
    fresh.administration("tests").confirm(seen)
    assert fresh.gateway.send("books", "GET", "/", connection="acme:1").status in {
        200,
        401,
    }
    fresh.gateway.close()


def test_the_secrets_of_accounts_move_to_a_new_key(books: Books) -> None:
    steps = books.application.key_administration(books.administration)
    steps.promote(steps.add())
    assert sum(steps.rewrap()) == 3  # two passwords and the key of the application
    fresh = open_application(books.home).gateway
    assert fresh.send("books", "GET", "/basic", connection="acme:2").status == 200
    fresh.close()
