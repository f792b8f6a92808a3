"""Logs of the server and the workers: their lines, and their form."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.failure_places import failure_places
from outkey.foundation.core.text import Text
from outkey.foundation.ports.request_id import current_request_id

FORMAT = "OUTKEY_LOG_FORMAT"
FORMATS = ("text", "json")
# As `sys.exc_info` returns them.
ErrorFacts = (
    tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
)
EXTRA = ("configuration", "outcome")  # where they apply


class PlainFormatter(logging.Formatter):
    """Text, in which an error is its type and its places: its text may hold a value."""

    def formatException(self, ei: ErrorFacts) -> str:  # noqa: N802 - of logging
        """Return where an error came from."""
        return failure_places(ei[1]) if ei[1] is not None else ""


class JsonFormatter(PlainFormatter):
    """One JSON object a line, with the id of the request that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        at = datetime.fromtimestamp(record.created, UTC)
        facts: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": current_request_id.get() or None,
        }
        facts |= {name: vars(record)[name] for name in EXTRA if name in vars(record)}
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return json.dumps(facts, default=str)


def logging_settings(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the settings of Python's logging."""
    form = environment.get(FORMAT) or FORMATS[0]
    if form not in FORMATS:
        raise ConfigError(
            Text("must be one of: {choices}", choices=", ".join(FORMATS)), field=FORMAT
        )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"()": PlainFormatter},
            "json": {"()": JsonFormatter},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {
            "handlers": ["console"],
            "level": environment.get("OUTKEY_LOG_LEVEL", "WARNING"),
        },
        # A refused request is reported on its page; a failure is logged here.
        "loggers": {
            "django": {"handlers": ["console"], "level": "ERROR", "propagate": False},
            # Also refused, but logged by Django as a failure: anyone can send any
            # host.
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            # Their messages have the text of drivers and servers.
            "psycopg": {"level": "CRITICAL"},
            "procrastinate": {"level": "CRITICAL"},
            # The audit has the failed login.
            "axes": {"level": "ERROR"},
            # A request that waits for a thread is not a problem.
            "waitress.queue": {"level": "ERROR"},
        },
    }
