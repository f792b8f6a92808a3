"""Ids of rows, as requests and stored documents have them."""

MOST_DIGITS = 18  # more than any id has, and fewer than a column overflows at


def row_id(text: object) -> int | None:
    """Return the id that a text is; None for anything else."""
    if not isinstance(text, str) or len(text) > MOST_DIGITS:
        return None
    return int(text) if text.isascii() and text.isdecimal() else None
