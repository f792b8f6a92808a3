"""Rules for the value of a secret, wherever it comes from."""

import re

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.custom_rows import check_parameter_value
from outkey.sending.core.configuration.fields import FIELDS, secret_label
from outkey.sending.core.request.headers import (
    check_token,
    check_value,
    tidy_token,
    tidy_value,
)

MAX_SECRET = 64 * 1024
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
CONTROL_BUT_LINE_BREAKS = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# A key as PEM (RFC 7468), or as a JWK (RFC 7517) that has several lines.
KEY_FILE = re.compile(r"\s*(-----BEGIN|\{)")
WITH_LINES = frozenset(
    field.secret_name for field in FIELDS if field.secret and field.lines
)
ONLY_REFERENCES = frozenset(
    field.secret_name for field in FIELDS if field.secret and field.only_reference
)
# Used exactly as they are; white space around the other secrets is removed.
EXACT = frozenset({"password", "secret_key", "client_key"})


def refuse_value(field: str) -> None:
    """Refuse to store any value of a secret that changes all the time."""
    if field in ONLY_REFERENCES:
        raise ConfigError(
            Text("{secret} is only read, and never stored", secret=secret_label(field)),
            hint=Text(
                "Set a reference: outkey secret set NAME {field} --from file:PATH.",
                field=field,
            ),
            field=field,
        )


def refuse_unusable(field: str, secret: Secret) -> None:
    """Refuse a value that could never be sent, before it replaces one that can."""
    refuse_value(field)
    if secret.is_mask():
        raise ConfigError(
            Text("this is a mask, not a secret"),
            hint=Text("Enter the value itself."),
            field=field,
        )
    if secret.longer_than(MAX_SECRET):
        raise ConfigError(Text("the value is too long for a secret"), field=field)
    if not secret and field != "password":  # RFC 7617 allows an empty password
        raise ConfigError(Text("the value is empty; nothing was changed"), field=field)
    if field == "token":
        secret.derive(lambda text: check_token(tidy_token(text), field=field))
    elif field.startswith("header:"):
        secret.derive(lambda text: check_value(tidy_value(text), field=field))
    elif field.startswith("query:"):
        secret.derive(lambda text: check_parameter_value(tidy_value(text), field=field))
    else:
        refuse_control_characters(field, secret)


def refuse_control_characters(field: str, secret: Secret) -> None:
    """Refuse a value with control characters; a private key may have line breaks.

    No API issues such a secret; a value with control characters is the wrong file.
    """
    secret.derive(lambda text: _without_control_characters(field, text))


def _without_control_characters(field: str, text: str) -> str:
    """Return the value of a secret, or raise where it has a control character."""
    if text.isprintable():  # nearly every secret is
        return text
    has_lines = field in WITH_LINES and KEY_FILE.match(text)
    forbidden = CONTROL_BUT_LINE_BREAKS if has_lines else CONTROL
    if forbidden.search(text if field in EXACT else tidy_value(text)):
        raise ConfigError(
            Text("the value contains a control character"),
            hint=Text(
                "Check the entered value, or what its reference points to; only keys"
                " may have line breaks."
            ),
            field=field,
        )
    return text
