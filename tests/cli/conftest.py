"""The command as a person or a script runs it: a process with a home of its own."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import forks
from cli.json_times import unix_times
from outkey.spar import Spar
from outkey.testing.canary import Canaries

# Commands that print numbers of an API or of the test's own.
WITH_FOREIGN_NUMBERS = {"request", "data"}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        return json.loads(self.out)


@dataclass
class Terminal:
    """Runs `outkey` with one home; its output goes to the test's own output as well."""

    home: Path
    canary: Canaries
    settings: dict[str, str] = field(default_factory=dict)
    timeout: float = 60.0  # of each command

    @property
    def environment(self) -> dict[str, str]:
        """What every process of this terminal sees."""
        return {
            "PATH": os.environ["PATH"],
            "OUTKEY_HOME": str(self.home),
        } | self.settings

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        seen = {"COLUMNS": "150"} | self.environment | environment
        done = forks.run(
            [*forks.OUTKEY, *arguments], seen, stdin=stdin, timeout=self.timeout
        )
        printed = (done.stdout + done.stderr).encode()
        assert list(self.canary.leaks("what the command printed", printed)) == []
        assert "error[unexpected]" not in done.stderr
        if "--json" in arguments and arguments[0] not in WITH_FOREIGN_NUMBERS:
            assert list(unix_times(json_in(done.stdout))) == []
        return Done(done.returncode, done.stdout, done.stderr)


def json_in(text: str) -> object:
    """Return a JSON document or its lines; None for what is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return [json_in(line) for line in text.splitlines() if line.startswith("{")]


@pytest.fixture(scope="session")
def ready_home(session_spar: Spar, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home in which `acme` works, once; tests get copies."""
    folder = tmp_path_factory.mktemp("ready")
    run = Terminal(folder / "home", Canaries())
    run("apply", "-", stdin=document_for(session_spar))
    run("secret", "set", "acme", "token", stdin="spar-token")
    run("secret", "set", "acme", "header:X-API-Key", stdin="k")
    return run.home


@pytest.fixture
def ready(ready_home: Path, outkey: "Terminal") -> "Terminal":
    """A terminal whose home has a working `acme` and a `shop` without its password."""
    shutil.copytree(ready_home, outkey.home)
    return outkey


HomeOf = Callable[[Terminal, str, Callable[[Terminal], None]], Terminal]


@pytest.fixture(scope="session")
def copied_home(tmp_path_factory: pytest.TempPathFactory) -> HomeOf:
    """Commands that begin several tests run once, by their name; tests get copies."""
    made: dict[str, Path] = {}

    def copy(
        terminal: Terminal, name: str, make: Callable[[Terminal], None]
    ) -> Terminal:
        if name not in made:
            first = replace(terminal, home=tmp_path_factory.mktemp(name) / "home")
            make(first)
            made[name] = first.home
        shutil.copytree(made[name], terminal.home)
        return terminal

    return copy


@pytest.fixture
def outkey(tmp_path: Path, canary: Canaries) -> Terminal:
    return Terminal(tmp_path / "home", canary)


@pytest.fixture(scope="session")
def session_spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def spar(session_spar: Spar) -> Spar:
    session_spar.clear()
    return session_spar


@pytest.fixture
def document(spar: Spar, tmp_path: Path) -> str:
    file = tmp_path / "acme.toml"
    file.write_text(document_for(spar))
    return str(file)


def document_for(spar: Spar) -> str:
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
headers = [{{ key = "X-API-Key" }}, {{ key = "X-Tenant", value = "7" }}]
limits = {{ retries = 0 }}
[configuration.shop]
base_url = "https://api.shop.example"
authentication_type = "basic"
username = "user"
password = "env:SHOP_PASSWORD"
"""
