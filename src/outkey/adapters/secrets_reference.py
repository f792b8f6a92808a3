"""Secrets by reference: environment variables and files, read at the moment of use."""

import errno
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from outkey.core.config import Configuration
from outkey.core.errors import SecretMissing, frameless
from outkey.core.reference import Reference, Store
from outkey.core.secret import Secret

_MAX_BYTES = 64 * 1024


class ReferencedSecrets:
    """Opens what a configuration's references name; nothing is cached.

    `own` are files that no configuration may send: outkey's key first of all.
    """

    def __init__(self, own: Sequence[Path] = ()) -> None:
        self._own = own

    @frameless
    def open(self, configuration: Configuration, field: str) -> Secret:
        state = configuration.secrets.get(field)
        if state is None or state.reference is None:
            raise SecretMissing(f"{field} is not set", field=field)
        reference = state.reference
        return (
            _from_environment(reference, field)
            if reference.store is Store.ENV
            else _from_file(reference, field, self._own)
        )


def _from_environment(reference: Reference, field: str) -> Secret:
    value = os.environ.get(reference.place)
    if value is None:
        message = f"the environment variable {reference.place} of {field} is not set"
        raise SecretMissing(message, field=field)
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        message = f"the environment variable {reference.place} of {field} is not UTF-8 text"
        raise SecretMissing(message, field=field)
    return Secret(value)


def _from_file(reference: Reference, field: str, own: Sequence[Path]) -> Secret:
    try:
        content = _read_regular_file(reference.place, own)
        # Editors end files with a newline that is no part of the secret; one is removed.
        text = re.sub(r"\r?\n\Z", "", content.decode("utf-8"))
    except OSError:
        raise SecretMissing(f"the file of {field} cannot be read", field=field) from None
    except UnicodeDecodeError:
        raise SecretMissing(f"the file of {field} is not UTF-8 text", field=field) from None
    if len(content) > _MAX_BYTES:
        raise SecretMissing(f"the file of {field} is larger than 64 KiB", field=field)
    return Secret(text)


def _read_regular_file(place: str, own: Sequence[Path]) -> bytes:
    """Read a file, but none of our own, and no pipe or device that could keep us waiting."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        # Compared by what was opened, so that links do not help.
        if any(path.exists() and os.path.samestat(path.stat(), status) for path in own):
            raise OSError(errno.EACCES, "outkey's own")
        return file.read(_MAX_BYTES + 1)
