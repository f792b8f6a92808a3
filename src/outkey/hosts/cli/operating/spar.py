"""The commands of the sparring provider: serve it, and drill a configuration."""

import sys
import time
import uuid
from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.garbage import end_loading
from outkey.hosts.cli.printing.output import (
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from outkey.hosts.cli.session import AsJson, open_application

if TYPE_CHECKING:
    from outkey.hosts.drill.drill import ScenarioResult
    from outkey.hosts.drill.scenarios import Scenario

# Without a command it serves.
spar_app = Commands(invoke_without_command=True, no_args_is_help=False)
_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}


@spar_app.callback()
def spar(
    context: typer.Context,
    *,
    port: Annotated[
        int, typer.Option(help="The port of the main server.", metavar="PORT")
    ] = 9000,
    tls: Annotated[bool, typer.Option("--tls", help="Serve https as well.")] = False,
) -> None:
    """Serve a local API that succeeds and fails on request."""
    if context.invoked_subcommand is None:
        from outkey.spar.__main__ import serve

        end_loading()
        raise typer.Exit(serve(port, tls=tls))


@spar_app.command()
def drill(
    name: Annotated[str, typer.Argument(help="The configuration's name.")] = "",
    *,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Play only this scenario. Repeat it for more than one.",
            metavar="SCENARIO",
        ),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the scenarios, and play none.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what a configuration would do in production when its API fails.

    A copy with made-up secrets is drilled, on this machine only. Nothing is stored.
    """
    from outkey.hosts.drill.drill import drill as play
    from outkey.hosts.drill.drill import not_exercised, speed_of
    from outkey.hosts.drill.scenarios import SCENARIOS, concerning

    if list_only and not name:
        return _list_scenarios(SCENARIOS, as_json=as_json)
    if not name:
        raise ConfigError(
            Text("NAME is missing"), hint=Text("See: outkey spar drill --help")
        )
    configuration = open_application().registry.get(name)
    scenarios = _select_scenarios(concerning(configuration), scenario or [], name)
    if list_only:
        return _list_scenarios(scenarios, as_json=as_json)
    with progress_bar("drilling", len(scenarios)) as advance:
        results = play(configuration, scenarios, advance)
    report(
        name,
        speed_of(configuration),
        results,
        not_exercised(configuration),
        as_json=as_json,
    )
    return int(any(result.verdict == "bad" for result in results))


@spar_app.command("webhook")
def send_webhook(
    url: Annotated[
        str, typer.Argument(help="The endpoint, such as http://127.0.0.1:8765/hooks/x.")
    ] = "",
    *,
    scheme: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="How it is signed; --list shows the schemes."
        ),
    ] = "standard",
    mistake: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What is wrong with it; --list shows the mistakes."
        ),
    ] = "none",
    event_id: Annotated[
        str,
        typer.Option(
            "--event-id",
            metavar="ID",
            help="The id of the event. Without one, it is random.",
        ),
    ] = "",
    list_only: Annotated[
        bool,
        typer.Option("--list", help="List the schemes and mistakes, and send nothing."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Send a webhook to an endpoint on this machine, signed or with a mistake.

    The secret is read from standard input, if something is piped to it.
    """
    from outkey.hosts.sample_mistakes import MISTAKES, SCHEMES

    if list_only:
        _list_mistakes(as_json=as_json)
        return 0
    for name, known in ((scheme, SCHEMES), (mistake, MISTAKES)):
        if name not in known:
            raise ConfigError(
                Text("unknown name: {name}", name=name),
                hint=Text("Known here: {names}.", names=", ".join(known)),
            )
    statuses = _send_mistake(url, scheme, mistake, event_id or str(uuid.uuid4()))
    if as_json:
        print_json({"scheme": scheme, "mistake": mistake, "statuses": statuses})
    else:
        shown = [str(status or "no response") for status in statuses]
        print_line(f"{mistake}: {', '.join(shown)}")
    return 0 if any(statuses) else 1


def _list_mistakes(*, as_json: bool) -> None:
    """Print what can be sent."""
    from outkey.hosts.sample_mistakes import MISTAKES, SCHEMES

    texts = {name: mistake.__doc__ or "" for name, mistake in MISTAKES.items()}
    if as_json:
        print_json({"schemes": [*SCHEMES], "mistakes": texts})
        return
    print_line(f"schemes: {', '.join(SCHEMES)}")
    print_table(("Mistake", "What is sent"), texts.items())


def _send_mistake(url: str, scheme: str, mistake: str, event_id: str) -> list[int]:
    """Send the deliveries of a mistake; return their statuses, 0 for no response."""
    from outkey.hosts import sample_mistakes

    if not sample_mistakes.is_on_this_machine(url):
        raise ConfigError(
            Text("the endpoint must be on this machine"),
            hint=Text("Write it as http://127.0.0.1:8765/hooks/…"),
            field="url",
        )
    piped = "" if sys.stdin.isatty() else sys.stdin.read().strip()
    sample = sample_mistakes.sample_order(
        url,
        scheme,
        Secret(piped or sample_mistakes.SECRET),
        event_id=event_id,
        now=time.time(),
    )
    deliveries = sample_mistakes.MISTAKES[mistake](sample)
    return [sample_mistakes.post(delivery) for delivery in deliveries]


def _select_scenarios(
    scenarios: "list[Scenario]", ids: list[str], name: str
) -> "list[Scenario]":
    """Return the scenarios with these ids, or all if there are none."""
    if not {*ids} <= {scenario.id for scenario in scenarios}:
        raise ConfigError(
            Text("unknown scenario for this configuration"),
            hint=Text(
                "List the scenarios with: outkey spar drill {name} --list",
                name=quote(name),
            ),
            field="scenario",
        )
    return [scenario for scenario in scenarios if not ids or scenario.id in ids]


def _list_scenarios(
    scenarios: "tuple[Scenario, ...] | list[Scenario]", *, as_json: bool
) -> int:
    """Print scenarios, and return the exit code."""
    if as_json:
        print_json(
            [{"id": scenario.id, "played": scenario.played} for scenario in scenarios]
        )
    else:
        print_table(
            ("Scenario", "What is played"), (scenario[:2] for scenario in scenarios)
        )
    return 0


def report(
    name: str,
    speed: float,
    results: "list[ScenarioResult]",
    omitted: list[str],
    *,
    as_json: bool,
) -> None:
    """Print the results of a drill, and what it did not exercise."""
    counts = Counter({"ok": 0, "warn": 0, "bad": 0})
    counts.update(str(result.verdict) for result in results)
    if as_json:
        facts = {"configuration": name, "ok": not counts["bad"], "speed": speed}
        facts |= {"verdicts": counts, "not_exercised": omitted}
        print_json({**facts, "scenarios": [_result_facts(each) for each in results]})
        return
    print_table(
        ("", "Scenario", "Requests", "Seconds", "What it means"),
        map(_result_row, results),
    )
    print_line(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    for sentence in omitted:
        print_line(f"Not exercised: {sentence}")
    print_line(
        f"Played {speed:g} times as fast; the seconds are those of production.\nThis"
        f" was a copy with made-up secrets: no secret of {name} was opened, nothing was"
        " sent\nto another machine, and nothing was stored or recorded in the audit."
    )


def _result_facts(result: "ScenarioResult") -> dict[str, object]:
    """Return a result as JSON has it."""
    scenario = result.scenario
    facts: dict[str, object] = {"id": scenario.id, "played": scenario.played}
    facts |= result._asdict() | {
        "requests": result.requests._asdict(),
        "verdict": str(result.verdict),
    }
    del facts["scenario"]
    return facts


def _result_row(result: "ScenarioResult") -> tuple[object, ...]:
    """Return a result as the table has it."""
    from rich.text import Text as RichText

    return (
        RichText(str(result.verdict), style=_COLOURS[result.verdict]),
        result.scenario.id,
        sum(result.requests),
        f"{result.seconds:.1f}",
        result.meaning,
    )
