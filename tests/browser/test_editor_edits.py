"""Users who change and test configurations, but enter no secrets, move none.

Real servers on loopback stand for the API, the provider and an attacker, and write down
what arrives. The rules themselves are tested by the unit test test_editing.py.
"""

from pathlib import Path

import pytest

from programs import assert_program_passes


@pytest.mark.parametrize(
    "program",
    [
        "editor_two_saves",
        "editor_expired_marker",
        "editor_tls_trust",
        "editor_sequences",
    ],
)
def test_an_editor_moves_no_secret(program: str, tmp_path: Path) -> None:
    assert assert_program_passes(f"browser/{program}", tmp_path / "home").stderr == ""
