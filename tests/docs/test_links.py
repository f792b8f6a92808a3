"""Links: inside the project they lead somewhere, outside they are well-formed.

Nothing is requested from other sites.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from docs.blocks import FENCE, ROOT, pages

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
PICTURES = ROOT / "docs" / "_pictures"
HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}|127\.0\.0\.1|localhost", re.IGNORECASE)


def targets(page: Path) -> list[str]:
    text = FENCE.sub("", page.read_text("utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    return [inside or outside for inside, outside in LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    slugs = set()
    for heading in HEADING.findall(text):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        letters = re.sub(r"[^\w\- ]", "", title.lower())
        slugs.add(letters.strip().replace(" ", "-"))
    return slugs


def names_of_pictures() -> set[str]:
    """Return the pictures that `make docs` takes."""
    tools = ROOT / "tools"
    listed = re.findall(r'Picture\(\s*"([\w-]+)"', (tools / "pictures.py").read_text())
    taken = re.findall(
        r'_take\(self\._page, "([\w-]+)"', (tools / "tutorial_steps.py").read_text()
    )
    return {*listed, *taken}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in targets(page):
        parts = urlsplit(target)
        if parts.scheme:
            assert parts.scheme in {"http", "https"}, target
            assert HOST.fullmatch(parts.hostname or ""), target
            continue
        file = (page.parent / parts.path).resolve() if parts.path else page
        if file.parent == PICTURES:
            assert file.stem in names_of_pictures(), target
            continue
        assert file.exists(), target
        if parts.fragment and file.suffix == ".md":
            assert parts.fragment in anchors(file), target


def test_every_picture_is_shown_on_a_page() -> None:
    shown = {
        Path(target).stem
        for page in pages()
        for target in targets(page)
        if "_pictures/" in target
    }
    assert names_of_pictures() == shown
