"""Starts commands quickly, as forks of a process that has loaded the libraries.

A command is still a process of its own, with its own environment, files and end. What
is loaded before reads no setting, since nobody knows yet which home a command will
have.
"""

import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

LOADED = """
asyncio cryptography.x509 django.contrib.auth.hashers
django.core.management django.core.management.commands.migrate
django.db.backends.sqlite3.base django.db.migrations.executor django.db.models
django.forms django.template.backends.django httptools jmespath joserfc.jwk joserfc.jwt
outkey.core.config.export outkey.core.sync.table outkey.engine.managing.doctor
outkey.engine.managing.fixes outkey.engine.managing.changes outkey.engine.sync.runner
outkey.hosts.cli.doctor_reports outkey.hosts.cli.main outkey.hosts.installation
rich.console rich.markup rich.padding rich.progress rich.table typer._adapters urllib3
"""


class Forks:
    """The process that forks, as tests see it. It ends with whoever started it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        # By its descriptor: the path of a temporary
        # folder may be too long for a Unix socket.
        self._descriptor = os.open(self._folder.name, os.O_PATH)
        self._place = f"/proc/self/fd/{self._descriptor}/forks"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self._place)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno())],
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                env={"PATH": os.environ["PATH"]},
            )

    def run(
        self,
        arguments: Sequence[str],
        environment: dict[str, str],
        files: Sequence[IO[bytes]],
        timeout: float,
    ) -> int:
        """Run `outkey` with these files as its three streams; return how it ended."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(timeout)
            connection.connect(self._place)
            asked = json.dumps([arguments, environment]).encode()
            socket.send_fds(connection, [asked], [file.fileno() for file in files])
            pid = int(connection.recv(16))
            try:
                return int(connection.recv(16))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        os.close(self._descriptor)
        self._folder.cleanup()


def serve(listener: socket.socket) -> tuple[list[str], dict[str, str]] | None:
    """Fork for each command that is asked for; return in the child what it is to do."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                return None
            if key.data:
                pid, connection = key.data
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                selector.unregister(key.fd)
                os.close(key.fd)
                connection.send(str(code).encode())
                connection.close()
                continue
            connection, _ = listener.accept()
            asked, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
            pid = os.fork()
            if not pid:
                for stream, descriptor in enumerate(descriptors):
                    os.dup2(descriptor, stream)
                os.closerange(3, 1024)
                arguments, environment = json.loads(asked)
                return arguments, environment
            for descriptor in descriptors:
                os.close(descriptor)
            connection.send(str(pid).encode())
            ended = os.pidfd_open(pid)
            selector.register(ended, selectors.EVENT_READ, (pid, connection))


if __name__ == "__main__":
    for module in LOADED.split():
        __import__(module)
    gc.freeze()  # what stays as it is need not be looked at again in each child
    todo = serve(socket.socket(fileno=int(sys.argv[1])))
    if todo is not None:
        sys.argv[1:], environment = todo
        sys.argv[0] = "outkey"
        os.environ.clear()
        os.environ.update(environment)
        from outkey.hosts.cli.main import main

        main()
