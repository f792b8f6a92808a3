"""What must work whatever rows there are: commands, pages, the interface, rounds."""

import io
import json
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client, override_settings
from odd_home import GOOD, ODD, PASSWORD

from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.workers import WorkerHeartbeat
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.cli.main import run
from outkey.hosts.django import installed
from outkey.hosts.django.wiring import install
from outkey.hosts.server.sign_ins import sign_in_guard

BACKEND = "django.contrib.auth.backends.ModelBackend"
# Those with a mark may fail, as long as they say why.
COMMANDS = f"""
list | list --json | show {GOOD} | export | preview {GOOD} | doctor ? | doctor --json ?
keys status | keys rewrap ? | audit list | audit list --json | audit verify ?
audit export | audit prune --days 9000 --yes ? | line list | line list --json
line show {GOOD} | line run {GOOD} | run list | run list --json | pair list
pair list --json | pair conflicts {GOOD} | data list | webhook list
webhook list --json | webhook show {GOOD} | webhook inbox {GOOD}
webhook inbox {ODD} ? | api-token list | api-token list --json | notices
token status {GOOD} ? | secret confirm --json ? | user list | user list --json
people export boss
"""
LISTS = {"list", "line", "pair", "webhook", "api-token"}
PAGES = f"""
/outkey/configuration/home/ /outkey/configuration/ /outkey/configuration/new/
/outkey/configuration/recommendations/ /outkey/configuration/search/?q=o
/outkey/auditrecord/ /outkey/auditrecord/?tab=changes
/outkey/auditrecord/?tab=sign-ins /outkey/auditrecord/people/ /outkey/knownkey/
/outkey/syncline/ /outkey/syncline/add/ /outkey/syncline/pairs/
/outkey/syncline/data/ /outkey/run/ /outkey/webhook/ /outkey/webhook/add/
/outkey/webhook/webhook/?name={GOOD} /outkey/webhook/inbox/?name={GOOD}
/outkey/webhook/inbox/?name={ODD} /outkey/apitoken/ /outkey/usersettings/
/auth/user/ /auth/group/ /metrics /healthz
"""
INTERFACE = f"""
configurations configurations/{GOOD} lines lines/{GOOD} runs webhooks
webhooks/{GOOD} webhooks/{GOOD}/deliveries audit presets
"""
Check = Callable[[], str | None]


class Checks:
    """Tries everything, and collects what fails."""

    def __init__(self, home: Path, token: str) -> None:
        self._home = home
        self._token = token
        self._client = Client(SERVER_NAME="127.0.0.1")
        boss = User.objects.get(username="boss")
        self._client.force_login(boss, backend=BACKEND)

    def failures(self) -> list[str]:
        """Return what did not work, and how it failed."""
        installed._installed.clear()  # with all that it has in memory
        checks: dict[str, Check] = {
            **{command: partial(self._command, command) for command in commands()},
            **{page: partial(self._page, page) for page in PAGES.split()},
            **{path: partial(self._api, path) for path in INTERFACE.split()},
            "/readyz": self._readiness,
            "the sign-in": sign_in,
            **self._rounds(install(self._home)),
        }
        found = ((name, outcome_of(check)) for name, check in checks.items())
        return [f"{name}: {problem}" for name, problem in found if problem]

    def _command(self, command: str) -> str | None:
        may_fail = command.endswith("?")
        arguments = command.removesuffix("?").split()
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        err = io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
        out.seek(0)
        printed = out.read()
        if "Traceback" in err.getvalue() or "error[unexpected]" in err.getvalue():
            return err.getvalue()[-300:]
        if code and not may_fail:
            return f"exit {code}: {err.getvalue()[:200]}"
        if arguments[0] in LISTS and arguments[-1] == "--json":
            items = [list(item.values()) for item in json.loads(printed)]
            if not any(GOOD in item for item in items):
                return f"{GOOD} is not listed"
        return None

    def _page(self, path: str) -> str | None:
        response = self._client.get(path)
        if response.streaming:
            b"".join(response)
        return f"status {response.status_code}" if response.status_code != 200 else None

    def _api(self, path: str) -> str | None:
        headers = {"Authorization": f"Bearer {self._token}"}
        response = Client(SERVER_NAME="127.0.0.1").get(
            f"/api/v1/{path}", headers=headers
        )
        return f"status {response.status_code}" if response.status_code != 200 else None

    def _readiness(self) -> str | None:
        checks = self._client.get("/readyz").json()["checks"]
        failed = [part for part, result in checks.items() if result == "failed"]
        return f"failed: {failed}" if failed else None

    def _rounds(self, application: Application) -> dict[str, Check]:
        def monitor() -> None:
            application.background_work(
                application.administration("outkey"),
                [],
                verify_hours=0,
                pause=lambda _: True,
                delete_older_than=lambda _: None,
            ).round()

        def plan() -> None:
            application.sync.planner().plan("outkey")
            # What was odd has begun anew, or schedules would stand still for ever.
            mark = application.states.read(StateKind.MARK, ["schedules"])
            assert mark["schedules"].value["at"]

        def send() -> None:
            application.gateway.send(GOOD, "GET", "/bearer").raise_for_cause()

        def beat() -> None:
            WorkerHeartbeat(application.states, application.database).beat()

        def deliver() -> None:
            while application.webhooks.work().round():
                pass

        rounds: list[Callable[[], object]] = [
            send,
            monitor,
            plan,
            beat,
            deliver,
            application.audit_trail.note_streams,
        ]
        return {f"the round {work.__name__}": partial(done, work) for work in rounds}


def commands() -> list[str]:
    lines = COMMANDS.replace("\n", "|").split("|")
    return [line.strip() for line in lines if line.strip()]


def sign_in() -> str | None:
    """Sign in after an attempt with a wrong password."""
    client = Client(SERVER_NAME="127.0.0.1")
    statuses = []
    # As in a process that has just started: an account that failed often has to wait.
    sign_in_guard.cache_clear()
    with override_settings(AXES_ENABLED=True):
        for password in ("wrong", PASSWORD):
            form = {"username": "boss", "password": password}
            statuses.append(client.post("/login/", form).status_code)
    return None if statuses == [200, 302] else f"statuses {statuses}"


def done(work: Callable[[], object]) -> None:
    work()


def outcome_of(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
        frames = traceback.extract_tb(error.__traceback__)
        places = [
            f"{f.filename}:{f.lineno}" for f in frames if "/outkey/" in f.filename
        ]
        return f"{type(error).__name__}: {str(error)[:200]} at {places[-3:]}"
