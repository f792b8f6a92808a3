"""Log lines as JSON objects."""

import json
import logging
import sys
from datetime import datetime
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.ports.request_id import current_request_id
from outkey.hosts.server.logs import JsonFormatter, PlainFormatter, logging_settings


def logged(message: str, *values: object, **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what a line says."""
    record = logging.LogRecord(
        "outkey.send",
        logging.INFO,
        "file",
        1,
        message,
        values,
        facts.pop("error", None),
    )
    vars(record).update(facts)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_has_its_time_level_logger_and_message() -> None:
    line = logged("a %s\nb", "word")
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "INFO",
        "logger": "outkey.send",
        "message": "a word\nb",
        "request_id": None,
    }


def test_a_line_has_the_id_of_the_request_that_is_served() -> None:
    before = current_request_id.set("0123abcd")
    try:
        assert logged("x")["request_id"] == "0123abcd"
    finally:
        current_request_id.reset(before)


def test_a_line_names_configuration_and_outcome_where_they_apply() -> None:
    line = logged("x", configuration="shop", outcome="ok", other="hidden")
    assert (line["configuration"], line["outcome"]) == ("shop", "ok")
    assert "other" not in line


def test_a_failure_has_its_places_in_the_same_line_and_not_its_text() -> None:
    try:
        raise ValueError("hunter2")
    except ValueError:
        line = logged("x", error=sys.exc_info())
        record = logging.LogRecord(
            "django.request", logging.ERROR, "file", 1, "x", (), sys.exc_info()
        )
    assert line["exception"].startswith("Traceback without values:\nbuiltins.V")
    assert "in test_a_failure_has_its_places" in line["exception"]
    text = PlainFormatter().format(record)
    assert text == f"x\n{line['exception']}"
    assert "hunter2" not in text
    record.exc_text = None
    record.exc_info = (None, None, None)
    assert PlainFormatter().format(record).rstrip() == "x"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        logging_settings({"OUTKEY_LOG_FORMAT": "xml"})
    assert raised.value.field == "OUTKEY_LOG_FORMAT"
    settings = logging_settings({"OUTKEY_LOG_FORMAT": "json"})
    assert settings["handlers"] == {
        "console": {"class": "logging.StreamHandler", "formatter": "json"}
    }
