import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sending.core.audit.chain import (
    ChainMark,
    ChainRow,
    ChainVerdict,
    Label,
    RowCodes,
    canonical,
    facts_of,
    genuine_streams,
    label_of,
    sign_checkpoint,
    sign_sighting,
    sign_tombstone,
    stream_name,
    verify,
    with_links,
)

KEY = b"1" * 32
KEYS = {"k1": b"1" * 32, "k2": b"2" * 32}


def rows_of(process: str, count: int, key_id: str = "k1") -> list[ChainRow]:
    stream, key = stream_name(process, key_id), KEYS[key_id]
    facts = [{"at": n, "configuration": "acme", "outcome": "ok"} for n in range(count)]
    records = [(canonical(fact), label_of(fact)) for fact in facts]
    return list(RowCodes(key, stream).chain(records))


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
        RowCodes(key, "k1.a").chain([(b"{}", Label())] * 5, number=5, mac=rows[4].mac)
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


def following(process: str, *streams: str) -> list[ChainRow]:
    """Return a stream of two rows that follows others."""
    stream = stream_name(process, "k1")
    first = with_links(canonical({"at": 1, "tag": "engine:x"}), streams)
    records = [(first, label_of(facts_of(first))), (b"{}", Label())]
    return list(RowCodes(KEYS["k1"], stream).chain(records))


def test_a_missing_stream_is_noticed_by_the_one_that_followed_it() -> None:
    one, two = rows_of("a", 3), rows_of("b", 3)
    last = following("c", "k1.a", "k1.b")
    assert check(one + two + last).ok
    verdict = check(one + last)
    assert verdict.first_bad == "k1.b (the stream is missing)"


def test_a_stream_that_was_pruned_is_not_missing() -> None:
    one, last = rows_of("a", 3), following("c", "k1.a")
    genuine = sign_tombstone(KEYS["k1"], one[2])
    assert check(last, tombstones=[genuine]).ok
    forged = dataclasses.replace(genuine, signature=b"0" * 32)
    assert not check(last, tombstones=[forged]).ok


def test_links_of_a_first_row_that_was_changed_do_not_count() -> None:
    last = following("c", "k1.a")
    changed = with_links(b"{}", ["k1.other"])
    last[0] = last[0]._replace(body=changed, label=label_of(facts_of(changed)))
    assert check(last).first_bad == "k1.c:1"


def test_a_missing_stream_is_noticed_where_it_was_seen_before() -> None:
    one, two = rows_of("a", 3), rows_of("b", 3)
    seen = sign_sighting(KEYS["k1"], "k1.b")
    assert check(one + two, [seen]).ok
    assert check(one, [seen]).first_bad == "k1.b (the stream is missing)"
    forged = dataclasses.replace(seen, stream="k1.a")
    assert check(one + two, [forged]).first_bad == "k1.a (a sighting is forged)"
    # It is neither a checkpoint nor can it be used as one.
    assert check(two, [seen]).unprotected_tail == 3
    as_checkpoint = dataclasses.replace(seen, is_sighting=False)
    assert not check(one + two, [as_checkpoint]).ok


def test_streams_without_a_checkpoint_or_a_sighting_are_named() -> None:
    one, two, three = rows_of("a", 3), rows_of("b", 3), rows_of("c", 3)
    verdict = check(one + two + three, [end_of(one), sign_sighting(KEY, "k1.b")])
    assert verdict.without_checkpoint == ("k1.c",)
    assert verdict.facts() == {
        "ok": True,
        "rows": 9,
        "first_bad": None,
        "unprotected_tail": 6,
        "without_checkpoint": ["k1.c"],
    }
    assert "without_checkpoint" not in check(one, [end_of(one)]).facts()


def test_only_first_rows_that_the_key_has_written_are_believed() -> None:
    one = rows_of("a", 2)
    planted = one[0]._replace(stream="k1.planted")
    elsewhere = rows_of("b", 1, "k2")[0]
    rows = [one[0], one[1], planted, elsewhere]
    keys = {"k1": KEY}
    assert genuine_streams(rows, keys.get) == ["k1.a"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b"[]",
        b"null",
        b'"x"',
        b"7",
        b"\xff",
        b"",
        b'{"at":"x","tag":5,"configuration":[],"outcome":{},"actor":1}',
        b'{"at":1e999,"follows":7}',
        b'{"at":NaN,"follows":[[],{},null]}',
        b'{"at":-5}',
        b'{"at":' + b"9" * 400 + b"}",
        b'{"at":' + b"9" * 5000 + b"}",
        b'{"at":true}',
    ],
)
def test_whatever_a_row_holds_it_is_read_named_and_stops_nothing(body: bytes) -> None:
    rows = rows_of("a", 3)
    odd = ChainRow("k1.a", 4, body, b"0" * 32, Label())
    verdict = check([*rows, odd], [end_of(rows)])
    assert (verdict.rows, verdict.first_bad) == (4, "k1.a:4")
    first = ChainRow("k1.b", 1, body, b"0" * 32, Label())
    assert check([first]).first_bad == "k1.b:1"
    facts = facts_of(body)
    assert isinstance(facts, dict)
    assert 0 <= label_of(facts).at < 2**48
