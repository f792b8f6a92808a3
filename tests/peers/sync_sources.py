"""Each server with the document of the guide that is for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cli.conftest import Terminal
from outkey.testing.canary import Canaries
from peers.guide import guide_document
from peers.sync_places import Place
from peers.sync_records import typed
from peers.sync_servers import Row

COUNTED = ("created", "updated", "unchanged", "deleted", "archived", "failed")


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """A server with records, and the lines for them."""

    heading: str  # of the guide
    url: str
    secret: tuple[str, str]  # the variable that the document takes it from, and itself
    pull: str
    columns: Mapping[str, Sequence[str]]  # of each target
    ask: Callable[[], Mapping[str, Sequence[Row]]]  # what the server has for each
    push: str = ""

    def open(self, place: Place, canary: Canaries) -> "Copy":
        """Apply the document.

        The secret must be in no output, and in no file of the home.
        """
        variable, secret = self.secret
        canary.made["secret"], canary.usernames["secret"] = secret, ""
        settings = {variable: secret, "WAREHOUSE_URL": place.url}
        terminal = Terminal(place.home, canary, settings)
        document = guide_document(self.heading, self.url, place)
        applied = terminal("apply", "-", stdin=document)
        assert applied.code == 0, applied.err
        return Copy(self, place, terminal)


@dataclass(frozen=True, slots=True, repr=False)
class Copy:
    """The records of a server in a place."""

    source: Source
    place: Place
    terminal: Terminal

    def pull(self) -> dict[str, int]:
        """Run the pull, and return its counts that are not 0."""
        return self.run(self.source.pull)

    def push(self) -> dict[str, int]:
        """Run the push, and return its counts that are not 0."""
        return self.run(self.source.push)

    def run(self, line: str) -> dict[str, int]:
        """Run a line, and return its counts that are not 0."""
        done = self.terminal("line", "run", line, "--json")
        assert done.code == 0, done
        facts = done.json
        assert facts["state"] == "done"
        counts = {name: facts[name] for name in COUNTED if facts[name]}
        children = facts.get("children", {})
        return counts | {
            f"{name} children": count for name, count in children.items() if count
        }

    def assert_equal(self) -> None:
        """Compare every value of every record."""
        for name, rows in self.source.ask().items():
            columns = self.source.columns[name]
            assert typed(self.place.read(name), columns) == typed(rows, columns)
