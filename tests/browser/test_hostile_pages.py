"""Texts that are made to stop the pages are refused, while others are served."""

from pathlib import Path

from programs import assert_program_passes


def test_hostile_texts_hold_up_nobody_else(tmp_path: Path) -> None:
    settings = {"OUTKEY_DEMO": "1"}
    assert_program_passes(
        "browser/hostile_texts", tmp_path, settings=settings, timeout=240
    )
