"""The host that commands are run for. A host may be heavy: it is opened when needed.

The commands know a host by `CommandHost` only. Without one they serve the Django
project of the process, or the embedded home.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.hosts.command_host import CommandHost

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

Name = Annotated[str, typer.Argument(help="The configuration's name.")]
ConnectionId = Annotated[
    str | None,
    typer.Option(
        "--connection",
        help="The id of the connection whose account is used.",
        metavar="ID",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
SubjectToken = Annotated[
    str | None,
    typer.Option(
        "--subject-token",
        help="The token of the user that it is for, as env:NAME or file:PATH.",
        metavar="REF",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


_host: ContextVar[CommandHost | None] = ContextVar("host", default=None)


def current_host() -> CommandHost:
    """Return the host that the current command is run for."""
    host = _host.get()
    if host is not None:
        return host
    from outkey.hosts.server.command_host import django_host

    return django_host()


@contextmanager
def use_host(host: CommandHost | None) -> Iterator[None]:
    """Run commands for this host inside the block; None is the default host."""
    token = _host.set(host)
    try:
        yield
    finally:
        _host.reset(token)


def use_home(value: str) -> None:
    """Use the home in this folder; an empty text leaves it as it is."""
    if value:
        current_host().use_home(Path(value).expanduser().absolute())


def open_application() -> "Application":
    """Open the application of the current host."""
    return current_host().open_application()
