"""The commands that replace credentials without an outage."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outkey.hosts.cli.commands.testing import print_report, report_facts
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    confirm,
    exit_code_of,
    print_done,
    print_json,
    print_line,
    print_table,
    report_exit_code,
)
from outkey.hosts.cli.printing.times import with_local_times
from outkey.hosts.cli.session import AsJson, Name, Yes, open_application
from outkey.hosts.command_host import administration_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from outkey.administration.engine.editing.rotating import CredentialRotation

rotation_app = Commands(
    help="Replace credentials without an outage: stage, test, try, promote, go back."
)

PROOFS = {
    True: "the API refuses the previous credentials",
    False: "the API still accepts the previous credentials",
    None: "nothing is proved",
}
# What follows a test, by the state that it leaves; a trial goes on by itself.
STEPS_AFTER_TEST = {
    "staged": "outkey secret stage {name} FIELD",
    "tested": "outkey rotation start {name}",
    "rejected": "outkey secret stage {name} FIELD",
}


def open_rotation() -> CredentialRotation:
    """Return the rotation in the name of the user who runs the command."""
    application = open_application()
    return application.credential_rotation(administration_of(application))


@rotation_app.command("status")
def status(name: Name, *, as_json: AsJson = False) -> None:
    """Show which credentials are in use, next and previous; never a value."""
    from outkey.administration.core.rotation.status import STATE_WORDS
    from outkey.sending.core.rotation.credential_sets import RotationState

    facts = open_rotation().status(name)
    if as_json:
        print_json(facts)
        return
    application = open_application()
    preset = application.preset_of(application.registry.get(name))
    state = RotationState(str(facts["state"]))
    print_line(f"{name}: {STATE_WORDS[state]}")
    sets: dict[str, Any] = {
        part: facts[part] for part in ("current", "next", "previous") if facts[part]
    }
    rows = [
        (
            part,
            credentials["serial"],
            ", ".join(credentials["fields"]),
            with_local_times(credentials["set_at"] or ""),
            credentials["set_by"],
            "; ".join(map(with_local_times, _progress_of(part, credentials, facts))),
        )
        for part, credentials in sets.items()
    ]
    print_table(("", "Set", "Fields", "Entered", "By", "So far"), rows)
    findings: list[Any] = facts["findings"]  # type: ignore[assignment]  # of JSON
    for finding in findings:
        message = with_local_times(finding["message"])
        print_line(f"{finding['level']}: {message}. {finding['hint']}")
    if preset is not None:
        print_line(f"at {preset.title}: {preset.rotation.words}")
        print_line(str(preset.rotation.advice))


def _progress_of(
    part: str, credentials: Mapping[str, Any], facts: Mapping[str, object]
) -> Iterator[str]:
    """Yield how far a set has got, in words."""
    if part == "previous":
        yield f"stored until {credentials['until']}"
        if credentials["revoked_at"]:
            yield f"refused on {credentials['revoked_at']}"
    if part != "next":
        return
    if facts["share"]:
        yield f"{facts['share']} % of the requests, until {facts['after']} succeed"
    if credentials["test"]:
        result = (
            "accepted" if credentials["test"]["ok"] else credentials["test"]["cause"]
        )
        yield f"tested on {credentials['test']['at']}: {result}"
    counts = [
        f"{credentials[result]} {result}"
        for result in ("good", "refused", "denied")
        if credentials[result]
    ]
    if counts:
        yield ", ".join(counts)
    if credentials["cause"]:
        yield f"rejected: {credentials['cause']}"


@rotation_app.command("test")
def check_next(name: Name, *, as_json: AsJson = False) -> int:
    """Test the next credentials, and that a request without any is refused."""
    rotation = open_rotation()
    serial = rotation.next_serial(name)
    report = rotation.test(name)
    if as_json:
        print_json({**report_facts(report), "serial": serial})
    else:
        print_report(report)
        step = STEPS_AFTER_TEST.get(str(rotation.status(name)["state"]))
        if step is not None:
            print_line("next: " + step.format(name=shlex.quote(name)))
    return report_exit_code(report)


@rotation_app.command("start")
def start(
    name: Name,
    *,
    share: Annotated[
        int | None,
        typer.Option(
            "--share", help="Percent of the requests that try them.", metavar="PERCENT"
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", help="Promote after so many successes.", metavar="COUNT"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a share of the requests try the next credentials."""
    rotation = open_rotation()
    serial = rotation.next_serial(name)
    trial = rotation.start(name, share=share, after=after)
    if as_json:
        print_json(
            {
                "done": "started",
                "configuration": name,
                "serial": serial,
                "share": trial.share,
                "after": trial.after,
            }
        )
        return
    print_line(
        f"started: {name} tries the next credentials with {trial.share} % of its"
        f" requests, and uses them for all after {trial.after} successes"
    )


@rotation_app.command("promote")
def promote(name: Name, *, as_json: AsJson = False) -> None:
    """Use the next credentials for all requests; the ones before stay stored."""
    serial = open_rotation().promote(name)
    print_done("promoted", as_json=as_json, configuration=name, serial=serial)


@rotation_app.command("back")
def back(name: Name, *, as_json: AsJson = False) -> None:
    """End a trial, or use the previous credentials again."""
    serial = open_rotation().back(name)
    print_done("back", as_json=as_json, configuration=name, serial=serial)


@rotation_app.command("retire")
def retire(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Destroy the previous credentials."""
    rotation = open_rotation()
    rotation.refuse_retiring(name)
    confirm(f"Destroy the previous credentials of {name}?", yes=yes)
    serial = rotation.retire(name)
    print_done("retired", as_json=as_json, configuration=name, serial=serial)


@rotation_app.command("discard")
def discard(name: Name, *, as_json: AsJson = False) -> None:
    """Destroy the next credentials."""
    serial = open_rotation().discard(name)
    print_done("discarded", as_json=as_json, configuration=name, serial=serial)


@rotation_app.command("probe-old")
def probe_old(name: Name, *, as_json: AsJson = False) -> int:
    """Send one request with the previous credentials, which must be refused."""
    result = open_rotation().probe(name)
    if as_json:
        print_json(result.facts())
    else:
        status = result.status or result.cause
        print_line(f"{name}: {PROOFS[result.refused]} ({status})")
    if result.refused is not None or result.error is None:
        return 0 if result.refused else 1
    return exit_code_of(result.error)
