"""The commands about tokens of OAuth 2.0."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.audit.events import Tag
from outkey.core.config.choices import Grant, Network
from outkey.core.errors import ConfigError, EgressDenied
from outkey.core.moments import iso_moment, moment_text
from outkey.hosts.cli.output import progress_bar, say, say_json, say_table, warn
from outkey.hosts.cli.session import AsJson, Name, desk_of, installation

if TYPE_CHECKING:
    from outkey.engine.tokens.actions import TokenStatus

tokens_app = typer.Typer(
    help="Tokens of OAuth 2.0: look, renew, give back.", no_args_is_help=True
)


@tokens_app.command("status")
def status(
    name: Name,
    *,
    introspect: Annotated[
        bool, typer.Option("--introspect", help="ask the provider too")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a token stands; never the token."""
    desk = installation().gateway.token(name)
    active = desk.introspect() if introspect else None
    _say_status(desk.status(), as_json=as_json, active=active)


@tokens_app.command("renew")
def renew(name: Name, *, as_json: AsJson = False) -> None:
    """Get a new token now."""
    here = installation()
    desk = desk_of(here).token(here.gateway, name, Tag.TOKEN_RENEWED)
    _say_status(desk.renew(), as_json=as_json)


@tokens_app.command("revoke")
def revoke(name: Name, *, as_json: AsJson = False) -> None:
    """Give the token back to the provider, and forget it."""
    here = installation()
    desk = desk_of(here).token(here.gateway, name, Tag.TOKEN_REVOKED)
    desk.revoke()
    _say_status(desk.status(), as_json=as_json)


@tokens_app.command("forget")
def forget(name: Name, *, as_json: AsJson = False) -> None:
    """Forget the token here; the provider is not told."""
    here = installation()
    if sys.stdin.isatty() and here.gateway.token(name).would_lose_consent():
        question = (
            "Its refresh token is lost then, and a person must agree again. Go on?"
        )
        typer.confirm(question, abort=True)
    desk = desk_of(here).token(here.gateway, name, Tag.TOKEN_FORGOTTEN)
    desk.forget()
    _say_status(desk.status(), as_json=as_json)


@tokens_app.command("authorize")
def authorize(name: Name, *, as_json: AsJson = False) -> None:
    """Let a person agree on another device, and wait for that."""
    here = installation()
    if here.registry.get(name).oauth2.grant is Grant.AUTHORIZATION_CODE:
        message = "this configuration is authorized in the browser"
        hint = (
            "Open its page (outkey serve, or the project's admin), and press Connect."
        )
        raise ConfigError(message, hint=hint, field="oauth2.grant")
    desk = desk_of(here).token(here.gateway, name, Tag.TOKEN_AUTHORIZED)
    device = desk.device_code()
    # On stderr, so that a program that reads the JSON can show it to a person too.
    warn(f"Open {device.address}\nand enter the code {device.user_code}")
    sys.stderr.flush()
    with progress_bar("waiting for consent", round(device.lifetime)) as advance:
        desk.wait_for(device, lambda seconds: advance(round(seconds)))
    _say_status(desk.status(), as_json=as_json)


@tokens_app.command("discover")
def discover(
    issuer: Annotated[
        str, typer.Argument(help="the authorization server's own address")
    ],
    *,
    internal: Annotated[
        bool, typer.Option("--internal", help="permit plain http and your own network")
    ] = False,
    ca_file: Annotated[
        str, typer.Option("--ca-file", help="a PEM file to trust as well")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print the addresses that an authorization server names, as TOML to paste."""
    network = Network.INTERNAL if internal else Network.PUBLIC
    try:
        found = installation().gateway.discover(issuer, network, ca_file)
    except EgressDenied as error:
        hint = "Add --internal if the issuer is in your own network."
        raise EgressDenied(error.message, hint=hint) from None
    if as_json:
        say_json(found)
        return
    from outkey.core.config.export import render_table

    say("# put this below [configuration.NAME]")
    say(render_table("configuration.NAME.oauth2", found))


def _say_status(
    status: "TokenStatus", *, as_json: bool, active: bool | None = None
) -> None:
    facts: dict[str, object] = asdict(status)
    written = iso_moment if as_json else moment_text
    for name in ("expires_at", "last_renewed_at"):
        at = facts[name]
        facts[name] = written(at) if isinstance(at, float) else None
    if active is not None:
        facts["active"] = active
    if as_json:
        say_json(facts)
        return
    words = {name.replace("_", " "): value for name, value in facts.items()}
    say_table(("Token", ""), ((name, _plain(value)) for name, value in words.items()))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        minutes, seconds = divmod(value, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}"
    return "" if value is None else str(value)
