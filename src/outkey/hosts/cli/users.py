"""What somebody may ask for who uses the pages: all that is kept about them, or to be forgotten."""

from typing import Annotated

import typer

from outkey.core.audit.events import Tag
from outkey.hosts.cli.output import ask_first, say, say_done, say_json
from outkey.hosts.cli.session import AsJson, desk_of, installation

people_app = typer.Typer(help="What is kept about people.", no_args_is_help=True)
User = Annotated[str, typer.Argument(help="the name that they log in with")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask")]


@people_app.command("export")
def export(user: User) -> None:
    """Print everything that is kept about a person, as one JSON document."""
    here = installation(people=True)
    from outkey.hosts.server import personal

    found = personal.person(user)
    desk_of(here).note(Tag.PERSON_EXPORTED, key=f"user {found.pk}")
    say_json(personal.gathered(found, here.audit_rows))


@people_app.command("erase")
def erase(user: User, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete an account with its sessions and logins, and take its name off secrets."""
    here = installation(people=True)
    from outkey.hosts.server import personal

    found = personal.person(user)
    personal.refuse_last_administrator(found)
    ask_first(f"Erase {user} for good?", yes=yes)
    desk_of(here).note(Tag.PERSON_ERASED, key=f"user {found.pk}")
    instead = personal.erase(found)
    if as_json:
        say_json({"done": "erased", "user": user, "instead": instead})
        return
    say(f"erased; where the name stood beside secrets, now stands {instead}")
    say("the audit keeps the name until its records are pruned: outkey audit prune")


@people_app.command("prune")
def prune(*, as_json: AsJson = False) -> None:
    """Forget logins that are older than the retention, and sessions that have ended."""
    here = installation(people=True)
    from outkey.hosts.server import personal

    removed = personal.forget_old(here.policy().retention_days)
    say_done("removed", as_json=as_json, count=removed)
