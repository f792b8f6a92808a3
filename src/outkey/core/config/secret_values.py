"""What the value of a secret may be: rules that hold wherever it comes from."""

import re

from outkey.core.config.fields import FIELDS
from outkey.core.errors import ConfigError
from outkey.core.request.headers import check_token, check_value, tidy_token, tidy_value
from outkey.core.secret import Secret

_LONGEST_SECRET = 64 * 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINE_BREAKS = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# A key as PEM (RFC 7468), or as a JWK that somebody has written over several lines (RFC 7517).
_KEY_FILE = re.compile(r"\s*(-----BEGIN|\{)")
_OF_LINES = frozenset(
    field.secret_name for field in FIELDS if field.secret and field.lines
)
# Sent, or given to the script, exactly as they are; around the others white space is removed.
_EXACT = frozenset({"password", "secret_key", "client_key"})


def refuse_unusable(field: str, secret: Secret) -> None:
    """Refuse a value that could never be sent, before it takes the place of one that can."""
    if secret.is_mask():
        hint = "Enter the value itself."
        raise ConfigError("this is a mask and not a secret", field=field, hint=hint)
    if secret.longer_than(_LONGEST_SECRET):
        raise ConfigError("the value is too long to be a secret", field=field)
    if not secret and field != "password":  # RFC 7617 allows an empty password
        raise ConfigError("the value is empty; nothing was changed", field=field)
    if field == "token":
        secret.derive(lambda text: check_token(tidy_token(text), field=field))
    elif field.startswith("header:"):
        secret.derive(lambda text: check_value(tidy_value(text), field=field))
    else:
        refuse_control_characters(field, secret)


def refuse_control_characters(field: str, secret: Secret) -> None:
    """Refuse a value with control characters; line breaks may stand in a private key.

    No API has ever issued such a secret, and what has some is another file than was meant.
    """
    secret.derive(lambda text: _checked(field, text))


def _checked(field: str, text: str) -> str:
    has_lines = field in _OF_LINES and _KEY_FILE.match(text)
    forbidden = _CONTROL_BUT_LINE_BREAKS if has_lines else _CONTROL
    if forbidden.search(text if field in _EXACT else tidy_value(text)):
        hint = (
            "Check what was entered, or what its reference points to; line breaks are"
            " for keys."
        )
        raise ConfigError("the value holds a control character", field=field, hint=hint)
    return text
