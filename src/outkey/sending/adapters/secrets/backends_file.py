"""The operator's file of backends: who may have written it, and when it is read."""

import os
import stat
import time
from pathlib import Path

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.backends.settings import (
    FILE_NAME,
    NO_BACKENDS,
    Backends,
    parse_backends,
)

_LOOK_AGAIN = 5.0  # every send asks, and an operator changes it rarely
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class BackendsFile:
    """Reads `config/backends.toml` of a home again whenever it has changed.

    While it is unchanged, the same object is returned: what was read with it stays
    valid.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "config" / FILE_NAME
        self._mark: tuple[int, ...] = ()
        self._backends = NO_BACKENDS
        self._look_at = 0.0

    def read(self) -> Backends:
        """Return the backends, or raise ConfigError if the file cannot be used."""
        now = time.monotonic()
        if now < self._look_at:
            return self._backends
        try:
            # Opening a pipe without O_NONBLOCK would wait for whoever writes to it.
            descriptor = os.open(self.path, _FLAGS)
        except FileNotFoundError:
            self._mark, self._backends = (), NO_BACKENDS
            self._look_at = now + _LOOK_AGAIN
            return self._backends
        except OSError:
            raise _unreadable() from None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise _unreadable()
        with os.fdopen(descriptor, "rb") as file:
            if status.st_mode & _WRITABLE_BY_OTHERS:
                raise ConfigError(
                    Text("config/backends.toml may be written by other users"),
                    hint=Text(
                        "Only its owner may write it: chmod 600 config/backends.toml"
                    ),
                    field=FILE_NAME,
                )
            mark = (status.st_ino, status.st_size, status.st_mtime_ns)
            if mark != self._mark:
                self._backends = parse_backends(_text_of(file.read()))
                self._mark = mark
        self._look_at = now + _LOOK_AGAIN
        return self._backends


def _text_of(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable() from None


def _unreadable() -> ConfigError:
    return ConfigError(
        Text("config/backends.toml cannot be read as UTF-8 text"), field=FILE_NAME
    )
