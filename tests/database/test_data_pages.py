"""The pages of tables, on both databases of outkey's own."""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_tables_are_shown_to_those_who_may_view_them(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgresql":
        cluster = request.getfixturevalue("postgresql")
        settings["OUTKEY_DATABASE_URL"] = cluster.create("pages")
    assert_program_passes("database/data_pages", tmp_path / "home", settings=settings)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_no_value_name_or_filter_does_more_than_it_should(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgresql":
        cluster = request.getfixturevalue("postgresql")
        settings["OUTKEY_DATABASE_URL"] = cluster.create("pages")
    assert_program_passes("database/data_attacks", tmp_path / "home", settings=settings)
