"""A browser drops a rule that follows a mistake, and reports nothing."""

import re
from pathlib import Path

import pytest

import outkey

SHEETS = sorted(Path(outkey.__file__).parent.glob("hosts/django/static/**/*.css"))
NOT_CODE = re.compile(r'/\*.*?\*/|"[^"]*"', re.DOTALL)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_each_brace_of_a_style_sheet_has_its_other_half(sheet: Path) -> None:
    code = NOT_CODE.sub("", sheet.read_text(encoding="utf-8"))
    depth = 0
    for number, line in enumerate(code.splitlines(), start=1):
        depth += line.count("{") - line.count("}")
        assert depth >= 0, f"a brace too many in line {number}"
    assert depth == 0
