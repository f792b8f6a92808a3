"""Unexpected errors: what is printed and stored of them, and what is not."""

import json
import secrets
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pytest

from outkey.administration.adapters.failure_reports import MAX_REPORTS, write_report
from outkey.foundation.core.failure_places import MAX_FRAMES, failure_places
from outkey.hosts.cli.main import report_thread, run
from outkey.hosts.command_host import CommandHost

SECRET = "hunter2"


def fail(password: str = SECRET) -> NoReturn:
    """Fail as a driver does: with a value in the text, after another failure."""
    try:
        int(password)
    except ValueError:
        raise LookupError(f"cannot log in with {password}")  # noqa: B904


def caught(work: Callable[[], Any]) -> Exception:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - returned
        return error
    raise AssertionError


def test_the_places_of_an_error_have_types_and_lines_and_no_text() -> None:
    text = failure_places(caught(fail))
    assert text.index("builtins.ValueError") < text.index("builtins.LookupError")
    assert f"{__file__}:" in text
    assert text.count(" in fail") == 2
    assert SECRET not in text
    assert "password" not in text  # nor the source


def test_a_deep_recursion_is_cut() -> None:
    def recurse() -> None:
        recurse()

    text = failure_places(caught(recurse))
    assert len(text.splitlines()) <= MAX_FRAMES + 3
    assert "…" in text


def test_errors_that_led_to_each_other_are_named_once() -> None:
    first = ValueError()
    first.__cause__ = second = LookupError()
    second.__cause__ = first
    _, *lines = failure_places(first).splitlines()
    assert lines == ["builtins.LookupError", "then:", "builtins.ValueError"]


def test_a_report_is_for_its_owner_and_only_the_newest_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count(0xFFFFFFFF, -1)  # the last one sorts first
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"{next(numbers):08x}")
    reports = [write_report(tmp_path, caught(fail)) for _ in range(MAX_REPORTS + 5)]
    newest = reports[-1]
    assert newest is not None
    assert newest.parent == tmp_path / "data" / "errors"
    assert newest.stat().st_mode & 0o777 == 0o600
    assert newest.parent.stat().st_mode & 0o777 == 0o700
    text = newest.read_text()
    assert "LookupError" in text
    assert SECRET not in text
    assert len([*newest.parent.iterdir()]) == MAX_REPORTS


def test_no_home_is_made_for_a_report(tmp_path: Path) -> None:
    assert write_report(tmp_path / "home", caught(fail)) is None
    assert not (tmp_path / "home").exists()


def test_a_command_that_fails_unexpectedly_prints_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = CommandHost(open_application=fail, home_folder=lambda: tmp_path)
    assert run(["list"], host=host) == 5
    printed = capsys.readouterr()
    assert printed.out == ""
    first, hint = printed.err.splitlines()
    assert first.startswith("error[unexpected]: outkey could not finish this")
    (report,) = (tmp_path / "data" / "errors").iterdir()
    assert hint.endswith(str(report))
    assert SECRET not in printed.err + report.read_text()
    assert run(["list", "--json"], host=host) == 5
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["code"] == "unexpected"
    assert SECRET not in printed.out + printed.err


def test_a_command_that_cannot_write_its_report_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text("a file")
    for home_folder in (lambda: tmp_path, fail):
        host = CommandHost(open_application=fail, home_folder=home_folder)
        assert run(["list"], host=host) == 5
        printed = capsys.readouterr()
        assert "hint: The details could not be written" in printed.err
        assert SECRET not in printed.err


def test_the_error_of_a_thread_is_printed_without_its_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", report_thread)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    printed = capsys.readouterr().err
    assert printed.startswith("a thread failed: Traceback without values:\nbuiltins.V")
    assert SECRET not in printed
