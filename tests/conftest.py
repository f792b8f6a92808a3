"""Options of the whole suite."""

import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from full_run import long_tests

pytest_plugins = ["outkey.testing.canary", "pytester"]

# Thousands of tests and all modules stay to the end. To look through them for garbage
# again and again, as Python does by default, takes a fifth of the time of the unit
# tests. What the tests themselves make is still looked at.
gc.set_threshold(20_000, 20, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run the long versions of heavy suites"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Property tests try a hundred times as many examples in the full run."""
    config.addinivalue_line(
        "markers", "untraced: heavy, and other tests reach the same lines"
    )
    config.addinivalue_line(
        "markers", "alone: measures time, so nothing else may run at the same moment"
    )
    config.addinivalue_line("markers", "full: runs in the full run only")
    settings.register_profile("full", max_examples=2000, deadline=None)
    settings.register_profile("quick", max_examples=20, deadline=None)
    settings.load_profile("full" if config.getoption("--full") else "quick")
    if file := os.environ.get("OUTKEY_TEST_TIMES"):
        config.pluginmanager.register(Times(Path(file)))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave to the full run what `full_run.py` lists and what is marked."""
    if config.getoption("--full"):
        return
    left_out = set(long_tests(items))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Measure no coverage in heavy tests, which take twice as long with it."""
    measured = None
    if item.get_closest_marker("untraced") and "coverage" in sys.modules:
        measured = sys.modules["coverage"].Coverage.current()
    if measured is not None:
        measured.stop()
    try:
        return (yield)
    finally:
        if measured is not None:
            measured.start()


class Times:
    """Writes how long each test took to a file, for whoever runs many suites."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        times = [(seconds, test) for test, seconds in self._seconds.items()]
        self._file.write_text(json.dumps(times))
