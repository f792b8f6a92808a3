"""The commands `outkey api-token`: tokens for programs that use the HTTP interface."""

from typing import TYPE_CHECKING, Annotated

import typer

from outkey.administration.core.access.api_tokens import (
    DEFAULT_PER_MINUTE,
    ApiTokenState,
    read_expiry,
    read_scopes,
)
from outkey.foundation.core.moments import iso_moment, iso_or_none
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    print_done,
    print_json,
    print_line,
    print_table,
    warn,
    warn_unreadable,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, open_application
from outkey.hosts.command_host import administration_of

if TYPE_CHECKING:
    from outkey.administration.core.access.api_tokens import ApiToken
    from outkey.administration.engine.application import Application

api_tokens_app = Commands(help="Create and revoke tokens of the HTTP interface.")
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="The token's name.")]


@api_tokens_app.command("create")
def create_token(  # noqa: PLR0913 - what a token may do
    name: TokenName,
    *,
    scope: Annotated[
        list[str],
        typer.Option(
            help=(
                "What the token may do: read, send, manage, run or audit. Repeat"
                " it for more than one."
            ),
            metavar="SCOPE",
        ),
    ],
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Only this configuration may be used. Repeat it for more; without"
                " it, all may."
            ),
            metavar="NAME",
        ),
    ] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Only configurations of this owner may be used, and new ones get it."
                " Repeat it for more; without it, those of all owners may."
            ),
            metavar="OWNER",
        ),
    ] = None,
    expires: Annotated[
        str,
        typer.Option(
            metavar="DATE",
            help=(
                "The last day on which it is valid, such as 2030-01-31. Without"
                " one it does not expire."
            ),
        ),
    ] = "",
    allow_internal: Annotated[
        bool,
        typer.Option(
            "--allow-internal",
            help="Allow it to set the network of a configuration to internal.",
        ),
    ] = False,
    allow_targets: Annotated[
        bool,
        typer.Option(
            "--allow-targets",
            help=(
                "Allow it to make sync lines of the host's models, of files and of"
                " other databases, not only of tables in outkey's database."
            ),
        ),
    ] = False,
    per_minute: Annotated[
        int,
        typer.Option(
            help="How many requests it may make in a minute.", metavar="NUMBER"
        ),
    ] = DEFAULT_PER_MINUTE,
    as_json: AsJson = False,
) -> None:
    """Create a token, and print it this once.

    outkey stores only its hash, so it cannot be shown again.
    """
    from outkey.administration.engine.access.api_tokens import TokenWish

    wish = TokenWish(
        name=name,
        scopes=read_scopes(scope),
        configurations=tuple(configuration or ()),
        owners=tuple(owner or ()),
        expires_at=read_expiry(expires) if expires else None,
        allow_internal=allow_internal,
        allow_targets=allow_targets,
        per_minute=per_minute,
    )
    application = open_application()
    created = application.api_tokens.create(administration_of(application), wish)
    facts = _token_facts(application, created.token)
    if as_json:
        print_json({"token": created.text, **facts})
    else:
        print_line(created.text)  # alone, for $(outkey api-token create …)
        warn("The token is shown only this once: outkey stores its hash.")
    if facts["state"] == ApiTokenState.EXPIRED:
        warn("The token has expired already.")


@api_tokens_app.command("list")
def list_tokens(*, as_json: AsJson = False) -> None:
    """List the tokens, without their values."""
    application = open_application()
    tokens = application.api_tokens.all()
    warn_unreadable(application.api_tokens.unreadable())
    if as_json:
        print_json([_token_facts(application, token) for token in tokens])
    elif tokens:
        print_table(
            (
                "Name",
                "State",
                "Scopes",
                "Configurations",
                "Owners",
                "Expires",
                "Created by",
            ),
            (token_row(application, token) for token in tokens),
        )
    else:
        print_line(
            "There are no API tokens yet. Create one with: outkey api-token create"
            " NAME --scope read"
        )


@api_tokens_app.command("revoke")
def revoke_token(name: TokenName, *, as_json: AsJson = False) -> None:
    """Revoke a token. Requests with it are refused from now on."""
    application = open_application()
    application.api_tokens.revoke(administration_of(application), name)
    print_done("revoked", as_json=as_json, name=name)


def _token_facts(application: "Application", token: "ApiToken") -> dict[str, object]:
    """Return a token as programs read it, without its hash."""
    return {
        "name": token.name,
        "state": str(token.state(application.database.now())),
        "scopes": sorted(token.scopes),
        "configurations": application.api_tokens.configurations_of(token),
        "owners": None if token.owners is None else sorted(token.owners),
        "expires_at": iso_or_none(token.expires_at),
        "revoked_at": iso_or_none(token.revoked_at),
        "allow_internal": token.allow_internal,
        "allow_targets": token.allow_targets,
        "per_minute": token.per_minute,
        "created_at": iso_moment(token.created_at),
        "created_by": token.created_by,
    }


def token_row(application: "Application", token: "ApiToken") -> tuple[str, ...]:
    """Return a token for the list."""
    names = application.api_tokens.configurations_of(token)
    return (
        token.name,
        str(token.state(application.database.now())),
        ", ".join((*sorted(token.scopes), *token.extras)),
        "all" if names is None else ", ".join(names),
        "all" if token.owners is None else ", ".join(sorted(token.owners)),
        "never" if token.expires_at is None else time_text(token.expires_at),
        token.created_by,
    )
