"""What the benchmarks share: budgets, and how a run is shown, stored and judged."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Budget:
    """One promise, and what came of it."""

    what: str
    measured: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.measured <= self.limit


def finish(
    name: str, found: dict[str, Any], budgets: list[Budget], *, quiet: bool = True
) -> int:
    """Keep what was found, show it, and return the exit status."""
    found["budgets"] = [asdict(budget) | {"holds": budget.holds} for budget in budgets]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    console = Console()
    for mode, cpu in found.get("best", {}).items():
        figures = ", ".join(f"{candidate} {us:.0f}" for candidate, us in cpu.items())
        console.print(f"CPU µs per request, {mode}: {figures}")
    show_budgets(console, found["budgets"])
    if not quiet:
        print(
            "too noisy to judge: the plain one differs from itself by more than this"
            " run allows",
            file=sys.stderr,
        )
        return 3
    return 0 if all(budget.holds for budget in budgets) else 1


def show_budgets(console: Console, budgets: list[dict[str, Any]]) -> None:
    for budget in budgets:
        verdict = "[green]holds [/]" if budget["holds"] else "[red]missed[/]"
        console.print(
            f"{verdict} {budget['what']}: {budget['measured']:.2f} ≤ {budget['limit']}"
        )
