"""Secrets by reference: environment variables and files, read at the moment of use."""

import os
import re
from pathlib import Path

from outkey.core.config import Configuration
from outkey.core.errors import SecretMissing
from outkey.core.reference import Reference, Store
from outkey.core.secret import Secret

_MAX_BYTES = 64 * 1024


class ReferencedSecrets:
    """Opens what a configuration's references name; nothing is cached."""

    def open(self, configuration: Configuration, field: str) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing."""
        reference = configuration.secrets.get(field)
        if reference is None:
            raise SecretMissing(f"{field} is not set", field=field)
        return (
            _from_environment(reference, field)
            if reference.store is Store.ENV
            else _from_file(reference, field)
        )


def _from_environment(reference: Reference, field: str) -> Secret:
    value = os.environ.get(reference.place)
    if value is None:
        raise SecretMissing(
            f"the environment variable {reference.place} of {field} is not set", field=field
        )
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise SecretMissing(
            f"the environment variable {reference.place} of {field} is not UTF-8 text", field=field
        )
    return Secret(value)


def _from_file(reference: Reference, field: str) -> Secret:
    try:
        with Path(reference.place).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise SecretMissing(f"the file of {field} is larger than 64 KiB", field=field)
        # Editors end files with a newline that is no part of the secret; one is removed.
        text = re.sub(r"\r?\n\Z", "", content.decode("utf-8"))
    except OSError:
        raise SecretMissing(f"the file of {field} cannot be read", field=field) from None
    except UnicodeDecodeError:
        raise SecretMissing(f"the file of {field} is not UTF-8 text", field=field) from None
    return Secret(text)
