"""Starts commands and programs quickly, as forks of a process that has loaded them.

Each is still a process of its own, with its own environment, files and end. What is
loaded before reads no setting, since nobody knows yet which home a command will have.
Passwords are hashed once there instead of a million times: no test that starts a
process is about the hash.
"""

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NoReturn

OUTKEY = (sys.executable, "-m", "outkey.hosts.cli.main")
LOADED = """
asyncio axes.migrations.0010_accessattemptexpiration cryptography.x509
django.conf.locale.en.formats
django.contrib.admin.migrations.0003_logentry_add_action_flag_choices
django.contrib.admin.templatetags.admin_list
django.contrib.admin.templatetags.admin_modify django.contrib.auth.apps
django.contrib.auth.hashers django.contrib.auth.password_validation
django.contrib.auth.tokens django.contrib.contenttypes.apps
django.contrib.messages.middleware django.contrib.messages.storage.fallback
django.contrib.postgres.fields django.contrib.sessions.middleware
django.contrib.sessions.serializers django.contrib.sites.shortcuts
django.contrib.staticfiles.apps django.core.management
django.core.management.commands.migrate django.db.backends.sqlite3.base
django.db.migrations.executor django.db.models.sql.compiler django.forms
django.middleware.clickjacking django.middleware.common django.middleware.locale
django.middleware.security django.template.backends.django
django.template.context_processors django.template.loaders.app_directories
django.template.loaders.cached django.templatetags.cache django.templatetags.l10n
django.templatetags.tz django.test httptools jmespath joserfc.jwk joserfc.jwt
outkey.sync.adapters.calendar_cronsim outkey.sync.adapters.files
outkey.foundation.adapters.paths_jmespath outkey.sync.adapters.tables
outkey.administration.core.document.differences
outkey.administration.core.document.export outkey.sync.core.run.remedies
outkey.sync.core.line.table outkey.administration.engine.editing.changes
outkey.administration.engine.watching.doctor outkey.administration.engine.editing.fixes
outkey.administration.engine.editing.line_editing outkey.sync.engine.runs.runner
outkey.sync.engine.forms.unsaved_lines outkey.sending.engine.tokens.consent
outkey.hosts.cli.printing.doctor_reports outkey.hosts.cli.main
outkey.hosts.django.templatetags.outkey outkey.hosts.installation
outkey.hosts.server.home outkey.hosts.server.web.middleware
outkey.hosts.server.users.sessions
outkey.spar psycopg rich.console rich.markup rich.padding rich.progress rich.table
sqlalchemy.dialects.sqlite typer._adapters urllib3 waitress whitenoise.middleware
"""


class Forks:
    """The process that forks, as tests see it. It ends with whoever started it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
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

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        descriptors: Sequence[int],
    ) -> tuple[int, socket.socket]:
        """Start a process with these files as its three streams.

        Return its number, and the connection that its status comes from.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self._place)
        asked = json.dumps([command, dict(environment), folder]).encode()
        socket.send_fds(connection, [asked], descriptors)
        return int(connection.recv(16)), connection

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        os.close(self._descriptor)
        self._folder.cleanup()


@cache
def _forks() -> Forks:
    forks = Forks()
    atexit.register(forks.close)
    return forks


class Popen(subprocess.Popen[Any]):
    """A process that is forked: `outkey` or a file, by the command for either."""

    def _execute_child(  # noqa: PLR0917 - as the original
        self,
        args: Sequence[str | Path],
        _executable: object,
        _preexec_fn: object,
        _close_fds: object,
        _pass_fds: object,
        cwd: str | Path | None,
        env: Mapping[str, str] | None,
        _startupinfo: object,
        _creationflags: object,
        _shell: object,
        stdin: int,
        stdin_of_ours: int,
        stdout_of_ours: int,
        stdout: int,
        stderr_of_ours: int,
        stderr: int,
        *_: object,
    ) -> None:
        """Do what the original does, in the process that forks."""
        streams = (stdin, stdout, stderr)
        self.pid, self._connection = _forks().start(
            arguments_of(args),
            os.environ if env is None else env,
            str(cwd or Path.cwd()),
            [own if given == -1 else given for own, given in enumerate(streams)],
        )
        self._child_created = True
        self._close_pipe_fds(
            stdin, stdin_of_ours, stdout_of_ours, stdout, stderr_of_ours, stderr
        )

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        self._connection.setblocking(not wait_flags & os.WNOHANG)
        try:
            status = int(self._connection.recv(16))
        except BlockingIOError:
            return 0, 0
        self._connection.close()
        return self.pid, status

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def arguments_of(command: Sequence[str | Path]) -> list[str]:
    """Return a file and its arguments, or the arguments of `outkey` after no file."""
    texts = [str(part) for part in command]
    if texts[:3] == list(OUTKEY):
        return ["", *texts[3:]]
    if texts[0] == str(Path(sys.executable).with_name("outkey")):
        return ["", *texts[1:]]
    assert texts[0] == sys.executable, texts
    assert texts[1].endswith(".py"), texts
    return texts[1:]


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    stdin: str = "",
    folder: Path | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return what it printed."""
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        pid, connection = _forks().start(
            arguments_of(command),
            environment,
            str(folder or Path.cwd()),
            [given.fileno(), out.fileno(), err.fileno()],
        )
        connection.settimeout(timeout)
        with connection:
            try:
                status = int(connection.recv(16))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            [*map(str, command)],
            os.waitstatus_to_exitcode(status),
            out.read().decode(),
            err.read().decode(),
        )


# ── in the process that forks ─────────────────────────────────────────────────────────


def serve(listener: socket.socket) -> tuple[list[str], dict[str, str], str] | None:
    """Fork for each process that is asked for; return in the child what it is to do."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                return None
            if key.data:
                pid, connection = key.data
                status = os.waitpid(pid, 0)[1]
                selector.unregister(key.fd)
                os.close(key.fd)
                with suppress(OSError):  # nobody may be interested
                    connection.send(str(status).encode())
                connection.close()
                continue
            connection, _ = listener.accept()
            asked, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
            pid = os.fork()
            if not pid:
                for stream, descriptor in enumerate(descriptors):
                    os.dup2(descriptor, stream)
                forget(selector, [listener, connection])
                command, environment, folder = json.loads(asked)
                return command, environment, folder
            for descriptor in descriptors:
                os.close(descriptor)
            connection.send(str(pid).encode())
            ended = os.pidfd_open(pid)
            selector.register(ended, selectors.EVENT_READ, (pid, connection))


def forget(selector: selectors.BaseSelector, sockets: list[socket.socket]) -> None:
    """Close all that a child inherits, for good.

    A socket that is deleted later would close a file that has its number by then.
    """
    sockets += [key.data[1] for key in selector.get_map().values() if key.data]
    for inherited in sockets:
        inherited.detach()
    selector.close()
    os.closerange(3, 1024)


def become(command: list[str], environment: dict[str, str], folder: str) -> None:
    """Be the process that was asked for."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    file, *arguments = command
    del sys.path[0]  # that of this file
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = [file or "outkey", *arguments]
    if file:
        sys.path.insert(0, str(Path(file).resolve().parent))
        runpy.run_path(file, run_name="__main__")
    else:
        from outkey.hosts.cli.main import main

        main()


def leave(code: int) -> NoReturn:
    """End as Python does, but without deleting each object that was loaded.

    That would take longer than most commands.
    """
    from django.conf import settings
    from django.db import connections

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if settings.configured:
        connections.close_all()  # as they are when they are deleted
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def load_all_commands(command: Any) -> None:  # noqa: ANN401 - of Typer's own Click
    """Import the modules of all commands, which a process does for its own only."""
    context = command.make_context("outkey", [], resilient_parsing=True)
    for name in command.list_commands(context):
        command.get_command(context, name)


def load() -> None:
    """Load what processes need, and let none of them hash for long."""
    for module in LOADED.split():
        __import__(module)
    import typer.main
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    from outkey.hosts.cli.main import app

    # Typer makes the commands anew in each process, which is a third of most of them.
    get_command = typer.main.get_command
    command = get_command(app)
    load_all_commands(command)
    typer.main.get_command = lambda made: command if made is app else get_command(made)
    PBKDF2PasswordHasher.iterations = 1
    gc.freeze()  # what stays as it is need not be looked at again in each child


if __name__ == "__main__":
    load()
    todo = serve(socket.socket(fileno=int(sys.argv[1])))
    if todo is not None:
        try:
            become(*todo)
        except SystemExit as end:
            if not isinstance(end.code, int | None):
                raise
            leave(end.code or 0)
        else:
            leave(0)
