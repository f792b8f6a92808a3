"""Django settings of the embedded host, for commands: the environment or defaults."""

import os
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.server.location import has_demo, home

TLS_PARAMETERS = ("sslmode", "sslrootcert", "sslcert", "sslkey")


def database(url: str | None, data: Path) -> dict[str, object]:
    """Return Django's settings for PostgreSQL if there is a URL, else for SQLite."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": data / "outkey.sqlite3",
            "OPTIONS": {
                # A deferred transaction that starts to write late fails at once,
                # whatever the timeout.
                "transaction_mode": "IMMEDIATE",
                "timeout": 5,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;"
                    " PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL;"
                ),
            },
        }
    from outkey.foundation.adapters.postgresql_deadlines import (
        KEEPALIVES,
        LOCK_SECONDS,
        STATEMENT_SECONDS,
        server_limits,
    )

    parts = split_database_url(url)
    limits = server_limits(statement=STATEMENT_SECONDS, lock=LOCK_SECONDS)
    return {
        "ENGINE": "outkey.hosts.django.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **KEEPALIVES,
            "connect_timeout": 5,
            # Waiting for a lock of another session ends, as it does on SQLite; and a
            # commit is on the disk, whatever the database's own default is.
            "options": f"{limits} -c synchronous_commit=on",
        }
        | tls_parameters(parts),
    }


def tls_parameters(parts: SplitResult) -> dict[str, str]:
    """Return the TLS parameters in the URL of a database; refuse unknown parameters."""
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not set(TLS_PARAMETERS).issuperset(parameters) or parts.fragment:
        raise ConfigError(
            Text(
                "OUTKEY_DATABASE_URL may have these parameters only: {names}",
                names=", ".join(TLS_PARAMETERS),
            ),
            hint=Text("If ? or # is a part of the password, write %3F or %23 instead."),
        )
    return parameters


def split_database_url(url: str) -> SplitResult:
    """Return the parts of a PostgreSQL URL; an error repeats nothing of it."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:  # its text holds a part of the URL, which may be the password
        parts = urlsplit("")
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ConfigError(
            Text(
                "OUTKEY_DATABASE_URL is not postgresql://user:password@host:port/name"
            ),
            hint=Text(
                "Percent-encode special characters in the password: / is %2F, # is"
                " %23, ? is %3F."
            ),
        )
    return parts


SECRET_KEY = "not used: commands sign nothing"  # noqa: S105 - the pages have their own
USE_TZ = True
DATABASES = {
    "default": database(os.environ.get("OUTKEY_DATABASE_URL"), home() / "data")
}
# The tables of the queue are for PostgreSQL only.
FOR_WORKERS = (
    ["procrastinate.contrib.django"] if os.environ.get("OUTKEY_DATABASE_URL") else []
)
DEMO = has_demo(home())
FOR_DEMO = ["outkey.hosts.demo_records"] if DEMO else []
INSTALLED_APPS = ["outkey.hosts.django", *FOR_DEMO, *FOR_WORKERS]
OUTKEY = {
    "HOME": home(),
    # The models that may be synchronized, each with the values that archive a record.
    "RECORDS": {"demo.Contact": {"active": False}, "demo.Order": {}} if DEMO else {},
}
