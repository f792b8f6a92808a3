"""The production check list: each line passes, fails or cannot be seen by its facts."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from outkey.administration.core.operating.checklist import (
    BACKUP_DAYS,
    CHECKLIST,
    LEAST_DESCRIPTORS,
    LEAST_FREE_BYTES,
    ProductionFacts,
    checked,
)

NOW = 1_800_000_000.0
DAY = 86_400
Facts = Mapping[str, object]
UNKNOWN = ProductionFacts(now=NOW)


def parts(**results: str) -> Facts:
    return {"parts": results}


def findings(*ids: str) -> Facts:
    return {"findings": set(ids)}


def disk(free_bytes: int | None, free_share: float | None) -> Facts:
    return {"free_bytes": free_bytes, "free_share": free_share}


def clock(offset: float, newest: float | None = None) -> Facts:
    return {"clock_offset": offset, "newest_record_at": newest}


def backup(at: float | None) -> Facts:
    return {"backed_up_at": at, "is_backed_up_here": True}


def database(host: str, *, encrypted: bool | None = None) -> Facts:
    return {"database_host": host, "database_encrypted": encrypted}


# The facts with which each line passes, fails, and cannot be seen.
CASES: dict[str, tuple[list[Facts], list[Facts], list[Facts]]] = {
    "public-url": (
        [{"public_url": "https://outkey.example"}],
        [{"public_url": url} for url in ("", "http://outkey.example", "https://")],
        [{}],
    ),
    "proxies": (
        [{"proxies": "127.0.0.1"}, {"proxies": "10.0.0.0/24, ::1"}],
        [{"proxies": text} for text in ("", "0.0.0.0/0", "::/0", "proxy.example")],
        [{}],
    ),
    "server-address": (
        [{"listening": {"127.0.0.1"}}, {"listening": {"::1", "127.0.0.1"}}],
        [],
        [{}, {"listening": set()}, {"listening": {"127.0.0.1", "0.0.0.0"}}],
    ),
    "user": ([{"is_superuser": False}], [{"is_superuser": True}], [{}]),
    "files": (
        [findings(), findings("P-database")],
        [findings("P-files-readable")],
        [{}],
    ),
    "key": ([parts(key="ok")], [parts(key="sealed")], [{}, parts(database="ok")]),
    "key-file": (
        [findings()],
        [findings("P-key-readable")],
        [{}, findings("P-database"), {**findings(), "has_key_file": False}],
    ),
    "key-copy": ([], [], [{}, parts(key="ok")]),
    "database": ([parts(database="ok")], [parts(database="timeout")], [{}]),
    "database-tls": (
        [
            database(""),
            database("localhost"),
            database("127.0.0.1", encrypted=False),
            database("/run/postgresql", encrypted=False),
            database("db.example", encrypted=True),
        ],
        [
            database("db.example", encrypted=False),
            database("10.0.0.7", encrypted=False),
        ],
        [{}, database("db.example")],
    ),
    "workers": ([parts(workers="ok")], [parts(workers="worker_missing")], [{}]),
    "scripts": ([parts(scripts="ok")], [parts(scripts="sandbox")], [{}]),
    "audit": ([parts(audit="ok")], [parts(audit="audit_unavailable")], [{}]),
    "audit-chain": (
        [findings(), findings("P-unused")],
        [findings("P-audit-broken")],
        [{}, findings("P-sealed"), findings("P-database")],
    ),
    "audit-checkpoints": ([], [], [{}]),
    "backup": (
        [backup(NOW), backup(NOW - BACKUP_DAYS * DAY + 1)],
        [backup(None), backup(NOW - BACKUP_DAYS * DAY), backup(NOW + DAY)],
        [{}, {"backed_up_at": None}],
    ),
    "restore": ([], [], [{}]),
    "notices": ([{"notices": True}], [{"notices": False}], [{}]),
    "administrator": ([{"administrators": 1}], [{"administrators": 0}], [{}]),
    "demo": ([{"is_demo": False}], [{"is_demo": True}], [{}]),
    "debugging": ([{"debugging": []}], [{"debugging": ["DEBUG"]}], [{}]),
    "tls-library": ([findings()], [findings("P-tls-library")], [{}]),
    "disk": (
        [disk(LEAST_FREE_BYTES, 0.05)],
        [disk(LEAST_FREE_BYTES - 1, 0.5), disk(LEAST_FREE_BYTES * 9, 0.04)],
        [{}],
    ),
    "clock": (
        [clock(0.0), clock(-5.0, NOW), clock(5.0, NOW + 5)],
        [clock(5.1), clock(-5.1), clock(0.0, NOW + 5.1)],
        [{}],
    ),
    "descriptors": (
        [{"descriptors": LEAST_DESCRIPTORS}],
        [{"descriptors": LEAST_DESCRIPTORS - 1}],
        [{}],
    ),
    "findings": ([{"errors": 0}], [{"errors": 1}], [{}]),
}


def verdict(code: str, facts: Facts) -> bool | None:
    lines = {line.code: line for line in checked(replace(UNKNOWN, **facts))}  # type: ignore[arg-type]
    line = lines[code]
    assert bool(line.hint) is (line.passed is not True)
    assert line.text
    return line.passed


def test_every_line_is_tried_here() -> None:
    codes = [check.id for check in CHECKLIST]
    assert codes == list(CASES)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("code", CASES)
def test_a_line_passes_fails_or_cannot_be_seen_by_its_facts(code: str) -> None:
    passing, failing, unseen = CASES[code]
    for expected, cases in ((True, passing), (False, failing), (None, unseen)):
        for facts in cases:
            assert verdict(code, facts) is expected, facts


def test_without_any_facts_no_line_passes_or_fails() -> None:
    assert {line.passed for line in checked(UNKNOWN)} == {None}


def test_a_failed_line_says_what_to_do_and_texts_are_no_templates() -> None:
    for line in CHECKLIST:
        assert line.hint.endswith(".")
        assert not line.message.endswith(".")
        assert "{" not in line.message + line.hint
