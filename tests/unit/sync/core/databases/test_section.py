"""The sections of other databases and of pairs in a document."""

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.databases.section import OtherDatabase, refuse_unsafe_url
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.engine.sync_settings import SyncSettings

DOCUMENT = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
adopt = ["orders"]
[database.local]
url = "sqlite:///local.db"
[pair.orders]
pull = "orders"
push = "send orders"
conflict = "newest"
host_changed = "updated_at"
api_changed = "meta.updated"
[pair.plain]
pull = "a"
push = "b"
"""
DATABASES = (
    OtherDatabase("warehouse", "env:WAREHOUSE_URL", ("orders",)),
    OtherDatabase("local", "sqlite:///local.db"),
)
PAIRS = (
    Pair(
        "orders",
        "orders",
        "send orders",
        conflict=ConflictRule.NEWEST,
        host_changed="updated_at",
        api_changed="meta.updated",
    ),
    Pair("plain", "a", "b"),
)


def test_databases_and_pairs_are_read_from_a_document() -> None:
    document = parse_document(DOCUMENT)
    assert (document.databases, document.pairs) == (DATABASES, PAIRS)


def test_databases_and_pairs_are_stored_as_they_are() -> None:
    settings = SyncSettings(MemoryStateRows())
    settings.put(DATABASES, PAIRS)
    settings.put((), (Pair("plain", "a", "c"),))
    assert settings.databases() == {known.name: known for known in DATABASES}
    assert settings.pairs() == {"orders": PAIRS[0], "plain": Pair("plain", "a", "c")}


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ('[database."a b"]\nurl = "env:X"', "database.a b", "letters, digits"),
        ("[database.x]", "database.x.url", "must not be empty"),
        ('[database.x]\nurl = "env:"', "database.x.url", "not the URL"),
        ('[database.x]\nurl = "env:1x"', "database.x.url", "environment variable"),
        (
            '[database.x]\nurl = "postgresql://u:hunter2@h/d"',
            "database.x.url",
            "a password must not stand",
        ),
        (
            '[database.x]\nurl = "postgresql://h/d?password=hunter2"',
            "database.x.url",
            "a password must not stand",
        ),
        ('[pair.x]\npush = "b"', "pair.x.pull", "must not be empty"),
        (
            '[pair.x]\npull = "a"\npush = "b"\nconflict = "newest"',
            "pair.x.host_changed",
            "times of both changes",
        ),
        (
            '[pair.x]\npull = "a"\npush = "b"\nconflict = "luck"',
            "pair.x.conflict",
            "one of: api, host, newest, ask",
        ),
    ],
)
def test_what_is_wrong_with_a_database_or_a_pair_is_named(
    text: str, field: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_document(text)
    assert caught.value.field == field
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://bob:hunter2@db/x",
        "postgresql://bob:hun/ter2@db/x",
        "postgresql://bob:hun?ter2@db/x",
        "postgresql://bob:hun#ter2@db/x",
        "postgresql://bob:hun:ter2@db/x",
        "postgresql://bo/b:hunter2@db/x",
        "postgresql+psycopg://:hunter2@db/x",
        "mysql://db/x?passwd=hunter2",
        "mysql://db/x?a=b&PASSWORD=hunter2",
        "mysql://db/x?pass%77ord=hunter2",
        "postgresql://db/x?sslpassword=hunter2",
        "mysql://db/x?ssl_key_password=hunter2",
        "mysql://db/x?charset=utf8&pass=hunter2",
        "postgresql://db/x?options=-cpassword%3Dhunter2",
    ],
)
def test_no_url_with_a_password_is_stored(url: str) -> None:
    with pytest.raises(ConfigError, match="a password must not stand") as caught:
        parse_document(f'[database.x]\nurl = "{url}"')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://bob@db/x",
        "postgresql://db:5432/x?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "mariadb://bob@db/x?charset=utf8mb4&ssl_ca=/etc/ca.pem",
        "sqlite:////folder/a:b@c.db",
        "mysql://bob:@db/x",
    ],
)
def test_a_url_without_a_password_is_stored(url: str) -> None:
    (database,) = parse_document(f'[database.x]\nurl = "{url}"').databases
    assert database.url == url


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u@h/d?local_infile=1",
        "mysql://u@h/d?read_default_file=/home/hunter2",
        "mysql://u@h/d?charset=utf8mb4&read_default_group=client",
        "mysql+pymysql://u@h/d?unix_socket=/run/hunter2",
        "mysql://u@h/d?init_command=DROP+TABLE+hunter2",
        "mysql://u@h/d?plugin=hunter2",
        "postgresql://u@h/d?service=hunter2",
        "postgresql://u@h/d?servicefile=/home/hunter2",
        "postgresql://u@h/d?passfile=/home/hunter2",
        "postgresql://u@h/d?host=/run/hunter2",
        "postgresql://u@h/d?options=-c%20role%3Dhunter2",
        "postgresql://u@h/d?sslmode=require&SSLMODE=hunter2",
        "sqlite:////folder/file.db?uri=true",
        "sqlite:////folder/file.db?mode=rwc&hunter2",
    ],
)
def test_a_parameter_of_a_driver_that_is_not_listed_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="parameters") as caught:
        parse_document(f'[database.x]\nurl = "{url}"')
    assert caught.value.field == "database.x.url"
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("scheme", ["oracle", "mssql+pyodbc", "access", "SQLITE"])
def test_a_kind_of_database_that_is_not_listed_is_refused(scheme: str) -> None:
    with pytest.raises(ConfigError, match="of this kind") as caught:
        parse_document(f'[database.x]\nurl = "{scheme}://u@h/d"')
    assert caught.value.field == "database.x.url"


@pytest.mark.parametrize(
    "url", ["postgresql://h/d?sslkey=/etc/k.pem", "mysql://h/d?ssl_cert=/etc/c.pem"]
)
def test_the_key_of_a_client_stands_in_a_reference_only(url: str) -> None:
    with pytest.raises(ConfigError, match="key of a client") as caught:
        parse_document(f'[database.x]\nurl = "{url}"')
    assert caught.value.field == "database.x.url"


def test_a_stored_url_that_outkey_would_not_store_hides_no_other_database() -> None:
    """Not only outkey can write a row: it is refused when the database is opened."""
    settings = SyncSettings(MemoryStateRows())
    settings.put([OtherDatabase("x", "mysql://u@h/d?local_infile=1"), DATABASES[0]], ())
    assert [*settings.databases()] == ["warehouse", "x"]
    with pytest.raises(ConfigError, match="parameters"):
        refuse_unsafe_url(settings.databases()["x"])
