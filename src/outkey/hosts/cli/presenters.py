"""What the command line shows of configurations and answers; of secrets, only their state."""

import os
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from outkey.core.config.configuration import Configuration
from outkey.core.findings.health import Status, Summary
from outkey.core.request.message import Response
from outkey.core.request.script import SEAL, fingerprint
from outkey.core.vault.voucher import SETTINGS
from outkey.engine.wire.lockout_guard import MOST_REFUSED, resume_hint
from outkey.hosts.cli.output import say, visible, visible_body, warn

if TYPE_CHECKING:
    from rich.text import Text

_MARKS = {
    Status.WORKING: "green",
    Status.FAILING: "red",
    Status.EXPIRED: "red",
    Status.SEALED: "red",
    Status.PAUSED: "red",
    Status.NEVER_TESTED: "dim",
}


def summary(listed: Summary, status: Status) -> dict[str, object]:
    """Return a row of the list."""
    facts = listed._asdict()
    verified = facts.pop("standing").verified_at
    return {
        **facts,
        "status": str(status),
        "last_verified_at": None if verified is None else moment(verified),
    }


def moment(at: float) -> str:
    """Return a Unix time as ISO 8601, in UTC and to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def mark_of(row: dict[str, object]) -> "Text":
    """Return a coloured mark for a row's status."""
    from rich.text import Text

    return Text("●", style=_MARKS.get(Status(str(row["status"])), "yellow"))


def facts_of(configuration: Configuration) -> dict[str, object]:
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
            "value": (
                _secret_facts(configuration, row.secret_field)
                if row.secret
                else row.value
            ),
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


def rows_of(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Return the same for a person, as rows of field and text."""
    yield "name", configuration.name
    if configuration.paused:
        yield "paused", pause_words(configuration)
    for path, value in configuration.values().items():
        if isinstance(value, Mapping):
            yield path, ", ".join(f"{key} = {text}" for key, text in value.items())
        else:
            yield path, str(value)
    for field in configuration.needed_secrets():
        if not field.startswith("header:"):
            yield field, _secret_words(configuration, field)
    shown = (
        (
            row.key,
            _secret_words(configuration, row.secret_field) if row.secret else row.value,
        )
        for row in configuration.headers
    )
    yield "headers", "\n".join(f"{key}: {text}" for key, text in shown)


def pause_words(configuration: Configuration) -> str:
    """Say since when nothing is sent, and what ends that."""
    since = moment(configuration.paused_at or 0)
    return (
        f"since {since}, after {MOST_REFUSED} refusals in a row."
        f" {resume_hint(configuration.name)}"
    )


def _secret_words(configuration: Configuration, field: str) -> str:
    state = configuration.secrets.get(field)
    return str(state.reference or "set") if state else "not set"


def response_facts(response: Response) -> dict[str, object]:
    """Return an answer as programs read it; a body that is no text as Base64."""
    text: object
    try:
        text = response.body.decode()
    except UnicodeDecodeError:
        text = {"base64": b64encode(response.body).decode()}
    return {
        "status": response.status,
        "headers": [list(pair) for pair in response.headers],
        "body": text,
        "cause": response.cause,
        "remedy": response.remedy,
        "attempt": response.attempt,
    }


def _on_one_stream() -> bool:
    """Tell whether answers and errors are read in one place, as after 2>&1."""
    return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())


def say_response(response: Response, *, include: bool, raw: bool) -> None:
    """Print a response; what was wrong with it goes to stderr.

    On a terminal the body's control characters are escaped unless it is wanted `raw`.
    """
    if include:
        say(f"HTTP {response.status}")
        for name, value in response.headers:
            say(visible(f"{name}: {value}"))
        say("")
    sys.stdout.flush()
    body = response.body
    if sys.stdout.isatty() and not raw:
        body = visible_body(body)
    sys.stdout.buffer.write(body)
    unended = bool(body) and not body.endswith(b"\n")
    if unended and (sys.stdout.isatty() or (response.cause and _on_one_stream())):
        say("")
    sys.stdout.flush()
    if response.cause is not None:
        warn(f"error[{response.cause}]: the API answered {response.status}")
        warn(f"hint: {response.remedy}")


def described_fact(configuration: Configuration, fact: str) -> tuple[str, str]:
    """Return what a voucher's fact is now, and where it goes; of a stored secret, its version."""
    if fact == SEAL:
        return fingerprint(configuration.script), ""
    if fact in SETTINGS:
        return str(configuration.values().get(fact, "")), ""
    state = configuration.secrets[fact]
    value = str(state.reference or f"stored, version {state.version}")
    return value, state.origin.replace(" ", " and ")
