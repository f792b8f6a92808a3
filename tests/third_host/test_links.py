"""Connect links: made, used once, ended, and never accepted from the database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.administration.engine.connecting.linking import CreatedLink, LinkWish
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    SecretUnreadable,
    UnknownConnection,
)
from outkey.sending.core.connections.connection import ConnectionQuery
from outkey.sending.core.connections.links import (
    MOST_TRIES,
    LinkEnded,
    LinkUnknown,
    digest_of,
)
from third_host.database import SqliteDatabase
from third_host.host import open_application

PUBLIC_URL = "https://outkey.example"
DOCUMENT = """
[configuration.books]
base_url = "https://books.example"
authentication_type = "bearer"
connections = "required"
"""
POLICY = '[connect]\nreturn_urls = ["https://app.example/settings"]\n'


class Shop:
    """An installation whose accounts are connected by links."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.application = self.open()
        self.administration = self.application.administration("tests")
        self.application.apply(
            self.administration, parse_document(DOCUMENT), dry_run=False
        )

    def open(self) -> Application:
        """Return the installation as another process has it."""
        return replace(open_application(self.home), public_url=PUBLIC_URL)

    def link(self, connection: str = "acme", **wish: object) -> CreatedLink:
        """Make a link."""
        linking = self.application.linking(self.administration)
        return linking.create("books", connection, LinkWish(**wish))  # type: ignore[arg-type]

    def token(self, **wish: object) -> str:
        """Return the random characters of a new link."""
        return self.link(**wish).url.removeprefix(f"{PUBLIC_URL}/connect/")

    def execute(self, statement: str) -> None:
        """Change the database without outkey."""
        database = SqliteDatabase(self.home / "data" / "host.sqlite3")
        with database.transaction():
            database.write(statement)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    policy = tmp_path / "config" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text(POLICY)
    made = Shop(tmp_path)
    yield made
    made.application.gateway.close()


def test_a_link_is_for_its_connection_which_is_created_with_it(shop: Shop) -> None:
    link = shop.link(owner="north", return_url="https://app.example/settings/books")
    token = link.url.rpartition("/")[2]
    assert link.url.startswith(f"{PUBLIC_URL}/connect/")
    assert len(token) == 43
    found = shop.application.connect_links.find(digest_of(token))
    assert found.connection == "acme"
    assert found.link.return_url == "https://app.example/settings/books"
    assert found.link.expires_at == link.expires_at
    accounts = shop.application.connections(shop.administration)
    (row,) = accounts.page("books", ConnectionQuery())
    assert row.connection is not None
    assert row.connection.owner == "north"


def test_only_the_hash_of_a_link_is_stored(shop: Shop) -> None:
    token = shop.token()
    shop.application.audit.flush()
    for path in shop.home.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path.name


def test_a_link_is_recorded_in_the_audit(shop: Shop) -> None:
    shop.link()
    shop.application.audit.flush()
    fact = next(iter(shop.application.audit_trail.rows.newest(1)))
    assert fact["tag"] == "api:connection:linked"
    assert (fact["configuration"], fact["connection"]) == ("books", "acme")
    assert fact["actor"] == "tests"


def test_a_new_link_ends_the_earlier_ones_of_its_connection(shop: Shop) -> None:
    first, other, second = shop.token(), shop.token(connection="b"), shop.token()
    links = shop.application.connect_links
    with pytest.raises(LinkEnded):
        links.find(digest_of(first))
    assert links.find(digest_of(second)).connection == "acme"
    assert links.find(digest_of(other)).connection == "b"


def test_of_two_who_use_a_link_one_wins(shop: Shop) -> None:
    token = shop.token()
    here, there = shop.application.connect_links, shop.open().connect_links
    mine, theirs = here.find(digest_of(token)), there.find(digest_of(token))
    there.use(theirs)
    with pytest.raises(LinkEnded):
        here.use(mine)
    with pytest.raises(LinkEnded):
        here.find(digest_of(token))


def test_a_link_ends_after_ten_tries_that_failed(shop: Shop) -> None:
    links = shop.application.connect_links
    token = shop.token()
    found = links.find(digest_of(token))
    for _ in range(MOST_TRIES):
        links.begin_try(links.find(digest_of(token)))
    with pytest.raises(LinkEnded):
        links.find(digest_of(token))
    with pytest.raises(LinkEnded):
        links.begin_try(found)
    links.use(found)  # the last try may still succeed


def test_a_link_expires(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    token = shop.token(minutes=1)
    links = shop.application.connect_links
    now = links.database.now()
    monkeypatch.setattr(type(links.database), "now", lambda _self: now + 61)
    with pytest.raises(LinkEnded):
        links.find(digest_of(token))
    monkeypatch.setattr(type(links.database), "now", lambda _self: now + 40 * 86_400)
    shop.token(connection="b")  # forgets those that ended long ago
    with pytest.raises(LinkUnknown):
        links.find(digest_of(token))


@pytest.mark.parametrize("token", ["", "x" * 42, "x" * 43, "é" * 43, "../" + "x" * 40])
def test_another_text_is_not_a_link(shop: Shop, token: str) -> None:
    shop.token()
    with pytest.raises(LinkUnknown):
        shop.application.connect_links.find(digest_of(token))


def test_a_removed_connection_has_no_link_any_more(shop: Shop) -> None:
    token = shop.token()
    shop.application.connections(shop.administration).remove("books", "acme")
    with pytest.raises(LinkEnded):
        shop.application.connect_links.find(digest_of(token))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("digest", f"'{'0' * 64}'"),  # of a link that somebody with the database knows
        ("allow_other_account", "json('true')"),
        ("expires_at", "9999999999"),
    ],
)
def test_a_link_that_is_changed_in_the_database_does_not_work(
    shop: Shop, member: str, value: str
) -> None:
    token = shop.token()
    shop.execute(
        f"UPDATE state SET value = json_set(value, '$.{member}', {value})"
        " WHERE kind = 'connect_link'"
    )
    with pytest.raises(SecretUnreadable):
        shop.open().connect_links.find(digest_of(token))


def test_a_hash_that_is_written_into_the_database_leads_nowhere(shop: Shop) -> None:
    other = shop.token(connection="other")
    shop.token()
    shop.execute(
        "UPDATE state SET value = replace(value, ':other', ':acme')"
        " WHERE kind = 'connect_link_hash'"
    )
    with pytest.raises(LinkEnded):
        shop.open().connect_links.find(digest_of(other))


def test_a_link_that_was_used_is_not_brought_back(shop: Shop) -> None:
    links = shop.application.connect_links
    token = shop.token()
    with closing(sqlite3.connect(shop.home / "data" / "host.sqlite3")) as database:
        query = "SELECT * FROM state WHERE kind = 'connect_link'"
        (row,) = database.execute(query).fetchall()
        links.use(links.find(digest_of(token)))
        database.execute("DELETE FROM state WHERE kind = 'connect_link'")
        database.execute("INSERT INTO state VALUES (?, ?, ?, ?)", row)
        database.commit()
    with pytest.raises(SecretUnreadable):
        shop.open().connect_links.find(digest_of(token))


def test_a_return_url_outside_of_the_policy_is_refused(shop: Shop) -> None:
    for url in ("https://evil.example/", "https://app.example/settingsx"):
        with pytest.raises(BlockedByPolicy):
            shop.link(return_url=url)
    with pytest.raises(UnknownConnection):  # nothing was created
        shop.application.connections(shop.administration).current("books", "acme")


def test_a_link_needs_a_public_url_and_a_usual_time(shop: Shop) -> None:
    for minutes in (0, 1441, True, "5"):
        with pytest.raises(ConfigError, match="1 to 1440"):
            shop.link(minutes=minutes)
    shop.application = replace(shop.application, public_url="")
    with pytest.raises(ConfigError, match="public URL"):
        shop.link()


def test_a_device_code_needs_no_link(shop: Shop) -> None:
    document = parse_document(
        """
        [configuration.books]
        token_source = "oauth2"
        [configuration.books.oauth2]
        grant = "device_code"
        device_url = "https://login.books.example/device"
        token_url = "https://login.books.example/token"
        client_id = "erp"
        """
    )
    shop.application.apply(shop.administration, document, dry_run=False)
    with pytest.raises(ConfigError, match="cannot be connected by a link"):
        shop.link()
