"""Commands for the privacy rights of users of the pages: export and erasure."""

from typing import Annotated

import typer

from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.operating.accounts import print_revoked
from outkey.hosts.cli.printing.output import confirm, print_done, print_json, print_line
from outkey.hosts.cli.session import AsJson, Yes, current_host
from outkey.hosts.command_host import administration_of
from outkey.sending.core.audit.events import Tag

people_app = Commands(help="Export or erase what is stored about users.")
User = Annotated[str, typer.Argument(help="The name that the user signs in with.")]


@people_app.command("export")
def export(user: User) -> None:
    """Print everything that is stored about a user, as one JSON document."""
    application, accounts = current_host().open_users()
    key = accounts.audit_key(user)
    administration_of(application).note(Tag.PERSON_EXPORTED, key=key)
    print_json(accounts.export(user))


@people_app.command("erase")
def erase(user: User, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete an account with its sessions and sign-ins.

    The API tokens that the user has created are revoked. The name is also removed
    beside these and the secrets that the user has set.
    """
    application, accounts = current_host().open_users()
    key = accounts.audit_key(user)
    accounts.refuse_erasure(user)
    confirm(f"Erase {user} for good?", yes=yes)
    administration = administration_of(application)
    administration.note(Tag.PERSON_ERASED, key=key)
    revoked = accounts.revoke_tokens(user, administration=administration)
    replacement = accounts.erase(user)
    if as_json:
        print_json(
            {
                "done": "erased",
                "user": user,
                "instead": replacement,
                "revoked_tokens": revoked,
            }
        )
        return
    print_line(
        "erased; beside secrets, API tokens and test deliveries the name is replaced"
        f" by {replacement}"
    )
    print_revoked(revoked)
    print_line(
        "the audit contains the name until its records are pruned: outkey audit prune"
    )


@people_app.command("prune")
def prune(*, as_json: AsJson = False) -> None:
    """Delete sign-ins older than the retention, and ended sessions."""
    application, accounts = current_host().open_users()
    removed = accounts.prune(application.policy().retention_days)
    also = " sign-in or session" if removed == 1 else " sign-ins and sessions"
    print_done("removed", as_json=as_json, also=also, count=removed)
