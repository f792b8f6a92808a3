"""The commands about what monitoring has found, and about paused configurations."""

from outkey.core.findings.monitoring import Notice
from outkey.core.moments import iso_moment, moment_text
from outkey.hosts.cli.output import print_done, print_json, print_line, print_table
from outkey.hosts.cli.session import (
    AsJson,
    Name,
    administration_of,
    current_host,
    open_application,
)


def resume(name: Name, *, as_json: AsJson = False) -> None:
    """Send again with a configuration that was paused after too many refusals."""
    application = open_application()
    if administration_of(application).resume(name):
        print_done("resumed", as_json=as_json, configuration=name)
    else:
        print_done(
            "unchanged", as_json=as_json, configuration=name, also=" is not paused"
        )


def notices(*, as_json: AsJson = False) -> None:
    """List what `outkey serve` has noticed and what has not recovered yet."""
    application = open_application()
    open_notices = application.open_notices()
    if as_json:
        print_json(
            [
                notice.facts() | {"opened_at": iso_moment(notice.opened_at)}
                for notice in open_notices
            ]
        )
    elif open_notices:
        titles = ("Since", "Level", "Id", "Configuration", "What", "What to do")
        print_table(titles, map(notice_row, open_notices))
    elif application.has_monitored():
        print_line("no open notices")
    else:
        process = current_host().background_process
        print_line(f"monitoring has not run yet; it runs with: {process}")


def notice_row(notice: Notice) -> tuple[object, ...]:
    """Return a notice for the list."""
    facts = notice.facts()
    what = ": ".join(filter(None, (str(facts["message"]), notice.condition.about)))
    return (
        moment_text(notice.opened_at),
        facts["level"],
        facts["id"],
        facts["configuration"],
        what,
        facts["hint"],
    )
