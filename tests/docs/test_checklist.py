"""The check list of the guide to production is the one that the doctor verifies."""

import re
from pathlib import Path

from outkey.administration.core.operating.checklist import CHECKLIST

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "production.md"
HEADING = "| line | what must be right | otherwise |"


def test_the_guide_has_every_line_of_the_check_list_in_its_order() -> None:
    _, _, rest = GUIDE.read_text("utf-8").partition(HEADING)
    table = rest.partition("\n\n")[0].strip().splitlines()[1:]
    assert table == [
        f"| `{check.id}` | {check.message} | {check.hint} |" for check in CHECKLIST
    ]


def test_the_sample_of_the_guide_has_lines_of_the_check_list() -> None:
    _, _, rest = GUIDE.read_text("utf-8").partition("Each line says what must be true")
    lines = re.findall(
        r"^(?:passed|failed|unseen)  (\S+) +(.+)$",
        rest.partition("```")[0],
        re.MULTILINE,
    )
    assert len(lines) == 3
    assert set(lines) <= {(check.id, check.message) for check in CHECKLIST}
