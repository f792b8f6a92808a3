"""The commands about the tokens of OAuth 2.0 and of logins."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError, EgressDenied
from outkey.foundation.core.fields.choices import Grant, Network
from outkey.foundation.core.moments import duration_text
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.input import read_line, read_reference
from outkey.hosts.cli.printing.output import (
    print_json,
    print_line,
    print_table,
    progress_bar,
    warn,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import (
    AsJson,
    ConnectionId,
    Name,
    SubjectToken,
    open_application,
)
from outkey.hosts.command_host import administration_of
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.oauth2.token import State
from outkey.sending.engine.exchange.calls import require_account

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.foundation.core.secret import Secret
    from outkey.sending.engine.tokens.actions import TokenActions, TokenStatus

_STATES = {
    State.NONE: "none: the next request gets one, unless a user must agree first",
    State.FRESH: "fresh",
    State.STALE: "stale: the next request renews it",
    State.EXPIRED: "expired: the next request renews it",
    State.REAUTHORIZATION_NEEDED: "a user must give consent again",
}
tokens_app = Commands(help="Show, renew and revoke tokens of OAuth 2.0 and of logins.")


@tokens_app.command("status")
def status(
    name: Name,
    *,
    connection: ConnectionId = None,
    introspect: Annotated[
        bool,
        typer.Option(
            "--introspect", help="Ask the provider whether the token is active."
        ),
    ] = False,
    subject_token: SubjectToken = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of a token, never the token itself.

    Where each request brings the token of its user, it counts the users; with
    --subject-token it is about the token of one.
    """
    application = open_application()
    token = application.sender.token_actions(
        require_account(application.registry, name, connection),
        subject=read_reference(subject_token),
    )
    active = token.introspect() if introspect else None
    _print_status(token.status(), as_json=as_json, active=active)


@tokens_app.command("renew")
def renew(
    name: Name,
    *,
    connection: ConnectionId = None,
    subject_token: SubjectToken = None,
    as_json: AsJson = False,
) -> None:
    """Get a new token now."""
    subject = read_reference(subject_token)
    token = _change_token(
        open_application(), name, connection, Tag.TOKEN_RENEWED, subject
    )
    _print_status(token.renew(), as_json=as_json)


@tokens_app.command("revoke")
def revoke(
    name: Name, *, connection: ConnectionId = None, as_json: AsJson = False
) -> None:
    """Revoke the token at the provider, or log out, and delete it here."""
    token = _change_token(open_application(), name, connection, Tag.TOKEN_REVOKED)
    token.revoke()
    _print_status(token.status(), as_json=as_json)


@tokens_app.command("forget")
def forget(
    name: Name,
    *,
    connection: ConnectionId = None,
    subject_token: SubjectToken = None,
    as_json: AsJson = False,
) -> None:
    """Delete the token here, without notifying the provider.

    Where each request brings the token of its user, those of all users are deleted, or
    with --subject-token that of one.
    """
    subject = read_reference(subject_token)
    application = open_application()
    if sys.stdin.isatty():
        configuration = require_account(application.registry, name, connection)
        stored = application.sender.token_actions(configuration)
        if stored.would_lose_consent():
            typer.confirm(
                "The token is lost then, and a user must agree again. Go on?",
                abort=True,
            )
    token = _change_token(application, name, connection, Tag.TOKEN_FORGOTTEN, subject)
    token.forget()
    _print_status(token.status(), as_json=as_json)


@tokens_app.command("authorize")
def authorize(
    name: Name, *, connection: ConnectionId = None, as_json: AsJson = False
) -> None:
    """Let a user give consent on another device, and wait for it.

    With OAuth 1.0a it prints the URL where the user agrees, and reads the verifier that
    the provider shows from standard input.
    """
    application = open_application()
    configuration = require_account(application.registry, name, connection)
    if configuration.uses_oauth1:
        token = _change_token(application, name, connection, Tag.TOKEN_AUTHORIZED)
        _authorize_out_of_band(token, as_json=as_json)
        return
    grant = configuration.oauth2.grant
    if grant is Grant.AUTHORIZATION_CODE:
        raise ConfigError(
            Text("this configuration is authorized in the browser"),
            hint=Text(
                "Open its page (outkey serve, or the project's admin), and press"
                " Connect."
            ),
            field="oauth2.grant",
        )
    token = _change_token(application, name, connection, Tag.TOKEN_AUTHORIZED)
    device = token.device_code()
    # On stderr, so that a program that reads the JSON can show it to a user too.
    warn(f"Open {device.address}\nand enter the code {device.user_code}")
    sys.stderr.flush()
    with progress_bar("waiting for consent", round(device.lifetime)) as advance:
        token.wait_for(device, lambda seconds: advance(round(seconds)))
    _print_status(token.status(), as_json=as_json)


def _authorize_out_of_band(token: "TokenActions", *, as_json: bool) -> None:
    """Print the URL where a user agrees, and read the verifier that it shows."""
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.oauth1.legs import OUT_OF_BAND, authorization_url

    temporary = token.request_legs(OUT_OF_BAND)
    url = authorization_url(token.configuration, temporary)
    text = f"Open {url}\nand enter the verifier that the page shows."
    # With --json on stderr, so that standard output has the document alone.
    (warn if as_json else print_line)(text)
    sys.stdout.flush()
    token.authorize(temporary, Secret(read_line("Verifier")))
    _print_status(token.status(), as_json=as_json)


def _change_token(
    application: "Application",
    name: str,
    connection: str | None,
    tag: Tag,
    subject: "Secret | None" = None,
) -> "TokenActions":
    """Record what the user is about to do with a token, and return what does it."""
    administration = administration_of(application)
    return administration.token(application.sender, name, tag, subject, connection)


@tokens_app.command("discover")
def discover(
    issuer: Annotated[str, typer.Argument(help="The authorization server's own URL.")],
    *,
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="Permit plain http and IP addresses of your own network."
        ),
    ] = False,
    ca_file: Annotated[
        str,
        typer.Option(
            "--ca-file",
            help="Trust the certificates in this PEM file as well.",
            metavar="FILE",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print the URLs that an authorization server publishes, as TOML to paste."""
    network = Network.INTERNAL if internal else Network.PUBLIC
    try:
        urls = open_application().discover(issuer, network, ca_file)
    except EgressDenied as error:
        hint = Text("Add --internal if the issuer is in your own network.")
        raise EgressDenied(error.message, hint=hint) from None
    if as_json:
        print_json(urls)
        return
    from outkey.foundation.core.toml.text import render_table

    print_line("# put this below [configuration.NAME]")
    print_line(render_table("configuration.NAME.oauth2", urls))


def _print_status(
    status: "TokenStatus", *, as_json: bool, active: bool | None = None
) -> None:
    """Print the state of a token, and whether the provider says it is active."""
    facts = status.facts()
    if active is not None:
        facts["active"] = active
    if as_json:
        print_json(facts)
        return
    print_table(("Token", ""), _status_rows(status, facts))


def _status_rows(
    status: "TokenStatus", facts: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Return the facts about a token as rows for users."""
    texts = dict(facts)
    for name in ("expires_at", "last_renewed_at"):
        at = getattr(status, name)
        texts[name] = None if at is None else time_text(at)
    texts["state"] = _STATES[status.state]
    if status.subjects is not None:
        texts["subjects"] = str(status.subjects)  # not a duration
        texts["state"] = "each request brings the token of its user"
    return [
        (name.replace("_", " ").capitalize(), value_text(fact))
        for name, fact in texts.items()
        if fact not in {None, ""}
    ]


def value_text(value: object) -> str:
    """Return a fact for users; a number is a duration in seconds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return duration_text(value)
    return "" if value is None else str(value)
