"""Django settings of the embedded host. Everything comes from the environment or has a default."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from outkey.core.errors import ConfigError


def home() -> Path:
    """Return the folder that data and key live in."""
    given = os.environ.get("OUTKEY_HOME")
    if given:
        return Path(given)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "outkey"


def database(url: str | None, data: Path) -> dict[str, object]:
    """Return Django's settings for PostgreSQL, if an address is given, else for SQLite."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": data / "outkey.sqlite3",
            "OPTIONS": {
                # A deferred transaction that wants to write later fails despite the time-out.
                "transaction_mode": "IMMEDIATE",
                "timeout": 5,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;"
                    " PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL;"
                ),
            },
        }
    try:
        parts = urlsplit(url)
        port = parts.port
    except (
        ValueError
    ):  # its text holds a part of the address, and that may be the password
        port, parts = None, urlsplit("")
    if parts.scheme not in {"postgres", "postgresql"}:
        message = "OUTKEY_DATABASE_URL is not postgresql://user:password@host:port/name"
        hint = (
            "Percent-encode special characters in the password: / is %2F, # is %23, ?"
            " is %3F."
        )
        raise ConfigError(message, hint=hint)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # Waiting for somebody else's lock ends, as it does on SQLite.
        "OPTIONS": {"connect_timeout": 5, "options": "-c lock_timeout=5000"},
    }


SECRET_KEY = "not used: commands sign nothing"  # noqa: S105 - the pages have one of their own
USE_TZ = True
DATABASES = {
    "default": database(os.environ.get("OUTKEY_DATABASE_URL"), home() / "data")
}
# Its tables are for PostgreSQL only.
FOR_WORKERS = (
    ["procrastinate.contrib.django"] if os.environ.get("OUTKEY_DATABASE_URL") else []
)
INSTALLED_APPS = ["outkey.hosts.django", "outkey.hosts.demo_records", *FOR_WORKERS]
OUTKEY = {
    "HOME": home(),
    # What may be synchronized, each with what archives a record.
    "RECORDS": {"demo.Contact": {"active": False}, "demo.Order": {}},
}
