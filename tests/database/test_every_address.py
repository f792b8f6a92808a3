"""Every URL of the pages, for every role, by every method, with wrong parameters.

Nothing that a browser sends may end as a failure of the server, on either database.
"""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("program", ["every_url", "nul_everywhere"])
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
