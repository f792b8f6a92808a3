"""The page of a connect link: without a user, a script, or a second chance."""

from pathlib import Path

from programs import assert_program_passes

SETTINGS = {"OUTKEY_PUBLIC_URL": "http://outkey.test"}


def test_a_link_connects_an_account_without_a_user(tmp_path: Path) -> None:
    done = assert_program_passes(
        "browser/connect_pages", tmp_path / "home", settings=SETTINGS
    )
    assert "/connect/" not in done.stderr


def test_a_user_connects_an_account_by_agreeing_at_the_provider(tmp_path: Path) -> None:
    done = assert_program_passes(
        "browser/connect_consent", tmp_path / "home", settings=SETTINGS
    )
    assert "/connect/" not in done.stderr
