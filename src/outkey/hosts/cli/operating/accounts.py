"""Commands for the accounts of the pages: a way back in when nobody can sign in."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    print_done,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, current_host
from outkey.hosts.command_host import administration_of
from outkey.sending.core.configuration.owners import read_owners

accounts_app = Commands(help="Add, list and disable users of the pages.")
UserName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name that the user signs in with.")
]


@accounts_app.command("add")
def add_user(
    name: UserName,
    *,
    role: Annotated[
        str,
        typer.Option(
            help=(
                "Administrator, Operator or Auditor. Without a role a user may do"
                " nothing."
            ),
            metavar="ROLE",
        ),
    ] = "",
    owner: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Only configurations of this owner are seen. Repeat it for more;"
                " without it, those of all owners are."
            ),
            metavar="OWNER",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a user. The password is read as by `outkey user password`."""
    owners = read_owners(owner or ())
    application, accounts = current_host().open_users()
    accounts.refuse_new(name, role)  # before the prompt
    password = read_password(name)
    generated = accounts.add(
        name,
        role=role,
        password=password,
        owners=owners,
        administration=administration_of(application),
    )
    _print_account("created", name, generated, as_json=as_json)


@accounts_app.command("owners")
def limit_user(
    name: UserName,
    owners: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="OWNER", help="An owner whose configurations the user sees."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Limit a user to the configurations of some owners; without one, end the limit.

    The API tokens that the user has created and that see more are revoked.
    """
    chosen = read_owners(owners or ())
    application, accounts = current_host().open_users()
    revoked = accounts.set_owners(
        name, chosen, administration=administration_of(application)
    )
    if as_json:
        listed = None if chosen is None else sorted(chosen)
        facts = {"done": "updated", "user": name, "owners": listed}
        print_json({**facts, "revoked_tokens": revoked})
        return
    print_done("updated", as_json=False, user=name)
    print_revoked(revoked)


@accounts_app.command("list")
def list_users(*, as_json: AsJson = False) -> None:
    """List the users, their groups and when they signed in last."""
    _, accounts = current_host().open_users()
    users = accounts.list_users()
    if as_json:
        print_json(users)
        return
    if not users:
        print_line("There are no users yet. Add one with: outkey user add NAME")
        return
    columns = (
        "Name",
        "Active",
        "Superuser",
        "Groups",
        "Owners",
        "Last sign-in",
        "API tokens",
    )
    rows = [
        (
            user["name"],
            "yes" if user["active"] else "no",
            "yes" if user["superuser"] else "no",
            ", ".join(user["groups"]),
            "all" if user["owners"] is None else ", ".join(user["owners"]),
            _last_login_text(user["last_login"]),
            str(user["tokens"]),
        )
        for user in users
    ]
    print_table(columns, rows)


def _last_login_text(moment: datetime | None) -> str:
    """Return when a user signed in last."""
    return "never" if moment is None else time_text(moment.timestamp())


@accounts_app.command("disable")
def disable_user(name: UserName, *, as_json: AsJson = False) -> None:
    """Disable a user, who can no longer sign in, and end the user's sessions.

    The API tokens that the user has created on the pages are revoked.
    """
    application, accounts = current_host().open_users()
    revoked = accounts.disable(name, administration=administration_of(application))
    if as_json:
        print_json({"done": "disabled", "user": name, "revoked_tokens": revoked})
        return
    print_done("disabled", as_json=False, user=name)
    print_revoked(revoked)


def print_revoked(tokens: Sequence[str]) -> None:
    """Print the names of API tokens that were revoked with their user."""
    if tokens:
        print_line(f"revoked API tokens: {', '.join(tokens)}")


@accounts_app.command("password")
def set_password(name: UserName, *, as_json: AsJson = False) -> None:
    """Set a user's password, from a prompt or standard input, and unlock the sign-in.

    Without one, a password is generated and printed once.
    """
    application, accounts = current_host().open_users()
    accounts.audit_key(name)  # raises before the prompt if there is no such user
    password = read_password(name)
    generated = accounts.set_password(
        name, password=password, administration=administration_of(application)
    )
    _print_account("password set", name, generated, as_json=as_json)


def read_password(name: str) -> str:
    """Return a password from a prompt or from standard input; empty to generate one."""
    if sys.stdin.isatty():
        password = ask_password(f"New password for {name} (empty: generate one)")
        if password and ask_password("Repeat the password") != password:
            raise ConfigError(
                Text("the two passwords differ"),
                hint=Text("Nothing was changed. Run the command again."),
                field="password",
            )
        return password
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def ask_password(question: str) -> str:
    """Return the password that a user types, without showing it."""
    return str(typer.prompt(question, hide_input=True, default="", show_default=False))


def _print_account(
    done: str, name: str, generated: str | None, *, as_json: bool
) -> None:
    """Print what was done; a generated password is shown here and nowhere else."""
    if as_json:
        password = {} if generated is None else {"password": generated}
        print_json({"done": done, "user": name, **password})
        return
    print_line(f"{done}: {name}")
    if generated is not None:
        print_line(f"password: {generated}")
        print_line("The password is shown only this once.")
