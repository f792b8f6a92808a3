"""The commands that set and confirm secrets."""

from typing import Annotated

import typer

from outkey.hosts.cli.commands import Commands
from outkey.hosts.cli.input import read_secret
from outkey.hosts.cli.output import (
    confirm,
    print_done,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.presenters import fact_columns
from outkey.hosts.cli.session import (
    AsJson,
    Name,
    Yes,
    administration_of,
    open_application,
)

secrets_app = Commands(help="Set and confirm secrets. They are never shown.")


@secrets_app.command("set")
def set_secret(
    name: Name,
    field: Annotated[
        str,
        typer.Argument(
            help=(
                "The secret: password, token, client_secret, secret_key, client_key,"
                " refresh_token, proxy_password, header:KEY or query:KEY."
            )
        ),
    ],
    *,
    reference: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Store a reference instead of a value: env:NAME or file:PATH.",
            metavar="REF",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set a secret from a prompt, standard input or a reference.

    A value is never read from the command line, which other users can see.
    """
    from outkey.core.config.reference import parse_reference
    from outkey.core.secret import Secret
    from outkey.engine.managing.changes import check_secret_field

    administration = administration_of(open_application())
    # Read before the prompt: the value is meant for the origin that the prompt names.
    seen = administration.current(name)
    check_secret_field(seen, field)
    origin = seen.binding_of(field).replace(" ", " and ")
    if reference is not None:
        parsed = parse_reference(reference, field=field)
        administration.set_reference(name, field, parsed, seen=seen)
    else:
        secret = Secret(read_secret(field, origin))
        administration.set_secret(name, field, secret, seen=seen)
    if as_json:
        print_json(
            {"done": "set", "configuration": name, "field": field, "origin": origin}
        )
    else:
        print_line(f"set: {name} {field}, to be sent to {origin}")


@secrets_app.command("confirm")
def confirm_secrets(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="The configurations. Without a name, all of them."),
    ] = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm what was changed in the database without outkey.

    Lists each secret with its reference and origin, each script, and each setting that
    decides where secrets go, if it is not as outkey saved it. Sending works again once
    they are confirmed.
    """
    application = open_application()
    registry = application.registry
    chosen = [registry.get(name) for name in names] if names else registry.all()
    changes = {
        configuration.name: application.secrets.voucher(configuration).differences(
            configuration
        )
        for configuration in chosen
    }
    changed = [configuration for configuration in chosen if changes[configuration.name]]
    if not changed and not as_json:
        print_line("nothing to confirm: everything is as outkey saved it")
        return
    if changed:
        if not as_json:
            print_table(
                ("Configuration", "What", "Value", "Sent to"),
                [
                    (configuration.name, fact, *fact_columns(configuration, fact))
                    for configuration in changed
                    for fact in changes[configuration.name]
                ],
            )
        confirm("Confirm what is listed?", yes=yes)
    administration = administration_of(application)
    for configuration in changed:
        administration.confirm(configuration)
    confirmed = [configuration.name for configuration in changed]
    print_done("confirmed", as_json=as_json, configurations=confirmed)
