"""The clean process that workers are forked from; it has nothing of the application.

Run as `python -I -S -B zygote.py DESCRIPTOR PARENT FOLDER…`. It loads what scripts may
import, then forks a worker for each socket that it receives, and responds with the
worker's pidfd. It runs no script, is given no secret, and reads nothing from a worker.
"""

import gc
import importlib.util
import os
import platform
import select
import signal
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

_DESCRIPTOR = 3  # the worker's only one
_MEMORY = 128 * 1024 * 1024  # beyond what is loaded already
# Processor time in a worker's life; the application replaces it long before.
_SECONDS = 60
_HIDDEN = (
    "ctypes",
    "_ctypes",
    "_cffi_backend",
    "mmap",
    "resource",
    "socket",
    "_socket",
    "select",
)


def _sibling(name: str) -> ModuleType:
    """Load a file beside this one; the folder is never searched for anything else."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_locked_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lockdown, preload, frozen_clock, worker = map(
    _sibling, ("lockdown", "preload", "frozen_clock", "worker")
)


class Zygote:
    """Forks workers and reaps them."""

    def __init__(self, control: socket.socket, parent: int, plan: Any) -> None:  # noqa: ANN401
        self._control = control
        self._plan = plan
        self._workers: dict[int, int] = {}  # number by pidfd
        self._poll = select.poll()
        # The parent's pidfd reports the end of the process. PR_SET_PDEATHSIG would
        # report the end of a thread, and a socket may have been inherited by other
        # processes.
        self._parent = os.pidfd_open(parent)
        if os.getppid() != parent:
            raise lockdown.LockError("the parent is gone")
        for descriptor in (control.fileno(), self._parent):
            self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Work until the application hangs up or ends, and leave no worker behind."""
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            for descriptor in ready & self._workers.keys():
                self._reap(descriptor)
            if self._parent in ready:
                break
            if self._control.fileno() in ready and not self._take_order():
                break
        for descriptor in list(self._workers):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            self._reap(descriptor)

    def _take_order(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(
            self._control, 16, 1, socket.MSG_CMSG_CLOEXEC
        )
        if not message or len(descriptors) != 1:
            return False
        try:
            pidfd = self._fork(descriptors[0])
        except OSError:
            self._control.send(b"Fno process can be started")
        else:
            socket.send_fds(self._control, [b"W"], [pidfd])
        finally:
            os.close(descriptors[0])
        return True

    def _fork(self, job: int) -> int:
        number = os.fork()
        if number == 0:
            self._become_worker(job)
        # Only this process can reap it, so that the number is still its own.
        pidfd = os.pidfd_open(number)
        self._workers[pidfd] = number
        self._poll.register(pidfd, select.POLLIN)
        return pidfd

    def _reap(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.waitpid(self._workers.pop(pidfd), 0)
        os.close(pidfd)

    def _become_worker(self, job: int) -> NoReturn:
        """Close all other descriptors, lock, and only then read script and secret."""
        self._control.detach()
        os.dup2(job, _DESCRIPTOR)
        os.closerange(_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
        os.closerange(0, _DESCRIPTOR)
        try:
            lockdown.lock(self._plan)
        except lockdown.LockError as error:
            os.write(_DESCRIPTOR, b"F" + str(error).encode())
            os._exit(1)
        except BaseException:  # noqa: BLE001 - an unexpected error means not locked
            os._exit(1)
        try:
            for name in _HIDDEN:
                sys.modules.pop(name, None)
            os.write(_DESCRIPTOR, b"R")
            worker.serve(_DESCRIPTOR, frozen_clock.set_clock)
        finally:
            os._exit(0)


def _prepare(control: socket.socket, parent: int, folders: list[str]) -> Zygote:
    calls = lockdown.calls_of(platform.machine())
    preload.preload(folders)
    worker.offer(preload.ROOTS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    plan = lockdown.LockPlan(
        descriptor=_DESCRIPTOR,
        parent=os.getpid(),
        memory=pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY,
        seconds=_SECONDS,
        # Computed once here for all workers, which share the memory.
        filter=lockdown.program(calls, _DESCRIPTOR),
        native=lockdown.native_code(),
    )
    zygote = Zygote(control, parent, plan)
    _forget_command_line()
    # In a locked worker print() must do nothing instead of failing.
    sys.stdin = sys.stdout = sys.stderr = None
    gc.collect()
    # The collector leaves these pages alone, so that workers go on sharing them.
    gc.freeze()
    return zygote


def _forget_command_line() -> None:
    """Hide from scripts where outkey is installed, and the application's process."""
    sys.argv = [""]
    sys.orig_argv = []
    sys.executable = ""
    del sys.modules["__main__"].__file__


def main(descriptor: str, parent: str, *folders: str) -> None:
    """Prepare, report success or the reason of a failure, and serve."""
    control = socket.socket(fileno=int(descriptor))
    try:
        zygote = _prepare(control, int(parent), list(folders))
    except lockdown.LockError as error:
        control.send(b"F" + str(error).encode())
    except (AttributeError, OSError):
        control.send(b"Fpidfd or /proc is missing")
    else:
        control.send(b"R")
        zygote.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
