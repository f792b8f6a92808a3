"""The rules by which responses are read, for both transports.

Each is tried with all bytes at once and byte by byte.
"""

import ssl
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.reading import (
    INCOMPLETE,
    Outcome,
    Read,
    Refused,
    cut_at,
    read,
    single_bytes,
)
from outkey.foundation.core.errors import ConnectionFailed, ResponseBroken, TlsFailed
from outkey.sending.adapters.transport.response_reader import (
    MAX_HEADERS,
    MAX_HEADS,
    MAX_INTERIM,
    MAX_LINE,
    TRAILER_ROOM,
    ResponseReader,
)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
NOT_HTTP = Refused(
    "ConnectionFailed", "the connection was closed, or the response is not HTTP"
)
OTHER = "the response is not HTTP"
INVALID = Refused("ResponseBroken", "the response is not valid HTTP")
CUT = Refused(
    "ResponseBroken", "the connection was closed in the middle of the response"
)
TOO_LARGE = Refused(
    "ResponseTooLarge", "the response is larger than the configured limit"
)
LONG_LINE = Refused("ResponseTooLarge", "a header line of the response is too long")
LONG_HEADS = Refused("ResponseTooLarge", "the headers of the response are too long")
MANY_HEADERS = Refused("ResponseTooLarge", "the response has 100 headers or more")

Reading = Callable[..., Outcome]


def read_bytewise(data: bytes, **options: bool) -> Outcome:
    return read(data, single_bytes(data), **options)


@pytest.fixture(params=[read, read_bytewise], ids=["at once", "byte by byte"])
def reading(request: pytest.FixtureRequest) -> Reading:
    chosen: Reading = request.param
    return chosen


def head(*lines: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    return "".join(f"{line}\r\n" for line in (status, *lines, "")).encode("latin-1")


# ── status lines ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("HTTP/1.1 200 OK", 200),
        ("HTTP/1.0 200 OK", 200),
        ("HTTP/1.1 200", 200),
        ("HTTP/1.1 200 ", 200),
        ("HTTP/1.1 404 Nicht gefunden: \xe4\t!", 404),
        ("HTTP/1.1 999 Beyond the classes", 999),
    ],
)
def test_a_status_line_is_read(reading: Reading, line: str, status: int) -> None:
    found = reading(head("Content-Length: 0", status=line))
    assert isinstance(found, Read)
    assert found.status == status


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        " HTTP/1.1 200 OK",
        "\r\nHTTP/1.1 200 OK",
        "http/1.1 200 OK",
        "RTSP/1.0 200 OK",
        "ICE/1.0 200 OK",
        "HTTP/0.9 200 OK",
        "HTTP/2.0 200 OK",
        "HTTP/1.2 200 OK",
        "HTTP/1.10 200 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 099 Below the classes",
        "HTTP/1.1 200OK",
        "HTTP/1.1 200\tOK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\x1bK",
        "HTTP/1.1 200 O\x7fK",
        "HTTP/1.1 200 O\rK",
        "HTTP/1.1 200 OK\r",
    ],
)
def test_what_does_not_begin_as_http_is_no_response(
    reading: Reading, line: str
) -> None:
    found = reading(head(status=line))
    assert isinstance(found, Refused)
    assert found.error == "ConnectionFailed"
    begins = line.startswith("HTTP/1.")
    assert (found == NOT_HTTP) if begins else found.message.startswith(OTHER)


@pytest.mark.parametrize(
    ("greeting", "message"),
    [
        (b"SSH-2.0-x", f"{OTHER}; it begins as one of SSH does"),
        (b"S", f"{OTHER}; it begins as one of SSH does"),
        (b"220 mail ESMTP", f"{OTHER}; it begins as one of SMTP or FTP does"),
        (b"\x15\x03\x01", "the port expects TLS and got plain http"),
        (b"HTTQ", OTHER),
        (b"HTTP/2", OTHER),
    ],
)
def test_a_greeting_of_another_protocol_is_refused_without_waiting(
    reading: Reading, greeting: bytes, message: str
) -> None:
    assert reading(greeting, ends=False) == Refused("ConnectionFailed", message)


def test_a_body_without_a_head_is_not_http_0_9(reading: Reading) -> None:
    found = reading(b"<html>hello</html>")
    assert found == Refused("ConnectionFailed", OTHER)


# ── header lines ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("X: a", "a"),
        ("X:a", "a"),
        ("X: \t a \t ", "a"),
        ("X:", ""),
        ("X: a  b\tc", "a  b\tc"),
        ("X: \xe4\xff", "\xe4\xff"),
        ("X: a:b", "a:b"),
    ],
)
def test_a_header_has_its_value_without_the_blanks_around(
    reading: Reading, line: str, value: str
) -> None:
    found = reading(head(line, "Content-Length: 0"))
    assert isinstance(found, Read)
    assert found.headers == (("X", value), ("Content-Length", "0"))


def test_lines_keep_their_order_case_and_repetitions(reading: Reading) -> None:
    found = reading(head("b: 1", "B: 2", "a: 3", "Content-Length: 0"))
    assert isinstance(found, Read)
    assert found.headers[:3] == (("b", "1"), ("B", "2"), ("a", "3"))


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("X: a\r\n b", "a b"),
        ("X: a\r\n\t  b\r\n c", "a b c"),
        ("X:\r\n a", "a"),
        ("X: a\r\n ", "a"),
        ("X: a\r\n \r\n b", "a b"),
    ],
)
def test_a_folded_line_is_one_value_with_blanks(
    reading: Reading, lines: str, value: str
) -> None:
    found = reading(head(lines, "Content-Length: 0"))
    assert isinstance(found, Read)
    assert found.headers[0] == ("X", value)


@pytest.mark.parametrize(
    "line",
    [
        "X : a",
        "Content-Length : 0",
        ": a",
        "X",
        "X a: b",
        "X(: a",
        'X": a',
        "X\0: a",
        "\xe4: a",
        "X: a\0b",
        "X: a\0\x01b",
        "X: a\r\x01b",
        "X : a\x01b",
        "X\x01: a",
        "X: a\rb",
        "X: a\nY: b",
        "X: a\r",
        " X: folded onto the status line",
        "X: a\r\n b\0",
    ],
)
def test_an_invalid_header_line_breaks_the_response(
    reading: Reading, line: str
) -> None:
    assert reading(head(line, "Content-Length: 0")) == INVALID


@pytest.mark.parametrize("value", ["a\x01b", "\x1b[2J\x9b31m", "a\x7f"])
def test_control_characters_in_a_value_are_kept(value: str) -> None:
    reader = ResponseReader(1024, to_head=False)
    assert reader.feed(head(f"X: {value}", "Content-Length: 2") + b"ok")
    assert reader.response(reader.body).headers["X"] == value


def test_mixed_line_ends_are_refused_without_waiting(reading: Reading) -> None:
    assert reading(OK + b"X: a\n", ends=False) == INVALID
    assert reading(b"HTTP/1.1 200 OK\nX: a\r\n", ends=False) == INVALID


def test_a_head_whose_lines_all_end_in_lf_alone_is_read(reading: Reading) -> None:
    usual = head("X: a", " folded", "Content-Length: 8") + b"\r\n\r\nbody"
    alone = usual.replace(b"\r\n", b"\n", 5)
    assert b"\r" not in alone.removesuffix(b"\r\n\r\nbody")
    assert reading(alone) == reading(usual)
    assert isinstance(reading(alone), Read)


def test_the_body_stays_compressed_and_its_encodings_are_named() -> None:
    lines = ["Content-Encoding: a, b", "content-encoding: c", "Content-Length: 2"]
    reader = ResponseReader(1024, to_head=False)
    assert reader.feed(head(*lines) + b"ok")
    assert (reader.encodings, reader.body) == (["a, b", "c"], b"ok")


@pytest.mark.parametrize(
    ("forwarded", "line", "reusable"),
    [
        (True, "X: no word of the connection", False),
        (True, "Connection: keep-alive", True),
        (True, "Connection: close", False),
        (False, "X: no word of the connection", True),
    ],
)
def test_the_connection_to_a_forwarding_proxy_is_reused_only_if_the_proxy_says_so(
    *, forwarded: bool, line: str, reusable: bool
) -> None:
    reader = ResponseReader(1024, to_head=False, forwarded=forwarded)
    assert reader.feed(head(line, "Content-Length: 2") + b"ok")
    assert reader.reusable is reusable


# ── how long the body is ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("length", ["5", "05", "5 ", "\t5", "0" * 5000 + "5"])
def test_a_length_is_one_decimal_number(reading: Reading, length: str) -> None:
    found = reading(head(f"Content-Length: {length}") + b"hello")
    assert isinstance(found, Read)
    assert (found.body, found.reusable) == (b"hello", True)


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: +5"],
        ["Content-Length: -5"],
        ["Content-Length: 5, 5"],
        ["Content-Length: 5 5"],
        ["Content-Length: 0x5"],
        ["Content-Length: 5.0"],
        ["Content-Length: 5_0"],
        ["Content-Length: \xb2"],
        ["Content-Length:"],
        ["Content-Length: 1\r\n 2"],
        ["Content-Length: 99999999999999999999"],
        ["Content-Length: 5", "Content-Length: 5"],
        ["Content-Length: 5", "content-length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 5"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: chunked, gzip"],
        ["Transfer-Encoding: chunked, chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding: chunked;a=b"],
        ["Transfer-Encoding:"],
    ],
)
def test_a_doubtful_length_breaks_the_response(
    reading: Reading, lines: list[str]
) -> None:
    assert reading(head(*lines) + b"5\r\nhello\r\n0\r\n\r\n") == INVALID


@pytest.mark.parametrize(
    ("line", "to_head"),
    [("HTTP/1.1 200 OK", True), ("HTTP/1.1 204 No", False), ("HTTP/1.1 304 No", False)],
)
@pytest.mark.parametrize(
    "framing", ["X: y", "Content-Length: 99999", "Transfer-Encoding: chunked"]
)
def test_head_204_and_304_have_no_body_whatever_they_announce(
    reading: Reading, line: str, framing: str, *, to_head: bool
) -> None:
    found = reading(head(framing, status=line), to_head=to_head, ends=False)
    assert isinstance(found, Read)
    assert (found.body, found.reusable) == (b"", True)


def test_a_body_without_a_length_lasts_until_the_connection_ends(
    reading: Reading,
) -> None:
    assert reading(head() + b"hello", ends=False) == INCOMPLETE
    assert reading(head() + b"hello") == Read(200, (), b"hello", reusable=False)


@pytest.mark.parametrize(
    "data",
    [
        head("Content-Length: 6") + b"hello",
        head("Content-Length: 1"),
        CHUNKED,
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"0\r\n",
        CHUNKED + b"0\r\nX: y\r\n",
    ],
)
def test_a_body_that_ends_early_is_a_broken_response(
    reading: Reading, data: bytes
) -> None:
    assert reading(data, ends=False) == INCOMPLETE
    assert reading(data) == CUT


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 200", OK, OK + b"X: y\r\n", OK + b"X: y\r\n\r"]
)
def test_a_head_that_ends_early_is_no_response(reading: Reading, data: bytes) -> None:
    assert reading(data, ends=False) == INCOMPLETE
    assert reading(data) == NOT_HTTP


# ── chunks ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "chunks",
    [
        b"5\r\nhello\r\n0\r\n\r\n",
        b"1\r\nh\r\n4\r\nello\r\n0\r\n\r\n",
        b"005\r\nhello\r\n000\r\n\r\n",
        b"5  \r\nhello\r\n0 \r\n\r\n",
        b'5;a;b=c;d="e;\\""\r\nhello\r\n0;f\r\n\r\n',
        b"5\r\nhello\r\n0\r\nX: y\r\nZ:\r\n\r\n",
    ],
)
def test_chunks_are_joined_and_extensions_and_trailers_dropped(
    reading: Reading, chunks: bytes
) -> None:
    expected = Read(200, (("Transfer-Encoding", "chunked"),), b"hello", reusable=True)
    assert reading(CHUNKED + chunks, ends=False) == expected


@pytest.mark.parametrize(
    "chunks",
    [
        b"\r\n",
        b"zz\r\n",
        b"-1\r\n",
        b"+5\r\n",
        b"0x5\r\n",
        b" 5\r\n",
        b"5_0\r\n",
        b"10000000000000000\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhello!\r\n0\r\n\r\n",
        b"5\r\nhello\r\r\n0\r\n\r\n",
        b"5;\0\r\nhello\r\n0\r\n\r\n",
        b"5;a\nhello\r\n0\r\n\r\n",
        b"0\r\n\n",
        b"0\r\n\rX",
        b"0\r\nX : y\r\n\r\n",
        b"0\r\nX: a\0b\r\n\r\n",
        b"0\r\nX: y\n\r\n",
        b"0\r\nContent-Length: 5\r\n\r\n",
    ],
)
def test_invalid_chunks_break_the_response(reading: Reading, chunks: bytes) -> None:
    assert reading(CHUNKED + chunks) == INVALID


# ── interim responses ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [100, 102, 103, 104, 199])
@pytest.mark.parametrize("line", ["X: y", "Content-Length: 5", "Connection: close"])
def test_interim_responses_are_skipped(
    reading: Reading, status: int, line: str
) -> None:
    interim = head(line, status=f"HTTP/1.1 {status} Wait")
    expected = Read(200, (("Content-Length", "5"),), b"hello", reusable=True)
    assert reading(interim * 2 + head("Content-Length: 5") + b"hello") == expected


def test_the_number_of_interim_responses_is_limited(reading: Reading) -> None:
    interim, final = head(status="HTTP/1.1 103 Hints"), head("Content-Length: 0")
    assert isinstance(reading(interim * MAX_INTERIM + final), Read)
    assert reading(interim * (MAX_INTERIM + 1) + final) == NOT_HTTP
    assert reading(interim * (MAX_INTERIM + 1), ends=False) == NOT_HTTP


@pytest.mark.parametrize("lines", [[], ["Upgrade: x", "Connection: upgrade"]])
def test_a_switch_of_protocols_is_refused(reading: Reading, lines: list[str]) -> None:
    assert reading(head(*lines, status="HTTP/1.1 101 Switch")) == NOT_HTTP


def test_an_offer_to_upgrade_is_not_a_switch(reading: Reading) -> None:
    data = head("Upgrade: h2c", "Connection: Upgrade", "Content-Length: 2") + b"ok"
    found = reading(data)
    assert isinstance(found, Read)
    assert (found.body, found.reusable) == (b"ok", True)


@pytest.mark.parametrize("data", [head(status="HTTP/1.1 100 Wait") + b"\r\n", OK[:9]])
def test_an_interim_response_alone_is_no_response(
    reading: Reading, data: bytes
) -> None:
    assert reading(data) == NOT_HTTP


# ── the connection afterwards ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "lines", "reusable"),
    [
        ("1.1", [], True),
        ("1.1", ["Connection: keep-alive"], True),
        ("1.1", ["Connection: close"], False),
        ("1.1", ["Connection: Close"], False),
        ("1.1", ["Connection: keep-alive, close"], False),
        ("1.1", ["Connection: x", "Connection: close"], False),
        ("1.0", [], False),
        ("1.0", ["Connection: keep-alive"], True),
        ("1.0", ["Connection: Keep-Alive"], True),
        ("1.0", ["Connection: keep-alive, close"], False),
        ("1.0", ["Keep-Alive: timeout=5"], False),
    ],
)
def test_a_connection_is_reused_unless_the_server_ends_it(
    reading: Reading, version: str, lines: list[str], *, reusable: bool
) -> None:
    data = head(*lines, "Content-Length: 2", status=f"HTTP/{version} 200 OK") + b"ok"
    found = reading(data)
    assert isinstance(found, Read)
    assert found.reusable == reusable


def test_chunks_of_http_1_0_are_read_but_end_the_connection(reading: Reading) -> None:
    lines = ["Connection: keep-alive", "Transfer-Encoding: chunked"]
    found = reading(head(*lines, status="HTTP/1.0 200 OK") + b"2\r\nok\r\n0\r\n\r\n")
    assert isinstance(found, Read)
    assert (found.body, found.reusable) == (b"ok", False)


@pytest.mark.parametrize("extra", [b"x", b"\r", b"\n", b"\r\n", b"\r\n\r\n", OK])
@pytest.mark.parametrize(
    "data",
    [
        head("Content-Length: 5") + b"hello",
        head("Content-Length: 0"),
        head(status="HTTP/1.1 204 No Content"),
        CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"0\r\nX: y\r\n\r\n",
        CHUNKED + b"2\r\n\r\n\r\n0\r\n\r\n",
    ],
)
def test_bytes_after_a_response_leave_it_valid_and_end_the_connection(
    reading: Reading, data: bytes, extra: bytes
) -> None:
    alone, followed = reading(data), reading(data + extra)
    assert isinstance(alone, Read)
    assert alone.reusable
    assert followed == alone._replace(reusable=False)


def test_a_second_response_behind_chunks_adds_nothing_to_the_body() -> None:
    found = read((CHUNKED + b"2\r\nok\r\n0\r\n\r\n") * 2)
    assert isinstance(found, Read)
    assert (found.body, found.reusable) == (b"ok", False)


# ── limits ────────────────────────────────────────────────────────────────────────────


def test_an_announced_length_above_the_limit_is_refused_unread(
    reading: Reading,
) -> None:
    assert reading(head("Content-Length: 1025"), ends=False) == TOO_LARGE
    assert reading(head("Content-Length: 1024"), ends=False) == INCOMPLETE


@pytest.mark.parametrize(
    ("start", "end"), [(head(), b""), (CHUNKED + b"400\r\n", b"\r\n0\r\n\r\n")]
)
def test_a_body_may_be_as_large_as_the_limit(
    reading: Reading, start: bytes, end: bytes
) -> None:
    found = reading(start + b"x" * 1024 + end)
    assert isinstance(found, Read)
    assert len(found.body) == 1024


@pytest.mark.parametrize(
    "data",
    [
        head() + b"x" * 1025,
        CHUNKED + b"401\r\n" + b"x" * 1025,
        CHUNKED + b"401\r\n" + b"x" * 1025 + b"invalid",
        CHUNKED + b"400\r\n" + b"x" * 1024 + b"\r\n1\r\nx\r\n0\r\n\r\n",
        CHUNKED + b"ffffffffffffffff\r\n" + b"x" * 1025,
    ],
)
def test_a_body_above_the_limit_is_refused(reading: Reading, data: bytes) -> None:
    assert reading(data) == TOO_LARGE


def test_a_small_body_in_a_large_wrapping_is_refused() -> None:
    extension = b"1;" + b"x" * (TRAILER_ROOM + 2000) + b"\r\na\r\n0\r\n\r\n"
    trailers = b"0\r\n" + b"X: y\r\n" * 200_000 + b"\r\n"
    for wrapping in (extension, trailers):
        data = CHUNKED + wrapping
        assert read(data) == TOO_LARGE
        assert read(data, cut_at(data, range(0, len(data), 65_536))) == TOO_LARGE


@pytest.mark.untraced
def test_a_header_line_may_be_as_long_as_the_limit(reading: Reading) -> None:
    longest = "X: " + "y" * (MAX_LINE - 5)
    assert isinstance(reading(head(longest, "Content-Length: 0")), Read)
    assert reading(head(longest + "y", "Content-Length: 0")) == LONG_LINE
    assert reading(head(status="HTTP/1.1 200 " + "y" * MAX_LINE)) == LONG_LINE


def test_the_number_of_header_lines_is_limited(reading: Reading) -> None:
    most = ["X: y"] * (MAX_HEADERS - 1) + ["Content-Length: 0"]
    assert isinstance(reading(head(*most)), Read)
    assert reading(head(*most, "X: y")) == MANY_HEADERS
    assert reading(head(*most, " folded")) == MANY_HEADERS


def test_heads_are_limited_together_with_those_of_interim_responses() -> None:
    large = "X: " + "y" * 60_000
    interim = head(*[large] * 16, status="HTTP/1.1 103 Hints")
    assert 2 * len(interim) < MAX_HEADS
    final = head(large, "Content-Length: 0")
    for count, expected in ((1, Read), (2, Read), (3, Refused)):
        data = interim * count + final
        for pieces in ([data], cut_at(data, range(0, len(data), 999))):
            found = read(data, pieces)
            assert isinstance(found, expected)
            assert expected is Read or found == LONG_HEADS


def test_a_long_line_at_the_end_of_a_long_head_is_the_same_error_in_any_split() -> None:
    lines = ["X: " + "y" * 65_000] * 32
    for size in range(MAX_HEADS % 65_005 - 3, MAX_HEADS % 65_005 + 70_000, 9_999):
        data = head(*lines, "Z: " + "z" * size)
        outcomes = {read(data, cut_at(data, range(0, len(data), 7_001))), read(data)}
        assert len(outcomes) == 1


@pytest.mark.untraced
def test_many_small_pieces_cost_no_more_than_linear_time() -> None:
    data = head(*["X: " + " " * 60_000] * 10, "Content-Length: 300000") + b"x" * 300_000
    started = time.process_time()
    found = read(data, cut_at(data, range(0, len(data), 3)), limit=10**6)
    assert isinstance(found, Read)
    assert time.process_time() - started < 10  # it is read in two ways


# ── any split ─────────────────────────────────────────────────────────────────────────

PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 103 Hints\r\n",
        b"HTTP/1.1 204 No\r\n",
        b"HTTP/1.1 101 Switch\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 0\r\n",
        b"Content-Length: 2000\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Connection: keep-alive\r\n",
        b"X: y\r\n",
        b" folded\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"hello",
        b"5\r\nhello\r\n",
        b"0\r\n",
        b"0\r\n\r\n",
        b"3e8\r\n" + b"x" * 1000 + b"\r\n",
        b"\0",
        b"X: y\r\n" * 98,
        b"X: " + b"y" * (MAX_LINE - 5) + b"\r\n",
        b"z",
    ]
)
LIKELY = st.lists(PIECES, max_size=12).map(lambda rest: b"".join([OK, *rest]))
SPLITS = st.lists(st.integers(0, 400) | st.integers(0, 80_000), max_size=8)


@pytest.mark.untraced
@given(
    data=LIKELY | st.lists(PIECES | st.binary(max_size=9), max_size=9).map(b"".join),
    places=SPLITS,
    to_head=st.booleans(),
    ends=st.booleans(),
)
def test_the_result_does_not_depend_on_how_the_bytes_are_split(
    data: bytes, places: list[int], *, to_head: bool, ends: bool
) -> None:
    def outcome(pieces: Iterable[bytes]) -> Outcome:
        return read(data, pieces, to_head=to_head, ends=ends)

    whole = outcome([data])
    assert outcome(cut_at(data, places)) == whole
    assert outcome(single_bytes(data)) == whole


# ── lost connections ──────────────────────────────────────────────────────────────────


def test_a_lost_connection_means_no_response_or_a_broken_one() -> None:
    reader = ResponseReader(1024, to_head=False)
    failure = reader.failure(ConnectionResetError())
    assert (type(failure), failure.message) == (ConnectionFailed, NOT_HTTP.message)
    alert = ssl.SSLError()
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert isinstance(reader.failure(alert), TlsFailed)
    reader.feed(head("Content-Length: 5"))
    assert isinstance(reader.failure(alert), ResponseBroken)


# ── interrupts ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("place", "data"),
    [
        ("_HeaderLines.on_header", OK + b"Content-Length: 0\r\n\r\n"),
        ("_ReceivedChunks.on_message_complete", CHUNKED + b"0\r\n\r\n"),
    ],
)
def test_an_interrupt_inside_the_parser_stays_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, reading: Reading, place: str, data: bytes
) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        f"outkey.sending.adapters.transport.response_reader.{place}", interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        reading(data)
