"""Counting by key."""


def add_one(counts: dict[str, int], key: str) -> None:
    """Count one more for a key."""
    counts[key] = counts.get(key, 0) + 1
