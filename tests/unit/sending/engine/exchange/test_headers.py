import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import (
    HeaderConflict,
    HeaderFormatError,
    OutkeyError,
    SecretMissing,
)
from outkey.sending.core.request.headers import (
    MAX_HEADERS,
    check_name,
    check_token,
    check_value,
    compose,
    is_header_name,
    is_settable_name,
    looks_like_credential,
    of_connection,
    tidy_token,
    tidy_value,
)
from outkey.sending.core.request.message import Header, Source


@pytest.mark.parametrize("name", ["X-API-Key", "x", "X_API_KEY", "!#$%&'*+.^`|~9"])
def test_a_token_of_rfc_9110_is_a_name(name: str) -> None:
    assert check_name(name, field="f") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "X Key",
        "X-Key ",
        "X-Key:",
        "X\tKey",
        "X\r\nY",
        "X\0",
        "Ключ",
        "(x)",
        'a"b',
        "é",
    ],
)
def test_a_name_with_any_other_character_is_refused(name: str) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        check_name(name, field="headers[0].key")
    assert caught.value.field == "headers[0].key"
    assert caught.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Trailer",
        "Upgrade",
        "Keep-Alive",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "PROXY-anything",
    ],
)
def test_names_of_the_connection_are_refused_in_any_case(name: str) -> None:
    with pytest.raises(HeaderFormatError, match="belongs to the connection"):
        check_name(name, field="f")


@pytest.mark.parametrize("value", ["", "a", "a b\tc", "~!@#$%^&*()", "x" * 8192])
def test_visible_ascii_with_inner_blanks_is_a_value(value: str) -> None:
    assert check_value(value, field="f") == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("secret\r\nX: y", "a line break at position 7"),
        ("secret\n", "a line break"),
        ("secret\r\n folded", "a line break"),
        ("secret\0", "a control character at position 7"),
        ("secret\x01x", "a control character"),
        ("secret\x7f", "a control character"),
        (" secret", "a space at position 1"),
        ("secret\t", "a space at position 7"),
        ("sécret", "invisible one\\) at position 2"),
        ("secret\u200b", "perhaps an invisible one"),
        ("x" * 8193, "longer than 8192"),
    ],
)
def test_a_refused_value_is_described_by_place_and_never_shown(
    value: str, reason: str
) -> None:
    with pytest.raises(HeaderFormatError, match=reason) as caught:
        check_value(value, field="header:X-Key")
    assert caught.value.field == "header:X-Key"
    assert "ecret" not in f"{caught.value} {caught.value.hint}"


@given(st.text())
def test_every_text_is_accepted_or_refused_with_a_reason(text: str) -> None:
    try:
        assert check_value(text, field="f") == text
    except HeaderFormatError as error:
        assert error.message.startswith("the value ")


@given(
    st.text(st.characters(max_codepoint=0x200), max_size=8)
    | st.sampled_from(
        ["Host", "keep-alive", "TE", "proxy-", "Proxy-X", "\u212aeep-Alive"]
    )
    | st.sampled_from(
        ["Hosts", "X-Host", "T", "Proxy", "TE\n", "\u212a", "\u017f", "X%&"]
    )
)
def test_a_name_may_be_set_where_it_is_valid_and_not_of_the_connection(
    name: str,
) -> None:
    may_be_set = is_header_name(name) and not of_connection(name)
    assert is_settable_name(name) == may_be_set


@given(st.text(st.characters(max_codepoint=0x200), max_size=8))
def test_a_value_is_visible_ascii_with_spaces_and_tabs_only_inside(text: str) -> None:
    is_good = all(c == "\t" or " " <= c <= "~" for c in text)
    is_good = is_good and text == text.strip(" \t")
    if is_good:
        assert check_value(text, field="f") == text
    else:
        with pytest.raises(HeaderFormatError):
            check_value(text, field="f")


@given(st.text())
def test_a_refusal_of_a_token_never_repeats_it(text: str) -> None:
    marked = f"mark{text}mark"
    try:
        assert check_token(marked, field="f") == marked
    except OutkeyError as error:
        assert "mark" not in str(error)


@pytest.mark.parametrize(
    "token",
    ["abc", "v^1.1#i^1", "00D!AR", "a:int", "eyJ.x-y_z=="],
    ids=["plain", "eBay", "Salesforce", "Marketo", "JWT"],
)
def test_real_tokens_outside_b64token_are_accepted(token: str) -> None:
    assert check_token(token, field="token") == token


@pytest.mark.parametrize(
    ("token", "error"),
    [
        ("a b", HeaderFormatError),
        ("a\tb", HeaderFormatError),
        ("a\nb", HeaderFormatError),
        ("a\u00a0b", HeaderFormatError),
        ('{"access_token":"x"}', HeaderFormatError),
        ("x" * 8193, HeaderFormatError),
        ("", SecretMissing),
    ],
)
def test_a_token_with_blanks_or_none_at_all_is_refused(
    token: str, error: type[OutkeyError]
) -> None:
    with pytest.raises(error) as caught:
        check_token(token, field="token")
    assert caught.value.field == "token"


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        ("abc", "abc"),
        ("  abc\r\n", "abc"),
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Bearer Bearer abc", "Bearer abc"),
        ("Bearer", ""),
        ("Basic abc", "Basic abc"),
    ],
)
def test_blanks_around_a_token_and_one_prefix_are_removed_once(
    pasted: str, kept: str
) -> None:
    assert tidy_token(pasted) == kept


def test_a_header_name_has_a_limited_length() -> None:
    assert check_name("X" * 256, field="headers") == "X" * 256
    with pytest.raises(HeaderFormatError) as caught:
        check_name("X" * 257, field="headers")
    assert "256" in caught.value.message


def test_blanks_around_a_value_are_removed() -> None:
    assert tidy_value(" a b\n") == "a b"


def header(name: str, source: Source, value: str = "v") -> Header:
    return Header(name, value, source)


def test_headers_of_different_names_stand_side_by_side_in_order() -> None:
    given_headers = (
        header("A", Source.DEFAULT),
        header("B", Source.ROW),
        header("C", Source.CALLER),
    )
    assert compose(given_headers) == given_headers


@pytest.mark.parametrize("first", [Source.AUTHENTICATION, Source.ROW, Source.CALLER])
@pytest.mark.parametrize("second", [Source.AUTHENTICATION, Source.ROW, Source.CALLER])
def test_two_sources_of_one_name_are_a_conflict_that_names_both(
    first: Source, second: Source
) -> None:
    with pytest.raises(HeaderConflict) as caught:
        compose((header("Authorization", first), header("authorization", second)))
    assert first in caught.value.message
    assert second in caught.value.message
    assert caught.value.field == "header:Authorization"


@pytest.mark.parametrize("source", [Source.ROW, Source.CALLER])
def test_a_default_gives_way_whoever_comes_first(source: Source) -> None:
    default, other = (
        header("User-Agent", Source.DEFAULT),
        header("user-agent", source, "mine"),
    )
    assert compose((default, other)) == (other,)
    assert compose((other, default)) == (other,)


def test_more_headers_than_the_limit_are_refused() -> None:
    many = tuple(header(f"X-{n}", Source.ROW) for n in range(MAX_HEADERS + 1))
    with pytest.raises(OutkeyError, match="more than 64"):
        compose(many)


@pytest.mark.parametrize(
    "name", ["X-API-Key", "Authorization", "api_token", "X-Signature", "Cookie"]
)
def test_names_of_credentials_are_recognized(name: str) -> None:
    assert looks_like_credential(name)


def test_an_ordinary_name_is_no_credential() -> None:
    assert not looks_like_credential("X-Tenant")
