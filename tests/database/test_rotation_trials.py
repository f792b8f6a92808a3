"""Trials of next credentials on PostgreSQL: what SQLite serializes by itself."""

from pathlib import Path

import pytest

from cli.conftest import Terminal
from cli.test_rotation_trials import (
    acme,
    api,
    test_a_kill_leaves_credentials_that_work_and_steps_that_can_be_taken,
    test_a_wrong_token_is_tried_once_by_all_processes_and_locks_no_account,
    test_many_requests_at_once_promote_exactly_once,
)
from database.conftest import Cluster
from outkey.testing.canary import Canaries

__all__ = [
    "acme",
    "api",
    "test_a_kill_leaves_credentials_that_work_and_steps_that_can_be_taken",
    "test_a_wrong_token_is_tried_once_by_all_processes_and_locks_no_account",
    "test_many_requests_at_once_promote_exactly_once",
]
pytestmark = pytest.mark.full


@pytest.fixture
def outkey(tmp_path: Path, postgresql: Cluster) -> Terminal:
    """A home whose data are in PostgreSQL."""
    url = postgresql.create(f"trial_{tmp_path.name.lower()}"[:60])
    return Terminal(tmp_path / "home", Canaries(), {"OUTKEY_DATABASE_URL": url})
