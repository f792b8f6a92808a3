"""Users and tokens that are limited to owners see nothing of others, anywhere."""

import re
from pathlib import Path

import outkey
from programs import assert_program_passes

PAGES = Path(outkey.__file__).parent / "hosts" / "django" / "pages"
# Where pages read tables as a whole, with a rule of their own beside it.
WHOLE_TABLES = {
    "access.py",  # `visible` itself
    "home.py",  # the chart, which is not for limited users
    "configurations/listed_rows.py",  # what belongs to rows that are visible
    "configurations/page.py",  # the number of good requests, which is 0 for these
    "installation/data_protection.py",  # not for limited users
}


def test_no_page_and_no_operation_shows_anything_of_another_owner(
    tmp_path: Path,
) -> None:
    done = assert_program_passes("cli/isolation_of_owners", tmp_path / "home")
    assert done.stdout.split("\n") == ["", ""]


def test_pages_read_rows_by_what_their_user_sees() -> None:
    whole = re.compile(r"\.objects\b|_default_manager|_base_manager|QuerySet\(")
    found = {
        str(file.relative_to(PAGES))
        for file in PAGES.rglob("*.py")
        if whole.search(file.read_text())
    }
    assert found == WHOLE_TABLES


def test_pages_get_the_installation_by_what_their_user_sees() -> None:
    """And what they stream is read for the same user when the page has ended."""
    texts = {
        str(file.relative_to(PAGES)): file.read_text() for file in PAGES.rglob("*.py")
    }
    whole = {name for name, text in texts.items() if "django.installed" in text}
    assert whole <= {"access.py"}
    streams = {name for name, text in texts.items() if "StreamingHttp" in text}
    assert streams == {"shell.py"}
