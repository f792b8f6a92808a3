"""The commands. Each reads its arguments, calls one use case and says what came of it."""

import contextlib
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.config import Configuration
from outkey.core.errors import ConfigError, OutkeyError
from outkey.hosts.cli.output import (
    exit_code_of,
    finding_facts,
    report_exit_code,
    say,
    say_error,
    say_findings,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from outkey.core.message import Response
    from outkey.hosts.django.wiring import Installation

app = typer.Typer(
    name="outkey",
    help="The right credentials to the right place, or nothing at all.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
secret_app = typer.Typer(
    help="Set secrets. They can be replaced, never shown.", no_args_is_help=True
)
keys_app = typer.Typer(help="The keys that seal secrets.", no_args_is_help=True)
audit_app = typer.Typer(help="The record of what was sent.", no_args_is_help=True)
app.add_typer(secret_app, name="secret")
app.add_typer(keys_app, name="keys")
app.add_typer(audit_app, name="audit")

# Typer carries its own copy of Click, and this is where its base class is public.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

Name = Annotated[str, typer.Argument(help="the configuration's name")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def main() -> None:
    """Run the command line and leave with the exit code of what happened."""
    as_json = "--json" in sys.argv
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        say_error(_our_usage_error(error), as_json=as_json)
        code = 2
    except OutkeyError as error:
        say_error(error, as_json=as_json)
        code = exit_code_of(error)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    sys.exit(code or 0)


def _our_usage_error(error: Exception) -> ConfigError:
    """Say what is wrong with the call, without what was typed: it may be a secret."""
    parameter = getattr(error, "param", None)
    name = getattr(parameter, "human_readable_name", "")
    if name and type(error).__name__ == "MissingParameter":
        return ConfigError(f"{name} is missing", hint="See: outkey COMMAND --help")
    if name:
        return ConfigError(f"{name} is not what it should be", hint="See: outkey COMMAND --help")
    return ConfigError("there is no such command, option or argument", hint="See: outkey --help")


def installation() -> "Installation":
    """Open the home that the environment names."""
    from outkey.hosts.server.home import prepare  # noqa: PLC0415 - Django starts here

    home = prepare()
    from outkey.hosts.django.wiring import install  # noqa: PLC0415 - after it has started

    return install(home)


@app.command()
def apply(
    file: Annotated[str, typer.Argument(help="a TOML document, or - for standard input")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="change nothing")] = False,
    as_json: AsJson = False,
) -> None:
    """Create or update configurations from a TOML document."""
    from outkey.core.document import parse_document  # noqa: PLC0415
    from outkey.engine.manage import apply as apply_document  # noqa: PLC0415

    here = installation()
    document = parse_document(_read_text(file))
    done = apply_document(here.registry, here.gateway.sender, document, dry_run=dry_run)
    if as_json:
        findings = [finding_facts(finding, name) for name, finding in done.findings]
        groups = {kind: getattr(done, kind) for kind in ("created", "updated", "unchanged")}
        say_json(groups | {"findings": findings})
        return
    would = "would be " if dry_run else ""
    for kind in ("created", "updated", "unchanged"):
        for name in getattr(done, kind):
            say(f"{would}{kind}: {name}")
    say_findings(done.findings)


@app.command("list")
def list_configurations(*, as_json: AsJson = False) -> None:
    """List all configurations."""
    rows = [_summary(configuration) for configuration in installation().registry.all()]
    if as_json:
        say_json(rows)
    elif rows:
        say_table(
            ("Name", "Base URL", "Authentication Type", "Environment", "Network"),
            (list(row.values())[:5] for row in rows),
        )
    else:
        say("no configurations yet; create some with: outkey apply FILE")


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show one configuration; of its secrets only whether they are set."""
    shown = _shown(installation().registry.get(name))
    if as_json:
        say_json(shown)
        return
    rows = []
    for key, value in shown.items():
        if isinstance(value, dict) and "set" not in value:
            rows += [(f"{key}.{inner}", content) for inner, content in value.items()]
        else:
            rows.append((key, value))
    say_table(("Field", "Value"), ((key, _plain(value)) for key, value in rows))


@app.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(help="all of them if left out")] = None,
) -> None:
    """Write configurations as TOML; stored secrets become comments."""
    from outkey.core.export import render  # noqa: PLC0415

    registry = installation().registry
    chosen = [registry.get(name) for name in names] if names else registry.all()
    kept = {configuration.name for configuration in chosen}
    lines = [line for line in registry.lines() if line.configuration in kept]
    say(render(chosen, lines).rstrip("\n"))


@app.command()
def delete(
    name: Name, *, yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False
) -> None:
    """Delete a configuration with its secrets and sync lines."""
    here = installation()
    here.registry.get(name)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("deleting needs --yes where nobody can be asked")
        typer.confirm(f"Delete {name} with its secrets?", abort=True)
    here.registry.remove(name)
    say(f"deleted: {name}")


@app.command()
def preview(
    name: Name,
    method: Annotated[str, typer.Argument()] = "GET",
    path: Annotated[str | None, typer.Argument(help="the test path if left out")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the exact request with secrets masked; opens no connection."""
    shown = installation().gateway.preview(name, method, path)
    findings = [(name, finding) for finding in shown.findings]
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
    data: Annotated[str | None, typer.Option(help="a body, @FILE, or - for stdin")] = None,
    header: Annotated[list[str] | None, typer.Option(help="KEY:VALUE, repeatable")] = None,
    include: Annotated[bool, typer.Option("--include", help="print status and headers")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="print the body as it came")] = False,
    as_json: AsJson = False,
) -> int:
    """Send one authenticated request and print the answer."""
    if len(target) > 2:
        raise ConfigError("the call is not right", hint="outkey request NAME [METHOD] PATH")
    here = installation()
    response = here.gateway.send(
        name,
        target[0] if len(target) == 2 else "GET",
        target[-1],
        data=None if data is None else _read_data(data),
        headers=dict(_split_header(line) for line in header or []),
    )
    body = response.body if raw else _scrubbed(here, name, response.body)
    if as_json:
        say_json(_response_facts(response, body))
    else:
        _say_response(response, body, include=include)
    return 0 if response.cause is None else 1


@app.command("test")
def try_out(name: Name, *, as_json: AsJson = False) -> int:
    """Test a configuration step by step, with cause and remedy."""
    report = installation().gateway.test(name)
    if as_json:
        facts = asdict(report)
        del facts["error"]
        facts["findings"] = [finding_facts(finding, name) for finding in report.findings]
        say_json(facts)
    else:
        say_table(
            ("", "Step", "Detail", "ms"),
            (("ok" if s.ok else "FAILED", s.step, s.detail, s.ms) for s in report.steps),
        )
        if report.cause is None:
            say(f"{name} works")
        else:
            say(f"cause: {report.cause}\nremedy: {report.remedy}")
        say_findings((name, finding) for finding in report.findings)
    return report_exit_code(report)


@secret_app.command("set")
def set_secret(
    name: Name,
    field: Annotated[str, typer.Argument(help="password, token, client_key, header:KEY")],
    *,
    reference: Annotated[str | None, typer.Option("--from", help="env:NAME or file:PATH")] = None,
) -> None:
    """Set a secret from standard input, a prompt, or a reference; never from the command line."""
    from outkey.core.reference import parse_reference  # noqa: PLC0415
    from outkey.core.secret import Secret  # noqa: PLC0415
    from outkey.engine.manage import check_secret_field, set_reference  # noqa: PLC0415

    here = installation()
    if reference is not None:
        set_reference(here.registry, name, field, parse_reference(reference, field=field))
    else:
        configuration = here.registry.get(name)
        check_secret_field(configuration, field)
        here.secrets.replace(configuration, field, Secret(_read_secret(field)))
    say(f"set: {name} {field}")


@keys_app.command("status")
def keys_status(*, as_json: AsJson = False) -> None:
    """Show the keys, what they are used for, and how many secrets each seals."""
    here = installation()
    try:
        ring = here.keys.ring()
    except OutkeyError as error:
        if as_json:
            say_json({"sealed": True, "keys": []})
        say_error(error, as_json=False)
        raise typer.Exit(exit_code_of(error)) from None
    uses = here.registry.key_uses()
    keys = [
        {"id": k.name, "state": str(k.state), "secrets": uses.get(k.name, 0)} for k in ring.keys
    ]
    if as_json:
        say_json({"sealed": False, "keys": keys})
    else:
        say_table(("Key", "State", "Secrets"), (key.values() for key in keys))


@keys_app.command("add")
def keys_add() -> None:
    """Add a key that only opens; promote it when every process has it."""
    here = installation()
    ring, key = here.keys.ring().add()
    here.keys.change(ring)
    say(key.name)


@keys_app.command("promote")
def keys_promote(key: Annotated[str, typer.Argument(help="the key's id")]) -> None:
    """Seal new secrets with this key; the former one still opens."""
    here = installation()
    here.keys.change(here.keys.ring().promote(key))
    say(f"promoted: {key}; bring the stored secrets under it with: outkey keys rewrap")


@keys_app.command("rewrap")
def keys_rewrap() -> None:
    """Bring all stored secrets under the primary key; may be interrupted and begun again."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    here = installation()
    primary = here.keys.ring().primary.name
    total = sum(count for key, count in here.registry.key_uses().items() if key != primary)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rewrapping", total=total)
        for done in here.secrets.rewrap():
            progress.advance(task, done)
    say(f"rewrapped: {total}")


@keys_app.command("retire")
def keys_retire(key: Annotated[str, typer.Argument(help="the key's id")]) -> None:
    """Stop opening with a key that no secret needs any more."""
    here = installation()
    uses = here.registry.key_uses().get(key, 0)
    here.keys.change(here.keys.ring().retire(key, secrets=uses))
    say(f"retired: {key}")


@audit_app.command("verify")
def audit_verify(*, as_json: AsJson = False) -> int:
    """Check that no record was changed, removed, inserted or cut off."""
    from outkey.core.chain import verify  # noqa: PLC0415

    here = installation()
    verdict = verify(
        here.audit_rows.read(),
        here.keys.audit_key,
        checkpoints=here.checkpoints.read(),
        tombstones=(),
    )
    if as_json:
        say_json(
            {
                "ok": verdict.ok,
                "rows": verdict.rows,
                "first_bad": verdict.first_bad,
                "unprotected_tail": verdict.unprotected_tail,
            }
        )
    else:
        word = "clean" if verdict.ok else f"broken at {verdict.first_bad}"
        tail = f", {verdict.unprotected_tail} after the last checkpoint"
        say(f"{word}: {verdict.rows} rows{tail if verdict.unprotected_tail else ''}")
    return 0 if verdict.ok else 1


@audit_app.command("list")
def audit_list(
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="how many, newest first")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest records."""
    records = installation().audit_rows.newest(limit)
    if as_json:
        say_json(records)
        return
    columns = ("at", "tag", "configuration", "method", "origin", "path", "status", "outcome")
    rows = ([_moment(r) if c == "at" else r.get(c, "") for c in columns] for r in records)
    say_table(
        ("When", "What", "Configuration", "Method", "Origin", "Path", "Status", "Outcome"), rows
    )


@audit_app.command("export")
def audit_export() -> None:
    """Write all records as JSON Lines, in the order of their streams."""
    for row in installation().audit_rows.read():
        say(row.body.decode())


def _moment(record: Mapping[str, object]) -> str:
    moment = datetime.fromtimestamp(int(str(record["at"])) / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _summary(configuration: Configuration) -> dict[str, object]:
    return {
        "name": configuration.name,
        "base_url": configuration.base_url,
        "authentication_type": str(configuration.authentication_type),
        "environment": str(configuration.environment),
        "network": str(configuration.network),
        "status": "never_tested",
        "last_verified_at": None,
    }


def _shown(configuration: Configuration) -> dict[str, object]:
    """Return a configuration by its TOML keys; a secret is whether, since when and from where."""
    shown: dict[str, object] = {"name": configuration.name}
    for path, value in configuration.values().items():
        section, dot, key = path.partition(".")
        if dot:
            inner = shown.setdefault(section, {})
            assert isinstance(inner, dict)  # noqa: S101 - for the type checker
            inner[key] = value
        else:
            shown[path] = value
    for field in configuration.needed_secrets():
        if not field.startswith("header:"):
            shown[field] = _secret_facts(configuration, field)
    shown["headers"] = [
        {
            "key": row.key,
            "value": _secret_facts(configuration, row.secret_field) if row.secret else row.value,
            "secret": row.secret,
        }
        for row in configuration.headers
    ]
    return shown


def _secret_facts(configuration: Configuration, field: str) -> dict[str, object]:
    state = configuration.secrets.get(field)
    return {
        "set": state is not None,
        "set_at": state.set_at if state else None,
        "reference": str(state.reference) if state and state.reference else None,
    }


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return (value["reference"] or "set") if value["set"] else "not set"
    if isinstance(value, list):
        return "\n".join(f"{row['key']}: {_plain(row['value'])}" for row in value)
    return str(value)


def _response_facts(response: "Response", body: bytes) -> dict[str, object]:
    text: object
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = {"base64": b64encode(body).decode()}
    return {
        "status": response.status,
        "headers": [list(pair) for pair in response.headers],
        "body": text,
        "cause": response.cause,
        "remedy": response.remedy,
        "attempt": response.attempt,
    }


def _say_response(response: "Response", body: bytes, *, include: bool) -> None:
    if include:
        say(f"HTTP {response.status}")
        for name, value in response.headers:
            say(f"{name}: {value}")
        say("")
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    if body and not body.endswith(b"\n") and sys.stdout.isatty():
        say("")
    sys.stdout.flush()
    if response.cause is not None:
        sys.stderr.write(f"error[{response.cause}]: the API answered {response.status}\n")
        sys.stderr.write(f"hint: {response.remedy}\n")


def _scrubbed(here: "Installation", name: str, body: bytes) -> bytes:
    """Mask the configuration's secrets where the API echoed them."""
    from outkey.adapters.scrub import scrubbed  # noqa: PLC0415

    configuration = here.registry.get(name)
    secrets = []
    for field in configuration.needed_secrets():
        with contextlib.suppress(OutkeyError):  # what does not open was not sent either
            secrets.append(here.secrets.open(configuration, field))
    return scrubbed(body, secrets, configuration.username)


def _split_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise ConfigError("a header is KEY:VALUE", field="header")
    return name.strip(), value.strip()


def _read_text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError("the document cannot be read", hint="Check path and encoding.") from None


def _read_data(data: str) -> bytes:
    if data == "-":
        return sys.stdin.buffer.read()
    if data.startswith("@"):
        try:
            return Path(data[1:]).read_bytes()
        except OSError:
            raise ConfigError("the file of the body cannot be read", field="data") from None
    return data.encode()


def _read_secret(field: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"New value for {field}", hide_input=True))
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


if __name__ == "__main__":
    main()
