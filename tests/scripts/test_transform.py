"""A sync line's script: what it sees of a record, returns, and what is rejected."""

import time
from decimal import Decimal
from typing import Any

import pytest

from outkey.foundation.core.errors import ScriptFailed
from outkey.sending.adapters.scripts_locked import pool, spawner
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import MAX_RECORD
from outkey.sync.adapters.record_scripts import LockedRecordScripts
from outkey.sync.core.mapping.mapping import Unmapped
from scripts.conftest import body_of, call_of, pid_of

REACH = "import uuid\nos, sys = uuid.os, uuid.sys\n"


def transform_of(*lines: str) -> str:
    """Return a script whose function has these lines."""
    return "def transform(record):\n" + "".join(f"    {line}\n" for line in lines)


ECHO = transform_of("return record")


def made(scripts: LockedScripts, source: str, *records: dict[str, Any]) -> list[Any]:
    return LockedRecordScripts(scripts).transform("contacts", source, records)


def one(scripts: LockedScripts, line: str) -> object:
    """Return what becomes of a record whose script returns this."""
    return made(scripts, transform_of(f"return {line}"), {"id": 1})[0]


def refused(field: str, reason: str) -> Unmapped:
    return Unmapped(field, reason)


def test_records_are_changed_left_out_or_refused_each_for_itself(
    shared: LockedScripts,
) -> None:
    source = transform_of(
        "if record['id'] == 2: return None",
        "record['name'] = record['first'] + ' ' + record.pop('last')",
        "return record",
    )
    ada = {"id": 1, "first": "Ada", "last": "Byron"}
    assert made(shared, source, ada, {"id": 2}, {"id": 3}, ada) == [
        {"id": 1, "first": "Ada", "name": "Ada Byron"},
        None,
        refused("script:3 KeyError", "script_error"),
        {"id": 1, "first": "Ada", "name": "Ada Byron"},
    ]


def test_no_records_start_no_process(scripts: LockedScripts) -> None:
    assert made(scripts, ECHO) == []
    assert scripts._slots == {}


EXACT = {
    "id": 12345678901234567890123,
    "price": Decimal("0.10"),
    "long": Decimal("1.234567890123456789012345678901234567890"),
    "huge": Decimal("1E+900"),
    "tiny": Decimal("-1E-900"),
    "text": 'línea\n\0🔑\ud800"\\',
    "nested": [{"a": [True, False, None, {}, []]}],
    "": "no name",
}


def test_every_value_of_json_comes_back_as_it_went(shared: LockedScripts) -> None:
    (back,) = made(shared, ECHO, EXACT)
    assert back == EXACT
    assert str(back["price"]) == "0.10"
    assert [type(value) for value in back.values()] == [
        type(value) for value in EXACT.values()
    ]


def test_fractions_are_decimals_in_the_script_and_its_floats_are_as_python_shows_them(
    shared: LockedScripts,
) -> None:
    source = transform_of(
        "return {'kind': type(record['a']).__name__, 'b': 0.1, 'c': 1e300}"
    )
    (back,) = made(shared, source, {"a": Decimal("1.5")})
    assert back == {"kind": "Decimal", "b": Decimal("0.1"), "c": Decimal("1e+300")}


NO_RECORDS = (
    "[record]",
    "'text'",
    "True",
    "iter([record])",
    "{'a': float('nan')}",
    "{'a': [float('-inf')]}",
    "{'a': __import__('decimal').Decimal('NaN')}",
    "{'a': __import__('decimal').Decimal('Infinity')}",
    "{'a': object()}",
    "{'a': {1, 2}}",
    "{'a': b'bytes'}",
    "{1: 'a'}",
    "{'a': __import__('datetime').date(2026, 1, 1)}",
    f"{{'a': 'x' * {MAX_RECORD}}}",
)


@pytest.mark.parametrize("line", NO_RECORDS)
def test_what_is_no_record_is_refused(shared: LockedScripts, line: str) -> None:
    assert one(shared, line) == refused("script", "script_result")


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        (("a = []", "a.append(a)", "return {'a': a}"), "script RecursionError"),
        (("return {'a': 'x' * 10**9}",), "script:2 MemoryError"),
        (("raise SystemExit",), "script:2 SystemExit"),
        (("raise type('Secretive', (LookupError,), {})",), "script:2 LookupError"),
        (("import socket",), "script:2 ImportError"),
        (("open('/etc/passwd')",), "script:2 PermissionError"),
    ],
)
def test_what_is_raised_is_told_by_type_and_line(
    shared: LockedScripts, lines: tuple[str, ...], field: str
) -> None:
    assert made(shared, transform_of(*lines), {}) == [refused(field, "script_error")]


@pytest.mark.parametrize("size", [10, 65_520, 65_530, 65_540, 131_050, MAX_RECORD - 8])
def test_large_records_come_back_whole_and_in_order(
    shared: LockedScripts, size: int
) -> None:
    records = [{"a": letter * size} for letter in "abcdefgh"]
    assert made(shared, ECHO, *records) == records


def test_a_record_that_is_too_large_is_not_even_sent(shared: LockedScripts) -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"a": deep}
    records = (
        {"a": "x" * MAX_RECORD},
        deep,
        {str(n): n for n in range(20_000)},
        {"a": 1},
    )
    assert made(shared, ECHO, *records) == [
        refused("", "too_large_for_script"),
        refused("", "too_deep"),
        refused("", "too_many_fields"),
        {"a": 1},
    ]


@pytest.mark.parametrize(
    ("end", "reason"), [("pass", "script_timeout"), ("os._exit(3)", "script_error")]
)
def test_a_record_without_an_answer_takes_no_other_with_it(
    end: str, reason: str
) -> None:
    scripts = LockedScripts(limit=0.5)
    source = REACH + transform_of(f"while record['id'] == 3: {end}", "return record")
    given = made(scripts, source, *({"id": number} for number in range(6)))
    assert given[3] == refused("script", reason)
    assert given[:3] + given[4:] == [{"id": number} for number in (0, 1, 2, 4, 5)]
    scripts.close()


def test_a_script_that_never_answers_is_set_aside_and_the_run_comes_to_its_end() -> (
    None
):
    scripts = LockedScripts(limit=0.02)
    started = time.monotonic()
    given = made(scripts, transform_of("while True: pass"), *[{}] * 200)
    assert time.monotonic() - started < 10
    assert [one.reason for one in given].count(
        "script_timeout"
    ) == 19  # and all together once
    assert given[-1] == refused("script", "script_set_aside")
    # Another version of it is another chance.
    assert made(scripts, ECHO, {"id": 1}) == [{"id": 1}]
    scripts.close()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0\n" + ECHO, "raised ZeroDivisionError in line 1"),
        ("x = 1\n" + ECHO + "?", "raised SyntaxError in line 4"),
        ("def other(record): pass", "no function transform"),
        (body_of("return {}"), "no function transform"),
    ],
)
def test_a_script_that_cannot_be_run_is_no_record_s_fault(
    shared: LockedScripts, source: str, said: str
) -> None:
    with pytest.raises(ScriptFailed, match=said):
        made(shared, source, {}, {})


def test_without_a_lock_no_record_is_given_to_anybody(
    scripts: LockedScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spawn(_spawner: object) -> None:
        raise spawner.unavailable("Landlock")

    monkeypatch.setattr(pool.WorkerSpawner, "spawn", spawn)
    with pytest.raises(ScriptFailed, match="cannot run on this machine: Landlock"):
        made(scripts, ECHO, {"id": 1}, {"id": 2})


# ── whose process ─────────────────────────────────────────────────────────────────────


def test_two_lines_and_a_signing_script_never_share_a_process(
    scripts: LockedScripts,
) -> None:
    keep = "seen = []\n" + transform_of(
        "seen.append(record)", "return {'seen': list(seen)}"
    )
    patch = "import json\njson.loads = json.dumps = None\n" + ECHO
    scripts.run(call_of(secret="a-secret-of-tests", place="contacts"))
    assert made(scripts, keep, {"id": 1}) == [{"seen": [{"id": 1}]}]
    made(scripts, patch, {"id": 2})
    orders = LockedRecordScripts(scripts).transform("orders", keep, [{"id": 3}])
    assert orders == [{"seen": [{"id": 3}]}]
    places = "contacts", "line contacts", "line orders"
    assert len({pid_of(scripts, place) for place in places}) == 3


def test_a_worker_serves_one_function_only(scripts: LockedScripts) -> None:
    both = ECHO + body_of("return {'A': 'b'}")
    scripts.run(call_of(both, secret="a-secret-of-tests", place="line contacts"))
    before = pid_of(scripts, "line contacts")
    assert made(scripts, both, {"id": 1}) == [{"id": 1}]
    assert pid_of(scripts, "line contacts") != before


def test_there_is_no_secret_to_be_had(shared: LockedScripts) -> None:
    source = REACH + transform_of(
        "frame, found = sys._getframe(), []",
        "while frame:",
        "    found += [v for n, v in frame.f_locals.items() if n == 'secret']",
        "    frame = frame.f_back",
        "return {'found': found, 'kind': str(type(record)), 'asked': hasattr(record,"
        " 'name')}",
    )
    shared.run(call_of(secret="a-secret-of-tests", place="contacts"))
    assert made(shared, source, {"id": 1}) == [
        {"found": [None], "kind": "<class 'dict'>", "asked": False}
    ]
    (lacking,) = made(
        shared, transform_of("return record.api_config_id.get_secret_key()"), {}
    )
    assert lacking == refused("script:2 AttributeError", "script_error")


# ── an answer is read as if an attacker had written it ────────────────────────────────

FORGE = (
    REACH + "def forge(answer):\n"
    "    frame = sys._getframe()\n"
    "    while 'tag' not in frame.f_locals: frame = frame.f_back\n"
    "    os.write(3, frame.f_locals['tag'] + answer)\n"
)


@pytest.mark.parametrize(
    "answer",
    [
        b"Knot json",
        b"K[1]",
        b'K{"a": NaN}',
        b"K" + b"[" * 60_000,
        b"K" + b"9" * 5000,
        b"Hmdict",
        b"S",
        b"N",
        b"EMARK 1",
        b"EKeyError 99999",
        b"x",
        b"K\0Knull",
        b"\xff",
    ],
)
def test_a_forged_answer_is_no_record(shared: LockedScripts, answer: bytes) -> None:
    source = FORGE + transform_of(f"forge({answer!r})", "return record")
    (given,) = made(shared, source, {"id": 1})
    assert isinstance(given, Unmapped)
    assert "MARK" not in given.field + given.reason


@pytest.mark.parametrize("part", [b"", b"x" * 60_000])
def test_an_answer_that_goes_on_for_ever_ends(part: bytes) -> None:
    scripts = LockedScripts(limit=0.1)
    source = FORGE + transform_of("while True:", f"    forge({part!r} + bytes(1))")
    started = time.monotonic()
    (given,) = made(scripts, source, {"id": 1})
    assert time.monotonic() - started < 3
    assert given in (
        refused("script", "script_timeout"),
        refused("script", "script_error"),
    )
    scripts.close()
