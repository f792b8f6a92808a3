"""The lock fails whenever a layer is missing, and then the process is sent nothing."""

import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from outkey.foundation.core.errors import ScriptFailed
from outkey.sending.adapters.scripts_locked import lockdown
from outkey.sending.adapters.scripts_locked.link import ScriptWorker
from outkey.sending.adapters.scripts_locked.spawner import Spawned
from scripts.conftest import VERSIONS, call_of, python_of

INSIDE = Path(__file__).with_name("inside.py")
LANDLOCK, PIDFD_OPEN, PRCTL = (
    444,
    434,
    {"x86_64": 157, "aarch64": 167}[platform.machine()],
)


def inside(code: str, python: str = sys.executable) -> str:
    """Run code with inside.py's names in a clean process, and return its output."""
    command = [python, "-I", "-S", "-B", str(INSIDE), code]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def outcome(work: str, before: str = "p = plan()") -> str:
    return inside(f"{before}\nprint(*[m.decode() for m in child(lambda: {work})[0]])")


def test_the_whole_lock_holds() -> None:
    assert outcome("lockdown.lock(p)") == "locked"
    assert (
        outcome("lockdown.lock(p)", "p = plan(native=lockdown.native_code())")
        == "locked"
    )


@pytest.mark.parametrize("name", [layer.name for layer in lockdown.LAYERS])
def test_each_layer_that_is_missing_is_noticed(name: str) -> None:
    found = outcome(f"lockdown.lock(p, without({name!r}))")
    if name == "capabilities" and os.getuid() != 0:
        assert found == "locked"  # there was none to drop
    elif name == "no new privileges":
        assert found == "Landlock: Operation not permitted"  # which is built next
    else:
        assert found == f"{name}: it does not hold"


def test_a_missing_filter_is_noticed() -> None:
    found = outcome(
        "lockdown.lock(p, last=lockdown.Layer('', lambda _: None, lambda _: True))"
    )
    assert found.startswith("seccomp: it can still open a file")


@pytest.mark.parametrize(
    "name",
    [
        "openat",
        "newfstatat",
        "socket",
        "socketpair",
        "clone",
        "execve",
        "kill",
        "fcntl",
        "pipe2",
        "memfd_create",
        "prlimit64",
        "rt_sigaction",
    ],
)
def test_each_hole_in_the_filter_is_noticed(name: str) -> None:
    assert outcome(f"lockdown.lock(p, last=allowing({name!r}))").startswith(
        "seccomp: it can still"
    )


@pytest.mark.parametrize(
    ("hole", "what"),
    [
        (
            "_by_argument(checked['read'], 16, 0x15, 2, good=True)",
            "read another descriptor",
        ),
        (
            "_by_argument(checked['write'], 16, 0x15, 9, good=False)",
            "write to another descriptor",
        ),
        (
            "_by_argument(checked['mmap'], 32, 0x45, 0, good=False)",
            "map executable memory",
        ),
        (
            "_by_argument(checked['madvise'], 32, 0x35, 99, good=False)",
            "share memory pages",
        ),
    ],
)
def test_each_hole_in_the_arguments_is_noticed(hole: str, what: str) -> None:
    before = f"""
p = plan()
calls = lockdown.calls_of(platform.machine())
checked = calls.checked
whole = lockdown.program(calls, 3)
_by_argument = lockdown._by_argument
head, hole = whole[:48], {hole}
weak = layer(head + hole + whole[48:])
"""
    assert (
        outcome("lockdown.lock(p, last=weak)", before)
        == f"seccomp: it can still {what}"
    )


def test_code_of_ctypes_that_stays_is_noticed() -> None:
    before = (
        "import mmap\np = plan(native=lockdown.native_code())\n"
        "lockdown._eraser = lambda *a: mmap.mmap(-1, 4096)"
    )
    assert outcome("lockdown.lock(p)", before).endswith(
        "ctypes: its code is still there"
    )


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (f"deny({LANDLOCK}, errno.ENOSYS)", "Landlock: Function not implemented"),
        (f"deny({LANDLOCK}, errno.EOPNOTSUPP)", "Landlock: Operation not supported"),
        (f"deny({PRCTL}, errno.EINVAL, 22)", "seccomp: Invalid argument"),
        (f"deny({PRCTL}, errno.EPERM, 4)", "not dumpable: Operation not permitted"),
        (
            f"deny({PRCTL}, errno.EPERM, 1)",
            "parent death signal: Operation not permitted",
        ),
    ],
)
def test_a_kernel_without_a_feature_is_refused(feature: str, message: str) -> None:
    assert outcome("lockdown.lock(p)", f"p = plan()\n{feature}") == message


def test_other_machine_types_are_refused() -> None:
    for machine in ("riscv64", "i686", "armv7l", "s390x", ""):
        with pytest.raises(lockdown.LockError, match="machine type"):
            lockdown.calls_of(machine)


def test_a_parent_that_is_gone_is_noticed() -> None:
    assert "the parent is gone" in outcome("lockdown.lock(p)", "p = plan(parent=1)")


APPLICATION = """
sys.path[:0] = {path!r}
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.foundation.core.errors import OutkeyError
from scripts.conftest import VERSIONS, call_of, python_of
scripts = LockedScripts()
{before}
for at in (None, 1.0):
    try:
        print(len(scripts.run(call_of(at=at)).headers))
    except OutkeyError as error:
        print(error.code, error.message)
scripts.close()
"""


@pytest.mark.parametrize(
    ("feature", "layer"),
    [
        (f"deny({LANDLOCK}, errno.ENOSYS)", "Landlock: Function not implemented"),
        (f"deny({PRCTL}, errno.EINVAL, 22)", "seccomp: Invalid argument"),
        (f"deny({PIDFD_OPEN}, errno.ENOSYS)", "pidfd or /proc is missing"),
    ],
)
def test_an_application_on_such_a_kernel_runs_no_script(
    feature: str, layer: str
) -> None:
    path = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    said = inside(APPLICATION.format(path=path, before=feature)).splitlines()
    assert said == [f"script_error scripts cannot run on this machine: {layer}"] * 2


def test_an_application_on_this_kernel_does() -> None:
    path = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    assert inside(APPLICATION.format(path=path, before="")).splitlines() == ["2", "2"]


@pytest.mark.parametrize("said", [b"FLandlock: no", b"", b"K", b"Rx", b"\xff", None])
def test_a_worker_that_is_not_locked_is_told_nothing(said: bytes | None) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.settimeout(5)
    with subprocess.Popen(["sleep", "60"]) as stand_in:
        worker = ScriptWorker(
            Spawned(ours, os.pidfd_open(stand_in.pid)), call_of(), 0.25
        )
        if said is None:
            theirs.shutdown(socket.SHUT_WR)
        else:
            theirs.send(said)
        with pytest.raises(ScriptFailed, match="scripts cannot run on this machine"):
            worker.run([call_of()], ScriptWorker.read_result)
        assert theirs.recv(4096) == b""
        assert stand_in.wait(5) == -signal.SIGKILL
    theirs.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_supported_python_locks(version: str) -> None:
    code = (
        "p = plan(native=lockdown.native_code())\nprint(child(lambda:"
        " lockdown.lock(p)))"
    )
    assert inside(code, python_of(version)) == "([b'locked'], 0)"
