"""Options of the whole suite."""

import pytest
from hypothesis import settings

pytest_plugins = ["outkey.testing.canary", "pytester"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run the long versions of heavy suites"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Property tests try twenty times as many examples in the full run."""
    settings.register_profile("full", max_examples=2000, deadline=None)
    settings.register_profile("quick", deadline=None)
    settings.load_profile("full" if config.getoption("--full") else "quick")
