"""A text is its English sentence, and knows how it was made."""

import json
import pickle
from copy import deepcopy

from outkey.core.text import Text, join_texts

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


def test_a_copy_and_a_pickle_keep_template_and_values() -> None:
    text = Text("unknown name: {name}", name="{password}")
    for copied in (deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert copied == text
        assert (copied.template, copied.values) == (text.template, text.values)
