"""Starts commands and programs quickly, as forks of a process that has loaded them.

Each is still a process of its own, with its own environment, files and end. The first
process that forks has loaded libraries that read no setting, since nobody knows yet
which home a command will have. The others have set Django up too, each for one kind of
settings: of commands or the pages, on SQLite or PostgreSQL, with the models of the demo
or without. Each is started when it is first needed; what depends on the home is read
anew in each fork (`read_settings`).

A new database is a copy of one that has all tables. Passwords are hashed once instead
of a million times: no test that starts a process is about the hash.
"""

import atexit
import gc
import hashlib
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, redirect_stderr, redirect_stdout, suppress
from functools import cache, partial
from io import BytesIO, StringIO, TextIOWrapper
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NoReturn
from unittest.mock import patch

OUTKEY = (sys.executable, "-m", "outkey.hosts.cli.main")
FORKS = "OUTKEY_TEST_FORKS"  # the folder of those that all suites of a run share
BARE = "bare"  # without Django
SETTINGS = {
    "commands": "outkey.hosts.server.settings",
    "pages": "outkey.hosts.server.settings_pages",
}
# What adds apps to either, and the environment that has it.
WITH = {
    "a database": {"OUTKEY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"},
    "the demo": {"OUTKEY_DEMO": "1"},
}
KINDS = (
    BARE,
    *(
        " with ".join([kind, *additions])
        for kind in SETTINGS
        for number in range(len(WITH) + 1)
        for additions in combinations(WITH, number)
    ),
)
COMMANDS_WITH_PAGES = {"people", "serve", "user"}
# Commands are run so often before any is forked that Python has made their code quick,
# and what they load late is there.
WARM_UP = 10
DOCUMENT = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
"""
WARM_COMMANDS = (
    (["apply", "-"], DOCUMENT),
    (["secret", "set", "acme", "token"], "none"),
    (["list"], ""),
    (["line", "list"], ""),
)
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
django.templatetags.tz django.test httptools jmespath joserfc.jwk joserfc.jwt psycopg
rich.console rich.markup rich.padding rich.progress rich.table
sqlalchemy.dialects.sqlite typer._adapters waitress whitenoise.middleware
"""
# Packages that are loaded with all their modules.
PACKAGES = """
outkey.administration outkey.foundation outkey.hosts.cli outkey.importing
outkey.sending outkey.spar outkey.sync outkey.webhooks
"""
PACKAGES_WITH_DJANGO = {
    "commands": """
        outkey.hosts.django.records outkey.hosts.django.rows
        outkey.hosts.django.workers outkey.hosts.server.backup
    """,
    "pages": """
        outkey.hosts.django.api outkey.hosts.django.pages outkey.hosts.django.records
        outkey.hosts.django.rows outkey.hosts.django.web outkey.hosts.django.workers
        outkey.hosts.server.backup outkey.hosts.server.users outkey.hosts.server.web
    """,
}
LOADED_WITH_DJANGO = """
outkey.hosts.django.production outkey.hosts.django.readiness outkey.hosts.django.wiring
outkey.hosts.installation outkey.hosts.server.command_host
outkey.hosts.server.production
"""


class Forks:
    """The processes that fork, as tests see them, by the folder of their sockets."""

    def __init__(self, folder: str) -> None:
        # By its descriptor: the path of a temporary
        # folder may be too long for a Unix socket.
        self._descriptor = os.open(folder, os.O_PATH)
        self.place = f"/proc/self/fd/{self._descriptor}"

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
        connection.connect(f"{self.place}/{kind_of(command, environment)}")
        asked = json.dumps([command, dict(environment), folder]).encode()
        socket.send_fds(connection, [asked], descriptors)
        return int(connection.recv(16)), connection

    def close(self) -> None:
        """Start no more processes."""
        os.close(self._descriptor)


class OwnForks(Forks):
    """Those that were started here, and end with whoever started them."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        super().__init__(self._folder.name)
        with ExitStack() as stack:
            listeners = []
            for kind in KINDS:
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                stack.enter_context(listener)
                listener.bind(f"{self.place}/{kind}")
                listener.listen(64)
                listeners.append(listener.fileno())
            self._process = subprocess.Popen(
                [sys.executable, __file__, self._folder.name, *map(str, listeners)],
                stdin=subprocess.PIPE,
                pass_fds=listeners,
                env={"PATH": os.environ["PATH"]},
                process_group=0,  # Ctrl-C is for whoever started them
            )

    @property
    def folder(self) -> str:
        """Where others find them."""
        return self._folder.name

    def close(self) -> None:
        """End them."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        super().close()
        self._folder.cleanup()


@cache
def _forks() -> Forks:
    """Return those of the run that this suite belongs to, or start some."""
    folder = os.environ.get(FORKS)
    forks = Forks(folder) if folder else OwnForks()
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


def kind_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return which process forks for a command: the one with its settings."""
    file, *arguments = command
    if file or "DJANGO_SETTINGS_MODULE" in environment or "--home" in arguments:
        return BARE
    home = Path(environment.get("OUTKEY_HOME", "/nowhere"))
    has = {
        "a database": environment.get("OUTKEY_DATABASE_URL"),
        "the demo": "--demo" in arguments
        or environment.get("OUTKEY_DEMO") == "1"
        or (home / "config" / "demo").exists(),
    }
    kind = "pages" if COMMANDS_WITH_PAGES.intersection(arguments[:1]) else "commands"
    return " with ".join([kind, *(addition for addition in WITH if has[addition])])


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    stdin: str = "",
    folder: Path | None = None,
    timeout: float = 300,
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


Todo = tuple[list[str], dict[str, str], str]


def serve(listener: socket.socket, others: Mapping[str, socket.socket]) -> Todo | None:
    """Fork for each process that is asked for; return in the child what it is to do.

    When the first process of another kind is asked for, its own server is started.
    """
    selector = selectors.DefaultSelector()
    for readable in (0, listener, *others.values()):
        selector.register(readable, selectors.EVENT_READ)
    servers = []
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                for server in servers:
                    os.waitpid(server, 0)
                return None
            if key.data:
                report_end(selector, key)
            elif key.fd == listener.fileno():
                if todo := fork(selector, listener, others):
                    return todo
            else:
                kind = next(kind for kind in others if others[kind] is key.fileobj)
                if not (pid := os.fork()):
                    forget(selector, [listener, *others.values()], but=key.fd)
                    set_django_up(kind)
                    return serve(socket.socket(fileno=key.fd), {})
                servers.append(pid)
                selector.unregister(others[kind])
                others[kind].close()


def fork(
    selector: selectors.BaseSelector,
    listener: socket.socket,
    others: Mapping[str, socket.socket],
) -> Todo | None:
    """Fork for who asks; return in the child what it is to do."""
    connection, _ = listener.accept()
    asked, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
    pid = os.fork()
    if not pid:
        for stream, descriptor in enumerate(descriptors):
            os.dup2(descriptor, stream)
        forget(selector, [listener, *others.values(), connection])
        command, environment, folder = json.loads(asked)
        return command, environment, folder
    for descriptor in descriptors:
        os.close(descriptor)
    connection.send(str(pid).encode())
    ended = os.pidfd_open(pid)
    selector.register(ended, selectors.EVENT_READ, (pid, connection))
    return None


def report_end(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Tell who asked for a process how it has ended."""
    pid, connection = key.data
    status = os.waitpid(pid, 0)[1]
    selector.unregister(key.fd)
    os.close(key.fd)
    with suppress(OSError):  # nobody may be interested
        connection.send(str(status).encode())
    connection.close()


def forget(
    selector: selectors.BaseSelector, sockets: list[socket.socket], but: int = 2
) -> None:
    """Close all that a child inherits, for good, but for one.

    A socket that is deleted later would close a file that has its number by then.
    """
    sockets += [key.data[1] for key in selector.get_map().values() if key.data]
    for inherited in sockets:
        inherited.detach()
    selector.close()
    os.closerange(3, but)
    os.closerange(but + 1, 1024)


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


def load_package(name: str) -> None:
    """Import all modules of a package that are not programs."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def load_all_commands(command: Any) -> None:  # noqa: ANN401 - of Typer's own Click
    """Import the modules of all commands, which a process does for its own only."""
    context = command.make_context("outkey", [], resilient_parsing=True)
    for name in command.list_commands(context):
        command.get_command(context, name)


def load() -> None:
    """Load what processes need, and let none of them hash for long."""
    for module in LOADED.split():
        __import__(module)
    for package in PACKAGES.split():
        load_package(package)
    import typer.main
    from django.contrib.auth.hashers import PBKDF2PasswordHasher
    from django.core import management

    from outkey.hosts.cli.main import app

    # Typer makes the commands anew in each process, which is a third of most of them.
    get_command = typer.main.get_command
    command = get_command(app)
    load_all_commands(command)
    typer.main.get_command = lambda made: command if made is app else get_command(made)
    PBKDF2PasswordHasher.iterations = 1
    management.call_command = partial(copy_tables, management.call_command)


def copy_tables(
    call_command: Callable[..., object], command: str, *arguments: str, **options: int
) -> None:
    """Make the tables of a new database by copying those of an earlier one."""
    from django.conf import settings
    from django.db import connection

    if (
        command != "migrate"
        or arguments
        or connection.vendor != "sqlite"
        or connection.introspection.table_names() != ["django_migrations"]
    ):
        call_command(command, *arguments, **options)
        return
    apps = " ".join(settings.INSTALLED_APPS).encode()
    template = Path(FOLDER, hashlib.sha256(apps).hexdigest())
    with connection.wrap_database_errors:
        if template.exists():
            with closing(sqlite3.connect(template)) as source:
                source.backup(connection.connection)
            return
        call_command(command, **options)
        part = template.with_suffix(f".{os.getpid()}")
        connection.connection.execute("VACUUM INTO ?", [str(part)])
        part.replace(template)


def set_django_up(kind: str) -> None:
    """Load Django with the settings of a kind; each child reads its own settings."""
    from outkey.foundation.core.errors import StorageUnavailable
    from outkey.hosts.server import home

    settings, *additions = kind.split(" with ")
    before = dict(os.environ)
    with TemporaryDirectory() as folder:
        os.environ["OUTKEY_HOME"] = folder
        for addition in additions:
            os.environ.update(WITH[addition])
        with suppress(StorageUnavailable):  # nothing answers at a database
            home.prepare(SETTINGS[settings])
        for package in PACKAGES_WITH_DJANGO[settings].split():
            load_package(package)
        for module in LOADED_WITH_DJANGO.split():
            __import__(module)
        if "a database" not in additions:
            warm_up()
        forget_settings()
    os.environ.clear()
    os.environ.update(before)
    home.configure_django = read_settings
    gc.freeze()  # what stays as it is need not be looked at again in each child


def warm_up() -> None:
    """Run some commands, so that what Django and they cache is there.

    What is to happen at their end happens here.
    """
    from outkey.hosts.cli.main import run as run_command

    given = sys.stdin
    for _ in range(WARM_UP):
        for arguments, text in WARM_COMMANDS:
            sys.stdin = TextIOWrapper(BytesIO(text.encode()))
            with (
                ExitStack() as at_end,
                patch.object(atexit, "register", at_end.callback),
                redirect_stdout(StringIO()),
                redirect_stderr(StringIO()),
            ):
                assert not run_command(arguments), arguments
    sys.stdin = given


def forget_settings() -> None:
    """Let the next one who asks for a setting read the environment anew."""
    from django.conf import settings
    from django.db import connections
    from django.utils.functional import empty

    import outkey.hosts.server

    connections.close_all()
    del connections["default"]
    connections.settings = {}  # so that none is looked for when a process forks
    connections._settings = None
    settings._wrapped = empty
    for module in SETTINGS.values():
        if sys.modules.pop(module, None):
            delattr(outkey.hosts.server, module.rpartition(".")[2])


def read_settings(module: str) -> None:
    """Do what `configure_django` does where the apps are loaded already."""
    from django.apps import apps
    from django.conf import settings
    from django.db import connections
    from django.utils.log import configure_logging

    if settings.configured:
        return
    os.environ["DJANGO_SETTINGS_MODULE"] = module
    del connections.settings
    loaded = [app.name for app in apps.get_app_configs()]
    assert loaded == settings.INSTALLED_APPS, (
        "see kind_of: this process has the apps of other settings"
    )
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    if "axes.conf" in sys.modules:  # adds its defaults to the settings
        importlib.reload(sys.modules["axes.conf"])


def serve_all(listeners: Sequence[int]) -> Todo | None:
    """Fork for whoever asks; return in the child what it is to do."""
    bare, *others = [socket.socket(fileno=number) for number in listeners]
    gc.freeze()
    return serve(bare, dict(zip(KINDS[1:], others, strict=True)))


if __name__ == "__main__":
    FOLDER = sys.argv[1]
    load()
    todo = serve_all([*map(int, sys.argv[2:])])
    if todo is not None:
        try:
            become(*todo)
        except SystemExit as end:
            if not isinstance(end.code, int | None):
                raise
            leave(end.code or 0)
        else:
            leave(0)
