"""`outkey rotation …` as an operator runs it, against the sparring provider."""

import sqlite3
from contextlib import closing

import pytest

from cli.conftest import HomeOf, Terminal
from outkey.spar import Spar

GOOD = "spar-token"
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_expires_on = 2099-01-01
[configuration.acme.verification]
test_path = "/records/contacts?count=1"
"""


@pytest.fixture
def acme(outkey: Terminal, session_spar: Spar, copied_home: HomeOf) -> Terminal:
    """A configuration with a token that the API refuses."""

    def make(run: Terminal) -> None:
        document = DOCUMENT.format(url=session_spar.url)
        assert run("apply", "-", stdin=document).code == 0
        assert run("secret", "set", "acme", "token", stdin="old-token").code == 0

    return copied_home(outkey, "rotation", make)


def error_of(done: object) -> str:
    return str(done.json["error"]["code"])  # type: ignore[attr-defined]


def stage(outkey: Terminal, value: str, field: str = "token") -> None:
    done = outkey("secret", "stage", "acme", field, "--json", stdin=value)
    assert (done.code, done.json["done"]) == (0, "staged")


def test_a_staged_token_is_tested_promoted_taken_back_and_forgotten(
    acme: Terminal,
) -> None:
    stage(acme, GOOD)
    assert acme("test", "acme").code == 1, "the token in use is tested as before"
    tested = acme("rotation", "test", "acme", "--json")
    assert (tested.code, tested.json["ok"], tested.json["serial"]) == (0, True, 2)
    assert "401 without credentials" in str(tested.json["steps"])
    assert "next: outkey rotation start acme" in acme("rotation", "test", "acme").out
    promoted = acme("rotation", "promote", "acme", "--json").json
    assert promoted == {"done": "promoted", "configuration": "acme", "serial": 2}
    status = acme("rotation", "status", "acme", "--json").json
    assert (status["state"], status["previous"]["serial"]) == ("overlap", 1)
    shown = acme("show", "acme", "--json").json
    assert "token_expires_on" not in shown, "that was the day of the token before"
    assert error_of(acme("rotation", "retire", "acme", "--yes", "--json")) == (
        "rotation_untested"
    )
    assert acme("test", "acme").code == 0
    back = acme("rotation", "back", "acme", "--json").json
    assert (back["done"], back["serial"]) == ("back", 1)
    assert acme("test", "acme").code == 1
    assert acme("show", "acme", "--json").json["token_expires_on"] == "2099-01-01"
    acme("rotation", "back", "acme")
    assert acme("test", "acme").code == 0
    retired = acme("rotation", "retire", "acme", "--yes", "--json").json
    assert (retired["done"], retired["serial"]) == ("retired", 1)
    assert acme("rotation", "status", "acme", "--json").json["state"] == "none"
    assert "nothing to confirm" in acme("secret", "confirm", "--dry-run").out


def test_what_the_api_refuses_is_neither_started_nor_promoted(acme: Terminal) -> None:
    stage(acme, "wrong-token")
    tested = acme("rotation", "test", "acme", "--json")
    assert (tested.code, tested.json["cause"]) == (1, "invalid_credentials")
    assert (
        "next: outkey secret stage acme FIELD" in acme("rotation", "test", "acme").out
    )
    for step in ("start", "promote"):
        assert error_of(acme("rotation", step, "acme", "--json")) == (
            "rotation_untested"
        )
    status = acme("rotation", "status", "acme", "--json").json
    assert status["next"]["test"]["ok"] is False
    discarded = acme("rotation", "discard", "acme", "--json").json
    assert (discarded["done"], discarded["serial"]) == ("discarded", 2)
    assert acme("list", "--json").json[0]["status"] == "never_tested"


def test_a_path_that_succeeds_for_everybody_proves_nothing(
    acme: Terminal, session_spar: Spar
) -> None:
    open_path = DOCUMENT.format(url=session_spar.url).replace(
        "/records/contacts?count=1", "/echo"
    )
    acme("apply", "-", stdin=open_path)
    stage(acme, GOOD)
    tested = acme("rotation", "test", "acme", "--json")
    assert (tested.code, tested.json["cause"]) == (2, "configuration")
    assert "W008" in {finding["id"] for finding in tested.json["findings"]}


def test_nothing_is_staged_during_a_trial(acme: Terminal) -> None:
    stage(acme, GOOD)
    acme("rotation", "test", "acme")
    started = acme("rotation", "start", "acme", "--share", "20", "--json").json
    assert (started["share"], started["after"], started["serial"]) == (20, 20, 2)
    staged = acme("secret", "stage", "acme", "token", "--json", stdin="third")
    assert error_of(staged) == "rotation_pending"
    assert acme("rotation", "back", "acme", "--json").json["serial"] == 1
    assert acme("rotation", "status", "acme", "--json").json["state"] == "staged"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("token", "old-token"),  # in use already
        ("proxy_password", "x"),
        ("refresh_token", "x"),
        ("nothing", "x"),
        ("token_expires_on", "2099-01-01"),  # as it is
        ("token_expires_on", "soon"),
    ],
)
def test_what_cannot_be_staged_is_refused(
    acme: Terminal, field: str, value: str
) -> None:
    done = acme("secret", "stage", "acme", field, "--json", stdin=value)
    assert (done.code, error_of(done)) == (2, "configuration")
    assert acme("rotation", "status", "acme", "--json").json["state"] == "none"


def test_the_end_of_the_next_token_is_staged_and_taken_over(acme: Terminal) -> None:
    stage(acme, GOOD)
    stage(acme, "2098-02-01", "token_expires_on")
    acme("rotation", "test", "acme")
    acme("rotation", "promote", "acme")
    assert acme("show", "acme", "--json").json["token_expires_on"] == "2098-02-01"


def test_a_next_token_for_another_origin_is_neither_tested_nor_started(
    acme: Terminal, session_spar: Spar
) -> None:
    stage(acme, GOOD)
    acme("rotation", "test", "acme")
    other = session_spar.url.replace("127.0.0.1", "localhost")
    acme("apply", "-", stdin=DOCUMENT.format(url=other))
    acme("secret", "set", "acme", "token", stdin=GOOD)
    for step in ("start", "promote"):
        done = acme("rotation", step, "acme", "--json")
        assert (done.code, error_of(done)) == (2, "secret_rebind_required")
    assert acme("rotation", "test", "acme").code == 2


def test_a_share_out_of_range_changes_nothing(acme: Terminal) -> None:
    stage(acme, GOOD)
    acme("rotation", "test", "acme")
    done = acme("rotation", "start", "acme", "--share", "101", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "rotation.share")
    assert acme("rotation", "status", "acme", "--json").json["state"] == "tested"


def test_the_next_user_name_belongs_to_the_next_password(
    outkey: Terminal, session_spar: Spar
) -> None:
    basic = DOCUMENT.format(url=session_spar.url).replace(
        '"bearer"\ntoken_expires_on = 2099-01-01',
        '"basic"\nusername = "old"\nkey_as_username = false',
    )
    assert outkey("apply", "-", stdin=basic).code == 0
    outkey("secret", "set", "acme", "password", stdin="a")
    stage(outkey, "b", "password")
    stage(outkey, "new", "username")
    status = outkey("rotation", "status", "acme", "--json").json
    assert status["next"]["fields"] == ["password", "username"]
    assert outkey("show", "acme", "--json").json["username"] == "old"


def test_credentials_that_are_too_old_are_found_with_the_command_that_helps(
    acme: Terminal, session_spar: Spar
) -> None:
    document = DOCUMENT.format(url=session_spar.url)
    settings = "[configuration.acme.rotation]\nrotate_after_days = 90\n"
    assert acme("apply", "-", stdin=document + settings).code == 0
    assert acme("rotation", "status", "acme", "--json").json["findings"] == []
    database = acme.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE outkey_secretvalue SET set_at = set_at - 91 * 86400")
    (finding,) = acme("rotation", "status", "acme", "--json").json["findings"]
    assert (finding["id"], finding["level"]) == ("P-rotation-overdue", "warning")
    assert finding["configuration"] == "acme"
    assert finding in acme("doctor", "--json").json["findings"]
    assert "outkey secret stage acme FIELD" in acme("rotation", "status", "acme").out


def test_the_table_says_how_far_each_set_has_got(acme: Terminal) -> None:
    stage(acme, GOOD)
    acme("rotation", "test", "acme")
    acme("rotation", "start", "acme", "--share", "20", "--after", "5")
    trial = acme("rotation", "status", "acme").out
    assert "20 % of the requests, until 5 succeed; tested on " in trial
    acme("rotation", "back", "acme")
    acme("rotation", "test", "acme")
    acme("rotation", "promote", "acme")
    acme("rotation", "probe-old", "acme")
    overlap = acme("rotation", "status", "acme").out
    assert "stored until " in overlap
    assert "; refused on " in overlap


def test_the_status_says_what_the_provider_allows(outkey: Terminal) -> None:
    assert outkey("new", "pay", "--preset", "stripe").code == 0
    status = outkey("rotation", "status", "pay").out
    assert "at Stripe: several secrets are valid at the same time" in status
    assert "hours for which the old one stays valid at most: 168" in status
    assert "test and start it" in status
    assert "test and start it" in outkey("preset", "show", "stripe").out


def test_a_row_that_was_changed_in_the_database_is_not_used(acme: Terminal) -> None:
    stage(acme, GOOD)
    database = acme.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "UPDATE outkey_configuration SET settings ="
            ' replace(settings, \'"cause": ""\', \'"cause": "x"\')'
        )
        assert connection.total_changes == 1
    done = acme("rotation", "test", "acme", "--json")
    assert "changed outside of outkey" in str(done.json)
    assert acme("test", "acme").code == 5
