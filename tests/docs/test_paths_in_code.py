"""Docstrings and comments name modules that exist, by their path or dotted name."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from docs.blocks import ROOT

SOURCE = ROOT / "src" / "outkey"
PACKAGES = tuple(sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")))
LAYERS = ("core", "engine", "adapters", "ports")
NAME = re.compile(
    rf"(?<![\w./@-])(?:outkey|{'|'.join((*PACKAGES, *LAYERS))})(?:[./]\w+)+(?![\w/(-])"
)
FILE = re.compile(r"(?<![\w./-])\w[\w/]*\.py\b")
# Comments, and strings that a line begins with; other long strings are passed over.
LONG = '"{3}(?s:.*?)"{3}'
PROSE = re.compile(
    rf"^[ ]*(?P<docstring>r?{LONG})|{LONG}|(?:^|[ ]{{2}})(?P<comment># .*)",
    re.MULTILINE,
)
NO_MODULES = {
    "outkey.audit": "a logger",
    "outkey.notices": "a logger",
    "outkey/list_page.html": "a template",
    "outkey.open.__module__": "code of a test's program",
}


def prose(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a module."""
    for match in PROSE.finditer(path.read_text("utf-8")):
        yield match["docstring"] or match["comment"] or ""


def exists(name: str, path: Path) -> bool:
    """Whether a name is that of a module, or of something in one.

    It begins at `outkey`, or at a layer of the package that the module is in.
    """
    parts = re.split(r"[./]", re.sub(r"^outkey[./]|\.py$", "", name))
    places = [SOURCE]
    if path.is_relative_to(SOURCE):
        places.append(SOURCE / path.relative_to(SOURCE).parts[0])
    return any(leads_somewhere(place, parts) for place in places)


def leads_somewhere(folder: Path, parts: Sequence[str]) -> bool:
    for number, part in enumerate(parts):
        if (folder / part).is_dir():
            folder /= part
            continue
        module = folder / f"{part}.py"
        names = parts[number + 1 :]
        if not module.exists():
            module = folder / "__init__.py"
            names = parts[number:]
        if not module.exists():
            return False
        text = module.read_text("utf-8")
        return all(re.search(rf"\b{name}\b", text) for name in names)
    return True


def test_every_module_that_a_docstring_or_comment_names_exists() -> None:
    files = [
        path
        for folder in ("src", "tests", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    written = "\n".join(f"/{path.relative_to(ROOT)}" for path in files) + "\n"
    names = 0
    missing = []
    for path in files:
        for text in prose(path):
            modules = [name for name in NAME.findall(text) if name not in NO_MODULES]
            paths = [name for name in FILE.findall(text) if name not in NO_MODULES]
            names += len(modules) + len(paths)
            wrong = {name for name in modules if not exists(name, path)}
            wrong |= {name for name in paths if f"/{name}\n" not in written}
            missing += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(wrong)]
    assert names > 100
    assert missing == []
