import tomllib
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.fields.field_kinds import CONTROL_BUT_LINES
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sync.core.line.line import SyncLine
from unit.administration.core.document.test_document import WHOLE


def again(configuration: Configuration) -> Configuration:
    return parse_document(render([configuration], [])).drafts[0].configuration()


def test_what_is_exported_can_be_applied_again() -> None:
    document = parse_document(WHOLE)
    acme = document.drafts[0].configuration()
    text = render([acme], document.lines)
    assert again(acme) == acme
    assert parse_document(text).lines == document.lines


def test_a_default_is_not_written_but_for_the_authentication_type() -> None:
    plain = build("a", {"base_url": "https://a.example"})
    assert render([plain], []) == (
        '[configuration.a]\nbase_url = "https://a.example"\n'
        'authentication_type = "none"\n'
    )


def test_none_that_is_exported_and_applied_over_basic_is_none() -> None:
    plain = build("a", {"base_url": "https://a.example"})
    basic = build(
        "a", {"base_url": "https://a.example", "authentication_type": "basic"}
    )
    (draft,) = parse_document(render([plain], [])).drafts
    assert draft.merged(basic).authentication_type == "none"


@pytest.mark.parametrize("text", ["", "-"])
def test_no_word_before_the_token_is_an_empty_text_or_a_hyphen(text: str) -> None:
    document = f"""
[configuration.a]
base_url = "https://a.example"
authentication_type = "bearer"
token_prefix = "{text}"
"""
    (draft,) = parse_document(document).drafts
    made = draft.configuration()
    assert made.token_prefix == ""
    assert 'token_prefix = ""' in render([made], [])
    assert again(made) == made


def test_a_prefix_that_is_not_set_is_not_written() -> None:
    made = build("a", {"base_url": "https://a.example"})
    assert made.token_prefix is None
    assert "token_prefix" not in render([made], [])


def test_a_stored_secret_is_a_comment_with_its_day() -> None:
    origin = "https://a.example:443"
    rows = (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("X-Unset", "", secret=True),
    )
    made = build("a", {"base_url": "https://a.example"}, headers=rows)
    stored = replace(
        made,
        secrets={
            "password": SecretState(origin, set_at=1_800_000_000.0),
            "client_key": SecretState(origin),
            "header:X-API-Key": SecretState(origin, set_at=1_800_000_000.0),
            "token": SecretState(origin, parse_reference("env:TOKEN", field="token")),
        },
    )
    text = render([stored], [])
    assert "# password: set 2027-01-15\n" in text
    assert "# client_key: set (date unknown)\n" in text
    assert "# value: set 2027-01-15\n" in text
    assert 'token = "env:TOKEN"\n' in text
    tables = tomllib.loads(text)["configuration"]["a"]
    assert tables["headers"] == [
        {"key": "X-API-Key", "secret": True},
        {"key": "X-Unset", "secret": True},
    ]


ONE_LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cf"]), max_size=20
)
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=50)


@given(
    name=ONE_LINE.filter(bool),
    username=ONE_LINE.filter(lambda text: ":" not in text),
    notes=ANY_TEXT.filter(lambda text: not CONTROL_BUT_LINES.search(text)),
    seconds=st.floats(0.1, 300),
    day=st.none() | st.dates(),
    value=st.from_regex(r"[!-~]([ -~]*[!-~])?", fullmatch=True),
)
def test_any_configuration_comes_back_as_it_was(
    name: str, username: str, notes: str, seconds: float, day: date | None, value: str
) -> None:
    values: dict[str, object] = {
        "base_url": "https://a.example/ä",
        "username": username,
        "notes": notes,
        "limits.connect_timeout": seconds,
    }
    if day is not None:
        values["token_expires_on"] = day
    made = build(name, values, headers=(CustomHeader("X-Row", value, secret=False),))
    document = parse_document(render([made], [SyncLine(name, name, "GET", notes)]))
    assert document.drafts[0].configuration() == made
    assert document.lines[0].path == notes


@pytest.mark.parametrize(
    "name", ["plain-name_1", "two words", 'quo"te', "dotted.name", "ä"]
)
def test_names_are_quoted_where_they_must_be(name: str) -> None:
    made = build(name, {"base_url": "https://a.example"})
    assert again(made).name == name
