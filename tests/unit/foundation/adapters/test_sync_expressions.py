"""Expressions that double a text or a list at each step are stopped at once.

They are measured in a process of its own with little memory: an expression that is not
stopped ends that process, and not the tests.
"""

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

MOST_SECONDS = 0.1
MOST_BYTES = 50_000_000
PROGRAM = """
import json, resource, sys, time, tracemalloc
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import SyncFailed

def search(find, document):
    try:
        find(document)
    except SyncFailed as failed:
        return failed.reason
    return "found"

def measure(expression, text, length):
    find = JmespathCompiler().compile(expression, field="records")
    document = {"t": text * length}
    tracemalloc.start()
    reason = search(find, document)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    times = []
    for _ in range(3):
        began = time.process_time()
        search(find, document)
        times.append(time.process_time() - began)
    return reason, min(times), size

resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
cases = json.load(sys.stdin)
print(json.dumps([measure(*case) for case in cases]))
"""


def nested(levels: int, width: int = 2) -> str:
    """Return joins of joins of the text."""
    expression = "t"
    for _ in range(levels):
        expression = f"join('', [{', '.join([expression] * width)}])"
    return expression


DOUBLING = {
    "joined again and again": "t" + " | join('', [@, @])" * 60,
    "joined by itself": "t" + " | join(@, [@, @])" * 60,
    "nested": nested(5),
    "nested and wide": nested(3, 5),
    "written again and again": "t" + " | to_string([@, @])" * 60,
    "turned round": "t" + " | reverse(join('', [@, @]))" * 40,
    "kept": f"[{', '.join([nested(1)] * 80)}]",
    "in an object": "t" + " | {a: @, b: @} | join('', values(@))" * 30,
    "in a list": "[t]" + " | [@[], @[]][]" * 60,
}
CASES = [
    (name, text, length)
    for name in DOUBLING
    for text in ("x", "\\", "😀")
    for length in (1000, 800_000)
]
Measured = tuple[str, float, int]


@pytest.fixture(scope="module")
def measured() -> Mapping[tuple[str, str, int], Measured]:
    """Search with each expression, and return the reason, the seconds and the bytes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([(DOUBLING[name], *more) for name, *more in CASES]).encode(),
        capture_output=True,
        check=True,
    )
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
def test_an_expression_that_doubles_again_and_again_is_stopped(
    measured: Mapping[tuple[str, str, int], Measured], case: tuple[str, str, int]
) -> None:
    reason, seconds, size = measured[case]
    assert reason == "expression"
    assert seconds < MOST_SECONDS
    assert size < MOST_BYTES
