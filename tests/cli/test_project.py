"""In a Django project commands and library use the project's installation."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import forks
from cli.conftest import Done, Terminal, document_for
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from programs import program_command

PROJECTS = Path(__file__).parent / "projects"


@dataclass
class Project:
    """A Django project in a folder of its own, as programmers and operators use it."""

    folder: Path
    canary: Canaries

    @property
    def home(self) -> Path:
        return self.folder / "outkey home"

    @property
    def embedded(self) -> Path:
        """Where a process would have its embedded home."""
        return self.folder.parent / "embedded"

    def run(
        self, command: Sequence[str | Path], stdin: str = "", **environment: str
    ) -> Done:
        done = forks.run(
            command,
            {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(self.embedded)}
            | {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "COLUMNS": "150"}
            | environment,
            stdin=stdin,
            folder=self.folder,
        )
        shown = (done.stdout + done.stderr).encode()
        assert list(self.canary.leaks("what was printed", shown)) == []
        return Done(done.returncode, done.stdout, done.stderr)

    def manage(self, *arguments: str, stdin: str = "") -> Done:
        return self.run([sys.executable, "manage.py", *arguments], stdin)

    def outkey(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """Run `outkey` with the project's settings, in a shell that names them."""
        return self.run(
            [*forks.OUTKEY, *arguments], stdin, **self.settings | environment
        )

    def python(self, program: str) -> Done:
        """Run a program with the project's settings."""
        return self.run(program_command(f"cli/{program}"), **self.settings)

    @property
    def settings(self) -> dict[str, str]:
        """The environment that names the project's settings."""
        path = f"{self.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        return {"DJANGO_SETTINGS_MODULE": "shop.settings", "PYTHONPATH": path}

    def tables(self) -> set[str]:
        with closing(sqlite3.connect(self.folder / "project.db")) as database:
            rows = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
            return {name for (name,) in rows}

    def add_settings(self, text: str) -> None:
        with (self.folder / "shop" / "settings.py").open("a") as file:
            file.write(text)

    def change_settings(self, old: str, new: str) -> None:
        file = self.folder / "shop" / "settings.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))


@pytest.fixture
def project(tmp_path: Path, canary: Canaries) -> Project:
    """A project with outkey's app and an app of its own; nothing is migrated yet."""
    return make_project(tmp_path, canary)


def make_project(place: Path, canary: Canaries) -> Project:
    folder = place / "a project"
    without_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECTS / "shop_project", folder, ignore=without_bytecode)
    return Project(folder, canary)


@pytest.fixture(scope="module")
def made_once(session_spar: Spar, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrate outkey's app and configure `acme`, once; tests get copies."""
    project = make_project(tmp_path_factory.mktemp("project"), Canaries())
    assert project.manage("migrate", "outkey", "--verbosity", "0").code == 0
    applied = project.manage("outkey", "apply", "-", stdin=document_for(session_spar))
    assert applied.code == 0, applied.err
    for field, secret in (("token", "spar-token"), ("header:X-API-Key", "k")):
        assert (
            project.manage("outkey", "secret", "set", "acme", field, stdin=secret).code
            == 0
        )
    return project.folder


@pytest.fixture
def ready_project(made_once: Path, tmp_path: Path, canary: Canaries) -> Project:
    """A project whose outkey has a working `acme`."""
    return Project(shutil.copytree(made_once, tmp_path / "a project"), canary)


def test_the_library_uses_the_installation_of_the_project(
    ready_project: Project,
) -> None:
    done = ready_project.python("open_in_project")
    assert (done.out, done.code) == ("200\n200\n", 0), done.err
    assert not ready_project.embedded.exists()
    assert "shop_customer" not in ready_project.tables()


def test_a_project_includes_the_http_interface_in_its_urls(
    ready_project: Project,
) -> None:
    scopes = ("--scope", "read", "--scope", "send")
    token = ready_project.outkey("api-token", "create", "shop", *scopes).out.strip()
    done = ready_project.run(
        program_command("cli/interface_in_project"),
        **ready_project.settings,
        API_TOKEN=token,
    )
    assert done.out.splitlines() == [
        "200 ['acme', 'shop']",
        "True",
        "200 /echo/a%2Fb",
        "200 /echo/a%2Fb",
        "200 /echo/a/b",
        "200 200000",
        "200 200000",
        "400 path",
        "401",
    ], done.err
    assert not ready_project.embedded.exists()


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("open_before_setup", id="before Django is set up"),
        pytest.param("open_with_settings_by_code", id="settings made by code"),
    ],
)
def test_every_way_to_name_the_settings_counts(
    ready_project: Project, program: str
) -> None:
    done = ready_project.python(program)
    assert (done.out, done.code) == ("200\n200\n", 0), done.err
    assert not ready_project.embedded.exists()


def test_a_gateway_can_be_opened_while_the_apps_get_ready(
    ready_project: Project,
) -> None:
    app = PROJECTS / "opening_app" / "apps.py"
    shutil.copy(app, ready_project.folder / "shop")
    done = ready_project.manage("check")
    assert done.out.startswith("GET\n"), done.err


def test_a_plain_script_has_the_embedded_home(project: Project) -> None:
    done = project.run(program_command("cli/open_plainly"))
    assert (done.out, done.code) == ("opened\n", 0), done.err
    assert (project.embedded / "data" / "outkey.sqlite3").exists()
    assert not project.home.exists()
    assert not (project.embedded / "config" / "project").exists()


def test_the_command_uses_the_installation_that_the_settings_name(
    ready_project: Project,
) -> None:
    listed = ready_project.outkey("list", "--json")
    assert [row["name"] for row in listed.json] == ["acme", "shop"]
    assert ready_project.outkey("request", "acme", "/bearer").code == 0
    assert ready_project.outkey("audit", "verify").code == 0
    assert not ready_project.embedded.exists()
    assert "shop_customer" not in ready_project.tables()


def test_manage_py_passes_arguments_input_output_and_exit_codes_on(
    ready_project: Project, spar: Spar
) -> None:
    manage = ready_project.manage
    listed = manage("outkey", "list", "--json")
    assert [row["name"] for row in listed.json] == ["acme", "shop"]
    assert listed.err == ""
    shown = manage("outkey", "show", "--settings", "shop.settings", "acme", "--json")
    assert shown.json["base_url"].startswith(spar.url)
    assert manage("outkey", "--version").code == 0
    assert manage("outkey", "request", "acme", "/status/500").code == 1
    unknown = manage("outkey", "show", "nobody", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "unknown_configuration")
    mistyped = manage("outkey", "lst")
    assert (mistyped.code, mistyped.out) == (2, "")
    assert "manage.py outkey --help" in mistyped.err
    for words in (("outkey", "--help"), ("help", "outkey")):
        done = manage(*words)
        assert done.code == 0
        assert "manage.py outkey [OPTIONS] COMMAND" in done.out


def test_code_calls_the_management_command(ready_project: Project) -> None:
    done = ready_project.python("call_management_command")
    text, code = done.out.rsplit("]", 1)
    assert [row["name"] for row in json.loads(f"{text}]")] == ["acme", "shop"]
    assert code.split() == ["2"]


def test_the_settings_choose_the_durability_of_the_audit(
    ready_project: Project,
) -> None:
    doctor = ready_project.manage("outkey", "doctor", "--json")
    assert doctor.json["audit_durability"] == "process"
    ready_project.change_settings('{"HOME"', '{"AUDIT_DURABILITY": "power", "HOME"')
    doctor = ready_project.manage("outkey", "doctor", "--json")
    assert doctor.json["audit_durability"] == "power"
    assert ready_project.manage("outkey", "request", "acme", "/bearer").code == 0
    ready_project.change_settings('"power"', '"disk"')
    refused = ready_project.manage("outkey", "request", "acme", "/bearer")
    assert refused.code == 2
    assert "must be one of: process, power" in refused.err


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_missing_tables_are_told_and_not_made(project: Project, command: str) -> None:
    done = project.manage("outkey", command, "--json")
    error = done.json["error"]
    assert (done.code, error["code"]) == (2, "configuration")
    assert error["hint"] == "Run: python manage.py migrate outkey"
    assert project.tables() == set()
    assert not project.home.exists()


def test_the_library_names_missing_tables_and_makes_none(project: Project) -> None:
    done = project.python("open_in_project")
    assert "python manage.py migrate outkey" in done.err
    assert project.tables() == set()
    assert not project.home.exists()


def test_the_tests_of_a_project_may_switch_migrations_off(project: Project) -> None:
    project.change_settings(
        "USE_TZ = True", "MIGRATION_MODULES = {'outkey': None}\nUSE_TZ = True"
    )
    assert project.manage("migrate", "--run-syncdb", "--verbosity", "0").code == 0
    assert project.outkey("list", "--json").json == []


def test_a_project_without_the_app_gets_no_other_installation(project: Project) -> None:
    project.change_settings('"outkey.hosts.django",', "")
    done = project.outkey("list", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "INSTALLED_APPS")
    opened = project.python("open_in_project")
    assert 'Add "outkey.hosts.django" to INSTALLED_APPS' in opened.err
    assert not project.embedded.exists()


def test_a_project_without_a_home_is_told_so(project: Project) -> None:
    project.change_settings("OUTKEY = {", "NOTHING = {")
    done = project.outkey("list", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "OUTKEY")
    assert not project.embedded.exists()


def test_settings_that_fail_are_told_without_their_text(project: Project) -> None:
    secret = project.canary.token()
    missing = project.outkey("list", DJANGO_SETTINGS_MODULE="nowhere.settings")
    assert missing.code == 2
    assert "cannot be set up (ModuleNotFoundError)" in missing.err
    project.change_settings(
        'SECRET_KEY = "of the project"', f'SECRET_KEY = int("{secret}")'
    )
    done = project.outkey("list")
    assert done.code == 2
    assert "cannot be set up (ValueError)" in done.err
    assert "Traceback" not in done.err
    # The file itself holds it, and so does what Python made of it.
    project.change_settings(secret, "0")
    for file in project.folder.rglob("*.pyc"):
        file.unlink()


@pytest.mark.parametrize("command", [["serve"], ["people", "prune"]], ids=" ".join)
def test_commands_of_the_embedded_server_say_so_in_a_project(
    ready_project: Project, command: list[str]
) -> None:
    before = ready_project.tables()
    for done in (
        ready_project.outkey(*command),
        ready_project.manage("outkey", *command),
    ):
        assert done.code == 2
        assert "part of the embedded server" in done.err
    assert ready_project.tables() == before
    assert not ready_project.embedded.exists()


def test_the_worker_command_names_the_one_of_the_project(
    ready_project: Project,
) -> None:
    done = ready_project.outkey("worker")
    assert done.code == 2
    assert "python manage.py outkey_worker" in done.err


def test_the_worker_of_a_sealed_project_ends_with_the_usual_error(
    ready_project: Project,
) -> None:
    (ready_project.home / "config" / "key").unlink()
    done = ready_project.manage("outkey_worker")
    assert done.code == 4
    assert "\nerror[sealed]: " in done.err
    assert "Traceback" not in done.err
    assert "\nhint: Restore the right key" in done.err


def test_the_home_of_a_project_is_not_taken_for_an_embedded_one(
    ready_project: Project, canary: Canaries
) -> None:
    before = {path: path.stat().st_mtime_ns for path in ready_project.home.rglob("*")}
    elsewhere = Terminal(ready_project.home, canary)
    for command in (("list",), ("serve",), ("doctor",), ("people", "prune")):
        done = elsewhere(*command)
        assert done.code == 2, command
        assert "belongs to a Django project" in done.err
        assert "python manage.py outkey" in done.err
    assert {
        path: path.stat().st_mtime_ns for path in ready_project.home.rglob("*")
    } == before
    mark = ready_project.home / "config" / "project"
    assert mark.stat().st_mode & 0o777 == 0o600
    assert ready_project.manage("outkey", "request", "acme", "/bearer").code == 0


def test_the_pages_of_a_project_mark_its_home_as_well(project: Project) -> None:
    done = project.python("open_pages")
    assert done.code == 0, done.err
    assert (project.home / "config" / "project").exists()


def test_the_embedded_server_makes_no_tables_in_the_database_of_a_project(
    ready_project: Project, canary: Canaries
) -> None:
    home = ready_project.folder.parent / "other home"
    (home / "data").mkdir(parents=True)
    copy = home / "data" / "outkey.sqlite3"
    copy.write_bytes((ready_project.folder / "project.db").read_bytes())
    done = Terminal(home, canary)("list")
    assert done.code == 2
    assert "the database belongs to a Django project" in done.err
    with closing(sqlite3.connect(copy)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
    assert "demo_contact" not in names


LINE = """
[line.customers]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
records = "items"
target = "shop.customer"
keys = ["name"]
fields = [{ api = "id", host = "name" }]
"""
OTHER_DATABASES = """
DATABASES |= {
    alias: DATABASES["default"] | {"NAME": BASE / f"{alias}.db"}
    for alias in ("customers", "replica")
}
OUTKEY |= {"RECORDS": {"shop.Customer": {}}}
"""


@pytest.mark.parametrize(
    ("router", "alias"),
    [("CustomersElsewhere", "customers"), ("ReadFromReplica", "replica")],
)
def test_a_model_that_a_router_keeps_elsewhere_is_refused_with_the_reason(
    ready_project: Project, router: str, alias: str
) -> None:
    ready_project.add_settings(OTHER_DATABASES)
    ready_project.manage("outkey", "apply", "-", stdin=LINE)
    assert ready_project.manage("outkey", "line", "show", "customers").code == 0
    ready_project.add_settings(f'DATABASE_ROUTERS = ["shop.routers.{router}"]\n')
    if router == "ReadFromReplica":  # there is nothing in it
        shutil.copy(
            ready_project.folder / "project.db", ready_project.folder / "replica.db"
        )
    for command in ("show", "run"):
        refused = ready_project.manage("outkey", "line", command, "customers")
        assert refused.code == 2
        assert (
            "error[configuration]: shop.Customer: DATABASE_ROUTERS sends it to the"
            f" database {alias}" in refused.err
        )
        assert 'take it out of OUTKEY["RECORDS"]' in refused.err


def test_a_router_that_keeps_the_model_here_changes_nothing(
    ready_project: Project,
) -> None:
    ready_project.add_settings(OTHER_DATABASES)
    ready_project.add_settings('DATABASE_ROUTERS = ["shop.routers.CustomersHere"]\n')
    applied = ready_project.manage("outkey", "apply", "-", stdin=LINE)
    assert applied.code == 0, applied.err
    assert ready_project.manage("migrate", "shop", "--verbosity", "0").code == 0
    done = ready_project.manage("outkey", "line", "run", "customers", "--json")
    assert (done.code, done.json["state"]) == (0, "done"), done.err
    assert done.json["created"] > 0
