"""kill -9 at any line of a backup or a restore: all or nothing, and nothing is left."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import forks
from cli.conftest import Done, Terminal, document_for
from database.conftest import Cluster
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from programs import program_command

KILLED = -9
MOST = 100  # lines of one function
# What is done after the copy was read and verified.
STEPS = {
    "write",
    "put_states",
    "write_states",
    "load",
    "lock",
    "run_script",
    "copy_rows",
    "replace_database",
    "complete",
    "write_synced",
    "remove",
    "write_archive",
    "give_name",
}


@dataclass
class Place:
    """A home with a backup of an earlier state, of which tests get copies."""

    folder: Path
    canary: Canaries
    cluster: Cluster | None

    def terminal(self, name: str) -> Terminal:
        settings = {}
        if self.cluster is not None:
            place = self.cluster.url.rpartition("/")[0]
            settings["OUTKEY_DATABASE_URL"] = f"{place}/kills_{name}"
        return Terminal(self.folder / name, self.canary, settings)

    @property
    def backup(self) -> Path:
        return self.folder / "backup"

    def copy(self) -> Terminal:
        """Return a copy of the home in its later state."""
        if self.cluster is not None:
            self.cluster.create("kills_copy", "kills_later")
        copy = self.terminal("copy")
        shutil.rmtree(copy.home, ignore_errors=True)
        shutil.copytree(self.folder / "later", copy.home)
        return copy


def succeed(outkey: Terminal, *arguments: str, stdin: str = "") -> Done:
    done = outkey(*arguments, stdin=stdin)
    assert done.code == 0, done.err
    return done


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    cluster = None
    if request.param == "postgresql":
        cluster = request.getfixturevalue("postgresql")
        cluster.create("kills_later")
    made = Place(tmp_path_factory.mktemp("kills"), Canaries(), cluster)
    later = made.terminal("later")
    policy = later.home / "config" / "policy.toml"
    with Spar() as spar:
        document = document_for(spar)
        succeed(later, "apply", "-", stdin=document)
        policy.write_text(POLICY.format(name="backed up"))
        succeed(later, "backup", str(made.backup))
        # What is restored and what is there differ in each part.
        policy.write_text(POLICY.format(name="later"))
        succeed(later, "apply", "-", stdin=document.replace("acme", "later"))
    return made


POLICY = '# {name}\n[audit]\ndurability = "process"\n'


def lines_of(place: Place, *command: str) -> list[str]:
    """Return the functions of all lines that a command goes through."""
    outkey = place.copy()
    file = place.folder / "lines"
    done = run_killed(outkey, str(file), *command)
    assert done == 0
    return file.read_text().splitlines()


def run_killed(outkey: Terminal, where: str, *command: str) -> int:
    program = program_command("database/killed_command", where, *command)
    return forks.run(program, outkey.environment).returncode


def chosen_lines(functions: list[str], *, full: bool) -> Iterator[int]:
    """Yield the lines to be killed at: all, or some of each step."""
    seen: dict[str, int] = {}
    for number, function in enumerate(functions):
        seen[function] = seen.get(function, 0) + 1
        if full:
            is_chosen = seen[function] <= MOST  # rows are copied one by one
        else:
            is_chosen = function in STEPS and seen[function] in {1, 3}
        if is_chosen:
            yield number


def left_overs(outkey: Terminal) -> list[str]:
    return [path.name for path in outkey.home.glob("*/.*")]


@pytest.fixture
def is_full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


def test_a_killed_restore_is_undone_or_completed_by_the_next_command(
    place: Place, *, is_full: bool
) -> None:
    command = ("restore", "--replace", str(place.backup))
    states = set()
    numbers = list(chosen_lines(lines_of(place, *command), full=is_full))
    for number in numbers:
        outkey = place.copy()
        assert run_killed(outkey, str(number), *command) == KILLED, number
        verified = outkey("audit", "verify")
        assert verified.out.startswith("clean"), (number, verified)
        assert left_overs(outkey) == [], number
        names = {row["name"] for row in succeed(outkey, "list", "--json").json}
        policy = (outkey.home / "config" / "policy.toml").read_text()
        state = ("later" in names, policy)
        assert state in {
            (True, POLICY.format(name="later")),
            (False, POLICY.format(name="backed up")),
        }, number
        states.add(state)
    assert len(states) == 2
    sys.stdout.write(f"killed at {len(numbers)} lines\n")


def test_a_restore_that_was_completed_is_recorded(place: Place) -> None:
    command = ("restore", "--replace", str(place.backup))
    functions = lines_of(place, *command)
    outkey = place.copy()
    assert run_killed(outkey, str(functions.index("complete")), *command) == KILLED
    done = succeed(outkey, "audit", "list", "--json")
    tags = [record["tag"] for record in done.json]
    assert tags.count("audit:backup:restored") == 1
    assert "interrupted has been completed" in done.err


def test_a_killed_backup_leaves_nothing(place: Place, *, is_full: bool) -> None:
    target = place.folder / "target"
    command = ("backup", str(target / "file"))

    def renew() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()

    renew()
    for number in chosen_lines(lines_of(place, *command), full=is_full):
        renew()
        outkey = place.copy()
        assert run_killed(outkey, str(number), *command) == KILLED, number
        succeed(outkey, "list")
        assert left_overs(outkey) == [], number
        written = [file.name for file in target.iterdir()]
        assert written in ([], ["file"]), number
        if written:
            succeed(outkey, "restore", "--replace", str(target / "file"))
