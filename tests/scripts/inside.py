"""Code for the locked side in tests: run by `python -I -S`, as the zygote is.

It forks a process that has one end of a socket as its only descriptor, runs the code
that it was given there, and prints what came through the socket and how the process
ended.
"""

import errno
import importlib.util
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[2] / "src/outkey/sending/adapters/scripts_locked"
LOAD, EQUAL, RETURN, ALLOW, ERRNO = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lockdown = load("lockdown")


def plan(**more: object) -> Any:  # noqa: ANN401
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    program = lockdown.program(lockdown.calls_of(platform.machine()), 3)
    made = lockdown.LockPlan(3, os.getpid(), pages * 4096 + (64 << 20), 10, program, ())
    return made._replace(**more)


def without(name: str) -> Iterator[Any]:
    """Return the layers but one."""
    return (layer for layer in lockdown.LAYERS if layer.name != name)


def deny(number: int, code: int, argument: int | None = None) -> None:
    """Let a system call fail from now on, as on a kernel that does not have it."""
    step = lockdown._step
    check = b""
    if argument is not None:
        check = step(LOAD, 16) + step(EQUAL, argument, 0, 1)
    program = step(LOAD, 0) + step(EQUAL, number, 0, 1 + len(check) // 8) + check
    lockdown._control("deny", 38, 1)
    lockdown.install(program + step(RETURN, ERRNO | code) + step(RETURN, ALLOW))


def allowing(name: str) -> Any:  # noqa: ANN401
    """Return a seccomp layer that lets one call through which it must not."""
    calls = lockdown.calls_of(platform.machine())
    calls.allowed[name] = calls.refused[name]
    return layer(lockdown.program(calls, 3))


def layer(program: bytes) -> Any:  # noqa: ANN401
    return lockdown.Layer(
        "seccomp", lambda _: lockdown.install(program), lambda _: True
    )


def child(work: Any) -> tuple[list[bytes], int]:  # noqa: ANN401
    """Run a function in a process of its own; return its messages and how it ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = os.fork()
    if number == 0:
        ours.detach()
        os.dup2(theirs.detach(), 3)
        os.closerange(4, 256)
        os.closerange(0, 3)
        try:
            os.write(3, str(work() or "locked").encode())
        except lockdown.LockError as error:
            os.write(3, str(error).encode())
        os._exit(0)
    theirs.close()
    messages = []
    while message := ours.recv(4096):
        messages.append(message)
    ours.close()
    return messages, os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def sweep(numbers: range, arguments: tuple[int, ...]) -> dict[int, str]:
    """Try system calls from native code behind the lock; report each result."""
    libc, found, parent = lockdown._libc, {}, plan()
    pending = list(numbers)
    names = {errno.EPERM: b"refused", errno.ENXIO: b"absent"}

    def work() -> None:
        lockdown.lock(parent)
        for number in pending:
            os.write(3, struct.pack("i", number))
            result = libc.syscall(number, *arguments)
            code = lockdown.ctypes.get_errno() if result == -1 else 0
            os.write(3, names.get(code, b"reached"))

    while pending:
        messages, status = child(work)
        for number, outcome in zip(messages[::2], messages[1::2], strict=False):
            if len(number) == 4:
                found[struct.unpack("i", number)[0]] = outcome.decode()
        if len(messages) % 2 and len(messages[-1]) == 4:
            last = struct.unpack("i", messages[-1])[0]
            ends = {-signal.SIGSYS: "killed", -signal.SIGILL: "illegal"}
            found[last] = ends.get(status, "reached")
        pending = [number for number in numbers if number not in found]
    return found


if __name__ == "__main__":
    exec(sys.argv[1])
