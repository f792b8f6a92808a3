"""Every URL of the pages, for every role, by every method, with wrong parameters.

Nothing that a browser sends may end as a failure of the server, on either database.
"""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize(
    ("program", "database"),
    [
        ("every_url", "sqlite"),
        ("nul_everywhere", "postgresql"),  # which refuses NUL in a text
        pytest.param("every_url", "postgresql", marks=pytest.mark.full),
        pytest.param("nul_everywhere", "sqlite", marks=pytest.mark.full),
    ],
)
def test_nothing_that_is_sent_is_a_failure_of_the_server(
    program: str, database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgresql":
        cluster = request.getfixturevalue("postgresql")
        settings["OUTKEY_DATABASE_URL"] = cluster.create("addresses")
    assert_program_passes(
        f"database/{program}",
        tmp_path / "home",
        *(["--full"] if request.config.getoption("--full") else []),
        settings=settings,
        timeout=900,
    )
