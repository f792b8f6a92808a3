"""Hostile scripts in the real worker: no asset is reached, the application goes on."""

import base64
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.script_syntax import FUNCTION, TRANSFORM
from outkey.sending.adapters.scripts_locked import spawner
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sync.adapters.record_scripts import LockedRecordScripts
from scripts.attacks import ATTACKS, script_of
from scripts.conftest import VERSIONS, body_of, call_of, pid_of, python_of, zygote_of

IN_MEMORY = f"MARK-memory-{secrets.token_hex(8)}"


class Assets:
    """The assets out of a script's reach, and what the attacker knows of them."""

    def __init__(self, scripts: LockedScripts, folder: Path) -> None:
        self.scripts = scripts
        self.version = ""
        self.file = folder / "asset"
        self.file.write_text(f"MARK-file-{secrets.token_hex(8)}")
        self.other = f"MARK-other-{secrets.token_hex(8)}"
        self.variable = f"MARK-environment-{secrets.token_hex(8)}"
        os.environ["PLANTED_ASSET"] = self.variable
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0)
        self.check_health()

    def check_health(self) -> None:
        """The other configuration works on in its own process, within a sane time."""
        started = time.monotonic()
        headers = self.scripts.run(call_of(secret=self.other, place="other")).headers
        assert len(headers) == 2
        assert time.monotonic() - started < 5
        assert self.file.read_text().startswith("MARK-file-")
        assert sorted(os.listdir(self.file.parent)) == ["asset"]  # noqa: PTH208
        with pytest.raises(BlockingIOError):
            self.listener.accept()

    def attack(self, name: str, function: str = FUNCTION, place: str = "") -> str:
        """Return all that came back from one attack, Base64 decoded."""
        facts = {
            "file": self.file,
            "folder": self.file.parent,
            "variable": "PLANTED_ASSET",
            "parent": os.getpid(),
            "zygote": zygote_of(self.scripts),
            "other": pid_of(self.scripts, "other"),
            "port": self.listener.getsockname()[1],
        }
        source, told = script_of(name, function, **facts), ""
        if function == TRANSFORM:
            for made in LockedRecordScripts(self.scripts).transform(
                name, source, [{"id": 1}, {"id": 2}]
            ):
                told += repr(made)
                if isinstance(made, dict):
                    told += base64.b64decode(str(made.get("Found", ""))).decode(
                        errors="replace"
                    )
            return told
        call = call_of(source, secret=f"own-{name}", place=place or name)
        for _ in range(2):
            try:
                pairs = self.scripts.run(call).headers
            except OutkeyError as error:
                said = f"{error.message} {error.hint} "
                assert call.secret is not None
                # in its own headers it may stand
                assert not call.secret.occurs_in(said)
                told += said
                continue
            for header, value in pairs:
                told += f"{header} {value.reveal()} "
                if header == "Found":
                    told += base64.b64decode(value.reveal()).decode(errors="replace")
        return told

    def seen_in(self, told: str) -> list[str]:
        """Return the names of the assets that stand in a text."""
        planted = {
            "file": self.file.read_text(),
            "other configuration": self.other,
            "environment variable": self.variable,
            "memory": IN_MEMORY,
        }
        return [name for name, asset in planted.items() if asset in told]

    def close(self) -> None:
        self.listener.close()
        del os.environ["PLANTED_ASSET"]
        self.scripts.close()


@pytest.fixture(scope="module", params=VERSIONS)
def assets(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Assets]:
    """Scripts run by each supported Python, whatever runs the application."""
    python = python_of(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spawner, "_python", lambda: python)
        made = Assets(LockedScripts(most=8), tmp_path_factory.mktemp("assets"))
        made.version = request.param
        yield made
        made.close()


def test_scripts_run_by_the_version_that_was_asked_for(assets: Assets) -> None:
    source = "import uuid\n" + body_of(
        "return {'V': uuid.sys.version.rpartition('.')[0][:4]}"
    )
    ((_, version),) = assets.scripts.run(call_of(source, place="version")).headers
    assert version.reveal() == assets.version


def test_a_script_does_not_see_how_its_process_was_started(assets: Assets) -> None:
    """Neither where outkey is installed nor the number of the application's process."""
    source = "import uuid\n" + body_of(
        "s = uuid.sys",
        "main = vars(s.modules['__main__'])",
        "seen = s.argv, s.orig_argv, s.executable, s.path, main.get('__file__')",
        "return {'V': str(seen)}",
    )
    ((_, seen),) = assets.scripts.run(call_of(source, place="arguments")).headers
    assert seen.reveal() == "([''], [], '', [], None)"


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 60


@pytest.mark.parametrize("function", [FUNCTION, TRANSFORM])
@pytest.mark.parametrize("name", ATTACKS)
def test_no_asset_is_reached(assets: Assets, name: str, function: str) -> None:
    told = assets.attack(name, function)
    assert told
    assert assets.seen_in(told) == []
    assets.check_health()


def test_whoever_forges_an_answer_cheats_only_himself(assets: Assets) -> None:
    """One forged answer is taken for his own; what comes after it is out of turn."""
    for name in ("forgery: forged second frame", "forgery: forged odd pairs"):
        told = assets.attack(name)
        assert "Forged yes" in told or "unexpected message" in told
        assert "raised" not in told


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in ATTACKS
        if name.startswith(("system: ctypes by the", "system: cffi"))
    ],
)
def test_whoever_uses_ctypes_dies_of_it(assets: Assets, name: str) -> None:
    """The classes can still be found; the code behind them is unmapped."""
    # A place of its own: where a script has failed before, the next run may be refused.
    told = assets.attack(name, place=f"again {name}")
    failures = told.count("the script ended its process")
    if "cffi" in name and not sys.version.startswith(f"{assets.version}."):
        # Another interpreter may lack cffi. Then the search ends without a class,
        # unless it dies first of looking at one whose name is unmapped as well.
        failures += told.count("the script raised StopIteration")
    assert failures == 2


@pytest.fixture
def nobodys_home() -> Iterator[Path]:
    """A folder of nobody, in none that another run of pytest closes to others."""
    with TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        yield Path(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_no_asset_is_reached_without_privileges(nobodys_home: Path) -> None:
    """The same attacks where the application is nobody: the lock needs no privilege."""
    python = _python_for_nobody()
    if python is None:
        pytest.skip("no Python of this version that nobody may run")
    code = (
        "import json, pathlib, sys\n"
        "from scripts.test_escapes import ATTACKS, Assets, LockedScripts\n"
        f"assets = Assets(LockedScripts(most=8), pathlib.Path({str(nobodys_home)!r}))\n"
        "found = {}\n"
        "for name in ATTACKS:\n"
        "    told = assets.attack(name)\n"
        "    found[name] = assets.seen_in(told)\n"
        "    assets.check_health()\n"
        "assets.close()\n"
        "print(json.dumps(found))\n"
    )
    ran = _as_nobody([python, "-c", code], timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(ran.stdout) == {name: [] for name in ATTACKS}


def _as_nobody(command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
    paths = [
        Path(__file__).parents[1],
        Path(__file__).parents[2] / "src",
        *map(Path, sys.path),
    ]
    environment = {
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if path.exists())
    }
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        user=65534,
        group=65534,
        extra_groups=[],
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        timeout=timeout,
        check=False,
    )


def _python_for_nobody() -> str | None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (
        sys.executable,
        f"/usr/bin/python{version}",
        f"/usr/local/bin/python{version}",
    ):
        try:
            if (
                _as_nobody(
                    [python, "-c", "import outkey.sending.core.request.script, pytest"],
                    30,
                ).returncode
                == 0
            ):
                return python
        except OSError:
            continue
    return None
