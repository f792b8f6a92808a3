"""Columns as the database returns them: SQLite stores any type in any column."""


def as_bytes(column: object) -> bytes:
    """Return the bytes of a column; SQLite also returns a text that was put there."""
    if isinstance(column, bytes | memoryview):
        return bytes(column)
    return str(column).encode(errors="replace")


def as_number(column: object) -> int:
    """Return the number of a column; 0 for what a chain cannot hold."""
    if isinstance(column, int) and 0 <= column < 2**63:
        return column
    return 0
