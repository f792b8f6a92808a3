"""The commands about what monitoring has found, and about paused configurations."""

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.engine.watching.monitoring import has_monitored, open_notices
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.printing.output import (
    print_done,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, current_host, open_application
from outkey.hosts.command_host import administration_of

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

OptionalName = Annotated[str, typer.Argument(help="The configuration's name.")]
All = Annotated[
    bool,
    typer.Option(
        "--all", help="End the hold of a restored installation, on all machines."
    ),
]


def resume(
    name: OptionalName = "", *, everything: All = False, as_json: AsJson = False
) -> None:
    """Resume a paused configuration, or a restored installation.

    A configuration is paused after refusals. A restored installation is on hold: it
    runs no line, renews no token and processes no delivery until --all.
    """
    if bool(name) is everything:
        raise ConfigError(
            Text("NAME or --all is needed, and not both"),
            hint=Text("See: outkey resume --help"),
        )
    application = open_application()
    if everything:
        resume_all(application, as_json=as_json)
        return
    if administration_of(application).resume(name):
        print_done("resumed", as_json=as_json, configuration=name)
    else:
        print_done(
            "unchanged", as_json=as_json, configuration=name, also=" is not paused"
        )


def resume_all(application: "Application", *, as_json: bool) -> None:
    """End the hold of a restored installation."""
    if application.resume_all(administration_of(application)):
        also = "the lines, the renewals of tokens and the processing of webhooks"
        print_done("resumed", as_json=as_json, also=also)
    else:
        print_done("unchanged", as_json=as_json, also="nothing is on hold")


def notices(*, as_json: AsJson = False) -> None:
    """List what monitoring has noticed.

    A notice disappears when its cause has ended. The monitoring runs in `outkey serve`.
    """
    application = open_application()
    found = open_notices(application.states)
    if as_json:
        print_json([notice.facts() for notice in found])
    elif found:
        titles = ("Since", "Level", "Id", "Configuration", "What", "What to do")
        print_table(titles, map(_notice_row, found))
    elif has_monitored(application.states):
        print_line("There are no open notices. Nothing needs attention.")
    else:
        process = current_host().background_process
        print_line(f"Monitoring has not run yet. It runs with: {process}")


def _notice_row(notice: Notice) -> tuple[object, ...]:
    """Return a notice for the list."""
    facts = notice.facts()
    what = ": ".join(filter(None, (str(facts["message"]), notice.condition.about)))
    return (
        time_text(notice.opened_at),
        facts["level"],
        facts["id"],
        facts["configuration"],
        what,
        " ".join(filter(None, (str(facts["hint"]), _command_of(notice)))),
    )


def _command_of(notice: Notice) -> str:
    """Return the command that shows the cause of a notice, if there is one."""
    if not notice.check.command:
        return ""
    name = quote(notice.condition.configuration)
    about = quote(notice.condition.about)
    return f"See: {notice.check.command.format(name=name, about=about)}"
