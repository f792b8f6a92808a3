"""The command that looks at the installation and at the posture of every configuration."""

import os
import shlex
import ssl
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.config.configuration import Configuration
from outkey.core.errors import ConfigError, StorageUnavailable
from outkey.core.findings.checks import Finding, Level
from outkey.core.findings.configuration_checks import check
from outkey.hosts.cli.output import counted, progress_bar, say, say_styled
from outkey.hosts.cli.session import AsJson, home_folder, installation

if TYPE_CHECKING:
    from outkey.engine.wire.transmit import SendContext
    from outkey.hosts.cli.doctor_reports import Found

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Format(StrEnum):
    """How the findings are written."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    HTML = "html"


def doctor(
    *,
    as_json: AsJson = False,
    form: Annotated[
        Format, typer.Option("--format", help="how to write it")
    ] = Format.TABLE,
    output: Annotated[Path | None, typer.Option(help="a file to write it to")] = None,
) -> int:
    """Look at the installation and at the posture of every configuration."""
    from outkey.hosts.cli import doctor_reports as reports

    if as_json and form not in {Format.TABLE, Format.JSON}:
        raise ConfigError("--json and --format say two things", field="--format")
    found, count = _examined(home_folder())
    line = reports.summary(found, count)
    colours = output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    written = {
        Format.TABLE: lambda: "\n".join(
            filter(None, [reports.as_text(found, colours=colours), line])
        ),
        Format.JSON: lambda: reports.as_json(found),
        Format.SARIF: lambda: reports.as_sarif(found),
        Format.HTML: lambda: reports.as_html(found, line),
    }[Format.JSON if as_json else form]()
    if output is None and form is Format.HTML:
        say(written)
    elif output is None:
        say_styled(written)
    else:
        _write(output, written + "\n")
    return 2 if reports.failed(found) else 0


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        raise ConfigError("the file cannot be written", field="--output") from None


def _examined(home: Path) -> "tuple[Found, int]":
    """Return what is found, and how many configurations were looked at."""
    from outkey.core.findings.posture import (
        InstallationFacts,
        Policy,
        installation_posture,
    )
    from outkey.engine.managing.doctor import Doctor

    old = not ssl.HAS_TLSv1_3 or ssl.OPENSSL_VERSION_INFO < (3,)
    library, readable = ssl.OPENSSL_VERSION if old else "", tuple(_readable(home))
    premises = InstallationFacts(
        time.time(), Policy(), readable=readable, tls_library=library
    )
    try:
        here = installation()
        premises = replace(
            premises,
            policy=here.policy(),
            key_readable=_open_to_others(here.keys.source.file),
            sealed=here.keys.is_sealed(),
        )
        everything = here.registry.all()
        total = sum(stream.rows for stream in here.audit_rows.streams()) + len(
            everything
        ) * (not premises.sealed)
        audit = here.audit_rows, here.checkpoints, here.keys.audit_key
        looked = Doctor(
            here.registry, here.secrets, here.gateway.sender.scripts, *audit
        )
        with progress_bar("examining", total) as advance:
            seen = partial(counted, advance=advance)
            found = looked.examine(everything, premises, seen, advance)
        if not premises.sealed:
            found += _unsendable(everything, here.gateway.sender, premises.now)
        return _in_order(found, everything), len(everything)
    except StorageUnavailable:
        said = installation_posture(replace(premises, storage=False))
        return [("", finding) for finding in said], 0


def _unsendable(
    configurations: Sequence[Configuration], sender: "SendContext", now: float
) -> Iterator[tuple[str, Finding]]:
    """Yield why configurations can never send; one that is switched off is not meant to."""
    for made in configurations:
        for finding in check(made, sender.opener(made), now=now) if made.active else ():
            if finding.level is Level.ERROR:
                yield made.name, finding


def _in_order(found: "Found", configurations: Sequence[Configuration]) -> "Found":
    """Return findings by configuration, the worst first, with its name in the commands of hints."""
    places = {made.name: place for place, made in enumerate(configurations, start=1)}
    levels = list(Level)
    named = [
        (n, replace(f, hint=f.hint.replace("NAME", shlex.quote(n))) if n else f)
        for n, f in found
    ]
    return sorted(
        named, key=lambda one: (places.get(one[0], 0), levels.index(one[1].level))
    )


def _readable(home: Path) -> Iterator[str]:
    """Yield what others may read; a policy is no secret, and the key has a check of its own."""
    for folder in (home / "config", home / "data"):
        for path in (folder, *sorted(folder.glob("*"))):
            if path.name not in {"policy.toml", "key"} and _open_to_others(path):
                yield str(path.relative_to(home))


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False  # not there, or gone meanwhile
