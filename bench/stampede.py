"""What happens when many processes and threads meet an expired token at once.

8 processes of 25 threads send once each to the sparring provider, which takes 0.3 s for
a token request. Every client begins with a token that has expired: outkey as an
installation on SQLite and on PostgreSQL, the others as their documentation shows
(stampede_clients.py).

First with client credentials: how many token requests the server counted, sends that
failed, answers 401 and requests without credentials at the API, and the time until the
last send ended, in token requests: 1.0 is the least. Then with refresh tokens that are
for single use: whoever uses one a second time is taken for a thief, and the whole
family of tokens dies (RFC 9700 §4.14).

The peers live in .venv-bench; what cannot be imported there is named with the reason.

Exit status: 0 every budget of outkey holds, 1 one is missed.
"""

import argparse
import json
import os
import platform
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from report import Budget, finish
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from stampede_clients import Job

from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET, Authority
from outkey.spar.records import Access, Terms

HERE = Path(__file__).parent
PEER_PYTHON = HERE.parent / ".venv-bench" / "bin" / "python"
POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
TOKEN_SECONDS = 0.3
CREDENTIALS, REFRESH = "client credentials", "refresh tokens"
GRANTS = {CREDENTIALS: "client_credentials", REFRESH: "refresh_token"}
# Long enough for the slowest import in 8 processes,
# and for 200 token requests in a row.
PATIENCE = 120.0
FINE = "status 200"
Answers = list[dict[str, Any]]


class Size(NamedTuple):
    """How many send at once."""

    processes: int
    threads: int


@dataclass(frozen=True)
class Client:
    """A row of a table; `program` is its name in stampede_clients.py."""

    label: str
    program: str
    database: str = ""

    @property
    def is_ours(self) -> bool:
        return self.program == "outkey"


OURS = [
    Client("outkey on SQLite", "outkey", "sqlite"),
    Client("outkey on PostgreSQL", "outkey", "postgresql"),
]
CLIENTS = {
    CREDENTIALS: [
        *OURS,
        *(
            Client(name, name)
            for name in (
                "authlib",
                "requests-oauthlib",
                "dlt",
                "airbyte-cdk",
                "singer-sdk",
                "httpx-auth",
            )
        ),
        Client("httpx-auth, token file", "httpx-auth file"),
    ],
    REFRESH: [
        *OURS,
        *(
            Client(name, f"{name} refreshing")
            for name in ("authlib", "requests-oauthlib", "airbyte-cdk")
        ),
    ],
}


# ── the server ────────────────────────────────────────────────────────────────────────


class Watched:
    """The authorization server's memory, with two additions for the benchmark."""

    def __init__(self, authority: Authority) -> None:
        self.denied = 0  # answers 401 at the API: nothing else asks for an access token
        self.lifetime: float | None = None  # of tokens, instead of what the query says
        self._grant, self._access = authority.grant, authority.access
        authority.grant = self._granted  # type: ignore[method-assign]  # this one object's
        authority.access = self._looked_up  # type: ignore[method-assign]  # this one object's

    def _granted(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> dict[str, object]:
        lifetime = terms.lifetime if self.lifetime is None else self.lifetime
        return self._grant(client, form, terms._replace(lifetime=lifetime))

    def _looked_up(self, token: str) -> Access | None:
        found = self._access(token)
        self.denied += found is None
        return found


def token_url(spar: Spar) -> str:
    return f"{spar.url}/oauth/token?before={TOKEN_SECONDS}"


# ── what each client has at the beginning: a token that has expired ───────────────────


def store_expired(spar: Spar, grant: str, store: Path) -> None:
    """Write the token that the peers begin with; in it the refresh token is live."""
    token = {
        "access_token": spar.authorization.mint(Terms())["access_token"],
        "token_type": "Bearer",
        "expires_in": -30,
        "expires_at": int(time.time()) - 30,
    }
    if grant == REFRESH:
        token["refresh_token"] = spar.authorization.seed_refresh()
    spar.authorization.expire_all()
    store.write_text(json.dumps(token), encoding="utf-8")


def install_expired(
    spar: Spar, watched: Watched, grant: str, settings: dict[str, str]
) -> None:
    """Make an installation of outkey whose token has expired.

    It gets a token that lives for a second, and waits.
    """
    document = f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
[configuration.acme.oauth2]
token_url = "{token_url(spar)}"
client_id = "{CLIENT}"
grant = "{GRANTS[grant]}"
"""

    def outkey(*arguments: str, stdin: str = "") -> None:
        command = [sys.executable, "-m", "outkey.hosts.cli.main", *arguments]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=settings,
        )
        if done.returncode:
            raise RuntimeError(
                f"outkey {arguments[0]} failed:\n{done.stdout}{done.stderr}"
            )

    outkey("apply", "-", stdin=document)
    outkey("secret", "set", "acme", "client_secret", stdin=CLIENT_SECRET)
    if grant == REFRESH:
        seed = spar.authorization.seed_refresh()
        outkey("secret", "set", "acme", "refresh_token", stdin=seed)
    watched.lifetime = 1.0
    outkey("request", "acme", "/oauth/api")
    watched.lifetime = None
    spar.authorization.expire_all()
    time.sleep(1.0)


# ── a race ────────────────────────────────────────────────────────────────────────────


class Racer:
    """One process of a client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, what: object) -> None:
        assert self._process.stdin
        print(json.dumps(what), file=self._process.stdin, flush=True)

    def answer(self, deadline: float) -> dict[str, Any] | None:
        """Return the next answer; None if there is none in time, or never."""
        assert self._process.stdout
        left = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([self._process.stdout], [], [], left)
        line = self._process.stdout.readline() if ready else ""
        return json.loads(line) if line else None


@contextmanager
def started(client: Client, log: Path, settings: dict[str, str]) -> Iterator[Racer]:
    python = Path(sys.executable) if client.is_ours else PEER_PYTHON
    with log.open("a") as errors:
        process = subprocess.Popen(
            [python, HERE / "stampede_clients.py", client.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=settings,
            cwd=log.parent,
            text=True,
        )
    try:
        yield Racer(process)
    finally:
        process.kill()
        process.communicate()


def race(
    client: Client, job: Job, size: Size, log: Path, settings: dict[str, str]
) -> Answers:
    """Let all processes send at one moment, when all are ready; return the reports."""
    with ExitStack() as stack:
        racers = [
            stack.enter_context(started(client, log, settings))
            for _ in range(size.processes)
        ]
        for racer in racers:
            racer.tell(asdict(job))
        deadline = time.monotonic() + PATIENCE
        greetings = [racer.answer(deadline) for racer in racers]
        if None in greetings:
            raise RuntimeError(
                f"{client.label} did not start:\n{log.read_text()[-2000:]}"
            )
        ready = [greeting for greeting in greetings if greeting]
        if "missing" in ready[0]:
            return ready
        begins = time.time() + 0.5
        for racer in racers:
            racer.tell(begins)
        deadline = time.monotonic() + PATIENCE
        hung = {
            "ends": {f"no end in {PATIENCE:.0f} s": size.threads},
            "last": begins + PATIENCE,
        }
        ends = [racer.answer(deadline) or hung for racer in racers]
        return [
            first | last | {"begins": begins}
            for first, last in zip(ready, ends, strict=True)
        ]


def measure(
    client: Client, grant: str, size: Size, folder: Path, database: Callable[[], str]
) -> dict[str, Any]:
    """Let one client meet an expired token, and return the row of the table."""
    if not client.is_ours and not PEER_PYTHON.exists():
        return {"missing": "no .venv-bench (make .venv-bench/.ready)"}
    if client.database == "postgresql" and not POSTGRESQL:
        return {"missing": "no initdb (Debian package postgresql)"}
    # Clean: no proxy, no netrc, no configuration files.
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "OAUTHLIB_INSECURE_TRANSPORT": (
            "1"
        ),  # requests-oauthlib refuses plain http otherwise
        "RUNTIME__DLTHUB_TELEMETRY": "false",
    }
    store = folder / "token.json"
    with Spar() as spar:
        watched = Watched(spar.authorization)
        if client.is_ours:
            settings["OUTKEY_HOME"] = str(folder / "home")
            if client.database == "postgresql":
                settings["OUTKEY_DATABASE_URL"] = database()
            install_expired(spar, watched, grant, settings)
        else:
            store_expired(spar, grant, store)
        before, watched.denied = spar.authorization.counts().token_requests, 0
        spar.clear()
        url = f"{spar.url}/oauth/api"
        job = Job(url, token_url(spar), CLIENT, CLIENT_SECRET, size.threads, str(store))
        answers = race(client, job, size, folder / "log", settings)
        if "missing" in answers[0]:
            return answers[0]
        counts = spar.authorization.counts()
        sent = [arrived for arrived in spar.journal if arrived.path == "/oauth/api"]
    ends: Counter[str] = Counter()
    for answer in answers:
        ends.update(answer["ends"])
    seconds = max(answer["last"] - answer["begins"] for answer in answers)
    return {
        "version": answers[0]["version"],
        "token requests": counts.token_requests - before,
        "failed": ends.total() - ends[FINE],
        "answers 401": watched.denied,
        "without credentials": sum(
            not arrived.values("Authorization") for arrived in sent
        ),
        "seconds": seconds,
        "in token requests": seconds / TOKEN_SECONDS,
        "reuses": counts.reuses,
        "dead families": counts.dead_families,
        "ends": dict(ends),
    }


@contextmanager
def postgresql(size: Size) -> Iterator[Callable[[], str]]:
    """Yield a function that makes a database in our own cluster.

    The cluster is started at first use.
    """
    folder = Path(tempfile.mkdtemp(prefix="outkey-stampede-"))
    user: dict[str, Any] = {}
    if os.getuid() == 0 and POSTGRESQL:
        shutil.chown(folder, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    made: list[str] = []

    def run(program: str, *arguments: str) -> None:
        command = [str(POSTGRESQL[-1].parent / program), *arguments]
        # To a file: the server keeps what it was started with,
        # and would keep a pipe open.
        with (folder / "output").open("ab") as output:
            subprocess.run(
                command,
                check=True,
                stdout=output,
                stderr=output,
                cwd=folder,
                timeout=PATIENCE,
                **user,
            )

    def database() -> str:
        if not made:
            run("initdb", "-D", "data", "-U", "outkey", "--auth=trust", "--no-sync")
            # Every thread has a connection of its own;
            # the usual 100 would refuse half of them.
            most = size.processes * (size.threads + 5) + 20
            options = f"-p {port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"
            options += f" -c max_connections={most}"
            run(
                "pg_ctl",
                "-D",
                "data",
                "-w",
                "-t",
                "30",
                "-o",
                options,
                "-l",
                "log",
                "start",
            )
        made.append(f"outkey{len(made)}")
        run("createdb", "-h", "127.0.0.1", "-p", port, "-U", "outkey", made[-1])
        return f"postgresql://outkey@127.0.0.1:{port}/{made[-1]}"

    try:
        yield database
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


# ── the report ────────────────────────────────────────────────────────────────────────


def run(size: Size) -> dict[str, Any]:
    rows: dict[str, dict[str, dict[str, Any]]] = {grant: {} for grant in CLIENTS}
    with postgresql(size) as database:
        for grant, clients in CLIENTS.items():
            for client in clients:
                with tempfile.TemporaryDirectory() as folder:
                    row = measure(client, grant, size, Path(folder), database)
                rows[grant][client.label] = row
                print(
                    f"{grant}, {client.label}: {progress(row)}",
                    file=sys.stderr,
                    flush=True,
                )
    return {"python": platform.python_version(), "size": size._asdict(), "rows": rows}


def progress(row: dict[str, Any]) -> str:
    if "missing" in row:
        return f"left out, {row['missing']}"
    return (
        f"token requests {row['token requests']}, failed {row['failed']},"
        f" {row['seconds']:.1f} s"
    )


def budgets(found: dict[str, Any]) -> Iterator[Budget]:
    """Give outkey's: one token request and nothing that went wrong.

    Less than one is impossible where no send failed,
    since the API takes no expired token.
    """
    for grant, rows in found["rows"].items():
        for client in OURS:
            row = rows[client.label]
            if "missing" in row:
                continue
            limits = {
                "token requests": 1,
                "failed": 0,
                "answers 401": 0,
                "without credentials": 0,
            }
            if grant == REFRESH:
                limits |= {"reuses": 0, "dead families": 0}
            for what, limit in limits.items():
                yield Budget(f"{grant}: {what}, {client.label}", row[what], limit)


def show(found: dict[str, Any]) -> None:
    console = Console()
    size = Size(**found["size"])
    many = f"{size.processes} processes of {size.threads} threads meet an expired token"
    caption = f"time: until the last send ended, in token requests of {TOKEN_SECONDS} s"
    for grant, rows in found["rows"].items():
        table = Table(
            title=f"{many}: {_TITLES[grant]}", caption=caption, box=SIMPLE_HEAD
        )
        table.add_column("\nclient", no_wrap=True)
        for heading in _HEADINGS[grant]:
            table.add_column(heading, justify="right")
        for label, row in rows.items():
            if "missing" not in row:
                style = "bold" if label.startswith("outkey") else ""
                table.add_row(
                    f"{label} {row['version']}", *_cells(grant, row), style=style
                )
        console.print(table)
        for label, row in rows.items():
            if "missing" in row:
                console.print(f"{label}: left out, {row['missing']}")
            elif row["failed"]:
                bad = {how: count for how, count in row["ends"].items() if how != FINE}
                console.print(
                    f"{label}: " + ", ".join(f"{n} {how}" for how, n in bad.items())
                )
        console.print()


_TITLES = {CREDENTIALS: CREDENTIALS, REFRESH: "single-use refresh tokens"}
_HEADINGS = {
    CREDENTIALS: (
        "token\nrequests",
        "failed\nsends",
        "\n401",
        "without\ncredentials",
        "\ntime",
    ),
    REFRESH: (
        "token\nrequests",
        "reuse\ndetected",
        "failed\nsends",
        "\nfamily",
        "\ntime",
    ),
}


def _cells(grant: str, row: dict[str, Any]) -> list[str]:
    if grant == CREDENTIALS:
        names = ("token requests", "failed", "answers 401", "without credentials")
        middle = [str(row[name]) for name in names]
    else:
        middle = [str(row[name]) for name in ("token requests", "reuses", "failed")]
        middle.append("dead" if row["dead families"] else "alive")
    return [*middle, f"{row['in token requests']:.1f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="4 processes of 5 threads")
    arguments = parser.parse_args()
    found = run(Size(4, 5) if arguments.quick else Size(8, 25))
    show(found)
    return finish("stampede", found, list(budgets(found)))


if __name__ == "__main__":
    sys.exit(main())
