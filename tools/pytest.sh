#!/bin/sh
# Run the tests with coverage: first what looks at the clock, alone, then two halves side by side.
# Arguments go to pytest, as in `tools/pytest.sh --full`.
set -eu
cd "$(dirname "$0")/.."
run() {
  # Warnings that only the development mode of Python gives are errors in the tests. A shell lets
  # what it starts in the background ignore Ctrl-C, and some tests press it.
  PYTHONDEVMODE=1 env --default-signal=INT,QUIT .venv/bin/coverage run --parallel-mode -m pytest "$@"
}
.venv/bin/coverage erase
status=0
run tests/unit tests/contract tests/third_host tests/faults tests/scripts tests/canary tests/spar "$@" || status=1
said=$(mktemp)
trap 'rm -f "$said"' EXIT
run tests/cli tests/docs tests/peers "$@" > "$said" 2>&1 &
other=$!
trap 'kill $other 2> /dev/null; rm -f "$said"' INT TERM
run tests/browser tests/database "$@" || status=1
wait $other || status=1
cat "$said"
.venv/bin/coverage combine --quiet
exit $status
