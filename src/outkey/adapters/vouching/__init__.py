"""Rows that are vouched for: their codes, and what a home has seen of them."""

from outkey.adapters.vouching.codes import KeyedVouchers
from outkey.adapters.vouching.seen_file import (
    SeenRowsFile,
    clear_seen_rows,
    seen_rows_file,
)

__all__ = ["KeyedVouchers", "SeenRowsFile", "clear_seen_rows", "seen_rows_file"]
