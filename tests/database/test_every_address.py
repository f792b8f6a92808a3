"""Every URL of the pages, for every role, by every method, with wrong parameters.

Nothing that a browser sends may end as a failure of the server, on either database.
"""

from pathlib import Path

import psycopg
import pytest

from programs import assert_program_passes


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("program", ["every_url", "nul_everywhere"])
def test_nothing_that_is_sent_is_a_failure_of_the_server(
    program: str, database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgresql":
        server_url = request.getfixturevalue("postgresql_url")
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute("DROP DATABASE IF EXISTS addresses")
            server.execute("CREATE DATABASE addresses")
        url = server_url.rpartition("/")[0] + "/addresses"
        settings["OUTKEY_DATABASE_URL"] = url
    home = tmp_path / "home"
    assert_program_passes(f"database/{program}", home, settings=settings, timeout=900)
