"""Mutated responses in random pieces: an outcome or an error of ours, never more."""

import random
import time
from collections.abc import Callable

import pytest

from contract.odd_responses import CASES
from contract.reading import INCOMPLETE, Outcome, Read, Refused, cut_at, read
from outkey.sending.adapters.transport import response_reader

FULL, QUICK = 200_000, 4_000
OTHER = "the response is not HTTP"
SEED = 20_261_116
ERRORS = {"ConnectionFailed", "ResponseBroken", "ResponseTooLarge"}
# Smaller than they are, so that mutated responses reach them.
MAX_LINE, MAX_HEADS = 120, 500
BASES = [case.data for case in CASES if len(case.data) < 2_000]
VALID = [data for data in BASES if isinstance(read(data), Read)]
WORDS = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\r\n\r\n",
    b"\r\n ",
    b":",
    b";",
    b"0",
    b"f" * 16,
    b"9" * 20,
    b"x" * 130,
    b"X: " + b"y" * 100 + b"\r\n",
    b"A:\r\n" * 99,
    b"Content-Length: 7\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"HTTP/1.1 103 Hints\r\n\r\n",
    b"HTTP/1.1 204 No\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
]
Mutation = Callable[[random.Random, bytes], bytes]


def place_in(chance: random.Random, data: bytes) -> int:
    """Return a random place, rarely in the status line: all ends early there."""
    first = 15 if chance.random() < 0.95 else 0
    return chance.randrange(min(first, len(data)), len(data) + 1)


def replace_byte(chance: random.Random, data: bytes) -> bytes:
    place = place_in(chance, data)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def insert_word(chance: random.Random, data: bytes) -> bytes:
    place = place_in(chance, data)
    return data[:place] + chance.choice(WORDS) + data[place:]


def delete_part(chance: random.Random, data: bytes) -> bytes:
    place = place_in(chance, data)
    return data[:place] + data[place + chance.randrange(1, 9) :]


def repeat_part(chance: random.Random, data: bytes) -> bytes:
    start = place_in(chance, data)
    end = start + chance.randrange(40)
    return data[:end] + data[start:end] * chance.randrange(1, 4) + data[end:]


def cut_off(chance: random.Random, data: bytes) -> bytes:
    return data[: place_in(chance, data)]


def join_another(chance: random.Random, data: bytes) -> bytes:
    other = chance.choice(BASES)
    cut = place_in(chance, data)
    return data[:cut] + other[chance.randrange(len(other) + 1) :]


MUTATIONS: list[Mutation] = [
    replace_byte,
    insert_word,
    delete_part,
    repeat_part,
    cut_off,
    join_another,
]


def mutated(chance: random.Random) -> bytes:
    data = chance.choice(VALID if chance.random() < 0.9 else BASES)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        data = chance.choice(MUTATIONS)(chance, data)
    return data


def check_outcome(outcome: Outcome, limit: int) -> None:
    if isinstance(outcome, Read):
        assert 200 <= outcome.status <= 999
        assert len(outcome.body) <= limit
        assert len(outcome.headers) <= response_reader.MAX_HEADERS
        size = sum(len(name) + len(value) for name, value in outcome.headers)
        assert size <= MAX_HEADS
    elif isinstance(outcome, Refused):
        assert outcome.error in ERRORS
    else:
        assert outcome == INCOMPLETE


def test_a_mutated_response_gives_an_outcome_within_the_limits_in_any_split(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_reader, "MAX_LINE", MAX_LINE)
    monkeypatch.setattr(response_reader, "MAX_HEADS", MAX_HEADS)
    monkeypatch.setattr(response_reader, "TRAILER_ROOM", MAX_HEADS)
    seen = set()
    for number in range(FULL if pytestconfig.getoption("--full") else QUICK):
        chance = random.Random(f"{SEED} {number}")
        data = mutated(chance)
        limit = chance.choice([0, 4, 5, 20, 1000])
        to_head = chance.random() < 0.1
        ends = chance.random() < 0.8
        places = [chance.randrange(len(data) + 1) for _ in range(chance.randrange(9))]
        started = time.process_time()
        try:
            whole = read(data, to_head=to_head, limit=limit, ends=ends)
            pieces = cut_at(data, places)
            split = read(data, pieces, to_head=to_head, limit=limit, ends=ends)
            check_outcome(whole, limit)
            assert split == whole
            assert time.process_time() - started < 1
        except BaseException as error:
            error.add_note(f"seed: {SEED} {number}; pieces at {places} of {data!r}")
            raise
        seen.add(kind_of(whole))
    assert len(seen) == 10, "every kind of outcome occurs"


def kind_of(outcome: Outcome) -> str:
    """Return what happened, without the protocol that a first byte is taken for."""
    if not isinstance(outcome, Refused):
        return outcome if isinstance(outcome, str) else "read"
    message = outcome.message.replace("the port expects TLS and got plain http", OTHER)
    return f"{outcome.error}: {message.partition(';')[0]}"
