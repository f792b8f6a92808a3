"""The commands about what the watch tells, and about configurations that it stopped."""

import typer

from outkey.core.audit.events import Tag
from outkey.core.findings.monitoring import Notice
from outkey.core.moments import iso_moment, moment_text
from outkey.hosts.cli.output import say, say_done, say_json, say_table
from outkey.hosts.cli.session import AsJson, Name, desk_of, installation


def add_commands(app: typer.Typer) -> None:
    """Add `resume` and `notices`."""
    app.command()(resume)
    app.command()(notices)


def resume(name: Name, *, as_json: AsJson = False) -> None:
    """Send again with a configuration that was paused because it was refused too often."""
    here = installation()
    if not here.registry.get(name).paused:
        say_done(
            "unchanged", as_json=as_json, configuration=name, also=" is not paused"
        )
        return
    desk_of(here).note(Tag.CONFIGURATION_UPDATED, name, "paused_at")
    here.registry.resume(name)
    say_done("resumed", as_json=as_json, configuration=name)


def notices(*, as_json: AsJson = False) -> None:
    """List what `outkey serve` has noticed and what has not recovered yet."""
    states = installation().states
    from outkey.engine.managing.monitoring import has_monitored, open_notices
    from outkey.hosts.django.project import in_project

    found = open_notices(states)
    if as_json:
        say_json(
            [
                notice.facts() | {"opened_at": iso_moment(notice.opened_at)}
                for notice in found
            ]
        )
    elif found:
        titles = ("Since", "Level", "Id", "Configuration", "What", "What to do")
        say_table(titles, map(_row, found))
    elif has_monitored(states):
        say("nothing to tell")
    else:
        runs_with = "a process of the project" if in_project() else "outkey serve"
        say(f"the watch has not run yet; it runs with: {runs_with}")


def _row(notice: Notice) -> tuple[object, ...]:
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
