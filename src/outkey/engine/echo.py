"""Secrets that an API hands back: which ones it was sent, and whether they stand in what it says.

Whoever shows or keeps something of an answer asks here.
"""

import json
from collections.abc import Iterable
from contextlib import suppress

from outkey.core.config import Configuration
from outkey.core.errors import OutkeyError
from outkey.core.headers import tidy_token, tidy_value
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway


def sent_secrets(gateway: Gateway, configuration: Configuration) -> list[Secret]:
    """Return what requests carry, as it was entered and as it is sent; tokens too."""
    found = gateway.token(configuration).secrets() if configuration.uses_oauth2 else []
    for name in configuration.needed_secrets():
        with suppress(OutkeyError):  # what does not open was not sent either
            entered = gateway.sender.open(configuration, name)
            for secret in (entered, entered.derive(tidy_value), entered.derive(tidy_token)):
                if secret not in found:
                    found.append(secret)
    return found


def gives_away(secrets: Iterable[Secret], value: object) -> bool:
    """Tell whether one of these secrets stands anywhere in a value, as it is or encoded.

    The value is read as JSON writes it: an answer may escape any character, and a value has none
    of that any more.
    """
    try:
        text = json.dumps(value, default=str)
    except RecursionError:  # nobody can tell
        return True
    return any(secret.occurs_in(text) for secret in secrets)
