"""Recognising a secret in a text: in which forms, from which length, and without being shown."""

import copy
import pickle
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.core.search import SearchPatterns, SearchText

LONG = "sekret/canary-4711"
PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40)


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
    if not secret.replace("\\", "").isdigit():
        assert SearchPatterns(secret).is_in(SearchText(f"{secret[:cut]}...{secret[cut:]}".encode()))
        assert SearchPatterns(secret).is_in(SearchText(f"{secret[cut:]}...{secret[:cut]}".encode()))


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
        ("s3cret-9", "is s3 cret-9 here", False),  # too short to be looked for like that
        ("s3cret-9", "9-terc3s", True),
        ("12345678901234", "12345678901234", True),
        ("12345678901234", "1234, 5678901234", False),  # numbers side by side are no secret
        ("!!!!????####$$$$", "a !!!!????####$$$$", True),
        ("!!!!????####$$$$", "nothing", False),
        (LONG, "s e k r e t / c a n a r y - 4 7 1 1", True),
        (LONG, r"sekret\/canary\u002d4711", True),
        (LONG, "sekret\\ncanary\\n4711", True),
        (LONG, "sekret\\u0000canary\\u20ac4711", True),
        (LONG, "sekret", False),
        (LONG, "sekretcan only, without the rest", False),
        (LONG, "sek and retcanary4711", False),  # a piece of three
        ("pässwörd-geheimnis", b64encode("x pässwörd-geheimnis".encode()).decode(), True),
        ("\udc80broken-surrogate", "broken-surrogate", True),
    ],
)
def test_what_is_recognised_depends_on_the_length(
    secret: str, text: str, *, is_found: bool
) -> None:
    assert found(secret, text) is is_found


def test_patterns_are_as_safe_as_the_secret() -> None:
    patterns = SearchPatterns(LONG)
    assert repr(patterns) == "SearchPatterns(***)"
    assert not [name for name in dir(patterns) if "SearchPatterns" in name]
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            take(patterns)
    with pytest.raises(TypeError):
        patterns.__getstate__()
