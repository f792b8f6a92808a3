"""The commands about connections: the accounts under a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from outkey.administration.engine.editing.connections import MOST_LISTED
from outkey.foundation.core.moments import parse_iso
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.input import split_variables
from outkey.hosts.cli.printing.output import (
    confirm,
    print_done,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.printing.presenters import secret_text
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, Name, Yes, open_application
from outkey.hosts.command_host import administration_of
from outkey.sending.core.connections.connection import (
    ConnectionQuery,
    ConnectionState,
)
from outkey.sending.core.connections.entered_facts import VARIABLES
from outkey.sending.core.connections.facts import connection_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from outkey.administration.engine.editing.connections import (
        ConnectionAdministration,
    )
    from outkey.sending.core.configuration.configuration import Configuration

Id = Annotated[str, typer.Argument(help="The id of the connection.", metavar="ID")]
Owner = Annotated[
    str | None,
    typer.Option(
        "--owner", help="Whose it is; empty as the configuration.", metavar="OWNER"
    ),
]
Username = Annotated[
    str | None,
    typer.Option("--username", help="The user name of the account.", metavar="USER"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="VARIABLE=VALUE",
        help="A variable of the account. Repeat it for more than one.",
    ),
]

connections_app = Commands(
    help="Manage the accounts under a configuration: one for each customer."
)
_TEXTS = ("id", "state", "owner")
_MOMENTS = ("created_at", "connected_at", "last_used_at")
_COLUMNS = ("Connection", "State", "Owner", "Created", "Connected", "Last used")
_STATES = {
    ConnectionState.NEW: "new: it has not had all that it needs",
    ConnectionState.WORKING: "working",
    ConnectionState.NEEDS_PERSON: "needs person: enter the secret, or authorize again",
    ConnectionState.PAUSED: "paused",
}
_PAUSED = {
    "operator": "paused by an operator",
    "refusals": "paused, since the API refused its credentials several times",
}


def open_connections() -> ConnectionAdministration:
    """Return the connections in the name of the user who runs the command."""
    application = open_application()
    return application.connections(administration_of(application))


@connections_app.command("list")
def list_connections(  # noqa: PLR0913 - the options of a paged list
    name: Name,
    *,
    state: Annotated[
        ConnectionState | None,
        typer.Option(
            "--state",
            help="List only those in this state: new, working, needs_person or paused.",
            metavar="STATE",
        ),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option("--owner", help="List only those of this owner.", metavar="OWNER"),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option("--prefix", help="List only ids that begin so.", metavar="TEXT"),
    ] = "",
    limit: Annotated[
        int,
        typer.Option(
            "--limit", min=1, max=MOST_LISTED, metavar="NUMBER", help="How many."
        ),
    ] = 100,
    after: Annotated[
        str,
        typer.Option(
            "--after", help="Begin after this id, the last one before.", metavar="ID"
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the connections of a configuration, by id.

    The next page begins with --after and the last id.
    """
    query = ConnectionQuery(
        state=state, owner=owner, prefix=prefix, after=after, limit=limit
    )
    rows = [connection_facts(row) for row in open_connections().page(name, query)]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(_COLUMNS, map(_list_row, rows))
        if len(rows) == limit:
            print_line(f"For those that follow, add: --after {rows[-1]['id']}")
    else:
        print_line(
            "There is no such connection. Create one with: outkey connection create"
            " CONFIG ID"
        )


def _list_row(facts: Mapping[str, object]) -> list[str]:
    """Return a connection for the list."""
    names = [str(facts[key]).replace("needs_person", "needs person") for key in _TEXTS]
    return names + [_time_of(facts[key]) for key in _MOMENTS]


def _time_of(moment: object) -> str:
    """Return a moment of the facts in the zone that times are printed in."""
    parsed = parse_iso(str(moment or ""))
    return time_text(parsed.timestamp()) if parsed else ""


@connections_app.command("show")
def show(name: Name, connection: Id, *, as_json: AsJson = False) -> None:
    """Show one connection.

    A secret is shown as its reference, or with the time when its value was set.
    """
    application = open_application()
    connections = application.connections(administration_of(application))
    facts = connections.facts(application.sender, name, connection)
    if as_json:
        print_json(facts)
        return
    account = connections.current(name, connection)
    print_table(("Connection", ""), _rows_of(facts, account))


@connections_app.command("create")
def create(
    name: Name,
    connection: Id,
    *,
    owner: Owner = None,
    username: Username = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Create a connection without secrets.

    Set its secrets with `outkey secret set CONFIG FIELD --connection ID`.
    """
    facts = _entered_facts(owner, username, settings)
    open_connections().create(name, connection, facts)
    _print_change("created", name, connection, as_json=as_json)


@connections_app.command("update")
def update(
    name: Name,
    connection: Id,
    *,
    owner: Owner = None,
    username: Username = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Change a connection. What is not named stays as it is."""
    facts = _entered_facts(owner, username, settings)
    is_changed = open_connections().update(name, connection, facts)
    done = "updated" if is_changed else "unchanged"
    _print_change(done, name, connection, as_json=as_json)


@connections_app.command("pause")
def pause(name: Name, connection: Id, *, as_json: AsJson = False) -> None:
    """Stop sending for one account; the others are not affected."""
    is_changed = open_connections().pause(name, connection)
    done = "paused" if is_changed else "unchanged"
    _print_change(done, name, connection, as_json=as_json)


@connections_app.command("resume")
def resume(name: Name, connection: Id, *, as_json: AsJson = False) -> None:
    """Send for an account again, also if the API refused it too often."""
    is_changed = open_connections().resume(name, connection)
    done = "resumed" if is_changed else "unchanged"
    _print_change(done, name, connection, as_json=as_json)


@connections_app.command("remove")
def remove(
    name: Name, connection: Id, *, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Delete a connection with its secrets and tokens.

    Its records and its audit stay. Another one with the same id starts with nothing.
    """
    connections = open_connections()
    connections.current(name, connection)  # else there is nothing to ask
    confirm(
        f"Remove the connection {connection} of {name} with its secrets and tokens?",
        yes=yes,
    )
    connections.remove(name, connection)
    _print_change("removed", name, connection, as_json=as_json)


def _entered_facts(
    owner: str | None, username: str | None, settings: list[str] | None
) -> dict[str, object]:
    """Return the facts that options name; an empty text is a value too."""
    facts: dict[str, object] = {}
    if owner is not None:
        facts["owner"] = owner
    if username is not None:
        facts["username"] = username
    if settings:
        facts[VARIABLES] = split_variables(settings)
    return facts


def _print_change(done: str, name: str, connection: str, *, as_json: bool) -> None:
    """Print what became of a connection."""
    print_done(done, as_json=as_json, configuration=name, connection=connection)


def _rows_of(
    facts: Mapping[str, object], account: Configuration
) -> Iterator[tuple[str, str]]:
    """Yield a connection for users, as rows of field and text."""
    yield "id", str(facts["id"])
    yield "configuration", str(facts["configuration"])
    state = _STATES[ConnectionState(str(facts["state"]))]
    yield "state", _PAUSED.get(str(facts["paused_because"]), state)
    for key in ("owner", "username"):
        if facts[key]:
            yield key, str(facts[key])
    for key in _MOMENTS:
        if facts[key]:
            yield key.replace("_at", ""), _time_of(facts[key])
    variables = facts["variables"]
    assert isinstance(variables, dict)  # noqa: S101 - for the type checker
    for variable, value in variables.items():
        yield f"variable {variable}", str(value)
    secrets = facts["secrets"]
    assert isinstance(secrets, dict)  # noqa: S101 - for the type checker
    for field in secrets:
        yield field, secret_text(account, field)
    token = facts["token"]
    if isinstance(token, dict):
        yield "token", str(token["state"])
        if token.get("expires_at"):
            yield "token expires", _time_of(token["expires_at"])
