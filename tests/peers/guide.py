"""The documents of the guide, for servers and targets of the tests."""

import re
from pathlib import Path

from peers.sync_places import FILES, Place

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
OTHER_DATABASE = '\n[database.warehouse]\nurl = "env:WAREHOUSE_URL"\n'


def guide_document(heading: str, url: str, place: Place) -> str:
    """Return the document below a heading, for a server and a place for its records."""
    found = guide_text("sync-examples", heading)
    text = re.sub(
        r'base_url = "http://[^/"]+(.*)"', f'base_url = "{url}"', found, count=1
    )
    text = re.sub(r'"table:(\w+)"', lambda match: f'"{place.target(match[1])}"', text)
    if place.kind in FILES:
        # A file is a snapshot: nothing is missing there, and nothing is sent from it.
        text = text.replace('gone = "delete"\n', "")
        text = re.sub(r'\[line\."contacts to .*?\n\]\n', "", text, flags=re.DOTALL)
    return text + OTHER_DATABASE if place.url else text


def guide_text(page: str, heading: str) -> str:
    """Return the first document below a heading of a page."""
    found = re.search(
        rf"^## {heading}\n.*?```toml\n(.*?)```",
        (GUIDE / f"{page}.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    assert found
    return found[1]
