"""Finds numbers in JSON that look like times, which outkey writes in ISO 8601."""

from collections.abc import Iterator

# Unix times of the years 2020 to 2036, in seconds and in milliseconds.
SECONDS = range(1_600_000_000, 2_100_000_000)
MILLISECONDS = range(SECONDS.start * 1000, SECONDS.stop * 1000)


def unix_times(document: object, place: str = "") -> Iterator[str]:
    """Yield the places of all numbers that look like a Unix time."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from unix_times(value, f"{place}.{key}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from unix_times(value, f"{place}[{number}]")
    elif isinstance(document, int | float) and is_unix_time(document):
        yield f"{place}: {document}"


def is_unix_time(number: float) -> bool:
    """Whether a number could be a Unix time of these years."""
    return any(times.start <= number < times.stop for times in (SECONDS, MILLISECONDS))
