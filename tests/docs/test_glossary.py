"""The words of the trade: what the glossary lists as "not" is in no text for users.

The pages of the handbook, the README, and every text of pages and messages (the source
texts of the German catalogue) are searched. Code, commands, values and URLs are not
prose.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docs.blocks import FENCE, ROOT, pages

CATALOGUE = ROOT / "src/outkey/hosts/django/locale/de/LC_MESSAGES/django.po"
# What is written instead, by the words that are not.
GLOSSARY = {
    r"answer(s|ed|ing)?": "response, respond",
    r"(people|persons?|somebody|whoever)": "user, administrator",
    r"(?<!there )is no (?!longer|such)": "is not a …, is missing",
    r"(?<!Type )is none": "is missing",
    r"not what it should be": "invalid",
    r"blanks?": "space",
    r"gone": "missing upstream, deleted",
    r"(tells?|told|telling)": "notify, show, define",
    r"(says?|said|saying)": "report, return, print, state",
    r"(give|gives|gave|given|giving) back": "revoke",
    r"(try|tries|tried|trying) again": "retry",
    r"once more": "again, retry",
    r"time-outs?": "timeout",
    r"how long it may take": "deadline",
    r"(holds?|held|holding)": "cache, have",
    r"claim(s|ed|ing)?": "lease, heartbeat, lock",
    r"disturbances?": "outage",
    r"variables? of the environment": "environment variable",
    r"(carry|carries|carried|carrying|trips?|passages?)": "send, transport",
    r"(keeps?|kept|keeping)": "save, store",
    r"(forget|forgets|forgot|forgotten)": "delete, remove",
    r"(come|comes|came) in": "sign in",
    r"left out": "rejected, omitted",
    r"tells? (it|them) apart": "unique key",
}
# An address is an IP address or an e-mail address; what a browser opens is a URL.
KINDS_OF_ADDRESS = (
    "ip|ipv4|ipv6|e-mail|email|private|public|global|loopback|internal|link-local"
    "|metadata|shared|allowed"
)
NOT_AFTER = "".join(rf"(?<!\b{kind} )" for kind in KINDS_OF_ADDRESS.split("|"))
ADDRESS = rf"{NOT_AFTER}address(es)?"


class Allowed(NamedTuple):
    """A text in which a word is right, and why."""

    text: str
    reason: str
    whole: bool = False  # it is the whole message

    def covers(self, around: str) -> bool:
        """Whether it is about a hit with these surroundings."""
        return self.text == around if self.whole else self.text in around


ALLOWED = (
    Allowed("outkey people", "the name of a command"),
    Allowed("table:people", "the name of a table in the tutorial"),
    Allowed("The table people", "the name of a table in the tutorial"),
    Allowed("also where it describes people", "whom your records are about"),
    Allowed("person", "a kind of contact in the demo", whole=True),
    Allowed("read access to persons", "the name of a scope of Personio"),
    Allowed("outkey token forget", "the name of a command"),
    Allowed("Forget", "the name of the button for that command", whole=True),
    Allowed("*Forget*", "the same button"),
    Allowed("Revoke and Forget", "the same button"),
    Allowed("press Forget", "the same button"),
    Allowed("| 410 | Gone", "the name of a status of HTTP"),
    Allowed("To be forgotten", "the name of a right in data protection"),
    Allowed("Keep ours", "the name of a button"),
    Allowed("Keep the API's version", "the name of a button"),
    Allowed("If you keep", "what these buttons do"),
    Allowed("will be kept: the next run", "what these buttons do"),
    Allowed("Keep", "the name of a choice, for records missing upstream", whole=True),
    Allowed("Keep them", "the same choice"),
    Allowed("**Missing upstream.** Keep", "the same choice"),
    Allowed("missing upstream, or keep", "the same choice"),
    Allowed("or keep what is missing upstream", "the same choice"),
    Allowed("gone = archive", "the name of a key"),
    Allowed("on hold", "what a restored installation is until it is resumed"),
    Allowed("On hold", "what a restored installation is until it is resumed"),
    Allowed("the hold of a restored installation", "the same as a noun"),
    Allowed("one round trip", "a term of networks"),
    Allowed("claim of the token", "a claim of a JSON Web Token"),
    Allowed("its own claim", "a claim of a JSON Web Token"),
    Allowed("More claims", "the label of a field", whole=True),
    Allowed("laims of assertions", "claims of a JSON Web Token"),
    Allowed("claims of the key-pair token", "claims of a JSON Web Token"),
    Allowed("The provider says: …", "a quotation follows"),
    Allowed("the provider says: …", "a quotation follows"),
    Allowed("the API says: …", "a quotation follows"),
    Allowed("The response says", "a quotation follows"),
    Allowed("the body may be left out", "about a body, not about a record"),
    Allowed("address bar", "a part of browsers"),
    Allowed("ship-from address", "a postal address"),
    Allowed("a customer with addresses", "postal addresses"),
    Allowed("path /addresses/", "a path of an API"),
    Allowed("such as address.city", "a field of an API"),
)


class Text(NamedTuple):
    """A text for users, and where it is."""

    place: str
    text: str


def texts() -> Iterator[Text]:
    """Yield the prose of all pages and the texts of the catalogue."""
    for page in pages():
        # A decision is the record of its time, and is not rewritten.
        if "decisions" not in page.parts:
            yield Text(str(page.relative_to(ROOT)), prose(page.read_text("utf-8")))
    for message in messages(CATALOGUE):
        yield Text("a message", prose(message))


def prose(text: str) -> str:
    """Return a text without code, URLs, targets of links and placeholders."""
    text = FENCE.sub("", text)
    text = re.sub(r"`[^`\n]*`", "``", text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    text = re.sub(r"<?https?://\S+", "", text)
    return re.sub(r"\{\w*\}|%\(\w+\)s", "…", text)


def messages(catalogue: Path) -> list[str]:
    """Return the source texts of a catalogue."""
    found = re.findall(
        r'^msgid(?:_plural)? ((?:".*"\n)+)', catalogue.read_text("utf-8"), re.MULTILINE
    )
    return ["".join(re.findall(r'"(.*)"', lines)) for lines in found]


def hits() -> Iterator[tuple[str, str, str]]:
    """Yield where a word is, its surroundings, and what to write instead."""
    patterns = {
        re.compile(rf"\b{words}\b", re.IGNORECASE): better
        for words, better in GLOSSARY.items()
    }
    patterns[re.compile(rf"\b{ADDRESS}\b", re.IGNORECASE)] = "URL, or IP address"
    for place, text in texts():
        for pattern, better in patterns.items():
            for match in pattern.finditer(text):
                around = text[max(0, match.start() - 60) : match.end() + 60]
                yield place, around, better


def test_no_text_has_a_word_that_the_glossary_replaces() -> None:
    wrong = [
        f"{place}: …{around!r}… (write: {better})"
        for place, around, better in hits()
        if not any(allowed.covers(around) for allowed in ALLOWED)
    ]
    assert wrong == []


def test_every_allowed_text_is_still_there_and_has_a_reason() -> None:
    everything = [around for _, around, _ in hits()]
    for allowed in ALLOWED:
        assert allowed.reason
        assert any(allowed.covers(around) for around in everything), allowed.text


def test_the_glossary_has_each_word_once_in_one_sentence_and_where_it_is() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text("utf-8")
    rows = re.findall(r"^\| \*\*(.*?)\*\*.*? \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    words = [word for word, _, _ in rows]
    assert words == sorted(set(words))
    assert len(words) == page.count("\n|") - 2  # all rows but the heading
    for word, meaning, places in rows:
        assert meaning.endswith("."), word
        assert ". " not in meaning, word
        for place in re.findall(r"`(.*?)`", places):
            assert (ROOT / "src" / "outkey" / place).is_dir(), word
