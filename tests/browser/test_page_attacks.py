"""Attacks on the pages that are programs of their own, each with a home of its own."""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize("program", ["save_race", "restored_line", "hashed_sessions"])
def test_the_pages_hold(program: str, tmp_path: Path) -> None:
    assert assert_program_passes(f"browser/{program}", tmp_path / "home").stderr == ""
