"""The arguments of the drivers of other databases."""

import pytest
from sqlalchemy.engine import URL

from outkey.sync.adapters.tables.databases import DRIVERS
from outkey.sync.adapters.tables.engines import LimitedEngine
from outkey.sync.adapters.tables.layouts.column_types import TYPE_NAMES, Vendor
from outkey.sync.core.databases.urls import DIALECTS, PARAMETERS


def test_every_table_about_vendors_has_all_of_them() -> None:
    vendors = set(Vendor)
    assert set(DIALECTS.values()) == set(PARAMETERS) == vendors
    assert set(DRIVERS) == set(TYPE_NAMES) == vendors


def test_an_unknown_vendor_does_not_get_the_arguments_of_another_one() -> None:
    with pytest.raises(ValueError, match="'oracle' is not a valid Vendor"):
        LimitedEngine(URL.create("oracle"))
