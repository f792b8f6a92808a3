"""Configurations in the memory of one process, as a TOML document has them."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from outkey.foundation.core.errors import (
    UnknownConfiguration,
    UnknownConnection,
    unknown_line,
)
from outkey.sending.core.configuration.configuration import Configuration, known_names
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.connections.connection import account_name, is_account_name
from outkey.sending.core.connections.ids import check_connection_id

NO_LINES: Mapping[str, str] = MappingProxyType({})


class MemoryConfigurations:
    """Configurations in a dictionary; only refusals change them."""

    def __init__(
        self,
        configurations: Iterable[Configuration] = (),
        owners_of_lines: Mapping[str, str] = NO_LINES,
    ) -> None:
        # By name; those with a connection by the name of the account.
        self.configurations = {
            configuration.account: configuration for configuration in configurations
        }
        self._owners_of_lines = owners_of_lines
        self._lock = threading.Lock()

    def get(self, name: str) -> Configuration:
        try:
            return self.configurations[name]
        except KeyError:
            names = sorted(
                each for each in self.configurations if not is_account_name(each)
            )
            raise UnknownConfiguration(hint=known_names(names)) from None

    def connected(self, name: str, connection: str) -> Configuration:
        unconnected = self.get(name)
        check_connection_id(connection)
        key = unconnected.record or name
        found = self.configurations.get(account_name(key, connection))
        if found is None:
            raise UnknownConnection(field="connection")
        return found

    def configuration_of_line(self, name: str) -> str:
        try:
            return self._owners_of_lines[name]
        except KeyError:
            raise unknown_line() from None

    def note_refused(self, name: str, revision: int) -> int:
        with self._lock:
            stored = self.configurations.get(name)
            if stored is None or stored.revision != revision:
                return 0
            return self._change(stored, Health.after_refusal).refused

    def note_accepted(self, name: str, revision: int, at: float) -> None:
        with self._lock:
            stored = self.configurations.get(name)
            if stored is not None:
                is_same = stored.revision == revision
                moment = at if is_same else None
                connection = stored.connection
                if connection is not None and connection.is_use_to_note(at):
                    used = replace(connection, last_used_at=at)
                    stored = replace(stored, connection=used)
                self._change(stored, lambda health: health.after_success(moment))

    def pause(self, name: str, at: float) -> None:
        with self._lock:
            if name in self.configurations:
                stored = self.configurations[name]
                self._change(stored, lambda health: health.after_pause(at))

    def _change(
        self, configuration: Configuration, step: Callable[[Health], Health]
    ) -> Health:
        health = step(
            Health(
                refused=configuration.refused,
                paused_at=configuration.paused_at,
                current=configuration.is_proved,
            )
        )
        self.configurations[configuration.account] = replace(
            configuration,
            refused=health.refused,
            paused_at=health.paused_at,
            is_proved=health.is_proved,
        )
        return health
