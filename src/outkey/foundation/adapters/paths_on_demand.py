"""Finds values by JMESPath; its library is loaded when an expression is compiled.

Most commands and requests need none.
"""

from collections.abc import Callable


class PathsOnDemand:
    """Compiles expressions as `JmespathCompiler` does."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return a search function, or raise a ConfigError of this field."""
        from outkey.foundation.adapters.paths_jmespath import JmespathCompiler  # noqa: PLC0415

        return JmespathCompiler().compile(expression, field=field)

    def is_path_of_names(self, expression: str) -> bool:
        """Whether an expression only names members: it is quick, and never fails."""
        from outkey.foundation.adapters.paths_jmespath import JmespathCompiler  # noqa: PLC0415

        return JmespathCompiler().is_path_of_names(expression)
