import copy
import dataclasses
import gc
import io
import json
import logging
import pickle
import pprint
import traceback
import weakref
from base64 import b64encode
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.echo.encodings import forms
from outkey.foundation.core.echo.search import SHORTEST, SearchText
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.headers import check_token, check_value
from outkey.sending.core.request.message import Header, Request, Route, Source
from outkey.sending.core.request.schemes.basic import Basic

CANARIES = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8
).map(lambda text: f"canary{text}yranac")


class ReferencedSecret(Secret):
    """A secret that a weak reference can watch."""

    __slots__ = ("__weakref__",)


@dataclasses.dataclass(frozen=True)
class Holder:
    secret: Secret
    name: str = "holder"


def logged(secret: Secret) -> str:
    stream = io.StringIO()
    logger = logging.Logger("leak", logging.DEBUG)
    logger.addHandler(logging.StreamHandler(stream))
    logger.debug("%s %r %s", secret, secret, {"secret": secret})
    try:
        raise RuntimeError(secret)
    except RuntimeError:
        logger.exception("failed with %s", secret)
    return stream.getvalue()


def traced(secret: Secret) -> str:
    """Return a traceback with all local variables, as debuggers and reporters do."""

    def refuse(text: str) -> str:
        copied = f"refused: {text}"
        raise ConfigError("refused") if copied else None

    parts = []
    for attempt in (
        lambda: secret.derive(refuse),
        lambda: secret.derive(
            lambda text: text.encode("latin-1", "strict").decode("utf-16")
        ),
        lambda: secret.derive(lambda text: check_value(text + "\r\nx", field="f")),
        lambda: secret.derive(lambda text: check_token(text + " x", field="f")),
        lambda: next(Basic("u", secret.derive(lambda text: text + "\0")).flow(REQUEST)),
    ):
        try:
            attempt()
        except Exception as error:  # noqa: BLE001 - whatever it is, its text is what we test
            captured = traceback.TracebackException.from_exception(
                error, capture_locals=True
            )
            parts += [
                *captured.format(),
                repr(error.__context__),
                repr(error.__cause__),
            ]
    return "".join(parts)


REQUEST = Request("GET", Origin("https", "a.example", 443), "/")
SHOWN_BY = {
    "repr": repr,
    "str": str,
    "format": lambda s: f"{s} {s!r} {s!s:>12} {s:*^20}",
    "percent": lambda s: "%s %r" % (s, s),  # noqa: UP031 - people write this
    "template": lambda s: Template("$s").substitute(s=s),
    "container": lambda s: str([s, {"key": s}, (s,), Holder(s)]),
    "pprint": lambda s: pprint.pformat({"deep": [Holder(s)]}),
    "dataclass dump": lambda s: str(dataclasses.asdict(Holder(s))),
    "json": lambda s: (
        json.dumps({"secret": s}, default=str) + json.dumps([s], default=repr)
    ),
    "copy": lambda s: str(copy.copy(s)) + repr(copy.deepcopy([s])),
    "log": logged,
    "traceback": traced,
    "header": lambda s: (
        str(Header("X-Key", s, Source.ROW))
        + repr(Route((), "p", TlsSettings(), 1, 1, 1, 1, s))
    ),
    "request": lambda s: repr(REQUEST.with_headers((Header("X", s, Source.ROW),))),
    "slots": lambda s: str([getattr(s, "__dict__", ""), dir(s)]),
    "exception": lambda s: str(ConfigError("x", field="y")) + str(ValueError(s)),
}


@pytest.mark.parametrize("way", SHOWN_BY)
@given(text=CANARIES)
def test_a_secret_shows_nothing(way: str, text: str) -> None:
    shown = SHOWN_BY[way](Secret(text))
    encoded = b64encode(text.encode()).decode()
    for form in (text, encoded, text.encode().hex(), repr(text)[1:-1]):
        assert form not in shown


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_cannot_be_pickled(protocol: int) -> None:
    with pytest.raises(TypeError) as caught:
        pickle.dumps(Holder(Secret("canary")), protocol)
    assert "canary" not in str(caught.value)


def test_a_secret_hands_out_no_state() -> None:
    with pytest.raises(TypeError):
        Secret("canary").__getstate__()


def test_a_secret_has_no_json_form_by_itself() -> None:
    with pytest.raises(TypeError) as caught:
        json.dumps(Secret("canary"))
    assert "canary" not in str(caught.value)


def test_a_secret_is_equal_to_one_of_the_same_text_and_to_nothing_else() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert Secret("\ud800") == Secret("\ud800")


def test_a_secret_is_neither_hashable_nor_changeable() -> None:
    with pytest.raises(TypeError):
        hash(Secret("a"))
    with pytest.raises(AttributeError):
        Secret("a").extra = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        Secret("a")._Secret__text = "b"  # type: ignore[attr-defined]


def test_what_is_derived_is_a_secret_with_the_derived_text() -> None:
    derived = Secret("abc").derive(str.upper)
    assert isinstance(derived, Secret)
    assert derived.reveal() == "ABC"


def test_only_an_empty_secret_is_false() -> None:
    assert not Secret("")
    assert Secret(" ")


def test_a_known_prefix_tells_only_the_callers_own_words() -> None:
    assert Secret("Bearer abc").known_prefix(["Basic ", "Bearer "]) == "Bearer "
    assert Secret("abc").known_prefix(["Basic "]) == ""


@given(st.text(st.characters(), min_size=SHORTEST))
def test_no_form_of_a_secret_is_shorter_than_the_secret(text: str) -> None:
    assert min(map(len, forms(text).values())) >= len(text)


@given(
    secret=st.text('ab"%&;\\\xe9', min_size=SHORTEST, max_size=12),
    text=st.text('ab"%&;\\\xe9', max_size=12),
)
def test_a_short_text_is_searched_as_thoroughly_as_a_long_one(
    secret: str, text: str
) -> None:
    searched = SearchText(text.encode())
    hidden = Secret(secret)
    assert hidden.occurs_in(text) == hidden.occurs_in_search_text(searched)


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("\u226b\u20d2" * 4, "&nGt;" * 4),  # an entity that is shorter than its text
        ('"name"', "name"),  # the quotes are those of the searched text
    ],
)
def test_a_secret_is_found_in_a_text_that_is_shorter(secret: str, text: str) -> None:
    assert Secret(secret).occurs_in(text)


def test_a_check_that_changes_nothing_makes_no_second_secret() -> None:
    secret = Secret("canary")
    assert secret.derive(lambda text: text) is secret
    assert secret.derive(str.upper) == Secret("CANARY")


def test_what_is_derived_once_is_used_again_for_the_same_function_only() -> None:
    secret = Secret("canary")
    calls = []

    def noted(text: str) -> str:
        calls.append(text)
        return text.upper()

    first = secret.derive_once(noted)
    assert first == Secret("CANARY")
    assert secret.derive_once(noted) is first
    assert secret.derive_once(str.title) == Secret("Canary")
    assert secret.derive_once(noted) == first
    assert calls == ["canary", "canary"]


def test_a_secret_that_is_derived_once_leaves_the_memory_with_its_last_user() -> None:
    secret = ReferencedSecret("canary")
    assert secret.derive_once(lambda text: text) is secret
    assert secret.derive_once(lambda text: text) is secret
    reference = weakref.ref(secret)
    gc.disable()
    try:
        del secret
        assert reference() is None
    finally:
        gc.enable()


def test_a_function_that_refuses_is_called_again() -> None:
    secret = Secret("canary")
    for _ in range(2):
        with pytest.raises(ConfigError):
            secret.derive_once(lambda text: check_value(text + "\n", field="f"))


def test_a_secret_knows_its_text_and_no_other() -> None:
    assert Secret("canary").has_text("canary")
    assert not Secret("canary").has_text("Canary")
