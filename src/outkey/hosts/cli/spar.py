"""The commands of the sparring provider: serving it, and drilling a configuration against it."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.errors import ConfigError
from outkey.hosts.cli.output import print_json, print_line, print_table, progress_bar
from outkey.hosts.cli.session import AsJson, open_application

if TYPE_CHECKING:
    from outkey.hosts.drill.drill import Played
    from outkey.hosts.drill.scenarios import Scenario

spar_app = typer.Typer(invoke_without_command=True)
_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}


@spar_app.callback()
def spar(
    context: typer.Context,
    *,
    port: Annotated[int, typer.Option(help="the port of the main server")] = 9000,
    tls: Annotated[bool, typer.Option("--tls", help="serve https as well")] = False,
) -> None:
    """Serve the sparring provider: a local API that succeeds and fails as asked."""
    if context.invoked_subcommand is None:
        from outkey.spar.__main__ import serve

        raise typer.Exit(serve(port, tls=tls))


@spar_app.command()
def drill(
    name: Annotated[str, typer.Argument(help="the configuration's name")] = "",
    *,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="only this one, repeatable; all if left out"),
    ] = None,
    shown: Annotated[
        bool, typer.Option("--list", help="list the scenarios, play none")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what a configuration would do in production when its API fails.

    A copy of it is drilled, with made-up secrets and on this machine only. Nothing is kept.
    """
    from outkey.hosts.drill.drill import drill as play
    from outkey.hosts.drill.drill import speed_of
    from outkey.hosts.drill.scenarios import SCENARIOS, concerning

    if shown and not name:
        return _list(SCENARIOS, as_json=as_json)
    if not name:
        raise ConfigError("NAME is missing", hint="See: outkey spar drill --help")
    configuration = open_application().registry.get(name)
    chosen = _chosen(concerning(configuration), scenario or [])
    if shown:
        return _list(chosen, as_json=as_json)
    with progress_bar("drilling", len(chosen)) as advance:
        played = play(configuration, chosen, advance)
    _report(name, speed_of(configuration), played, as_json=as_json)
    return int(any(one.verdict == "bad" for one in played))


def _chosen(concerned: "list[Scenario]", wanted: list[str]) -> "list[Scenario]":
    if not {*wanted} <= {scenario.id for scenario in concerned}:
        message = "there is no such scenario for this configuration"
        hint = "outkey spar drill NAME --list names them."
        raise ConfigError(message, hint=hint, field="scenario")
    return [scenario for scenario in concerned if not wanted or scenario.id in wanted]


def _list(scenarios: "tuple[Scenario, ...] | list[Scenario]", *, as_json: bool) -> int:
    if as_json:
        print_json(
            [{"id": scenario.id, "played": scenario.played} for scenario in scenarios]
        )
    else:
        print_table(
            ("Scenario", "What is played"), (scenario[:2] for scenario in scenarios)
        )
    return 0


def _report(name: str, speed: float, played: "list[Played]", *, as_json: bool) -> None:
    counts = Counter({"ok": 0, "warn": 0, "bad": 0})
    counts.update(str(one.verdict) for one in played)
    if as_json:
        facts = {"configuration": name, "ok": not counts["bad"], "speed": speed}
        print_json(
            {**facts, "verdicts": counts, "scenarios": [_facts(one) for one in played]}
        )
        return
    print_table(
        ("", "Scenario", "Requests", "Seconds", "What it means"), map(_row, played)
    )
    print_line(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    print_line(
        f"Played {speed:g} times as fast; the seconds are those of production.\nThis"
        f" was a copy with made-up secrets: none of {name} was opened, no other machine"
        " was\nasked, and nothing was kept or recorded in the audit."
    )


def _facts(one: "Played") -> dict[str, object]:
    facts: dict[str, object] = {"id": one.scenario.id, "played": one.scenario.played}
    facts |= one._asdict() | {
        "requests": one.requests._asdict(),
        "verdict": str(one.verdict),
    }
    del facts["scenario"]
    return facts


def _row(one: "Played") -> tuple[object, ...]:
    from rich.text import Text

    verdict = Text(str(one.verdict), style=_COLOURS[one.verdict])
    return (
        verdict,
        one.scenario.id,
        sum(one.requests),
        f"{one.seconds:.1f}",
        one.meaning,
    )
