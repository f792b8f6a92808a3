"""Packages that only an extra brings, as in `pip install "outkey[sync]"`."""

from collections.abc import Iterator
from contextlib import contextmanager

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import what an extra brings; ConfigError that names it if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing == "outkey":
            raise
        raise ConfigError(
            Text("the package {package} is not installed", package=missing),
            hint=Text('Run: pip install "outkey[{extra}]"', extra=name),
        ) from None
