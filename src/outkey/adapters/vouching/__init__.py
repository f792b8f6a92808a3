"""Rows that are vouched for: their codes, what a home has seen, and the tables."""

from outkey.adapters.vouching.vouched_rows import VouchedRows, VouchedTables
from outkey.sending.adapters.vouching.codes import KeyedVouchers
from outkey.sending.adapters.vouching.seen_file import (
    SeenRowsFile,
    clear_seen_rows,
    seen_rows_file,
)
from outkey.sending.adapters.vouching.vouched_configurations import (
    VouchedConfigurations,
)
from outkey.sending.adapters.vouching.vouched_states import VouchedStates
from outkey.sending.adapters.vouching.vouched_tokens import VouchedTokens
from outkey.sync.adapters.vouched_lines import VouchedLines

__all__ = [
    "KeyedVouchers",
    "SeenRowsFile",
    "VouchedConfigurations",
    "VouchedLines",
    "VouchedRows",
    "VouchedStates",
    "VouchedTables",
    "VouchedTokens",
    "clear_seen_rows",
    "seen_rows_file",
]
