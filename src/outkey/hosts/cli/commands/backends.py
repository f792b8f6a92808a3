"""The commands about external stores of secrets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.findings.checks import finding_facts
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    exit_code_of,
    print_error,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.session import AsJson, open_application

if TYPE_CHECKING:
    from outkey.administration.engine.operating.secret_backends import SecretBackends

backends_app = Commands(help="List and check the external stores of secrets.")


def open_backends() -> SecretBackends:
    """Return the backends of this installation."""
    return open_application().secret_backends()


@backends_app.command("list")
def list_backends(*, as_json: AsJson = False) -> None:
    """List the backends of config/backends.toml, and how many references use each."""
    rows = open_backends().facts()
    if as_json:
        print_json(rows)
        return
    if not rows:
        print_line(
            "There are no backends yet. Describe one in config/backends.toml of the"
            " home."
        )
        return
    print_table(
        ("Name", "Store", "Address", "Log-in", "References"),
        (tuple(map(str, row.values())) for row in rows),
    )


@backends_app.command("check")
def check_backend(
    name: Annotated[str, typer.Argument(help="The name of the backend.")],
    *,
    as_json: AsJson = False,
) -> int:
    """Connect to a backend, log in, and read each path in use; no value is shown."""
    report = open_backends().check(name)
    error = report.error
    if as_json:
        print_json(
            {
                "backend": report.backend,
                "ok": report.ok,
                "steps": [asdict(step) for step in report.steps],
                "code": None if error is None else str(error.code),
                "reason": None if error is None else error.reason or None,
                "findings": [finding_facts(finding, "") for finding in report.findings],
            }
        )
    else:
        for step in report.steps:
            word = "ok" if step.ok else "failed"
            print_line(f"{step.step}: {word}, {step.detail} ({step.ms} ms)")
        for finding in report.findings:
            print_line(
                f"{finding.level} {finding.id}: {finding.message}. {finding.hint}"
            )
        if error is not None:
            print_error(error, as_json=False)
    return 0 if error is None else exit_code_of(error)
