"""The page "How do I add …": the files, tests and names that it mentions exist."""

import re

from docs.blocks import ROOT

PAGE = ROOT / "docs" / "explanation" / "adding.md"
PLACES = (ROOT, ROOT / "src" / "outkey")
SECTION = re.compile(r"^## (.*)$", re.MULTILINE)


def code_words() -> list[str]:
    """Return the words of all code on the page."""
    spans = re.findall(r"`([^`\n]+)`", PAGE.read_text("utf-8"))
    return [word for span in spans for word in span.split()]


def test_every_path_of_the_page_exists() -> None:
    paths = {word for word in code_words() if "/" in word and word[0] != "."}
    assert len(paths) > 50
    missing = {
        path for path in paths if not any((place / path).exists() for place in PLACES)
    }
    assert missing == set()


def test_every_name_of_the_page_is_in_the_code() -> None:
    code = "\n".join(
        file.read_text("utf-8")
        for folder in ("src", "tests")
        for file in (ROOT / folder).rglob("*.py")
        if file.name != "test_adding.py"
    )
    names = {
        word
        for word in code_words()
        if re.fullmatch(r"[A-Za-z]\w*", word) and ("_" in word or word != word.lower())
    }
    assert {"VERIFIERS", "AuthenticationType", "assert_never"} <= names
    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()


def test_the_table_lists_every_section() -> None:
    text = PAGE.read_text("utf-8")
    sections = {title for title in SECTION.findall(text) if title != "In short"}
    listed = re.findall(r"^\| \[(.*?)\]\(#", text, re.MULTILINE)
    assert {title[0].upper() + title[1:] for title in listed} == sections
    assert len(listed) == len(sections) == 14


def paths_in(lines: list[str]) -> set[str]:
    return {
        path
        for line in lines
        for span in re.findall(r"`([^`]+)`", line)
        for path in span.split()
        if "/" in path or (ROOT / path).is_file()
    }


def test_the_stated_numbers_are_those_of_the_listed_files() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| \[(.*?)\]\(.*?\) \| (.*?) \|", text, re.MULTILINE)
    stated = {
        title[0].upper() + title[1:]: list(map(int, re.findall(r"\d+", cell)))
        for title, cell in rows
    }
    numbers = {}
    for section in text.split("\n## ")[2:]:  # after the summary
        title, *lines = section.splitlines()
        listed = paths_in([line for line in lines if re.match(r"\d+\. ", line)])
        in_table = paths_in([line for line in lines if line.startswith("| ")])
        numbers[title] = [len(paths) for paths in (listed, in_table) if paths]
    # A text is in one place, and one rule suspects a reason.
    numbers["The wording of a page"].insert(0, 1)
    numbers["A diagnosis reason"].insert(1, 1)
    assert stated == numbers
