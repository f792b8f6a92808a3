"""A run of the tests with one part, which serves until the run is interrupted."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import run_tests  # noqa: E402 - which lies beside the other tools

program, place = sys.argv[1:]
run_tests.parts_of = lambda _: [
    run_tests.Part("a part with servers", (sys.executable, program, place))
]
sys.exit(run_tests.main(["--quick"]))
