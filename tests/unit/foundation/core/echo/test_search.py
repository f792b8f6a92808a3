"""Recognising a secret in a text: in which forms, from which length, never shown."""

import copy
import pickle
import tracemalloc
from base64 import b32encode, b64encode
from datetime import date
from decimal import Decimal
from random import Random
from string import ascii_letters, digits
from time import process_time
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outkey.foundation.core.echo.search import (
    SearchPatterns,
    SearchText,
    decode_percent,
    is_distinctive,
)

LONG = "sekret/canary-4711"
PRINTABLE = st.text(
    st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40
)


def found(secret: str, text: str) -> bool:
    searched = SearchText.of_json(text.encode())
    patterns = SearchPatterns(secret)
    assert patterns.may_be_in(searched) or not patterns.is_in(searched)
    return patterns.is_in(searched)


@given(PRINTABLE.filter(lambda text: sum(c.isalnum() for c in text) >= 12), st.data())
def test_a_secret_that_is_cut_in_two_is_found_in_either_order(
    secret: str, data: st.DataObject
) -> None:
    letters = [place for place, character in enumerate(secret) if character.isalnum()]
    cut = data.draw(st.sampled_from(letters[4:-4] or [letters[4]]))
    if is_distinctive(secret):
        assert SearchPatterns(secret).is_in(
            SearchText(f"{secret[:cut]}...{secret[cut:]}".encode())
        )
        assert SearchPatterns(secret).is_in(
            SearchText(f"{secret[cut:]}...{secret[:cut]}".encode())
        )


@pytest.mark.parametrize(
    ("secret", "text", "is_found"),
    [
        ("abc", '"abc"', False),
        ("test", '"latest"', False),
        ("test", '"test"', True),
        ("test", '"TEST"', True),
        ("test", '"dGVzdA=="', True),
        ("p@ss", '"p%40ss"', True),
        ("s3cret-9", "is s3cret-9 here", True),
        (
            "s3cret-9",
            "is s3 cret-9 here",
            False,
        ),  # too short to be looked for like that
        ("s3cret-9", "9-terc3s", True),
        ("12345678901234", "12345678901234", True),
        (
            "12345678901234",
            "1234, 5678901234",
            False,
        ),  # numbers side by side are no secret
        ("!!!!????####$$$$", "a !!!!????####$$$$", True),
        ("!!!!????####$$$$", "nothing", False),
        (LONG, "s e k r e t / c a n a r y - 4 7 1 1", True),
        (LONG, r"sekret\/canary\u002d4711", True),
        (LONG, "sekret\\ncanary\\n4711", True),
        (LONG, "sekret\\u0000canary\\u20ac4711", True),
        (LONG, "sekret", False),
        (LONG, "sekretcan only, without the rest", False),
        (LONG, "sek and retcanary4711", False),  # a piece of three
        (
            "pässwörd-geheimnis",
            b64encode("x pässwörd-geheimnis".encode()).decode(),
            True,
        ),
        *(
            (secret, encoded.decode(), True)
            for secret in (LONG, "Zq8/vN4x+")
            for before in (b"", b"x", b"xy", b"xyz", b"wxyz")
            for encoded in (
                b64encode(before + b64encode(secret.encode())),
                b64encode(before + secret.encode("utf-16-le") + before),
                b64encode(before + secret.encode("utf-16-be") + before),
                b32encode(before + secret.encode() + before),
                b32encode(before + secret.encode()).lower(),
            )
        ),
        ("\udc80broken-surrogate", "broken-surrogate", True),
        ("it's-canary-4711x", "it&#039;s-canary-4711x", True),
        ("it's-canary-4711x", "it&#39s-canary-4711x", True),
        (LONG, "".join(f"&#{ord(c)};" for c in LONG), True),
        (LONG, "".join(f"&#x{ord(c):04x};" for c in LONG), True),
        (LONG, "sekret&sol;canary-4711", True),
        (LONG, "&unknown; &#99999999; sekret", False),
        (LONG, f"%{ord(LONG[0]):02X}{LONG[1:]}", True),
        (LONG, "".join(f"\\\\u{ord(c):04x}" for c in LONG), True),
        (LONG, "\\u12", False),
        ("Zq8/vN4x+", "".join(f"%{ord(c):02X}" for c in "Zq8/vN4x+"), True),
        ("Zq8/vN4x+", "Zq8&#47;vN4x&#43;", True),
    ],
)
def test_what_is_recognised_depends_on_the_length(
    secret: str, text: str, *, is_found: bool
) -> None:
    assert found(secret, text) is is_found


@pytest.mark.parametrize(
    ("secret", "value", "is_found"),
    [
        ("482913", 482913, True),
        ("482913", [-482913], True),
        ("482913", Decimal("482913.0"), True),
        ("482913", 4829.13, False),  # the digits of a price
        ("482913", 14829130, False),
        ("918273645501", {"a": Decimal("9.18273645501E+11")}, True),
        ("918273645501", Decimal("9.18273645501"), True),
        ("918273645501", Decimal("9.18273645501E+99999"), True),
        ("918273645501", float("inf"), False),
        ("918273645501", [None, True, 1.5], False),
        ("2027-01-15", [date(2027, 1, 15)], True),
    ],
)
def test_a_secret_of_digits_is_found_as_a_number(
    secret: str, value: object, *, is_found: bool
) -> None:
    assert SearchPatterns(secret).is_in(SearchText.of_value(value)) is is_found


def test_a_long_secret_of_which_one_half_is_repeated_is_searched_for_quickly() -> None:
    secret = "".join(Random(1).choices(ascii_letters + digits, k=16_000))
    searched = SearchText((secret[:8_001] + "z" * 200_000).encode())
    started = process_time()
    assert not SearchPatterns(secret).is_in(searched)
    assert process_time() - started < 2  # each cut by itself takes minutes


def test_a_page_of_escapes_is_unescaped_in_runs() -> None:
    escapes = b'\\"' * 2_000_000
    tracemalloc.start()
    try:
        searched = SearchText.of_json(escapes)
        assert searched.letters == b""
        assert tracemalloc.get_traced_memory()[1] < 3 * len(escapes)
    finally:
        tracemalloc.stop()


@given(st.lists(st.sampled_from([*"%=4aG\n\r", "%41", "%3d", "%2541", "=41", "x"])))
@example(["%41", "%\n"])
@example(["%41", "%\r"])
def test_percent_encoding_is_decoded_as_the_standard_library_does(
    pieces: list[str],
) -> None:
    text = "".join(pieces).encode()
    assert decode_percent(text) == unquote_to_bytes(text)


def test_megabytes_of_percent_encoding_are_searched_quickly() -> None:
    searched = SearchText(b"a%41" * 2_000_000)
    started = process_time()
    assert not SearchPatterns(LONG).may_be_in(searched)
    assert process_time() - started < 1  # a call for each takes longer


def test_patterns_are_as_safe_as_the_secret() -> None:
    patterns = SearchPatterns(LONG)
    assert repr(patterns) == "SearchPatterns(***)"
    assert not [name for name in dir(patterns) if "SearchPatterns" in name]
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            take(patterns)
    with pytest.raises(TypeError):
        patterns.__getstate__()
