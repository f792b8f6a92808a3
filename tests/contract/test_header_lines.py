"""A value that the validator accepts arrives unchanged as exactly one header line."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contract.raw_peer import RawPeer, raw_peer
from outkey.foundation.core.errors import HeaderFormatError
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.headers import check_name, check_value
from outkey.sending.core.request.message import Header, Request, Route, Source

ROUTE = Route(("127.0.0.1",), "p", TlsSettings(), 2.0, 2.0, 5.0, 1024)
ANY_TEXT = st.text(max_size=60)
LIKELY = st.text(
    st.sampled_from("aZ0-_:. \t\r\n\0\x01\x7f\x80\xff\u2028\u00a0\u200b,;\"'=()"),
    max_size=40,
)


@pytest.fixture(scope="module")
def peer() -> Iterator[RawPeer]:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        yield server


@pytest.fixture(scope="module")
def transport() -> Iterator[SocketTransport]:
    made = SocketTransport()
    yield made
    made.close()


@settings(
    max_examples=10 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    name=ANY_TEXT | LIKELY | st.from_regex(r"X-[A-Za-z0-9-]+", fullmatch=True),
    value=ANY_TEXT | LIKELY,
)
@example(name="X-Fold", value="a\r\n b")
@example(name="X-Nul", value="a\0b")
@example(name="X-Blank", value=" a")
@example(name="X Bad", value="a")
@example(name="X-Ok", value="a b\tc")
@example(name="X-Empty", value="")
def test_one_accepted_header_is_one_line_with_that_value(
    peer: RawPeer, transport: SocketTransport, name: str, value: str
) -> None:
    try:
        check_name(name, field="f")
        check_value(value, field="f")
    except HeaderFormatError:
        return
    before = len(peer.requests)
    headers = (
        Header("Host", "peer", Source.DEFAULT),
        Header(name, Secret(value), Source.ROW),
        Header("X-After", "end", Source.DEFAULT),
    )
    origin = Origin("http", "127.0.0.1", peer.port)
    transport.send(Request("GET", origin, "/", headers), ROUTE)
    (raw,) = peer.requests[before:]
    head, body = raw.split(b"\r\n\r\n")
    assert body == b""
    # Split at every byte that any parser takes for a line end.
    lines = re.split(rb"\r\n|\r|\n", head)
    assert lines == [
        b"GET / HTTP/1.1",
        b"Host: peer",
        f"{name}: {value}".encode("ascii"),
        b"X-After: end",
    ]
