"""Secrets by reference: environment variables and files, read at the moment of use."""

import os
import re
from typing import assert_never

from outkey.foundation.core.errors import SecretMissing, drop_traceback, secret_missing
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.reference import Reference, Store

_MAX_BYTES = 64 * 1024


class ReferencedSecrets:
    """Opens what a configuration's references name, and reads it each time.

    An environment variable that has not changed gives the same secret again, with what
    was derived from it: its value is in the memory of the process anyway.
    """

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._files = files or ConfiguredFiles()
        self._variables: dict[str, Secret] = {}

    @drop_traceback
    def open(self, configuration: Configuration, field: str) -> Secret:
        state = configuration.secrets.get(field)
        if state is None or state.reference is None:
            # Without the advice to enter it: this class only reads references.
            raise SecretMissing(secret_missing(field).message, field=field)
        return self._secret(state.reference, field)

    @drop_traceback
    def open_reference(self, reference: Reference, field: str) -> Secret:
        """Return the secret that a reference names; the field is for errors."""
        return self._secret(reference, field)

    def _secret(self, reference: Reference, field: str) -> Secret:
        match reference.store:
            case Store.ENV:
                return self._from_environment(reference, field)
            case Store.FILE:
                return _from_file(reference, field, self._files)
            case _:
                assert_never(reference.store)

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


def _from_file(reference: Reference, field: str, files: ConfiguredFiles) -> Secret:
    try:
        content = files.read(reference.place, _MAX_BYTES)
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
