"""How commands show configurations and responses; of secrets, only their state."""

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import paused_connection, resume_hint
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.toml.text import toml_value
from outkey.hosts.cli.printing.output import (
    print_line,
    visible,
    visible_body,
    visible_json,
    warn,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import (
    CustomRow,
    is_row_secret,
)
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.health import Status
from outkey.sending.core.request.message import Response
from outkey.sending.core.request.script import SCRIPT_FACT, fingerprint
from outkey.sending.core.rotation.credential_sets import SETS
from outkey.sending.core.vault.voucher import LATER_FACTS, ROW_TEXT, is_setting
from outkey.sending.engine.wire.lockout_guard import MAX_REFUSED

if TYPE_CHECKING:
    from rich.text import Text

    from outkey.administration.engine.editing.dependents import (
        DependentLine,
        Dependents,
    )

_MARKS = {
    Status.WORKING: "green",
    Status.FAILING: "red",
    Status.EXPIRED: "red",
    Status.SEALED: "red",
    Status.PAUSED: "red",
    Status.NEVER_TESTED: "dim",
}


def status_mark(row: dict[str, object]) -> "Text":
    """Return a coloured mark for a row's status."""
    from rich.text import Text

    return Text("●", style=_MARKS.get(Status(str(row["status"])), "yellow"))


def configuration_rows(
    configuration: Configuration, *, whole: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield a configuration for users, as rows of field and text.

    Settings that have their default value are yielded only if `whole` is set.
    """
    yield "name", configuration.name
    if configuration.paused:
        yield "paused", pause_text(configuration)
    for path, value in configuration.values().items():
        setting = BY_PATH[path]
        is_default = value == setting.default and not setting.is_always_written
        if is_default and not whole:
            continue
        yield path, value_text(setting, value)
    for field in configuration.needed_secrets():
        if not is_row_secret(field):
            yield field, secret_text(configuration, field)
    for path, rows in configuration.rows_by_path.items():
        if rows or whole:
            yield path, "\n".join(row_text(configuration, row) for row in rows)


def value_text(setting: Field, value: object) -> str:
    """Return the value of a setting as one text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {text}" for key, text in value.items())
    if setting.kind is Kind.TABLES and isinstance(value, tuple):
        return "\n".join(map(toml_value, value))
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"  # as in TOML
    if setting.is_nullable and value == "":
        return '""'  # what is not set is not shown
    return str(value)


def row_text(configuration: Configuration, row: CustomRow) -> str:
    """Return a header or query row as one line."""
    if not row.secret:
        return f"{row.key}: {row.value}"
    state = secret_text(configuration, row.secret_field)
    return f"{row.key}: {row.value}, {state}" if row.value else f"{row.key}: {state}"


def pause_text(configuration: Configuration) -> str:
    """Return since when sending is paused, and how to resume it."""
    since = time_text(configuration.paused_at or 0)
    hint = resume_hint(configuration.name)
    if configuration.connection is not None:
        error = paused_connection(
            configuration.name, configuration.connection.id, by_operator=False
        )
        hint = error.hint
    return f"since {since}, after {MAX_REFUSED} refusals in a row. {hint}"


def secret_text(configuration: Configuration, field: str) -> str:
    """Return a secret's reference, or since when a value is stored."""
    state = configuration.secrets.get(field)
    if state is None:
        return "not set"
    if state.reference is not None:
        return str(state.reference)
    since = "" if state.set_at is None else f", set {time_text(state.set_at)}"
    by = f" by {state.set_by}" if state.set_by else ""
    return f"stored, version {state.version}{since}{by}"


def response_facts(response: Response) -> dict[str, object]:
    """Return a response as programs read it; a body that is not UTF-8 as Base64."""
    body: object
    try:
        body = response.body.decode()
    except UnicodeDecodeError:
        body = {"base64": b64encode(response.body).decode()}
    return {
        "status": response.status,
        "headers": [list(pair) for pair in response.headers],
        "body": body,
        "cause": response.cause,
        "remedy": response.remedy,
        "attempt": response.attempt,
    }


def _is_one_stream() -> bool:
    """Whether stdout and stderr go to the same place, as after 2>&1."""
    return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())


def print_response(response: Response, *, include: bool, raw: bool) -> None:
    """Print a response; its cause and remedy go to stderr.

    On a terminal JSON is formatted and control characters are escaped, unless `raw`. In
    a pipe the body has the bytes of the response, without a line break of ours.
    """
    if include:
        print_line(f"HTTP {response.status}")
        for name, value in response.headers:
            print_line(visible(f"{name}: {value}"))
        print_line("")
    sys.stdout.flush()
    body = response.body
    if sys.stdout.isatty() and not raw:
        body = readable_body(body)
    sys.stdout.buffer.write(body)
    unended = bool(body) and not body.endswith(b"\n")
    if unended and (sys.stdout.isatty() or (response.cause and _is_one_stream())):
        print_line("")
    sys.stdout.flush()
    if response.cause is not None:
        warn(f"error[{response.cause}]: the API returned {response.status}")
        warn(f"hint: {response.remedy}")


def readable_body(body: bytes) -> bytes:
    """Return a body for a terminal: JSON in lines, and nothing that controls it."""
    text = formatted_json(body)
    return visible_body(body) if text is None else visible_json(text).encode()


def fact_columns(configuration: Configuration, fact: str) -> tuple[str, str]:
    """Return the value of a vouched fact and where it is sent.

    Of a stored secret, the value is its version.
    """
    if fact == SCRIPT_FACT or is_setting(fact) or fact in LATER_FACTS:
        return _setting_text(configuration, fact), ""
    state = configuration.secrets.get(fact)
    if state is None:  # of a row that is missing
        return "", ""
    value = str(state.reference or f"stored, version {state.version}")
    return value, binding_text(state.origin)


def _setting_text(configuration: Configuration, fact: str) -> str:
    """Return the value of a vouched fact that is no secret."""
    if fact == SCRIPT_FACT:
        return fingerprint(configuration.script)
    if fact == SETS:
        sets = configuration.sets.facts()
        return json.dumps(sets, sort_keys=True) if sets else ""
    if fact.startswith(ROW_TEXT):
        name = fact.removeprefix(ROW_TEXT)
        texts = (row.value for row in configuration.rows if row.secret_field == name)
        return next(texts, "")
    if fact in LATER_FACTS:
        return str(attrgetter(fact)(configuration))
    return str(configuration.values().get(fact, ""))


def binding_text(binding: str) -> str:
    """Return the origins that a secret is bound to, each of them once."""
    return " and ".join(dict.fromkeys(binding.split(" ")))


def dependents_text(dependents: "Dependents") -> str:
    """Return the text about entries that are deleted with a configuration."""
    lines = [
        f"the sync line {line.name} ({_runs_text(line)})" for line in dependents.lines
    ]
    pairs = [f"the pair {name}" for name in dependents.pairs]
    return "".join(f", {part}" for part in (*lines, *pairs))


def _runs_text(line: "DependentLine") -> str:
    """Return how many runs a line has."""
    if line.has_more_runs:
        return f"more than {line.runs} runs"
    return {0: "no runs", 1: "1 run"}.get(line.runs, f"{line.runs} runs")


MAX_FORMATTED = 1024 * 1024  # bytes; more is not read on a terminal
_INDENT = "  "
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_PAIRS = {"{": "}", "[": "]"}


def formatted_json(body: bytes) -> str | None:
    """Return a JSON object or list with a line for each value; None if it is neither.

    What parsers disagree on, such as a name that is repeated, is not formatted.
    """
    if len(body) > MAX_FORMATTED or not body.lstrip().startswith((b"{", b"[")):
        return None
    try:
        read_limited_json(body)
    except ValueError:
        return None
    return "".join(_formatted_pieces(_PIECE.findall(body.decode())))


def _formatted_pieces(pieces: list[str]) -> Iterator[str]:
    """Yield pieces of JSON with line breaks and spaces between them."""
    depth = 0
    for piece, follower in zip(pieces, [*pieces[1:], ""], strict=True):
        is_empty = _PAIRS.get(piece) == follower
        if piece in _PAIRS and not is_empty:
            depth += 1
        is_last = follower in {"}", "]"} and piece not in _PAIRS
        if is_last:
            depth -= 1
        yield piece
        if piece == ":":
            yield " "
        elif piece == "," or is_last or (piece in _PAIRS and not is_empty):
            yield "\n" + _INDENT * depth
