"""Rows that outkey did not write as they are: each stops only itself."""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_whatever_a_row_holds_everything_else_works(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgresql":
        cluster = request.getfixturevalue("postgresql")
        settings["OUTKEY_DATABASE_URL"] = cluster.create("odd_rows")
    assert_program_passes(
        "database/odd_rows",
        tmp_path / "home",
        *(["--full"] if request.config.getoption("--full") else []),
        settings=settings,
        timeout=900,
    )
