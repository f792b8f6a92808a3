import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.core.audit.chain import (
    ChainMark,
    ChainRow,
    ChainVerdict,
    Label,
    canonical,
    chain_rows,
    facts_of,
    label_of,
    sign_checkpoint,
    sign_tombstone,
    stream_name,
    verify,
)

KEY = b"1" * 32
KEYS = {"k1": b"1" * 32, "k2": b"2" * 32}


def rows_of(process: str, count: int, key_id: str = "k1") -> list[ChainRow]:
    stream, key = stream_name(process, key_id), KEYS[key_id]
    facts = [{"at": n, "configuration": "acme", "outcome": "ok"} for n in range(count)]
    records = [(canonical(fact), label_of(fact)) for fact in facts]
    return list(chain_rows(key, stream, records))


def check(
    rows: list[ChainRow],
    checkpoints: list[ChainMark] = (),
    tombstones: list[ChainMark] = (),
) -> ChainVerdict:  # type: ignore[assignment]
    ordered = sorted(rows, key=lambda row: (row.stream, row.number))
    return verify(
        ordered, KEYS.__getitem__, checkpoints=checkpoints, tombstones=tombstones
    )


def end_of(rows: list[ChainRow]) -> ChainMark:
    return sign_checkpoint(KEYS[rows[-1].stream[:2]], rows[-1])


def test_an_untouched_chain_of_several_streams_and_keys_is_clean() -> None:
    one, two = rows_of("a", 10), rows_of("b", 5, "k2")
    verdict = check(one + two, [end_of(one), end_of(two)])
    assert verdict == ChainVerdict(ok=True, rows=15, first_bad=None, unprotected_tail=0)


def test_rows_after_the_last_checkpoint_are_the_unprotected_tail() -> None:
    rows = rows_of("a", 10)
    verdict = check(rows, [end_of(rows[:4]), end_of(rows[:7]), end_of(rows[:2])])
    assert (verdict.ok, verdict.unprotected_tail) == (True, 3)
    assert check(rows).unprotected_tail == 10


def test_an_edited_row_is_named() -> None:
    rows = rows_of("a", 10)
    rows[3] = rows[3]._replace(body=canonical({"n": 99}))
    assert check(rows, [end_of(rows)]).first_bad == "k1.a:4"


def test_a_removed_row_is_named_by_the_one_after_it() -> None:
    rows = rows_of("a", 10)
    last = end_of(rows)
    del rows[3]
    assert check(rows, [last]).first_bad == "k1.a:5"


def test_an_inserted_row_is_named() -> None:
    rows = rows_of("a", 10)
    forged = rows[3]._replace(number=11, body=b"{}")
    assert check([*rows, forged], [end_of(rows)]).first_bad == "k1.a:11"


def test_reordered_rows_are_named() -> None:
    rows = rows_of("a", 10)
    last = end_of(rows)
    one, two = rows[3], rows[4]
    rows[3], rows[4] = (
        two._replace(number=one.number),
        one._replace(number=two.number),
    )
    assert check(rows, [last]).first_bad == "k1.a:4"


def test_a_cut_tail_shows_against_the_checkpoint() -> None:
    rows = rows_of("a", 10)
    verdict = check(rows[:6], [end_of(rows)])
    assert verdict.first_bad == "k1.a:10 (rows are missing at the end)"


def test_a_missing_stream_shows_against_its_checkpoint() -> None:
    one, two = rows_of("a", 10), rows_of("b", 5)
    verdict = check(one, [end_of(one), end_of(two)])
    assert verdict.first_bad == "k1.b:5 (the stream is missing)"


def test_a_stream_continued_in_another_way_does_not_fit_its_checkpoint() -> None:
    rows = rows_of("a", 10)
    key = KEYS["k1"]
    other = list(
        chain_rows(key, "k1.a", [(b"{}", Label())] * 5, number=5, mac=rows[4].mac)
    )
    verdict = check(rows[:5] + other, [end_of(rows)])
    assert verdict.first_bad == "k1.a:10 (rows are missing at the end)"


def test_pruned_rows_are_vouched_for_by_a_tombstone() -> None:
    rows = rows_of("a", 10)
    tombstone = sign_tombstone(KEYS["k1"], rows[3])
    assert check(rows[4:], [end_of(rows)], [tombstone]).ok
    assert check([], [end_of(rows)], [sign_tombstone(KEYS["k1"], rows[9])]).ok
    assert not check(rows[5:], [end_of(rows)], [tombstone]).ok
    assert not check(rows[4:], [end_of(rows)]).ok


@pytest.mark.parametrize("kind", ["checkpoints", "tombstones"])
def test_a_forged_statement_is_noticed(kind: str) -> None:
    rows = rows_of("a", 10)
    honest = {
        "checkpoints": end_of(rows),
        "tombstones": sign_tombstone(KEYS["k1"], rows[3]),
    }
    marks = {name: [mark] for name, mark in honest.items()}
    marks[kind] = [dataclasses.replace(honest[kind], signature=b"x" * 32)]
    assert "forged" in (check(rows[4:], **marks).first_bad or "")


def test_a_checkpoint_cannot_pass_for_a_tombstone() -> None:
    rows = rows_of("a", 10)
    assert "forged" in (
        check(rows[4:], [end_of(rows)], [end_of(rows[:4])]).first_bad or ""
    )


@given(st.integers(2, 30), st.randoms(use_true_random=False))
def test_any_single_change_is_noticed(count: int, chance: random.Random) -> None:
    rows = rows_of("a", count)
    last = end_of(rows)
    index = chance.randrange(count)
    row = rows[index]
    change = chance.choice(["body", "mac", "number", "drop", "double"])
    if change == "drop":
        del rows[index]
    elif change == "double":
        rows.append(row)
    else:
        changed = {
            "body": row.body + b" ",
            "mac": b"x" * 32,
            "number": row.number + count + 1,
        }
        rows[index] = row._replace(**{change: changed[change]})
    assert not check(rows, [last]).ok


def test_a_record_has_one_byte_form() -> None:
    assert canonical({"b": 1, "a": "e\u0301"}) == '{"a":"é","b":1}'.encode()
    with pytest.raises(TypeError):
        canonical({"a": 1.5})


def test_a_forged_tombstone_does_not_hide_a_stream_that_is_gone() -> None:
    rows = rows_of("a", 5)
    end = sign_checkpoint(KEY, rows[-1])
    forged = dataclasses.replace(sign_tombstone(KEY, rows[-1]), signature=b"x" * 32)
    verdict = verify([], lambda _: KEY, checkpoints=[end], tombstones=[forged])
    assert verdict.first_bad == f"{rows[-1].stream}:5 (a tombstone is forged)"
    genuine = sign_tombstone(KEY, rows[-1])
    assert verify([], lambda _: KEY, checkpoints=[end], tombstones=[genuine]).ok


def test_a_checkpoint_of_what_was_pruned_is_met() -> None:
    rows = rows_of("a", 5)
    verdict = verify(
        rows[3:],
        lambda _: KEY,
        checkpoints=[sign_checkpoint(KEY, rows[1])],
        tombstones=[sign_tombstone(KEY, rows[2])],
    )
    assert (verdict.ok, verdict.unprotected_tail) == (True, 2)


@pytest.mark.parametrize(
    "label", [Label(9, "acme", "ok"), Label(2, "x", "ok"), Label(2, "acme")]
)
def test_a_label_that_does_not_agree_with_its_record_is_found(label: Label) -> None:
    rows = rows_of("a", 5)
    rows[2] = rows[2]._replace(label=label)
    assert check(rows).first_bad == f"{rows[2].stream}:3"


def test_a_stream_whose_key_nobody_has_is_named() -> None:
    rows = rows_of("a", 2)
    verdict = verify(rows, lambda _: None, checkpoints=(), tombstones=())
    assert verdict.first_bad == "k1.a (its key is not in the ring)"


@pytest.mark.parametrize("body", [b"no JSON", b"[1]", b"\xff"])
def test_a_record_that_somebody_has_spoilt_says_only_that(body: bytes) -> None:
    assert facts_of(body) == {"at": 0, "tag": "unreadable"}
