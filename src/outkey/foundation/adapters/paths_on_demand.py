"""Finds values by JMESPath; its library is loaded when an expression is compiled.

Most commands and requests need none, and a gateway without it can send as well.
"""

from collections.abc import Callable

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text


class PathsOnDemand:
    """Compiles expressions as `JmespathCompiler` does."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return a search function, or raise a ConfigError of this field."""
        try:
            from outkey.foundation.adapters.paths_jmespath import JmespathCompiler  # noqa: PLC0415
        except ImportError:
            raise ConfigError(
                Text("the library for JMESPath expressions is not installed"),
                hint=Text("Install outkey[server]."),
                field=field,
            ) from None
        return JmespathCompiler().compile(expression, field=field)
