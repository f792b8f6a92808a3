"""Secrets by reference, read at the moment of use.

Environment variables, files and credentials of systemd are read here; external stores
are asked through the port `SecretStores`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    BackendUnknown,
    SecretMissing,
    drop_traceback,
    secret_missing,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.reference import Reference, Store

if TYPE_CHECKING:
    from outkey.sending.core.backends.values import Reads
    from outkey.sending.ports.sending import SecretStores

_MAX_BYTES = 64 * 1024
# Where systemd puts what LoadCredential= and its kin name, for one service alone.
_CREDENTIALS = "CREDENTIALS_DIRECTORY"


class ReferencedSecrets:
    """Opens what a configuration's references name, and reads it each time.

    An environment variable that has not changed gives the same secret again, with what
    was derived from it: its value is in the memory of the process anyway.
    """

    def __init__(
        self,
        files: ConfiguredFiles | None = None,
        stores: Callable[[], SecretStores] | None = None,
    ) -> None:
        self._files = files or ConfiguredFiles()
        self._stores = stores  # made when the first reference needs one
        self._variables: dict[str, Secret] = {}

    @drop_traceback
    def open(
        self, configuration: Configuration, field: str, reads: Reads | None = None
    ) -> Secret:
        state = configuration.secrets.get(field)
        if state is None or state.reference is None:
            # Without the advice to enter it: this class only reads references.
            raise SecretMissing(secret_missing(field).message, field=field)
        return self._secret(state.reference, field, reads)

    @drop_traceback
    def open_reference(self, reference: Reference, field: str) -> Secret:
        """Return the secret that a reference names; the field is for errors."""
        return self._secret(reference, field)

    def _secret(
        self, reference: Reference, field: str, reads: Reads | None = None
    ) -> Secret:
        if reference.is_external:
            if self._stores is None:
                raise BackendUnknown(field=field)
            return self._stores().open(reference, field, reads)
        match reference.store:
            case Store.ENV:
                return self._from_environment(reference, field)
            case Store.FILE:
                return _from_file(reference.place, field, self._files)
            case Store.CREDENTIAL:
                return self._from_credential(reference, field)
            case _:
                raise AssertionError(reference.store)

    def _from_credential(self, reference: Reference, field: str) -> Secret:
        folder = os.environ.get(_CREDENTIALS, "")
        if not folder.startswith("/"):
            raise SecretMissing(
                Text("systemd has given this process no credentials"),
                hint=Text(
                    "Name {name} in LoadCredential= of the service, and restart it.",
                    name=reference.place,
                ),
                field=field,
            )
        return _from_file(f"{folder}/{reference.place}", field, self._files)

    def _from_environment(self, reference: Reference, field: str) -> Secret:
        name = reference.place
        value = os.environ.get(name)
        if value is None:
            self._variables.pop(name, None)
            message = Text(
                "the environment variable {name} of {field} is not set",
                name=name,
                field=field,
            )
            raise SecretMissing(message, field=field)
        secret = self._variables.get(name)
        if secret is not None and secret.has_text(value):
            return secret
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            message = Text(
                "the environment variable {name} of {field} is not UTF-8 text",
                name=name,
                field=field,
            )
            raise SecretMissing(message, field=field)
        secret = self._variables[name] = Secret(value)
        return secret

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing: no voucher is stored that a document could differ from."""


def _from_file(path: str, field: str, files: ConfiguredFiles) -> Secret:
    try:
        content = files.read(path, _MAX_BYTES)
        # Editors end files with a newline that is not part of the secret.
        text = re.sub(r"\r?\n\Z", "", content.decode("utf-8"))
    except OSError:
        raise SecretMissing(
            Text("the file of {field} cannot be read", field=field), field=field
        ) from None
    except UnicodeDecodeError:
        raise SecretMissing(
            Text("the file of {field} is not UTF-8 text", field=field), field=field
        ) from None
    if len(content) > _MAX_BYTES:
        raise SecretMissing(
            Text("the file of {field} is larger than 64 KiB", field=field), field=field
        )
    return Secret(text)
