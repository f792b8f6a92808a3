"""Opening the home that the environment names. Django starts here, and not before it is needed."""

import os
import pwd
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from outkey.engine.manage import Desk
    from outkey.hosts.installation import Installation

Name = Annotated[str, typer.Argument(help="the configuration's name")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def installation(*, people: bool = False) -> "Installation":
    """Open the home that the environment names, and the users of its pages if asked to."""
    from outkey.hosts.server.home import COMMANDS, PAGES, prepare  # noqa: PLC0415 - Django starts

    home = prepare(PAGES if people else COMMANDS)
    from outkey.hosts.django.wiring import install  # noqa: PLC0415 - after it has started

    return install(home)


def desk_of(here: "Installation") -> "Desk":
    """Return the desk of whoever runs the command."""
    return here.desk(f"cli:{_who()}")


def _who() -> str:
    """Return the user that the process runs as; variables such as LOGNAME can say anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
