"""A text is its English sentence, and knows how it was made."""

import copy
import json
import pickle

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import NO_TEXT, Text, as_text, counted, join_texts

GERMAN = {
    "must be from {low} to {high}": "muss zwischen {low} und {high} liegen",
    "{field}: {problem}": "{field}: {problem}",
    "Rate limit": "Anfragen pro Minute",
}


def in_german(template: str) -> str:
    return GERMAN.get(template, template)


def test_a_text_is_the_english_sentence() -> None:
    text = Text("must be from {low} to {high}", low=1, high=9)
    assert text == "must be from 1 to 9"
    assert json.dumps(text) == '"must be from 1 to 9"'


def test_the_template_is_translated_and_the_values_are_filled_in() -> None:
    text = Text("must be from {low} to {high}", low=1, high=9)
    assert text.translate_with(in_german) == "muss zwischen 1 und 9 liegen"


def test_values_that_are_texts_are_translated_too() -> None:
    problem = Text("must be from {low} to {high}", low=1, high=9)
    text = Text("{field}: {problem}", field=Text("Rate limit"), problem=problem)
    assert text == "Rate limit: must be from 1 to 9"
    expected = "Anfragen pro Minute: muss zwischen 1 und 9 liegen"
    assert text.translate_with(in_german) == expected


def test_a_template_without_translation_stays_english() -> None:
    assert Text("{count} rows", count=3).translate_with(in_german) == "3 rows"


def test_joined_texts_are_translated_one_by_one() -> None:
    text = join_texts([Text("Rate limit"), Text("{count} rows", count=3)])
    assert text == "Rate limit 3 rows"
    assert text.translate_with(in_german) == "Anfragen pro Minute 3 rows"


def test_a_value_with_braces_is_not_a_template() -> None:
    text = Text("unknown name: {name}", name="{password}")
    assert text == "unknown name: {password}"
    assert text.translate_with(in_german) == "unknown name: {password}"


def test_a_message_becomes_a_sentence_in_each_language() -> None:
    message = Text("must be from {low} to {high}", low=1, high=9)
    text = Text("{message:sentence}", message=message)
    assert text == "Must be from 1 to 9."
    assert text.translate_with(in_german) == "Muss zwischen 1 und 9 liegen."
    again = Text("{message:sentence}", message=Text("Really?"))
    assert again == "Really?"
    assert Text("{name:>4}", name=Text("ab")) == "  ab"


def test_no_text_is_empty_in_each_language() -> None:
    assert NO_TEXT.translate_with(lambda template: "header " + template) == ""


def test_a_stored_text_is_translated_when_it_is_shown() -> None:
    problem = Text("must be from {low} to {high}", low=1, high=9)
    text = Text("{field}: {problem}", field=Text("Rate limit"), problem=problem)
    stored = Text.from_json(text.to_json())
    assert stored == text
    expected = "Anfragen pro Minute: muss zwischen 1 und 9 liegen"
    assert stored.translate_with(in_german) == expected


@pytest.mark.parametrize(
    "stored",
    [
        "an old sentence with {braces}",
        "[]",
        "null",
        "7",
        '{"text": 7}',
        '{"text": "{a}", "values": 7}',
        '{"text": "{a}"}',
        '{"text": "{0}"}',
        '{"text": "{"}',
        "[" * 100_000,
    ],
)
def test_what_is_not_a_stored_text_is_shown_as_it_is(stored: str) -> None:
    assert Text.from_json(stored) == stored


def test_a_copied_or_pickled_text_is_still_translated() -> None:
    text = Text("unknown name: {name}", name="{password}")
    for other in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert (other, other.template, other.values) == (
            text,
            text.template,
            text.values,
        )


def test_a_text_does_not_keep_objects() -> None:
    assert Text("{secret}", secret=Secret("canary")).values == {"secret": "***"}


def test_a_plain_string_is_a_text_without_translation() -> None:
    text = as_text("plain {braces}")
    assert text == "plain {braces}"
    assert text.translate_with(in_german) == "plain {braces}"
    assert as_text(NO_TEXT) is NO_TEXT
    error = ConfigError("of another project")  # type: ignore[arg-type]
    assert Text("{message:sentence}", message=error.message) == "Of another project."


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages")]
)
def test_a_count_of_one_has_the_singular(count: int, text: str) -> None:
    many = Text("{count} pages", count=count)
    assert counted(count, Text("1 page"), many) == text
