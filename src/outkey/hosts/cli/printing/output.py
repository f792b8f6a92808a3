"""Output of the command line: tables for users, JSON for programs, and exit codes."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, TypeVar

import typer

from outkey.foundation.core.errors import (
    ConfigError,
    HostError,
    OutkeyError,
    PolicyError,
    RemoteError,
    Sealed,
)
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.moments import iso_datetime
from outkey.foundation.core.text import Text
from outkey.hosts.cli.printing.times import with_local_times

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as RichText

    from outkey.administration.engine.application import Application
    from outkey.importing.core.report import ReportItem
    from outkey.sending.engine.connection_test import Report

_STEP = 1000
_GAP = 2  # spaces between columns
# What controls a terminal (C0 but tab and line feed, DEL, C1), reverses the order of
# text or ends a line.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
Item = TypeVar("Item")
_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTICE: "cyan"}
_EXIT_CODES: tuple[tuple[type[OutkeyError], int], ...] = (
    (RemoteError, 1),
    (ConfigError, 2),
    (PolicyError, 3),
    (Sealed, 4),
    (HostError, 5),
)


def exit_code_of(error: OutkeyError) -> int:
    """Return the exit code of an error: one for each kind of cause."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def report_exit_code(report: "Report") -> int:
    """Return the exit code of a test: that of its first failure."""
    if report.ok:
        return 0
    return 1 if report.error is None else exit_code_of(report.error)


def print_line(text: str) -> None:
    """Print a line; on a terminal, control characters are escaped."""
    print_styled(visible(text) if sys.stdout.isatty() else text)


def print_styled(text: str) -> None:
    """Print a line that may have our own colours; other text must be `visible`."""
    sys.stdout.write(text + "\n")


def warn(text: str) -> None:
    """Print a line to standard error, with control characters escaped."""
    sys.stderr.write(visible(text) + "\n")


def warn_unreadable(names: Iterable[str]) -> None:
    """Print on standard error what is stored and cannot be read."""
    for name in names:
        warn(f"cannot be read: {name} (see: outkey doctor)")


def warn_if_sealed(application: "Application") -> None:
    """Print on standard error that no stored secret can be used, and what to do."""
    error = application.sealing_error()
    if error is not None:
        warn(f"sealed: {error.message}. {error.hint}")


def visible(text: str) -> str:
    """Return a text that cannot control a terminal: with escapes."""
    return _CONTROL.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    """Return a control character as Python would write it."""
    number = ord(match[0])
    return f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}"


def visible_body(body: bytes) -> bytes:
    """Return a body for a terminal; bytes that are not UTF-8 are escaped too."""
    text = body.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return visible(text).encode()


def json_text(document: object) -> str:
    """Return a JSON document; control characters are escaped, which JSON permits."""
    return visible_json(
        json.dumps(document, ensure_ascii=False, indent=2, default=json_value)
    )


def visible_json(text: str) -> str:
    """Return JSON that cannot control a terminal, with escapes that JSON permits."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_value(value: object) -> str:
    """Return a value that JSON does not know as a text."""
    return iso_datetime(value) if isinstance(value, date) else str(value)


def print_json(document: object) -> None:
    """Print the one JSON document of a command."""
    print_styled(json_text(document))


def print_error(error: OutkeyError, *, as_json: bool) -> None:
    """Print an error and what to do: on stderr, or as JSON on stdout."""
    if as_json:
        print_json({"error": error.facts()})
        return
    names_field = error.field and error.field not in error.message
    place = f" ({error.field})" if names_field else ""
    warn(f"error[{error.code}]: {with_local_times(error.message)}{place}")
    if error.said:
        warn(f"the provider says: {error.said}")
    if error.hint:
        warn(f"hint: {with_local_times(error.hint)}")


def print_lines(*lines: tuple[str, str]) -> None:
    """Print lines, each with its style if this is a terminal."""
    if not sys.stdout.isatty():  # there may be thousands of lines
        for _, text in lines:
            print_styled(visible(text))
        return
    from rich.console import Console
    from rich.text import Text as RichText

    console = Console(highlight=False, emoji=False)
    for style, text in lines:
        console.print(RichText(visible(text), style=style))


def print_findings(findings: Iterable[tuple[str, Finding]]) -> None:
    """List findings with their level, place and hint."""
    from rich.console import Console
    from rich.text import Text as RichText

    console = Console(stderr=True, highlight=False, emoji=False)
    for name, finding in findings:
        level = (str(finding.level), _COLOURS[finding.level])
        place = ".".join(filter(None, (name, finding.field)))
        # As RichText, in which a bracket is a bracket and never markup.
        message = with_local_times(finding.message)
        console.print(
            RichText.assemble(level, visible(f" {place}: {message}")),
            soft_wrap=True,
        )
        if finding.hint:
            console.print(
                RichText(visible(f"  hint: {finding.hint}"), style="dim"),
                soft_wrap=True,
            )


def print_report_items(items: "Iterable[ReportItem]") -> None:
    """List on standard error what became of the parts of an import."""
    for item in items:
        warn(f"{item.level} {item.item}: {item.action}: {item.why}")


def count_text(count: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{count} {one if count == 1 else many}"


def print_done(done: str, *, as_json: bool, also: str = "", **facts: object) -> None:
    """Print what was done, as a line or as `{"done": …}` with the same facts."""
    if as_json:
        print_json({"done": done, **facts})
    else:
        print_line(f"{done}: {_facts_text(list(facts.values()))}{also}")


def _facts_text(facts: Sequence[object]) -> str:
    """Return facts in one line, and lists of names as one list."""
    names = [name for fact in facts if isinstance(fact, list) for name in fact]
    others = [fact for fact in facts if not isinstance(fact, list)]
    return " ".join(filter(None, [*map(str, others), ", ".join(names)]))


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table: as wide as it is if piped, folded at words on a terminal.

    There the widest column is folded; if the others leave less than half of the width
    for it, each row has its last column beneath it instead.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as RichText

    titles = [RichText(title, style="bold") for title in columns]
    values = [list(row) for row in rows]
    cells = [
        [
            cell if isinstance(cell, RichText) else RichText(visible(str(cell)))
            for cell in row
        ]
        for row in values
    ]
    lengths = [
        max(map(_cell_width, column)) for column in zip(titles, *cells, strict=True)
    ]
    widest = max(lengths)
    total = sum(lengths) + _GAP * (len(lengths) - 1)
    is_terminal = sys.stdout.isatty()
    # In a file no line is cut to the width of a terminal.
    console = Console(
        highlight=False, emoji=False, width=None if is_terminal else total
    )
    if total > console.width < 2 * (total - widest):
        _print_beneath(console, cells)
        return
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for number, (title, length) in enumerate(zip(titles, lengths, strict=True)):
        table.add_column(
            title,
            no_wrap=length < widest,
            overflow="fold",
            justify="right" if _has_numbers(values, number) else "left",
        )
    for row in cells:
        table.add_row(*row)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().removesuffix("\n").split("\n"):
        print_styled(line.rstrip())


def _print_beneath(console: "Console", rows: "list[list[RichText]]") -> None:
    """Print rows, each with its last cell beneath the others."""
    from rich.padding import Padding
    from rich.text import Text as RichText

    for *first, last in rows:
        console.print(RichText(" " * _GAP).join(filter(None, first)))
        if last:
            console.print(Padding(last, (0, 0, 0, _GAP), expand=False))


def _has_numbers(rows: list[list[object]], column: int) -> bool:
    """Whether a column of a table has numbers only, at least one."""
    return bool(rows) and all(isinstance(row[column], int | float) for row in rows)


def _cell_width(cell: "RichText") -> int:
    """Return the columns that the longest line of a cell takes."""
    return max(line.cell_len for line in cell.split("\n", allow_blank=True))


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr; yields a function that advances the bar."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    description = TextColumn("{task.description}", markup=False)
    columns = description, BarColumn(), MofNCompleteColumn()
    hidden = not console.is_terminal
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden
    ) as bar:
        task = bar.add_task(visible(what), total=total)
        yield lambda done: bar.advance(task, done)


def count_items(
    items: Iterable[Item], advance: Callable[[int], None]
) -> Iterator[Item]:
    """Pass items on and advance the progress, a thousand at a time."""
    for number, item in enumerate(items, start=1):
        yield item
        if number % _STEP == 0:
            advance(_STEP)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal, require --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(Text("without a terminal, confirm with --yes"))

    typer.confirm(visible(question), abort=True, err=True)  # stdout may be a program's
