"""Opening the installation of this process. Django starts here, and not before it is needed."""

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from outkey.engine.managing.changes import Administration
    from outkey.hosts.installation import Installation

Name = Annotated[str, typer.Argument(help="the configuration's name")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def installation(*, people: bool = False) -> "Installation":
    """Open the project's installation or the embedded home; `people` are the latter's users."""
    from outkey.hosts.server.home import PAGES, open_home, prepare

    home = prepare(PAGES) if people else open_home()
    from outkey.hosts.django.wiring import install

    return install(home)


def home_folder() -> Path:
    """Return the home of the project, or the embedded one, whether or not its database works."""
    from outkey.hosts.django.project import in_project, project_home
    from outkey.hosts.server.location import home

    return project_home() if in_project() else home()


def desk_of(here: "Installation") -> "Administration":
    """Return the desk of whoever runs the command."""
    return here.desk(f"cli:{_who()}")


def _who() -> str:
    """Return the user that the process runs as; variables such as LOGNAME can say anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
