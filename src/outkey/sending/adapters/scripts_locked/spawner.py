"""Starts the zygote at first use, requests workers from it, and ends it."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import ScriptFailed
from outkey.foundation.core.text import Text

_START_SECONDS = 10.0
_PRELOADED = ("cryptography", "tzdata")  # from where this application has them


def unavailable(layer: str) -> ScriptFailed:
    """Return the refusal to run scripts at all: no lock, no script."""
    return ScriptFailed(
        Text("scripts cannot run on this machine: {layer}", layer=layer),
        hint=(
            Text(
                "They need Linux 5.13 or newer with seccomp and Landlock, on x86_64"
                " or aarch64."
            )
        ),
    )


class Spawned(NamedTuple):
    """A new worker that has not yet reported whether it is locked."""

    channel: socket.socket
    pidfd: int


class WorkerSpawner:
    """One zygote per process, started when the first worker is needed."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._control: socket.socket | None = None
        self._zygote: subprocess.Popen[bytes] | None = None

    def spawn(self) -> Spawned:
        """Return a new worker; restart the zygote if it was killed from outside."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                with self._lock:
                    pidfd = self._fork(theirs) or self._fork(theirs)
            except BaseException:
                ours.close()
                raise
        if pidfd is None:
            ours.close()
            raise unavailable("the process that starts them ends at once")
        return Spawned(ours, pidfd)

    def close(self) -> None:
        """End the zygote, and with it all workers."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """In a forked child, close the connection to the parent's zygote."""
        if self._control is not None:
            self._control.close()
        if self._zygote is not None:
            self._zygote.returncode = 0  # not ours to wait for
        self._control = self._zygote = None

    def _fork(self, theirs: socket.socket) -> int | None:
        """Return the pidfd of a new worker, or None where the zygote has ended."""
        control = self._control or self._start()
        try:
            socket.send_fds(control, [b"W"], [theirs.fileno()])
            response, descriptors, _, _ = socket.recv_fds(
                control, 256, 1, socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            response = b""
            descriptors = []
        if response == b"W" and descriptors:
            return descriptors[0]
        self._end()
        if response[:1] == b"F":
            raise unavailable(response[1:].decode(errors="replace"))
        return None

    def _start(self) -> socket.socket:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.settimeout(_START_SECONDS)
        self._control = control
        with theirs:
            self._zygote = _zygote(theirs.fileno())
        try:
            ready = control.recv(256)
        except OSError:
            ready = b""
        if ready != b"R":
            self._end()
            raise unavailable(
                ready[1:].decode(errors="replace") or "Python does not start"
            )
        return control

    def _end(self) -> None:
        control = self._control
        zygote = self._zygote
        self._control = None
        self._zygote = None
        if control is not None:
            control.close()
        if zygote is not None:
            try:
                zygote.wait(_START_SECONDS / 2)  # it reaps its workers first
            except subprocess.TimeoutExpired:
                zygote.kill()
                zygote.wait()


def _zygote(descriptor: int) -> subprocess.Popen[bytes]:
    """Start the zygote in a session of its own, so that Ctrl-C does not end it."""
    script = Path(__file__).with_name("zygote.py")
    command = [
        _python(),
        "-I",
        "-S",
        "-B",
        str(script),
        str(descriptor),
        str(os.getpid()),
    ]
    try:
        return subprocess.Popen(  # noqa: S603 - our own file, no shell
            [*command, *_folders()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            pass_fds=(descriptor,),
            start_new_session=True,
        )
    except OSError:
        raise unavailable("no Python can be started") from None


def _python() -> str:
    """Return an interpreter of this version; sys.executable may be uWSGI."""
    if Path(sys.executable or "").name.startswith("python"):
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(sys.base_prefix, "bin", name))


def _folders() -> list[str]:
    specs = (importlib.util.find_spec(name) for name in _PRELOADED)
    return sorted({str(Path(s.origin).parents[1]) for s in specs if s and s.origin})
