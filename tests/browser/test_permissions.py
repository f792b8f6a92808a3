"""Roles that an administrator composes: each permission holds on its own.

The rules of editing are tested by the unit test test_editing.py, consents by
test_consent.py; here the pages must reach them.
"""

from pathlib import Path

import pytest

from programs import assert_program_passes

PROGRAMS = (
    "permissions_editing",
    "permissions_tokens",
    "permissions_scripts",
    "permissions_fixes",
    "permissions_pages",
    "permissions_imports",
    "permissions_lines",
    "permissions_rights",
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_permission_holds_on_its_own_and_nothing_is_half_done(
    program: str, tmp_path: Path
) -> None:
    assert_program_passes(f"browser/{program}", tmp_path / "home")
