"""The reference: every public name, command and environment variable has its place."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from docs.test_docs import ROOT

SOURCE = ROOT / "src" / "outkey"
VARIABLE = re.compile(r"\bOUTKEY_[A-Z][A-Z_]*[A-Z]\b")


@pytest.fixture(scope="module")
def public_names() -> dict[str, list[str]]:
    program = Path(__file__).parent / "programs" / "public_names.py"
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True
    )
    names: dict[str, list[str]] = json.loads(done.stdout)
    return names


@pytest.fixture(scope="module")
def python_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page of the Python interface alone."""
    folder = tmp_path_factory.mktemp("python")
    text = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    (folder / "source").mkdir()
    (folder / "source" / "index.md").write_text(text, encoding="utf-8")
    command = ("sphinx.cmd.build", "-q", "-c", ROOT / "docs", "-D", "html_theme=basic")
    subprocess.run(
        [sys.executable, "-m", *command, folder / "source", folder / "html"],
        capture_output=True,  # its links lead to pages that are not there
        check=True,
    )
    return folder / "html"


def test_every_public_name_has_a_docstring(
    public_names: dict[str, list[str]],
) -> None:
    assert public_names["undocumented"] == []


def test_every_public_name_and_field_is_in_the_reference(
    public_names: dict[str, list[str]], python_page: Path
) -> None:
    inventory = InventoryFile.loads((python_page / "objects.inv").read_bytes(), uri="")
    documented = {
        name
        for kind, objects in inventory.data.items()
        if kind.startswith("py:")
        for name in objects
    }
    assert len(public_names["places"]) > 300
    assert sorted({*public_names["places"]} - documented) == []


def test_the_reference_shows_signatures(python_page: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (python_page / "index.html").read_text("utf-8"))
    words = " ".join(text.split())
    assert "outkey.load( path: str | Path, *, tokens: Tokens | None = None, )" in words
    assert "def " not in words  # a signature that could not be read


def test_every_environment_variable_has_an_entry() -> None:
    used = {
        variable
        for file in SOURCE.rglob("*.py")
        for variable in VARIABLE.findall(file.read_text("utf-8"))
    }
    page = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `(OUTKEY_[A-Z_]+)` \|", page, re.MULTILINE))
    assert used == listed
