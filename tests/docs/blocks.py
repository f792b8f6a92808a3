"""The fenced blocks of the handbook, and a small shell that runs their commands."""

import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from cli.conftest import Done, Terminal
from outkey.spar import Spar

ROOT = Path(__file__).parents[2]
API = "http://127.0.0.1:9000"  # the sparring provider, as the pages have it
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
SAVED_AS = re.compile(r"[Ss]ave this as `([\w.-]+)`")
PROMPT = "$ "
ASKING = ("audit prune", "people erase", "test acme --fix", "delete ")
COMMANDS = frozenset({"sh", "console"})


@dataclass(frozen=True)
class Block:
    """A fenced block, and the file that the text before it names."""

    page: str  # below the checkout, such as docs/guide/pages.md
    language: str
    code: str
    file: str = ""

    @property
    def has_commands(self) -> bool:
        """Whether it is something to type into a terminal."""
        is_session = self.language == "text" and self.code.startswith(PROMPT)
        return self.language in COMMANDS or is_session

    def commands(self) -> Iterator["Command"]:
        """Yield its commands; a session shows what they print."""
        if not self.code.startswith(PROMPT):
            for line in self.code.splitlines():
                if line.strip():
                    yield Command(line)
            return
        for part in re.split(r"^\$ ", self.code, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield Command(line, output.rstrip("\n"))


@dataclass(frozen=True)
class Command:
    """A command line, and what it prints; empty where the page does not show it."""

    line: str
    output: str = ""


def pages() -> list[Path]:
    """Return every page that may have blocks."""
    handbook = sorted((ROOT / "docs").rglob("*.md"))
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*others, *(page for page in handbook if "_build" not in page.parts)]


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, without directives of Sphinx."""
    text = page.read_text("utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rpartition("```")[2]
        named = SAVED_AS.findall(before)
        if not match["language"].startswith("{"):
            blocks.append(
                Block(
                    page=str(page.relative_to(ROOT)),
                    language=match["language"].strip(),
                    code=match["code"],
                    file=named[-1] if named else "",
                )
            )
    return blocks


def matches(shown: str, printed: str) -> bool:
    """Whether a command printed what a page shows.

    In a line … stands for any text, alone in a line for any number of lines.
    """
    pattern = ""
    for line in shown.splitlines():
        parts = map(re.escape, line.split("…"))
        pattern += r"([^\n]*\n)*" if line == "…" else "[^\n]*".join(parts) + "\n"
    return bool(re.fullmatch(pattern, printed.strip("\n") + "\n"))


@dataclass
class Shell:
    """Runs the commands of a page in a folder, with an API to talk to."""

    run: Terminal
    folder: Path
    spar: Spar
    stdin: dict[str, str] = field(default_factory=dict)  # by the beginning of a command
    replaced: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def save(self, file: str, text: str) -> None:
        """Write a file as a page asks for it."""
        (self.folder / file).write_text(text.replace(API, self.spar.url), "utf-8")

    def type(self, line: str) -> Done:
        """Run one command line."""
        for old, new in self.replaced.items():
            line = line.replace(old, new)
        assigned = re.fullmatch(r"(\w+)=\$\((.*?)\)\s*(#.*)?", line)
        if assigned:
            done = self.type(assigned[2])
            self.variables[assigned[1]] = done.out.strip()
            return done
        given = next(
            (text for start, text in self.stdin.items() if line.startswith(start)), ""
        )
        line = line.rpartition(" | ")[2]
        words = [self.expand(word) for word in shlex.split(line, comments=True)]
        output = ""
        if ">" in words:
            *words, _, output = words
        done = self.perform(words, given)
        if output:
            (self.folder / output).write_text(done.out, "utf-8")
            return Done(done.code, done.err, "")
        return done

    def expand(self, word: str) -> str:
        """Return a word with the values of variables."""
        values = {"PWD": str(self.folder), "OUTKEY_HOME": str(self.run.home)}
        known: Mapping[str, str] = values | self.variables | self.run.settings
        return re.sub(r"\$(\w+)", lambda match: known.get(match[1], match[0]), word)

    def perform(self, words: list[str], stdin: str) -> Done:
        """Run a program that the pages use."""
        program, *arguments = words
        if program == "outkey":
            asks = " ".join(arguments).startswith(ASKING) and "--yes" not in arguments
            # Without a terminal a command that asks has to be confirmed beforehand.
            return self.run(*arguments, *(["--yes"] if asks else []), stdin=stdin)
        if program == "export":
            pairs = (argument.partition("=") for argument in arguments)
            settings = {name: value for name, _, value in pairs}
            # The home and the path of the test stay as they are.
            settings.pop("OUTKEY_HOME", None)
            settings.pop("PATH", None)
            self.run.settings |= settings
            return Done(0, "", "")
        if program == "sqlite3":
            with closing(sqlite3.connect(arguments[0], timeout=10)) as database:
                database.executescript(arguments[1])
            return Done(0, "", "")
        raise LookupError(f"nothing here runs {program}")
