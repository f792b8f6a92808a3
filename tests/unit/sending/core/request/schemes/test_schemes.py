from base64 import b64decode

import pytest

from outkey.foundation.core.errors import HeaderFormatError, OutkeyError, SecretMissing
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.message import Header, Request, Response, Source
from outkey.sending.core.request.schemes.basic import Basic
from outkey.sending.core.request.schemes.bearer import Bearer
from outkey.sending.core.request.schemes.choice import scheme_of
from outkey.sending.core.request.schemes.none import NoAuthentication
from outkey.testing import configuration

CONFIGURED = configuration(authentication_type="bearer")
REQUEST = Request(
    "GET", Origin("https", "a.example", 443), "/", (Header("A", "1", Source.DEFAULT),)
)


def authorization(scheme: Basic | Bearer) -> str:
    """Run a scheme by hand, without client or mock, and return the header it adds."""
    flow = scheme.flow(REQUEST)
    request = next(flow).request
    with pytest.raises(StopIteration) as done:
        flow.send(Response(204))
    assert done.value.value == Response(204)
    assert request.headers[0] == REQUEST.headers[0]
    name, value, source = request.headers[-1]
    assert (name, source) == ("Authorization", Source.AUTHENTICATION)
    assert isinstance(value, Secret)
    return value.reveal()


@pytest.mark.parametrize(
    ("username", "password", "header"),
    [
        ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),  # RFC 7617 §2
        ("test", "123\u00a3", "Basic dGVzdDoxMjPCow=="),  # RFC 7617 §2.1
        ("user", "", "Basic dXNlcjo="),
        ("colon", "a:b:c", "Basic Y29sb246YTpiOmM="),
        ("", "key", "Basic OmtleQ=="),
        ("key", " blanks stay ", "Basic a2V5OiBibGFua3Mgc3RheSA="),
    ],
)
def test_basic_is_the_encoded_pair(username: str, password: str, header: str) -> None:
    assert authorization(Basic(username, Secret(password))) == header


def test_basic_normalizes_to_nfc() -> None:
    decomposed = authorization(Basic("ju\u0308rgen", Secret("e\u0301")))
    assert b64decode(decomposed.removeprefix("Basic ")).decode() == "jürgen:é"


@pytest.mark.parametrize(
    ("username", "password", "field"),
    [
        ("", "", "username"),
        ("u", "a\0b", "password"),
        ("u", "a\nb", "password"),
        ("u", "\x7f", "password"),
    ],
)
def test_basic_refuses_what_rfc_7617_forbids(
    username: str, password: str, field: str
) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        next(Basic(username, Secret(password)).flow(REQUEST))
    assert caught.value.field == field


def test_basic_refuses_a_pair_that_no_header_can_hold() -> None:
    with pytest.raises(HeaderFormatError, match="longer than"):
        next(Basic("u", Secret("x" * 7000)).flow(REQUEST))


def test_bearer_is_the_token_behind_the_word() -> None:
    assert authorization(Bearer(CONFIGURED, Secret("abc.def"))) == "Bearer abc.def"


def test_bearer_takes_a_pasted_prefix_and_blanks_away() -> None:
    assert authorization(Bearer(CONFIGURED, Secret(" Bearer abc\n"))) == "Bearer abc"


@pytest.mark.parametrize(
    ("token", "error"),
    [("", SecretMissing), ("a b", HeaderFormatError), ("Bearer ", SecretMissing)],
)
def test_bearer_refuses_what_is_no_token(token: str, error: type[OutkeyError]) -> None:
    with pytest.raises(error):
        next(Bearer(CONFIGURED, Secret(token)).flow(REQUEST))


def test_none_sends_the_request_as_it_is() -> None:
    assert next(NoAuthentication().flow(REQUEST)).request is REQUEST


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [("none", NoAuthentication), ("basic", Basic), ("bearer", Bearer)],
)
def test_each_type_has_its_scheme(kind: str, scheme: type) -> None:
    made = scheme_of(configuration(authentication_type=kind), lambda _: Secret("x"))
    assert isinstance(made, scheme)
