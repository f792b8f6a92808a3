import json
import logging
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from outkey.foundation.adapters.clock_system import Timers
from outkey.foundation.core.errors import (
    ConfigError,
    DnsFailed,
    SecretMissing,
    TimedOut,
)
from outkey.foundation.core.secret import Secret
from outkey.hosts.file.loading import load
from outkey.sending.adapters.audit.audit_logging import LoggingAudit
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.transport.resolver_system import SystemResolver
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.reference import parse_reference


def referring(reference: str) -> Configuration:
    parsed = parse_reference(reference, field="token")
    return build("a", {"base_url": "https://a.example"}, references={"token": parsed})


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"abc", "abc"),
        (b"abc\n", "abc"),
        (b"abc\r\n", "abc"),
        (b"abc\n\n", "abc\n"),
        (b"abc\r", "abc\r"),
        (b"\n", ""),
        (b"", ""),
        (b" abc ", " abc "),
    ],
)
def test_one_trailing_newline_of_a_file_is_removed(
    tmp_path: Path, content: bytes, value: str
) -> None:
    (tmp_path / "secret").write_bytes(content)
    opened = ReferencedSecrets().open(referring(f"file:{tmp_path}/secret"), "token")
    assert opened == Secret(value)


def test_a_file_is_read_anew_at_each_use(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old")
    configuration, secrets = referring(f"file:{file}"), ReferencedSecrets()
    assert secrets.open(configuration, "token") == Secret("old")
    file.write_text("new")
    assert secrets.open(configuration, "token") == Secret("new")


def test_a_variable_is_read_anew_at_each_use_and_the_same_object_until_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configuration, secrets = referring("env:ACME_TOKEN"), ReferencedSecrets()
    monkeypatch.setenv("ACME_TOKEN", "old")
    opened = secrets.open(configuration, "token")
    assert secrets.open(configuration, "token") is opened
    monkeypatch.setenv("ACME_TOKEN", "new")
    assert secrets.open(configuration, "token") == Secret("new")
    monkeypatch.delenv("ACME_TOKEN")
    with pytest.raises(SecretMissing):
        secrets.open(configuration, "token")
    monkeypatch.setenv("ACME_TOKEN", "old")
    assert secrets.open(configuration, "token") is not opened


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * 65537, "larger than 64 KiB"),
    ],
)
def test_a_file_that_holds_no_secret_is_missing(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(SecretMissing, match=reason) as caught:
        ReferencedSecrets().open(referring(f"file:{tmp_path}/secret"), "token")
    assert caught.value.field == "token"


def test_an_unset_variable_is_named() -> None:
    with pytest.raises(SecretMissing, match="NOT_SET_ANYWHERE"):
        ReferencedSecrets().open(referring("env:NOT_SET_ANYWHERE"), "token")


def test_a_variable_that_is_not_utf_8_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BROKEN", "pass\udcffword")
    with pytest.raises(SecretMissing, match="not UTF-8"):
        ReferencedSecrets().open(referring("env:BROKEN"), "token")
    monkeypatch.setenv("BROKEN", "pässword")
    assert ReferencedSecrets().open(referring("env:BROKEN"), "token") == Secret(
        "pässword"
    )


def test_the_log_holds_one_json_line_per_event_with_the_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    audit = LoggingAudit()
    with caplog.at_level(logging.INFO, "outkey.audit"):
        attempt = audit.intend(
            Intent("acme", "", "basic", "GET", "https://a.example", "/", ("A",), 0)
        )
        audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    lines = [json.loads(record.message) for record in caplog.records]
    assert [line["tag"] for line in lines] == [
        "engine:send:intended",
        "engine:send:ended",
    ]
    assert {line["attempt"] for line in lines} == {attempt}


def test_no_line_is_made_that_no_logger_takes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Intent, "facts", pytest.fail)
    audit = LoggingAudit()
    with caplog.at_level(logging.WARNING, "outkey.audit"):
        attempt = audit.intend(
            Intent("acme", "", "basic", "GET", "https://a.example", "/", ("A",), 0)
        )
        audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
        audit.refuse(Refusal(attempt, "acme", "", "inactive"))
        audit.note(Change(Tag.SECRET_SET, "ada"))
    assert len(attempt) == 32
    assert not caplog.records


def test_a_resolver_asks_once_and_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1", port)), (0, 0, 0, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(
        "outkey.sending.adapters.transport.resolver_system._MAX_CACHED", 1
    )
    resolver = SystemResolver()
    for _ in range(3):
        assert resolver.resolve("a.example", 80, 1.0) == ("127.0.0.1",)
    resolver.resolve("b.example", 80, 1.0)
    resolver.resolve("a.example", 80, 1.0)
    assert asked == ["a.example", "b.example", "a.example"]


def test_a_resolver_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(10) and [])
    started = time.monotonic()
    with pytest.raises(TimedOut):
        SystemResolver().resolve("a.example", 80, 0.1)
    assert time.monotonic() - started < 1
    release.set()


def test_a_failed_look_up_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    resolver = SystemResolver()
    with pytest.raises(DnsFailed):
        resolver.resolve("a.example", 80, 1.0)
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("::1", 80))]
    )
    assert resolver.resolve("a.example", 80, 1.0) == ("::1",)


def test_a_gateway_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        '[configuration.a]\nbase_url = "https://a.example"', encoding="utf-8"
    )
    with load(file) as gateway:
        assert gateway.preview("a").url == "https://a.example/"
    with load(os.fspath(file)) as gateway:
        assert [finding.id for finding in gateway.test("a").findings] == [
            "E-authentication_required"
        ]


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot be read"), (b"\xff", "not UTF-8")]
)
def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "a.toml"
    if content:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        load(file)


def test_integrations_are_found_by_attribute_and_others_are_not() -> None:
    import outkey

    assert (
        outkey.integrations.httpx2.OutkeyAuth.__module__ == "outkey.integrations.httpx2"
    )
    with pytest.raises(AttributeError):
        _ = outkey.integrations.urllib


def test_calls_that_wait_are_made_at_once_in_a_forked_process() -> None:
    """What the parent would delete in a moment is deleted in the child's copy too."""
    timers = Timers()
    calls: list[str] = []
    timers.add(600.0, lambda: calls.append("once"))
    timers.begin_in_child()
    assert calls == ["once"]
    timers.begin_in_child()
    assert calls == ["once"]


def test_a_call_that_fails_does_not_prevent_the_next() -> None:
    timers = Timers()
    done = threading.Event()
    timers.add(0.0, lambda: 1 // 0)
    timers.add(0.01, done.set)
    assert done.wait(10)
