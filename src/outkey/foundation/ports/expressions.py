"""Expressions that find values in JSON."""

from collections.abc import Callable
from typing import Protocol


class PathCompiler(Protocol):
    """Compiles expressions that find values in a response."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return a function that finds the value; ConfigError at `field` if invalid."""

    def is_path_of_names(self, expression: str) -> bool:
        """Whether an expression only names members: it is quick, and never fails."""
