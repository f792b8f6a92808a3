"""A pytest plugin that fails a test whose secrets turn up where they must not.

Load it with `pytest_plugins = ["outkey.testing.canary"]`, and it guards the whole
suite: whatever text a test puts into a `Secret` is searched for in all that the test
printed and logged at DEBUG.

A test that asks the fixture `canary` for its secrets has them searched for in its
temporary folder and in its printed failure as well. Both look for every encoding that a
secret usually leaks in.
"""

import secrets
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from outkey.foundation.core.echo.encodings import forms
from outkey.foundation.core.secret import Secret

_MAX_FILE = 256 * 1024 * 1024
_SHORTEST = 8  # what is shorter stands in any text by chance
_MAX_SEARCHED = 200  # a property test makes thousands
_MADE = pytest.StashKey[set[str]]()
_KEY = pytest.StashKey["Canaries"]()


def find(haystack: bytes, text: str, username: str = "") -> list[str]:
    """Return the names of the encodings in which a secret stands in a text."""
    return [name for name, form in forms(text, username).items() if form in haystack]


@dataclass
class Canaries:
    """The secrets of one test. Call it for a new one."""

    made: dict[str, str] = field(default_factory=dict)
    usernames: dict[str, str] = field(default_factory=dict)
    places: list[Path] = field(default_factory=list)

    def __call__(self, name: str = "secret", *, username: str = "") -> str:
        """Return a secret that no other test has.

        It is valid in a header, and has characters that are often escaped.
        """
        text = f'{name}~"<&%{secrets.token_hex(12)}+/'
        self.made[name] = text
        self.usernames[name] = username
        return text

    def token(self, name: str = "token") -> str:
        """Return a secret of plain characters, for servers that want that."""
        self.made[name] = f"{name}{secrets.token_hex(16)}"
        self.usernames[name] = ""
        return self.made[name]

    def search_also(self, place: Path) -> None:
        """Search another file or folder as well, such as a database."""
        self.places.append(place)

    def leaks(self, where: str, haystack: bytes) -> Iterator[str]:
        """Yield a line per leak, with the name of the secret and the encoding only."""
        for name, text in self.made.items():
            for form in find(haystack, text, self.usernames[name]):
                yield f"the secret {name!r} stands in {where} ({form})"

    def leaks_in_files(self) -> Iterator[str]:
        """Yield a line per leak in the places to search."""
        for place in self.places:
            files = [place] if place.is_file() else sorted(place.rglob("*"))
            for file in files:
                if file.is_file() and file.stat().st_size <= _MAX_FILE:
                    yield from self.leaks(f"the file {file.name}", file.read_bytes())


@pytest.fixture
def canary(request: pytest.FixtureRequest, tmp_path: Path) -> Canaries:
    """Make secrets whose leaks fail the test. The temporary folder is searched too."""
    canaries = Canaries(places=[tmp_path])
    request.node.stash[_KEY] = canaries
    return canaries


@pytest.fixture(autouse=True)
def _every_secret(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remember the text of every secret that the test makes."""
    made: set[str] = set()
    request.node.stash[_MADE] = made
    original = Secret.__init__

    def remember(self: Secret, text: str) -> None:
        original(self, text)
        if len(text) >= _SHORTEST and len(made) < _MAX_SEARCHED:
            made.add(text)

    monkeypatch.setattr(Secret, "__init__", remember)


def _leaks_of_secrets(made: set[str], report: pytest.TestReport) -> Iterator[str]:
    for name, text in report.sections:
        shown = text.encode()
        for secret in made:
            for form in find(shown, secret):
                yield f"a secret of {len(secret)} characters stands in {name} ({form})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Search everything a test left behind, and fail it where a secret is found."""
    report = yield
    canaries = item.stash.get(_KEY, None) or Canaries()
    found = list(
        canaries.leaks(
            "the printed failure",
            str(report.longrepr).encode(errors="backslashreplace"),
        )
    )
    if report.when == "teardown":
        found += _leaks_of_secrets(item.stash.get(_MADE, set()), report)
        for name, text in report.sections:
            found += canaries.leaks(name, text.encode())
        found += canaries.leaks_in_files()
    if found:
        report.outcome = "failed"
        # The former text is dropped with the secret in it,
        # and so are the captured sections.
        report.longrepr = "\n".join(["a secret leaked:", *found])
        report.sections = []
    return report
