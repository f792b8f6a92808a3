"""Times: local for users or UTC if they want, and ISO 8601 for programs."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import TZPATH, ZoneInfo

import pytest

from cli.conftest import Terminal
from cli.json_times import unix_times
from outkey.hosts.cli.printing import times

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")
# Five and a half hours east of UTC, by its name and as POSIX writes it.
ZONES = ["Asia/Kolkata", "IST-5:30", ":Asia/Kolkata"]
LOCAL_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) IST")
UTC_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC")


@pytest.fixture
def used(ready: Terminal) -> Terminal:
    """A home with something to list in every list that has times."""
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("user", "add", "ada", stdin="a long passphrase").code == 0
    created = ready(
        "api-token", "create", "reports", "--scope", "read", "--expires", "2030-01-31"
    )
    assert created.code == 0
    return ready


def times_in(text: str, pattern: re.Pattern[str]) -> list[datetime]:
    return [datetime.fromisoformat(match[1]) for match in pattern.finditer(text)]


@pytest.mark.parametrize("command", [("audit", "list"), ("api-token", "list")])
def test_users_read_the_local_time_and_can_ask_for_utc(
    used: Terminal, command: tuple[str, ...]
) -> None:
    after = times_in(used(*command, "--utc", TZ=ZONES[0]).out, UTC_TIME)
    before = times_in(used("--utc", *command, TZ=ZONES[0]).out, UTC_TIME)
    for zone in ZONES:
        local = times_in(used(*command, TZ=zone).out, LOCAL_TIME)
        assert local
        in_utc = [time - timedelta(hours=5, minutes=30) for time in local]
        assert after == before == in_utc


@pytest.mark.parametrize(
    "command",
    [("audit", "list"), ("api-token", "list"), ("show", "acme"), ("user", "list")],
)
def test_programs_read_iso_8601_in_utc(
    used: Terminal, command: tuple[str, ...]
) -> None:
    document = used(*command, "--json", TZ=ZONES[0]).json
    times = [time for time in all_times(document) if time is not None]
    assert times or command == ("user", "list")  # ada never signed in
    for time in times:
        assert ISO.fullmatch(time), time
        is_past = datetime.fromisoformat(time) <= datetime.now(UTC)
        assert is_past or time.startswith("2030-")
    assert json.loads(used(*command, "--json", "--utc", TZ=ZONES[0]).out) == document


# Commands that list or show something that has times. Whatever the other tests run with
# --json is looked at as well: see `Terminal`.
READING = (
    *("list", "show acme", "audit list", "audit verify", "keys status", "notices"),
    *("line list", "line show contacts", "run list", "run show 1", "run follow 1"),
    *("data list", "data show contacts", "webhook list", "webhook show shop"),
    *("webhook inbox shop", "user list", "api-token list", "people export ada"),
    *("preset list", "preset show github", "preview acme", "line suggest contacts"),
)
SYNC = """
[line.contacts]
configuration = "acme"
path = "/records/contacts"
records = "items"
direction = "pull"
target = "table:contacts"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
[webhook.shop]
scheme = "shopify"
line = "contacts"
"""


@pytest.fixture
def busy(used: Terminal) -> Terminal:
    """A home with something to read for every command that reads."""
    assert used("apply", "-", stdin=SYNC).code == 0
    assert used("line", "run", "contacts", "--json").json["state"] == "done"
    return used


def test_no_command_prints_a_time_as_a_number(busy: Terminal) -> None:
    for command in READING:
        words = command.split()
        option = [] if command.startswith("people export") else ["--json"]
        done = busy(*words, *option)
        assert done.code == 0, (command, done.err)
        assert list(unix_times(done.json)) == [], command


def test_a_number_that_looks_like_a_time_is_found() -> None:
    document = {"at": 1_800_000_000_123, "more": [{"since": 1.8e9}, 42, 1e300, "x"]}
    assert [*unix_times(document)] == [
        ".at: 1800000000123",
        ".more[0].since: 1800000000.0",
    ]


def all_times(document: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """Return the values of all keys that are named after a time."""
    if isinstance(document, list):
        return [time for item in document for time in all_times(item)]
    if not isinstance(document, dict):
        return []
    times = []
    for key, value in document.items():
        is_time = key in {"at", "last_login"} or key.endswith("_at")
        times += [value] if is_time else all_times(value)
    return times


def test_the_zone_of_the_system_is_used_where_none_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "localtime"
    zone = next(Path(folder) / "Asia/Kolkata" for folder in TZPATH if folder)
    system.write_bytes(zone.read_bytes())
    monkeypatch.setattr(times, "_SYSTEM_ZONE", system)
    monkeypatch.delenv("TZ", raising=False)
    with times.begin_in_local_zone():
        assert times.time_text(1_800_000_000) == "2027-01-15 13:30:00 IST"
        times.use_utc(value=False)
        times.use_utc(value=True)
        assert times.time_text(1_800_000_000) == "2027-01-15 08:00:00 UTC"
    monkeypatch.setattr(times, "_SYSTEM_ZONE", tmp_path / "missing")
    assert times.local_zone(None) == datetime.now().astimezone().tzinfo
    assert times.local_zone("") == ZoneInfo("UTC")


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-11-17T09:30", 4),
        ("2026-11-17 09:30", 4),
        ("2026-11-17T09:30Z", 9),
        ("2026-11-17T09:30+01:00", 8),
    ],
)
def test_a_time_without_a_zone_is_read_as_it_is_printed(
    text: str, hour: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", ZONES[0])
    with times.begin_in_local_zone():
        read = datetime.fromtimestamp(times.parse_time(text, "--from"), UTC)
    assert read.hour == hour
