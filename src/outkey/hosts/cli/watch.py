"""The commands about what the watch tells, and about configurations that it stopped."""

import typer

from outkey.core.audit import Tag
from outkey.hosts.cli.home import AsJson, Name, desk_of, installation
from outkey.hosts.cli.output import say, say_json, say_table
from outkey.hosts.cli.shown import moment


def add_commands(app: typer.Typer) -> None:
    """Add `resume` and `notices`."""
    app.command()(resume)
    app.command()(notices)


def resume(name: Name) -> None:
    """Send again with a configuration that was paused because it was refused too often."""
    here = installation()
    here.registry.get(name)
    desk_of(here).note(Tag.CONFIGURATION_UPDATED, name, "paused_at")
    here.registry.resume(name)
    say(f"resumed: {name}")


def notices(*, as_json: AsJson = False) -> None:
    """List what `outkey serve` has noticed and what has not recovered yet."""
    installation()
    from outkey.hosts.django.watchbook import DjangoWatchbook  # noqa: PLC0415 - needs Django

    found = [
        notice.facts() | {"opened_at": moment(notice.opened_at)}
        for notice in DjangoWatchbook().open_notices()
    ]
    if as_json:
        say_json(found)
    elif found:
        columns = ("opened_at", "id", "level", "configuration", "message", "about", "hint")
        say_table(
            ("Since", "Id", "Level", "Configuration", "What", "About", "What to do"),
            (map(facts.get, columns) for facts in found),
        )
    else:
        say("nothing to tell")
