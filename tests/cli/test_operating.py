"""Health, readiness and metrics of a running server."""

import json
import os
import re
import resource
import signal
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

import forks
from cli.conftest import Terminal, document_for
from cli.served_operating import Served, serving_operating
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from ports import free_port
from programs import TESTS, program_command

PARTS = ("database", "key", "audit", "scripts", "workers", "clock")

LINE_TO_A_FILE = """
[line.items]
configuration = "acme"
direction = "pull"
path = "/records/contacts?count=3"
records = "items"
target = "file:some/deep/items.csv"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""
FORWARDED: dict[str, dict[str, str]] = {
    "http": {},
    "https": {"X-Forwarded-Proto": "https"},
}
HEADROOM = 64 << 20  # bytes; a locked process may use twice as much


@pytest.fixture(scope="module")
def served(
    session_spar: Spar, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("operating")
    outkey = Terminal(folder / "home", Canaries())
    outkey("apply", "-", stdin=document_for(session_spar))
    outkey("secret", "set", "acme", "token", stdin="spar-token")
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    settings = {"OUTKEY_LOG_FORMAT": "json", "OUTKEY_LOG_LEVEL": "INFO"}
    with serving_operating(outkey, folder / "log", **settings) as server:
        yield server


def database_of(served: Served) -> sqlite3.Connection:
    (file,) = (served.outkey.home / "data").glob("*.sqlite3")
    return sqlite3.connect(file, isolation_level=None)


def test_a_process_that_lives_is_healthy_whatever_the_host_name(served: Served) -> None:
    response = served.get("/healthz", Host="10.0.0.7")
    assert (response.status_code, response.text) == (200, "ok\n")
    assert httpx.post(f"{served.url}/healthz").status_code == 405


def test_an_installation_is_ready_when_each_part_is(served: Served) -> None:
    assert served.wait_for_readiness("workers", "ok") == 200
    response = served.get("/readyz")
    checks = dict.fromkeys(PARTS, "ok")
    assert response.json() == {"ready": True, "checks": checks}


def test_a_removed_key_is_not_ready_until_it_is_back(served: Served) -> None:
    key = served.outkey.home / "config" / "key"
    moved = key.with_name("elsewhere")
    key.rename(moved)
    try:
        assert served.wait_for_readiness("key", "sealed") == 503
    finally:
        moved.rename(key)
    assert served.wait_for_readiness("key", "ok") == 200


def test_a_locked_database_is_not_ready_until_it_is_free(served: Served) -> None:
    with closing(database_of(served)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert served.wait_for_readiness("database", "timeout") == 503
        began = time.monotonic()
        assert served.get("/readyz").status_code == 503
        assert time.monotonic() - began < 10
        assert served.get("/healthz").status_code == 200
        connection.execute("ROLLBACK")
    assert served.wait_for_readiness("database", "ok") in {200, 503}
    assert served.wait_for_readiness("audit", "ok") == 200


def test_an_audit_that_takes_no_record_is_not_ready(served: Served) -> None:
    with closing(database_of(served)) as connection:
        connection.execute(
            "CREATE TRIGGER unwritable BEFORE INSERT ON outkey_auditrecord"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        try:
            assert served.wait_for_readiness("audit", "audit_unavailable") == 503
        finally:
            connection.execute("DROP TRIGGER unwritable")
    assert served.wait_for_readiness("audit", "ok") == 200


def test_scripts_that_cannot_be_locked_in_are_not_ready_until_they_can(
    served: Served,
) -> None:
    assert served.wait_for_readiness("scripts", "ok") == 200
    starter = starter_of_scripts(served.process.pid)
    # A process without privileges cannot set a limit above the one it inherited.
    limit = bytes_in_use(starter) + HEADROOM
    resource.prlimit(starter, resource.RLIMIT_AS, (limit, limit))
    try:
        assert served.wait_for_readiness("scripts", "script_error") == 503
        assert served.get("/readyz").json()["checks"]["audit"] == "ok"
    finally:
        # Nobody can be sure to be permitted to raise a limit: the process that has it
        # is ended, and the server starts another one.
        os.kill(starter, signal.SIGTERM)
    assert served.wait_for_readiness("scripts", "ok") == 200


def test_a_server_is_ready_on_a_kernel_with_landlock_only(
    served: Served, tmp_path: Path
) -> None:
    with serving_operating(
        served.outkey,
        tmp_path / "log",
        command=program_command("cli/serve_without_landlock"),
        PYTHONPATH=str(TESTS),
    ) as elsewhere:
        assert elsewhere.wait_for_readiness("scripts", "script_error") == 503
        checks = elsewhere.get("/readyz").json()["checks"]
        assert set(checks.values()) == {"ok", "script_error"}
        assert elsewhere.get("/healthz").status_code == 200
        assert served.wait_for_readiness("scripts", "ok") == 200


def starter_of_scripts(server: int) -> int:
    """Return the process that a server's scripts are forked from."""
    lists = Path(f"/proc/{server}/task").glob("*/children")
    children = [int(number) for file in lists for number in file.read_text().split()]
    (starter,) = [
        number
        for number in children
        if b"zygote.py" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]
    return starter


def bytes_in_use(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def test_readiness_leaves_no_record_in_the_audit(served: Served) -> None:
    before = len(served.outkey("audit", "list", "--json").json)
    served.wait_for_readiness("audit", "ok")
    assert len(served.outkey("audit", "list", "--json").json) == before
    assert served.outkey("audit", "verify").code == 0


def test_metrics_agree_with_the_audit(served: Served) -> None:
    for _ in range(3):
        served.outkey("request", "acme", "/echo")
    served.outkey("request", "acme", "/status/500")

    audit = served.outkey("audit", "list", "--limit", "1000", "--json").json
    ended = [
        record["outcome"]
        for record in audit
        if record["tag"] == "engine:send:ended" and record["configuration"] == "acme"
    ]
    families = text_string_to_metric_families(served.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    counted = {
        sample.labels["outcome"]: int(sample.value)
        for sample in samples
        if sample.name == "outkey_sends_total"
        and sample.labels["configuration"] == "acme"
    }
    assert len(ended) >= 4
    assert counted == {outcome: ended.count(outcome) for outcome in ended}
    (total,) = [
        sample.value
        for sample in samples
        if sample.name == "outkey_send_duration_seconds_count"
        and sample.labels["configuration"] == "acme"
    ]
    assert total == len(ended)


def test_metrics_have_how_far_a_rotation_has_got(served: Served) -> None:
    served.outkey("secret", "stage", "acme", "token", stdin="next-token")
    lines = served.get("/metrics").text.splitlines()
    staged = 'outkey_rotation_steps_total{configuration="acme",step="staged"} 1.0'
    assert staged in lines
    assert 'outkey_rotation_state{configuration="acme",state="staged"} 1.0' in lines
    served.outkey("rotation", "discard", "acme")


def test_metrics_are_for_tokens_and_for_this_machine(served: Served) -> None:
    token = served.outkey(
        "api-token", "create", "prometheus", "--scope", "read"
    ).out.strip()
    assert served.get("/metrics").status_code == 200
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    assert served.get("/metrics", **forwarded).status_code == 401
    allowed = forwarded | {"Authorization": f"Bearer {token}"}
    assert served.get("/metrics", **allowed).status_code == 200
    wrong = {"Authorization": "Bearer ok_" + "x" * 43}
    assert served.get("/metrics", **wrong).status_code == 401


def test_a_page_in_a_browser_on_this_machine_cannot_read_metrics(
    served: Served,
) -> None:
    port = httpx.URL(served.url).port
    for host in ("pages.example", f"pages.example:{port}", "127.0.0.1.pages.example"):
        assert served.get("/metrics", Host=host).status_code == 401
    for host in ("localhost", f"localhost:{port}", f"[::1]:{port}"):
        assert served.get("/metrics", Host=host).status_code == 200


def test_response_log_and_audit_have_the_same_request_id(served: Served) -> None:
    token = served.outkey("api-token", "create", "sender", "--scope", "send").out
    response = served.get(
        "/api/v1/send/acme/echo", Authorization=f"Bearer {token.strip()}"
    )
    assert response.status_code == 200
    request_id = response.headers["X-Request-ID"]
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    (line,) = [line for line in lines if line["request_id"] == request_id]
    assert (line["configuration"], line["outcome"]) == ("acme", "ok")
    records = served.outkey("audit", "list", "--json").json
    assert [
        record["tag"] for record in records if record.get("request_id") == request_id
    ] == ["engine:send:intended"]


def test_the_id_of_an_unknown_client_is_not_used(served: Served) -> None:
    response = served.get("/healthz", **{"X-Request-ID": "forged-by-a-client"})
    assert response.headers["X-Request-ID"] != "forged-by-a-client"


def test_files_of_a_home_are_for_their_owner_only_whatever_the_umask(
    tmp_path: Path, session_spar: Spar, canary: Canaries
) -> None:
    outkey = Terminal(tmp_path / "new" / "folders" / "home", canary)
    command = program_command("cli/open_to_all")
    environment = outkey.environment | {"OUTKEY_DEMO": "1"}

    def run(*arguments: str, stdin: str = "") -> None:
        done = forks.run([*command, *arguments], environment, stdin=stdin)
        assert done.returncode == 0, done.stderr

    run("apply", "-", stdin=document_for(session_spar) + LINE_TO_A_FILE)
    run("secret", "set", "acme", "token", stdin="spar-token")
    run("secret", "set", "acme", "header:X-API-Key", stdin="k")
    run("line", "run", "items")
    with serving_operating(outkey, tmp_path / "log", command=command) as served:
        assert served.get("/login/").status_code == 200
    run("backup", str(tmp_path / "backup"))
    run("restore", "--replace", str(tmp_path / "backup"))

    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "new").rglob("*")
    }
    assert any("/static/" in path for path in modes)
    assert any(path.endswith("deep/items.csv") for path in modes)
    assert {
        path: oct(mode) for path, mode in modes.items() if mode not in {0o600, 0o700}
    } == {}


@pytest.mark.parametrize(
    ("arguments", "public_url"),
    [
        ((), "http://localhost:PORT"),
        ((), "https://outkey.example"),
        (("--host", "0.0.0.0"), ""),
    ],
)
def test_a_server_prints_a_url_under_which_its_pages_respond(
    outkey: Terminal, tmp_path: Path, arguments: tuple[str, ...], public_url: str
) -> None:
    port = free_port()
    public_url = public_url.replace("PORT", str(port))
    settings = {"OUTKEY_PROXIES": "127.0.0.1"}
    if public_url:
        settings["OUTKEY_PUBLIC_URL"] = public_url
    with serving_operating(
        outkey, tmp_path / "log", arguments=arguments, port=port, **settings
    ) as served:
        printed = served.printed.read_text()
        (url,) = re.findall(r"URL +(\S+)", printed)
        name = urlsplit(url)
        response = served.get("/login/", Host=name.netloc, **FORWARDED[name.scheme])
        assert response.status_code == 200
    assert not public_url or url == public_url
    assert len(re.findall("http", printed)) == 1


def test_a_second_server_on_sqlite_warns(outkey: Terminal, tmp_path: Path) -> None:
    with (
        serving_operating(outkey, tmp_path / "log") as first,
        serving_operating(outkey, tmp_path / "second") as second,
    ):
        assert "warning" not in first.log.read_text()
        assert f"another server of this home is running: {first.url}." in (
            second.log.read_text()
        )
