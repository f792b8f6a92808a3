"""Files that outkey writes for sync lines: JSON lines, CSV and Parquet."""

from outkey.adapters.files.export import export_table
from outkey.adapters.files.replacing import replace_file
from outkey.adapters.files.store import FileStore
from outkey.adapters.files.writers import open_writer

__all__ = ["FileStore", "export_table", "open_writer", "replace_file"]
