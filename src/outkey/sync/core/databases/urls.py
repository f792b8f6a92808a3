"""Which URLs of other databases outkey accepts: their schemes and their parameters.

A driver has parameters that read files of this machine, send them to the server, run
statements or load code. So a parameter that is not listed here is refused.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

# The dialect of SQLAlchemy for each scheme.
DIALECTS: Mapping[str, str] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "postgresql": (
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "channel_binding",
        "application_name",
        "target_session_attrs",
    ),
    "mysql": ("charset", "ssl_ca", "ssl_cert", "ssl_key", "ssl_check_hostname"),
    "sqlite": (),
}
# Who has the key is let in, as with a password: so both stand in a reference only.
KEY_PARAMETERS = frozenset({"sslcert", "sslkey", "ssl_cert", "ssl_key"})
URL_HINT = Text(
    "Write postgresql://user:password@host/name, mysql://user:password@host/name or"
    " sqlite:////folder/file.db; percent-encode special characters."
)


def refuse_unsafe_literal(url: str, *, field: str) -> None:
    """Raise ConfigError for a URL that must not stand in a document as it is."""
    scheme, _, rest = url.partition("://")
    _, _, query = rest.partition("?")
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    refuse_parameters(scheme, names, field=field)
    if not KEY_PARAMETERS.isdisjoint(names):
        raise ConfigError(
            Text("the key of a client must not stand in the document"),
            hint=Text("Put the URL into an environment variable: env:NAME."),
            field=field,
        )


def refuse_parameters(scheme: str, names: Iterable[str], *, field: str) -> str:
    """Return the dialect of a URL; ConfigError for what outkey does not accept.

    No error repeats a name: it may be a part of a password.
    """
    dialect = DIALECTS.get(scheme.partition("+")[0])
    if dialect is None:
        raise ConfigError(
            Text("outkey cannot use a database of this kind"),
            hint=URL_HINT,
            field=field,
        )
    accepted = PARAMETERS[dialect]
    if not {*accepted}.issuperset(names):
        raise ConfigError(
            Text(
                "the URL may have these parameters only: {names}",
                names=", ".join(accepted),
            )
            if accepted
            else Text("the URL of an SQLite database has no parameters"),
            hint=Text("If ? or # is a part of the password, write %3F or %23 instead."),
            field=field,
        )
    return dialect
