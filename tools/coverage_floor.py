"""Fail when the tests reach less of the pure parts than they once did."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "outkey"
# Branch coverage in percent. Core and engine are pure:
# what no test reaches there is not needed.
FLOORS = {"core": 100.0, "engine": 97.0, "adapters": 95.0, "integrations": 95.0}


def main() -> int:
    """Print the coverage of each room and compare it with its floor."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(report)]
        subprocess.run(command, check=True)
        files = json.loads(report.read_text())["files"]
    failed = False
    for room, floor in FLOORS.items():
        inside = {name: data for name, data in files.items() if _is_in(room, name)}
        reached = _percent(inside.values())
        print(f"coverage of {room}: {reached:.1f} % (floor {floor:g} %)")
        if reached < floor:
            failed = True
            _print_gaps(inside)
    return int(failed)


def _is_in(room: str, name: str) -> bool:
    """Whether a file is in a room of this name, at the top or in a package."""
    path = Path(name).resolve()
    return path.is_relative_to(PACKAGE) and room in path.relative_to(PACKAGE).parts[:2]


def _percent(files: object) -> float:
    covered = total = 0
    for data in files:  # type: ignore[attr-defined]
        summary = data["summary"]
        covered += summary["covered_lines"] + summary["covered_branches"]
        total += summary["num_statements"] + summary["num_branches"]
    return 100.0 * covered / total if total else 0.0


def _print_gaps(files: dict[str, dict[str, object]]) -> None:
    for name, data in files.items():
        if data["missing_lines"] or data["missing_branches"]:
            print(
                f"  {name}: lines {data['missing_lines']} branches"
                f" {data['missing_branches']}"
            )


if __name__ == "__main__":
    sys.exit(main())
