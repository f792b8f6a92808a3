"""The declarative table of a configuration's fields.

Forms, command line, TOML, documentation and every later host derive from it or are
tested against it: the name of a field, its place, what it takes and when it applies.
"""

from collections.abc import Mapping

from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.fields.field_kinds import Field
from outkey.sending.core.configuration.custom_rows import row_label
from outkey.sending.core.configuration.field_tables import (
    authentication,
    aws,
    connection,
    connections,
    csrf,
    general,
    login,
    oauth1,
    oauth2,
    request,
    rotation,
    verification,
)

FIELDS: tuple[Field, ...] = (
    *general.FIELDS,
    *authentication.FIELDS,
    *oauth2.FIELDS,
    *oauth1.FIELDS,
    *login.FIELDS,
    *aws.FIELDS,
    *request.FIELDS,
    *csrf.FIELDS,
    *rotation.FIELDS,
    *connection.FIELDS,
    *connections.FIELDS,
    *verification.FIELDS,
)

BY_PATH = {field.path: field for field in FIELDS}
# Paths of version 0.1 that have other names now.
FORMER_KEYS = {"oauth2.token_header": "token_header"}
# Paths of the tables of a configuration; `oauth2.assertion` is in `oauth2`.
SECTIONS = tuple(
    dict.fromkeys(path.rpartition(".")[0] for path in BY_PATH if "." in path)
)
# The sections that only one authentication type reads.
_TYPES_OF_SECTIONS = {
    "aws": AuthenticationType.AWS_SIGV4,
    "oauth1": AuthenticationType.OAUTH1,
}
SECRET_LABELS = {field.secret_name: field.label for field in FIELDS if field.secret}
_FIELDS_OF_SECRETS: dict[str, list[Field]] = {}
for _field in FIELDS:
    if _field.secret:
        _FIELDS_OF_SECRETS.setdefault(_field.secret_name, []).append(_field)
SENT_TO_TOKEN_URL = tuple(field.secret_name for field in FIELDS if field.to_token_url)


def secret_label(name: str) -> str:
    """Return a secret as a user knows it: the label of its field, or its row."""
    return SECRET_LABELS.get(name, row_label(name))


def path_of_secret(name: str, settings: Mapping[str, object]) -> str:
    """Return the field of a secret; a row has none.

    Several types may have a secret of one name: it is that of the type in use.
    """
    fields = _FIELDS_OF_SECRETS.get(name, ())
    paths = [field.path for field in fields if field.applies(settings)]
    return next(iter([*paths, *(field.path for field in fields), name]))


def other_type_of(path: str, used: AuthenticationType) -> AuthenticationType | None:
    """Return the only type that reads a field or section, if another one is used."""
    owner = _TYPES_OF_SECTIONS.get(path.partition(".")[0], used)
    return None if owner is used else owner
