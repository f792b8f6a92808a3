"""Files that outkey writes for sync lines: JSON lines, CSV and Parquet."""
