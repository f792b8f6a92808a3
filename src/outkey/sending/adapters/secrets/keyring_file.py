"""Where the key ring is stored: OUTKEY_KEY, or a file that only its owner may read."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from outkey.foundation.core.errors import ConfigError, Sealed, StorageUnavailable
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.secrets.keyring import (
    Keyring,
    agree,
    new_keyring,
    parse,
    serialize,
)


@dataclass(frozen=True, slots=True)
class KeySource:
    """The places where an installation reads its keys."""

    file: Path
    variable: Secret | None

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], default: Path
    ) -> "KeySource":
        """Read OUTKEY_KEY and OUTKEY_KEY_FILE, which has this default."""
        given = environment.get("OUTKEY_KEY")
        file = Path(environment.get("OUTKEY_KEY_FILE") or default)
        return cls(file, None if given is None else Secret(given))

    def load(self) -> Keyring | None:
        """Return the ring, None if there is no key anywhere, or raise Sealed."""
        by_variable = None if self.variable is None else parse(self.variable)
        return agree(by_variable, self._from_file())

    def create(self) -> Keyring:
        """Create and store a ring; the caller has checked that nothing is sealed."""
        ring = new_keyring()
        try:
            self._write(ring, os.link)
        except FileExistsError:
            # Another process was first: its key is used.
            ring = self._from_file() or ring
        return ring

    def save(self, ring: Keyring) -> None:
        """Write the file in one step: a kill leaves the old one or the new one."""
        self._write(ring, os.replace)

    def _write(self, ring: Keyring, put: Callable[[str, Path], None]) -> None:
        if self.variable is not None:
            message = Text("the key comes from OUTKEY_KEY, which outkey cannot change")
            hint = Text("Store the key in a file (OUTKEY_KEY_FILE) to rotate it.")
            raise ConfigError(message, hint=hint)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # mode 0600
            handle, name = tempfile.mkstemp(dir=self.file.parent, prefix=".key-")
        except OSError:
            raise _unwritable() from None
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(serialize(ring).reveal())
                file.flush()
                os.fsync(file.fileno())
            put(name, self.file)
        except FileExistsError:
            raise
        except OSError:
            raise _unwritable() from None
        finally:
            with contextlib.suppress(OSError):
                Path(name).unlink()

    def _from_file(self) -> Keyring | None:
        try:
            with self.file.open("rb") as file:
                _refuse_open_to_others(os.fstat(file.fileno()))
                # A key is ASCII; an error of the codec would contain the key.
                return parse(Secret(file.read().decode("ascii", "replace")))
        except FileNotFoundError:
            return None
        except OSError:
            raise Sealed(Text("the key file cannot be read")) from None


def _refuse_open_to_others(status: os.stat_result) -> None:
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        hint = Text("Run chmod 600 on it, and treat the key as disclosed.")
        raise Sealed(Text("other users may read the key file"), hint=hint)


def _unwritable() -> StorageUnavailable:
    hint = Text("Check its folder: owner, mode and free disk space.")
    return StorageUnavailable(Text("the key file cannot be written"), hint=hint)
