"""Users and groups: rights have limits, and every change is recorded first."""

from pathlib import Path

from programs import assert_program_passes


def test_nobody_gives_takes_or_uses_rights_beyond_their_own(tmp_path: Path) -> None:
    assert_program_passes("browser/rights_limits", tmp_path / "home", timeout=300)


def test_changes_of_users_groups_and_rights_are_recorded_first(tmp_path: Path) -> None:
    assert_program_passes("browser/rights_audit", tmp_path / "home", timeout=300)


def test_guesses_from_many_addresses_are_slowed_and_floods_are_counted(
    tmp_path: Path,
) -> None:
    assert_program_passes("browser/slowed_sign_ins", tmp_path / "home", timeout=300)


def test_tokens_end_with_their_users_and_are_named_with_their_rights(
    tmp_path: Path,
) -> None:
    assert_program_passes("browser/rights_tokens", tmp_path / "home", timeout=300)


def test_guesses_of_the_old_password_count_and_lock_like_a_login(
    tmp_path: Path,
) -> None:
    assert_program_passes(
        "browser/rights_password_guesses", tmp_path / "home", timeout=300
    )
