"""Configurations held in memory, as a TOML document or a test gives them."""

from collections.abc import Iterable

from outkey.core.config import Configuration, SyncLine
from outkey.core.errors import UnknownConfiguration


class MemoryConfigurations:
    """Finds configurations and sync lines by name."""

    def __init__(
        self, configurations: Iterable[Configuration], lines: Iterable[SyncLine] = ()
    ) -> None:
        self._configurations = {c.name: c for c in configurations}
        self._lines = {line.name: line for line in lines}

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""
        try:
            return self._configurations[name]
        except KeyError:
            known = ", ".join(sorted(self._configurations)[:10]) or "none"
            raise UnknownConfiguration(hint=f"Known: {known}.") from None

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""
        try:
            return self._lines[name]
        except KeyError:
            raise UnknownConfiguration("there is no sync line of that name", field="line") from None
