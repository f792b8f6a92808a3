"""The commands. Each reads its arguments, calls one use case and says what came of it."""

import contextlib
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.audit.events import Change, Tag
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.findings.checks import Finding
from outkey.core.request.message import Response, ResponseHeaders
from outkey.hosts.cli.doctor import doctor
from outkey.hosts.cli.input import read_data, read_secret, read_text, split_header
from outkey.hosts.cli.lines import line_findings, lines_app, runs_app, work
from outkey.hosts.cli.monitoring import add_commands
from outkey.hosts.cli.operations import audit_app, keys_app
from outkey.hosts.cli.output import (
    ask_first,
    exit_code_of,
    finding_facts,
    progress_bar,
    say,
    say_done,
    say_error,
    say_findings,
    say_json,
    say_table,
    warn,
)
from outkey.hosts.cli.presenters import (
    described_fact,
    facts_of,
    mark_of,
    pause_words,
    response_facts,
    rows_of,
    say_response,
    summary,
)
from outkey.hosts.cli.scripts import scripts_app
from outkey.hosts.cli.session import AsJson, Name, desk_of, installation
from outkey.hosts.cli.spar import spar_app
from outkey.hosts.cli.testing import try_out
from outkey.hosts.cli.tokens import tokens_app
from outkey.hosts.cli.users import people_app

if TYPE_CHECKING:
    from outkey.hosts.installation import Installation

app = typer.Typer(
    name="outkey",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
secret_app = typer.Typer(
    help="Set secrets. They can be replaced, never shown.", no_args_is_help=True
)
app.add_typer(secret_app, name="secret")
app.add_typer(keys_app, name="keys")
app.add_typer(audit_app, name="audit")
app.add_typer(people_app, name="people")
app.add_typer(tokens_app, name="token")
app.add_typer(scripts_app, name="script")
app.add_typer(spar_app, name="spar")
app.add_typer(lines_app, name="line")
app.add_typer(runs_app, name="run")
app.command("worker")(work)
app.command("test")(try_out)
app.command()(doctor)
add_commands(app)

_LISTED = (
    "name",
    "status",
    "authentication_type",
    "environment",
    "network",
    "base_url",
)
# Typer carries its own copy of Click, and this is where its base class is public.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main() -> None:
    """Run the command line and leave with the exit code of what happened."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], program: str | None = None) -> int:
    """Run a command and return its exit code; help names the program as it was called."""
    as_json = "--json" in arguments
    try:
        code = app(args=arguments, prog_name=program, standalone_mode=False)
    except _UsageError as error:
        code = 2
        if type(error).__name__ == "NoArgsIsHelpError":
            say(str(error))
        else:
            say_error(_our_usage_error(error), as_json=as_json)
    except OutkeyError as error:
        say_error(error, as_json=as_json)
        code = exit_code_of(error)
    except UnicodeError:
        say_error(ConfigError("what was given is not UTF-8 text"), as_json=as_json)
        code = 2
    except BrokenPipeError:
        code = 0  # whoever read has read enough
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped; nothing more is done\n")
        code = 130
    return _flushed(code or 0)


def _flushed(code: int) -> int:
    """Write out what was said; where it cannot be written, say that instead of a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the exit
        sys.stderr.write("error[output]: what was to be printed could not be written\n")
        return 5
    return code


def _our_usage_error(error: Exception) -> ConfigError:
    """Say what is wrong with the call, without what was typed: it may be a secret."""
    context = getattr(error, "ctx", None)
    see = f"See: {getattr(context, 'command_path', 'outkey')} --help"
    parameter = getattr(error, "param", None)
    if parameter is not None:
        options = [name for name in parameter.opts if name.startswith("-")]
        name = (
            options[0] if options else str(parameter.metavar or parameter.name).upper()
        )
        if type(error).__name__ == "MissingParameter":
            return ConfigError(f"{name} is missing", hint=see)
        record = parameter.get_help_record(context) or (name, "")
        return ConfigError(
            f"{name} is not what it should be", hint=f"Write it as {record[0]}. {see}"
        )
    close = re.search(r"Did you mean '([a-z-]+)'", getattr(error, "message", ""))
    known = [
        *(getattr(error, "possibilities", None) or ()),
        *(close.groups() if close else ()),
    ]
    hint = f"Did you mean {' or '.join(known)}? {see}" if known else see
    return ConfigError("there is no such command, option or argument", hint=hint)


def _say_version(*, wanted: bool) -> None:
    if wanted:
        say(version("outkey"))
        raise typer.Exit


@app.callback()
def options(
    *,
    shown: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="show the version"
        ),
    ] = False,
) -> None:
    """Send the right credentials to the right place, or nothing at all."""


@app.command()
def apply(
    file: Annotated[
        str, typer.Argument(help="a TOML document, or - for standard input")
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="change nothing")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="save nothing if there is any warning")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Create or update configurations from a TOML document."""
    from outkey.core.config.document import parse_document
    from outkey.engine.managing.changes import apply as apply_document
    from outkey.engine.managing.changes import warnings_error

    here = installation()
    document = parse_document(read_text(file))
    desk = desk_of(here)
    sender = here.gateway.sender
    if strict:
        tried = apply_document(desk, sender, document, dry_run=True)
        found = [*tried.findings, *line_findings(here, document)]
        if error := warnings_error(found):
            _say_strict(error, found, as_json=as_json)
            return exit_code_of(error)
    with progress_bar("applying", len(document.drafts)) as advance:
        done = apply_document(desk, sender, document, dry_run=dry_run, progress=advance)
    found = [*done.findings, *line_findings(here, document)]
    groups = {kind: getattr(done, kind) for kind in done.lines}
    if as_json:
        findings = [finding_facts(finding, name) for name, finding in found]
        say_json(groups | {"lines": done.lines, "findings": findings})
        return 0
    would = "would be " if dry_run else ""
    for kind, names in groups.items():
        for name in (*names, *(f"line {line}" for line in done.lines[kind])):
            say(f"{would}{kind}: {name}")
    say_findings(found)
    return 0


def _say_strict(
    error: ConfigError, found: Sequence[tuple[str, Finding]], *, as_json: bool
) -> None:
    """Print why nothing was saved: the findings, and the error."""
    if as_json:
        findings = [finding_facts(finding, name) for name, finding in found]
        say_json({"error": error.facts(), "findings": findings})
        return
    say_findings(found)
    say_error(error, as_json=False)


@app.command("list")
def list_configurations(*, as_json: AsJson = False) -> None:
    """List all configurations."""
    here, now = installation(), time.time()
    sealed = here.keys.is_sealed()
    rows = [
        summary(listed, listed.standing.status(now=now, sealed=sealed))
        for listed in here.registry.summaries()
    ]
    if as_json:
        say_json(rows)
    elif rows:
        say_table(
            ("", "Name", "Status", "Type", "Environment", "Network", "Base URL"),
            ((mark_of(row), *map(row.get, _LISTED)) for row in rows),
        )
    else:
        say("no configurations yet; create some with: outkey apply FILE")


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show one configuration; of its secrets only whether they are set."""
    configuration = installation().registry.get(name)
    if as_json:
        say_json(facts_of(configuration))
    else:
        say_table(("Field", "Value"), rows_of(configuration))


@app.command()
def export(
    names: Annotated[
        list[str] | None, typer.Argument(help="all of them if left out")
    ] = None,
) -> None:
    """Write configurations as TOML; stored secrets become comments."""
    from outkey.core.config.export import render

    here = installation()
    registry = here.registry
    chosen = [registry.get(name) for name in names] if names else registry.all()
    kept = {configuration.name for configuration in chosen}
    lines = [line for line in registry.lines() if line.configuration in kept]
    desk = desk_of(here)
    here.audit.note(
        *(Change(Tag.CONFIGURATION_EXPORTED, desk.actor, made.name) for made in chosen)
    )
    say(render(chosen, lines).rstrip("\n"))


@app.command()
def delete(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a configuration with its secrets and sync lines."""
    here = installation()
    here.registry.get(name)
    ask_first(f"Delete {name} with its secrets?", yes=yes)
    desk_of(here).remove(name)
    say_done("deleted", as_json=as_json, configuration=name)


@app.command()
def preview(
    name: Name,
    method: Annotated[str, typer.Argument()] = "GET",
    path: Annotated[
        str | None, typer.Argument(help="the test path if left out")
    ] = None,
    *,
    curl: Annotated[bool, typer.Option("--curl", help="as a curl command")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the exact request with secrets masked; opens no connection."""
    if path is None and method.startswith("/"):
        method, path = "GET", method
    shown = installation().gateway.preview(name, method, path)
    findings = [(name, finding) for finding in shown.findings]
    if curl:
        say(shown.curl())
        return
    if as_json:
        say_json(
            {
                "method": shown.method,
                "url": shown.url,
                "headers": [header._asdict() for header in shown.headers],
                "findings": [finding_facts(finding, name) for _, finding in findings],
            }
        )
        return
    say(f"{shown.method} {shown.url}")
    say_table(("Header", "Value", "Source"), shown.headers)
    say_findings(findings)


@app.command()
def request(  # noqa: PLR0913 - the options of an authenticated curl
    name: Name,
    target: Annotated[list[str], typer.Argument(metavar="[METHOD] PATH")],
    *,
    data: Annotated[
        str | None, typer.Option(help="a body, @FILE, or - for stdin")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="KEY:VALUE, repeatable")
    ] = None,
    include: Annotated[
        bool, typer.Option("--include", help="print status and headers")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="print the body as it came")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Send one authenticated request and print the answer."""
    if len(target) > 2:
        raise ConfigError(
            "the call is not right", hint="outkey request NAME [METHOD] PATH"
        )
    here = installation()
    response = here.gateway.send(
        name,
        target[0] if len(target) == 2 else "GET",
        target[-1],
        data=None if data is None else read_data(data),
        headers=dict(split_header(line) for line in header or []),
    )
    if not raw:
        response = _scrubbed(here, name, response)
    if as_json:
        say_json(response_facts(response))
    else:
        say_response(response, include=include, raw=raw)
        if response.status == 401 and (kept := here.registry.get(name)).paused:
            warn(f"sending is paused now: {pause_words(kept)}")
    return 0 if response.cause is None else 1


@app.command()
def serve(
    *,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, metavar="<1 to 65535>")] = 8765,
    demo: Annotated[
        bool, typer.Option("--demo", help="with samples and their models to try")
    ] = False,
) -> None:
    """Serve the web pages: settings, tests, audit and keys in a browser."""
    from outkey.hosts.server.home import PAGES, prepare

    home = prepare(PAGES, demo=demo)
    from outkey.hosts.django.wiring import install
    from outkey.hosts.server import demo as samples
    from outkey.hosts.server import serve as server
    from outkey.hosts.server.exposure import warn_about_exposure
    from outkey.spar import Spar

    # Before a password is made: wrong settings and a port in use end the command.
    threads = server.helpers()
    listener = server.listen(host, port)
    warn_about_exposure(host)
    with contextlib.ExitStack() as stack:
        if demo:
            spar = stack.enter_context(Spar())
            samples.silence_notices()
            samples.add_samples(install(home), spar.url)
        # Printed at once: a password that is made and then not shown is lost.
        say(server.greeting(listener.url, server.first_administrator()))
        sys.stdout.flush()
        server.serve(listener, threads)


@secret_app.command("set")
def set_secret(
    name: Name,
    field: Annotated[
        str,
        typer.Argument(
            help=(
                "password, token, client_secret, secret_key, client_key, refresh_token,"
                " header:KEY"
            )
        ),
    ],
    *,
    reference: Annotated[
        str | None, typer.Option("--from", help="env:NAME or file:PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set a secret from standard input, a prompt, or a reference; never from the command line."""
    from outkey.core.config.reference import parse_reference
    from outkey.core.secret import Secret
    from outkey.engine.managing.changes import check_secret_field

    here = installation()
    desk = desk_of(here)
    # Read before the prompt: the value is meant for the origin that the prompt names.
    seen = desk.current(name)
    check_secret_field(seen, field)
    origin = seen.binding_of(field).replace(" ", " and ")
    if reference is not None:
        desk.set_reference(
            name, field, parse_reference(reference, field=field), seen=seen
        )
    else:
        desk.set_secret(name, field, Secret(read_secret(field, origin)), seen=seen)
    if as_json:
        say_json(
            {"done": "set", "configuration": name, "field": field, "origin": origin}
        )
    else:
        say(f"set: {name} {field}, to be sent to {origin}")


@secret_app.command("confirm")
def confirm_secrets(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Configurations; without one, all of them."),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Confirm what was changed in the database without outkey, or before it vouched for secrets.

    Lists each secret with its reference and origin, each script, and each setting that decides
    where secrets go, if it is not as outkey saved it. Sending works again once they are confirmed.
    """
    here = installation()
    chosen = (
        [here.registry.get(name) for name in names] if names else here.registry.all()
    )
    changed = {
        made.name: here.secrets.voucher(made).differences(made) for made in chosen
    }
    rows = [
        (made.name, fact, *described_fact(made, fact))
        for made in chosen
        for fact in changed[made.name]
    ]
    if rows and not as_json:
        say_table(("configuration", "what", "value", "sent to"), rows)
    confirmed = [made.name for made in chosen if changed[made.name]]
    if not confirmed and not as_json:
        say("nothing to confirm: everything is as outkey saved it")
        return
    if confirmed:
        ask_first("Confirm what is listed?", yes=yes)
    for made in chosen:
        if changed[made.name]:
            desk_of(here).confirm(made)
    say_done("confirmed", as_json=as_json, configurations=confirmed)


def _scrubbed(here: "Installation", name: str, response: Response) -> Response:
    """Mask in body and headers what the API repeats of the secrets that it was sent."""
    from outkey.adapters.scrub import scrubbed, scrubbed_headers
    from outkey.core.secret import MASK
    from outkey.engine.sending.echoed_secrets import sent_secrets

    configuration = here.registry.get(name)
    secrets = sent_secrets(here.gateway.sender, configuration, response)
    username = configuration.username
    pairs = scrubbed_headers(response.headers, secrets, username)
    body = scrubbed(response.body, secrets, username)
    if body == MASK.encode() != response.body:
        sys.stderr.write(
            "the response repeats a secret in a form that cannot be cut out; --raw"
            " prints all\n"
        )
    return replace(response, headers=ResponseHeaders(pairs), body=body)


if __name__ == "__main__":
    main()
