"""Errors of drivers that are used without SQLAlchemy."""

import sys

import pytest

from outkey.sync.adapters.tables.driver_errors import driver_errors


def test_a_driver_that_is_not_in_use_is_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "psycopg", raising=False)
    assert driver_errors() == ()
    assert "psycopg" not in sys.modules


def test_errors_of_a_driver_in_use_are_known() -> None:
    psycopg = pytest.importorskip("psycopg")
    assert driver_errors() == (psycopg.Error,)
