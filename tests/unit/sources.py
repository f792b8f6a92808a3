"""The source of outkey, parsed once for all tests that look at it."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "outkey"


@cache
def parsed_modules() -> dict[Path, ast.Module]:
    """Return all modules, by their files."""
    files = sorted(SOURCE.rglob("*.py"))
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
