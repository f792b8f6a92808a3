"""Files that outkey writes for sync lines: JSON lines, CSV and Parquet."""

from outkey.sync.adapters.files.export import export_table
from outkey.sync.adapters.files.replacing import replace_file
from outkey.sync.adapters.files.store import FileStore
from outkey.sync.adapters.files.writers import open_writer

__all__ = ["FileStore", "export_table", "open_writer", "replace_file"]
