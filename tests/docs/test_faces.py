"""Each package names where to begin, and what the others use of it most."""

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "outkey"
PACKAGES = [
    "foundation",
    "sending",
    "sync",
    "webhooks",
    "importing",
    "administration",
]
MUCH_USED = 21  # in so many modules of other packages


def named(package: str) -> list[str]:
    """Return the names in the docstring of a package."""
    docstring = import_module(f"outkey.{package}").__doc__ or ""
    return re.findall(r"^- `([\w.]+)`: ", docstring, re.MULTILINE)


def used_elsewhere() -> Counter[str]:
    """Count the modules that import each name of another package."""
    uses: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0]
        names = {
            f"{statement.module.removeprefix('outkey.')}.{alias.name}"
            for statement in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(statement, ast.ImportFrom)
            and (statement.module or "").startswith("outkey.")
            and statement.module is not None
            for alias in statement.names
        }
        uses.update(name for name in names if name.partition(".")[0] != own)
    return uses


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_names_what_exists(package: str) -> None:
    names = named(package)
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(f"outkey.{package}.{module}"), attribute), name


def test_what_other_packages_use_most_is_named() -> None:
    faces = {f"{package}.{name}" for package in PACKAGES for name in named(package)}
    most = {name for name, count in used_elsewhere().items() if count >= MUCH_USED}
    assert len(most) > 10
    assert most - faces == set()
