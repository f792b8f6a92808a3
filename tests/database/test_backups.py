"""Backups of both databases: made under load, restored elsewhere, without a key."""

import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

import forks
from cli.conftest import Done, Terminal, document_for
from database.conftest import Cluster
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.testing.canary import Canaries
from ports import free_port


@pytest.fixture(params=["sqlite", "postgresql"])
def source(
    request: pytest.FixtureRequest, tmp_path: Path, canary: Canaries
) -> Terminal:
    """The home that is backed up."""
    return terminal(request, tmp_path / "source", canary, "backup_source")


@pytest.fixture
def elsewhere(
    request: pytest.FixtureRequest, source: Terminal, tmp_path: Path, canary: Canaries
) -> Terminal:
    """An empty home with the same kind of database."""
    return terminal(request, tmp_path / "elsewhere", canary, "backup_elsewhere")


def terminal(
    request: pytest.FixtureRequest, home: Path, canary: Canaries, name: str
) -> Terminal:
    if request.node.callspec.params["source"] == "sqlite":
        return Terminal(home, canary)
    cluster: Cluster = request.getfixturevalue("postgresql")
    return Terminal(home, canary, {"OUTKEY_DATABASE_URL": cluster.create(name)})


def succeed(outkey: Terminal, *arguments: str, stdin: str = "") -> Done:
    done = outkey(*arguments, stdin=stdin)
    assert done.code == 0, done.err
    return done


@contextmanager
def server(outkey: Terminal) -> Iterator[str]:
    """Serve a home, and yield the URL."""
    port = free_port()
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=outkey.environment,
    )
    assert process.stdout is not None
    try:
        assert any("Password" in line for line in process.stdout)
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=20)) as client:
            client.get(f"{url}/healthz")
        yield url
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@contextmanager
def load(url: str, token: str) -> Iterator[list[int]]:
    """Send request after request while the block runs; yield their statuses."""
    statuses: list[int] = []
    ended = threading.Event()

    def send() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(headers=headers, timeout=60) as client:
            while not ended.is_set():
                statuses.append(
                    client.get(f"{url}/api/v1/send/acme/bearer").status_code
                )

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def fill(outkey: Terminal, spar: Spar) -> None:
    """Make a home in which `acme` works."""
    succeed(outkey, "apply", "-", stdin=document_for(spar))
    succeed(outkey, "secret", "set", "acme", "token", stdin="spar-token")
    succeed(outkey, "secret", "set", "acme", "header:X-API-Key", stdin="k")


def test_a_backup_under_load_is_restored_elsewhere(
    source: Terminal, elsewhere: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    with Spar() as spar:
        fill(source, spar)
        created = ("api-token", "create", "load", "--scope", "send")
        token = succeed(source, *created, "--per-minute", "60000").out.strip()
        with server(source) as url, load(url, token) as statuses:
            while len(statuses) < 20:
                threading.Event().wait(0.1)
            done = succeed(source, "backup", str(file))
            assert "The key is not in it" in done.out
        assert set(statuses) == {200}

        refused = elsewhere("restore", str(file))
        key = elsewhere.home / "config" / "key"
        assert (refused.code, str(key) in refused.err) == (4, True)
        shutil.copy(source.home / "config" / "key", key)
        done = succeed(elsewhere, "restore", str(file))
        assert "the audit is intact" in done.out
        assert succeed(elsewhere, "audit", "verify").out.startswith("clean")
        assert "accepted" in succeed(elsewhere, "request", "acme", "/bearer").out


def test_no_key_is_in_a_backup(
    source: Terminal, tmp_path: Path, canary: Canaries
) -> None:
    file = tmp_path / "backup"
    secret = canary.token()
    with Spar() as spar:
        fill(source, spar)
        succeed(source, "secret", "set", "acme", "token", stdin=secret)
    succeed(source, "backup", str(file))

    assert file.stat().st_mode & 0o777 == 0o600
    content = gzip.decompress(file.read_bytes())
    for name in ("key", "signing-key"):
        place = source.home / "config" / name
        if place.exists():
            for line in place.read_bytes().split():
                assert len(line) < 16 or line not in content
    assert list(canary.leaks("the backup", content)) == []
    with tarfile.open(file) as archive:
        names = set(archive.getnames())
    assert names <= {"manifest.json", "database", "audit-checkpoints", "policy.toml"}


def test_existing_data_are_replaced_only_on_request(
    source: Terminal, elsewhere: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    with Spar() as spar:
        fill(source, spar)
        succeed(source, "backup", str(file))
        succeed(
            elsewhere, "apply", "-", stdin=document_for(spar).replace("acme", "other")
        )
    shutil.copy(source.home / "config" / "key", elsewhere.home / "config" / "key")

    refused = elsewhere("restore", str(file))
    assert (refused.code, "--replace" in refused.err) == (2, True)
    assert "other" in succeed(elsewhere, "list").out

    done = succeed(elsewhere, "restore", str(file), "--replace")
    assert "the audit is intact" in done.out
    assert "other" not in succeed(elsewhere, "list").out
    checklist = elsewhere("doctor", "--production", "--json").json["checklist"]
    passed = {line["code"]: line["passed"] for line in checklist}
    assert passed["backup"] is True  # of a moment ago


def test_a_running_server_is_not_replaced(source: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    succeed(source, "list")
    succeed(source, "backup", str(file))
    with server(source):
        refused = source("restore", str(file), "--replace")
    assert refused.code == 2
    assert "a server of this home is running" in refused.err


def test_a_damaged_backup_changes_nothing(source: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with Spar() as spar:
        fill(source, spar)
    succeed(source, "backup", str(file))
    whole = file.read_bytes()
    for damaged in (b"", b"not a backup", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        refused = source("restore", str(file), "--replace")
        assert refused.code == 2
        assert "not a backup" in refused.err
    assert "acme" in succeed(source, "list").out


def test_a_backup_overwrites_no_file(source: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("mine")
    refused = source("backup", str(file))
    assert refused.code == 2
    assert file.read_text() == "mine"


def test_a_backup_without_newer_tables_does_not_replace_a_database_that_has_them(
    postgresql: Cluster, tmp_path: Path, canary: Canaries
) -> None:
    """Their migration would find them there, and fail at every start."""
    url = postgresql.create("backup_newer")
    outkey = Terminal(tmp_path / "home", canary, {"OUTKEY_DATABASE_URL": url})
    file = tmp_path / "backup"
    with Spar() as spar:
        succeed(outkey, "apply", "-", stdin=document_for(spar))
    succeed(outkey, "backup", str(file))
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE outkey_later (id integer)")
    refused = outkey("restore", str(file), "--replace")
    assert refused.code == 2
    assert "tables of a newer version" in refused.err
    assert "acme" in succeed(outkey, "list").out


def test_a_sealed_home_is_not_backed_up(source: Terminal, tmp_path: Path) -> None:
    """Nothing could sign the backup, or record that it was made."""
    with Spar() as spar:
        fill(source, spar)
    (source.home / "config" / "key").unlink()
    refused = source("backup", str(tmp_path / "backup"))
    assert refused.code == 4
    assert list(tmp_path.glob("*backup*")) == []
    assert left_overs(source) == []


def left_overs(outkey: Terminal) -> list[str]:
    """Return what backups and restores have left in a home."""
    return [path.name for path in outkey.home.glob("*/.*")]


def test_a_changed_backup_is_restored_on_request_and_without_its_policy(
    source: Terminal, elsewhere: Terminal, tmp_path: Path
) -> None:
    with Spar() as spar:
        fill(source, spar)
    (source.home / "config" / "policy.toml").write_text(
        '[audit]\ndurability = "process"\n'
    )
    file = tmp_path / "backup"
    succeed(source, "backup", str(file))
    changed = tmp_path / "changed"
    write_with_policy(file, changed, b"[proxy]\n")
    key = elsewhere.home / "config" / "key"
    key.parent.mkdir(parents=True, mode=0o700)
    shutil.copy(source.home / "config" / "key", key)

    refused = elsewhere("restore", str(changed))
    assert (refused.code, "--unsigned" in refused.err) == (2, True)
    assert succeed(elsewhere, "list", "--json").json == []
    done = succeed(elsewhere, "restore", "--replace", "--unsigned", str(changed))
    assert "its policy was not restored" in done.out
    assert "List and accept them with: outkey secret confirm\n" in done.out
    assert "the audit is intact" not in done.out
    assert not (elsewhere.home / "config" / "policy.toml").exists()
    assert "acme" in succeed(elsewhere, "list").out


def write_with_policy(file: Path, changed: Path, policy: bytes) -> None:
    """Write a backup again with another policy, as a program without the key can."""
    with tarfile.open(file) as archive:
        members = {
            info.name: archive.extractfile(info).read()  # type: ignore[union-attr]
            for info in archive
        }
    manifest = json.loads(members["manifest.json"])
    members["policy.toml"] = policy
    manifest["sha256"]["policy.toml"] = hashlib.sha256(policy).hexdigest()
    members["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(changed, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("command", [("worker",), ("serve", "--port")])
def test_a_database_that_another_machine_works_with_is_not_replaced(
    postgresql: Cluster, tmp_path: Path, canary: Canaries, command: tuple[str, ...]
) -> None:
    url = postgresql.create("backup_running")
    ours = Terminal(tmp_path / "ours", canary, {"OUTKEY_DATABASE_URL": url})
    theirs = Terminal(tmp_path / "theirs", canary, {"OUTKEY_DATABASE_URL": url})
    file = tmp_path / "backup"
    with Spar() as spar:
        fill(ours, spar)
    succeed(ours, "backup", str(file))
    key = theirs.home / "config" / "key"
    key.parent.mkdir(parents=True, mode=0o700)
    shutil.copy(ours.home / "config" / "key", key)
    if "--port" in command:
        command = (*command, str(free_port()))
    with (tmp_path / "log").open("wb") as log:
        process = forks.Popen(
            [*forks.OUTKEY, *command], stdout=log, stderr=log, env=theirs.environment
        )
    try:
        wait_for_state(url)
        refused = ours("restore", "--replace", str(file))
        assert refused.code == 2
        assert "processes of outkey use the database: 1" in refused.err
    finally:
        process.terminate()
        process.wait(60)
    succeed(ours, "restore", "--replace", str(file))


def wait_for_state(url: str) -> None:
    """Wait until a process has stored that it works."""
    query = (
        "SELECT 1 FROM outkey_sharedstate WHERE kind = 'worker'"
        " OR kind = 'lease' AND key = 'monitoring'"
    )
    end = time.monotonic() + 60
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(query).fetchone() is None:
            assert time.monotonic() < end
            time.sleep(0.1)


LINE = """
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts?count=3"
records = "items"
target = "table:contacts"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""


def with_key(elsewhere: Terminal, source: Terminal) -> None:
    """Give a home the key of another."""
    key = elsewhere.home / "config" / "key"
    key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copy(source.home / "config" / "key", key)


def oauth_document(spar: Spar, grant: str) -> str:
    """Return a configuration whose name is that of its grant."""
    return f"""
[configuration.{grant}]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
[configuration.{grant}.oauth2]
token_url = "{spar.url}/oauth/token"
client_id = "{CLIENT}"
grant = "{grant}"
"""


def test_a_restored_home_is_on_hold_until_it_is_resumed(
    source: Terminal, elsewhere: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    grants = ("refresh_token", "client_credentials")
    with Spar() as spar:
        fill(source, spar)
        documents = [oauth_document(spar, grant) for grant in grants]
        succeed(source, "apply", "-", stdin=LINE + "".join(documents))
        for grant in grants:
            succeed(
                source, "secret", "set", grant, "client_secret", stdin=CLIENT_SECRET
            )
        succeed(source, "secret", "set", grants[0], "refresh_token", stdin="first")
        succeed(source, "backup", str(file))
        with_key(elsewhere, source)
        done = succeed(elsewhere, "restore", str(file))
        assert "On hold: no sync line runs" in done.out
        assert "replaced since the backup: refresh_token." in done.out

        spar.clear()
        refused = [
            elsewhere("line", "run", "contacts"),
            *(elsewhere("request", grant, "/oauth/api") for grant in grants),
            *(elsewhere("token", "renew", grant) for grant in grants),
        ]
        for command in refused:
            assert command.code == 2
            assert "error[on_hold]" in command.err
            assert "outkey resume --all" in command.err
        assert spar.journal == []
        assert succeed(elsewhere, "request", "acme", "/bearer").code == 0

        succeed(elsewhere, "resume", "--all")
        succeed(elsewhere, "line", "run", "contacts")
        succeed(elsewhere, "request", grants[1], "/oauth/api")


def test_a_backup_that_goes_live_is_not_on_hold(
    source: Terminal, elsewhere: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    again = tmp_path / "again"
    with Spar() as spar:
        fill(source, spar)
        succeed(source, "apply", "-", stdin=LINE)
        succeed(source, "backup", str(file))
        with_key(elsewhere, source)
        succeed(elsewhere, "restore", str(file))
        succeed(elsewhere, "backup", str(again))  # while it is on hold

        done = succeed(elsewhere, "restore", "--replace", "--live", str(again))
        assert "On hold" not in done.out
        succeed(elsewhere, "line", "run", "contacts")


def test_a_restore_names_the_retired_key_that_secrets_need(
    source: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    with Spar() as spar:
        fill(source, spar)
        succeed(source, "backup", str(file))
        (old,) = succeed(source, "keys", "status", "--json").json["keys"]
        new = succeed(source, "keys", "add").out.strip()
        succeed(source, "keys", "promote", new)
        succeed(source, "keys", "rewrap")
        succeed(source, "keys", "retire", old["id"])

        done = succeed(source, "restore", "--replace", str(file))
        command = f"outkey keys reopen {old['id']}"
        assert f"retired key {old['id']}: 2. Run: {command}" in done.out
        states = succeed(source, "keys", "status", "--json").json["keys"]
        assert {key["state"]: key["secrets"] for key in states} == {
            "primary": 0,
            "retired": 2,
        }
        refused = source("request", "acme", "/bearer")
        assert (refused.code, command in refused.err) == (4, True)
        for step in (("rewrap",), ("promote", old["id"])):
            refused = source("keys", *step)
            assert (refused.code != 0, command in refused.err) == (True, True)

        succeed(source, *command.split()[1:])
        succeed(source, "request", "acme", "/bearer")
        assert succeed(source, "keys", "rewrap").out == "rewrapped: 2 secrets\n"
        succeed(source, "keys", "retire", old["id"])
        succeed(source, "request", "acme", "/bearer")
        assert succeed(source, "audit", "verify").out.startswith("clean")


def test_a_database_with_a_trigger_is_not_backed_up_and_the_doctor_names_it(
    source: Terminal, tmp_path: Path
) -> None:
    succeed(source, "list")
    url = source.environment.get("OUTKEY_DATABASE_URL")
    if url is None:
        with closing(sqlite3.connect(source.home / "data/outkey.sqlite3")) as database:
            database.execute(
                "CREATE TRIGGER planted AFTER INSERT ON Outkey_SharedState"
                " BEGIN DELETE FROM outkey_sharedstate WHERE kind = 'hold'; END"
            )
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RETURN NULL; END $$"
            )
            connection.execute(
                "CREATE TRIGGER planted AFTER INSERT ON outkey_sharedstate"
                " FOR EACH ROW EXECUTE FUNCTION f()"
            )
            connection.execute(
                "CREATE RULE planted_rule AS ON DELETE TO outkey_run DO NOTHING"
            )
    file = tmp_path / "backup"
    done = source("backup", str(file))
    assert done.code == 2
    assert "planted (outkey_sharedstate)" in done.err.lower()
    assert "DROP TRIGGER" in done.err
    assert not file.exists()
    examined = source("doctor")
    assert examined.code == 2
    assert "P-trigger" in examined.out
    assert "planted (outkey_sharedstate)" in examined.out.lower()
    assert ("planted_rule (outkey_run)" in examined.out) == (url is not None)
