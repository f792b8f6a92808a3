"""A count of one reads right: each text with a count has a form for one, or needs none.

Translations of numbers are two texts, one of them with "1" (`counted` of
`foundation/core/text.py`, or an `if` in a template). A text such as `requests: 3` needs
one form only.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "src/outkey/hosts/django/locale/de/LC_MESSAGES/django.po"
COMMANDS = ROOT / "src/outkey/hosts/cli"
NOUNS = (
    "bytes|characters|children|configurations|conflicts|days|deliveries|fields|headers"
    "|hours|lines|minutes|objects|pages|processes|records|refusals|requests|rows|runs"
    "|running processes|seconds|secrets|single values|values|warnings|wrong passwords"
)
# Of {total} records: what matters is the number before it.
COUNTED = re.compile(rf"(?<!of )(?<!of the )(%\(\w+\)s|%s|\{{\w+\}}) (?:{NOUNS})\b")
# Texts whose number is never one, each with the reason.
NEVER_ONE = {
    "a key must have {count} bytes": "a constant",
    "at most {count} characters": "a constant",
    "at most {limit} characters": "a constant",
    "has 1 to {limit} characters": "a constant",
    "only the first {count} records": "a constant",
    "longer than {limit} characters": "a constant",
    "more than {count} ": "a limit, which is a constant",
    "more than {limit} ": "a limit, which is a constant",
    "more than %(runs)s runs": "a limit, which is a constant",
    "more than {minutes} minutes": "a constant",
    "must be at most {limit} rows": "a constant",
    "but {count} records may be a full page": "only said of as many as a page has",
    "expires in {days} days": "one day is tomorrow",
    "longer than {seconds} seconds": "a constant",
    "by {seconds} seconds": "only said of a difference of minutes",
    "is {seconds} seconds": "only said of a difference of minutes",
    "every {count} minutes": "one is every minute",
    "At most %(hours)s hours": "a constant",
    "%(tries)s wrong passwords": "a constant",
    "{count} fields changed": "one field has a sentence of its own",
    "unique among {count} records": "one record has another text",
    "this token may make {count} requests": "a limit of many a minute",
    "paused after {count} refusals": "it takes several",
}


def texts() -> list[str]:
    """Return the English texts of the catalogue."""
    entries = re.findall(
        r'^msgid ((?:"(?:[^"\\]|\\.)*"\n?)+)', CATALOGUE.read_text(), re.MULTILINE
    )
    parts = (re.findall(r'"((?:[^"\\]|\\.)*)"', entry) for entry in entries)
    return ["".join(part) for part in parts]


def has_form_for_one(text: str, place: str, every: list[str]) -> bool:
    """Whether a text begins alike and has 1 in the place of the number."""
    before, _, after = text.partition(place)
    beginning = f"{before}1{after[:4]}"  # the noun begins alike
    return any(other.startswith(beginning) for other in every)


def test_every_text_with_a_count_has_a_form_for_one() -> None:
    every = texts()
    assert len(every) > 1000
    wrong = [
        text
        for text in every
        for place in COUNTED.findall(text)
        if not any(known in text for known in NEVER_ONE)
        and not has_form_for_one(text, place, every)
    ]
    assert wrong == []


def test_every_exception_is_needed() -> None:
    counted = [text for text in texts() if COUNTED.search(text)]
    assert [
        known for known in NEVER_ONE if not any(known in text for text in counted)
    ] == []


def test_commands_print_a_count_of_one_with_its_singular() -> None:
    counted = re.compile(
        r'f"[^"]*\{[a-z_.]*(?:count|total|rows|days|pages)\} [a-z]+s\b'
    )
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in sorted(COMMANDS.glob("*.py"))
        for line in path.read_text().splitlines()
        if counted.search(line) and " if " not in line
    ]
    assert wrong == []
