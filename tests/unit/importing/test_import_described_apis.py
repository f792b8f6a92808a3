"""Lines of OpenAPI documents run against an API that responds as the documents state.

At full length the table of what was converted is printed: `pytest -s -m full`.
"""

import json
from pathlib import Path

import pytest

from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sync.core.run.run import RunState
from unit.importing.described_apis import DescribedApi, machine
from unit.importing.openapi_documents import CASES

SOME = list(CASES)[::8]  # the others are for the full length


def lossy_settings(imported: Import) -> set[str]:
    """Return the settings of lines that an import has lost; `line` for a whole one."""
    dropped = (
        item.item
        for item in imported.report
        if str(item.action) == "dropped" and str(item.level) != "notice"
    )
    return {
        name.partition(": ")[2] or "line"
        for name in dropped
        if name.startswith("line ")
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SOME else pytest.mark.full)
        for name in CASES
    ],
)
def test_each_line_brings_all_that_its_document_describes(
    name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    imported = read_import(json.dumps(case.document))
    assert lossy_settings(imported) == set(case.losses)
    api = DescribedApi(case.document)
    made = machine(imported, api, tmp_path)
    assert len(made.lines) == case.lines
    for line in made.lines:
        assert line.sync is not None
        run = made.run(line)
        assert (run.state, run.counts.failed) == (RunState.DONE, 0)
        word = line.path.rpartition("/")[2]
        rows = made.rows(line)
        assert len(rows) == case.more.get(word, case.rows)
        mapped = {row.host for row in line.sync.mappings}
        assert mapped == {name for row in rows for name in row if row[name] is not None}
        api.requests.clear()
        again = made.run(line)
        assert again.counts.created == 0
        parameter = line.sync.incremental.parameter
        if parameter:
            assert parameter.partition("[")[0] in api.requests[0]


@pytest.mark.full
def test_most_lists_are_converted_without_a_loss() -> None:
    whole = [name for name, case in CASES.items() if not case.losses]
    for name, case in CASES.items():
        print(f"{name}: {', '.join(case.losses) or 'without loss'}")  # noqa: T201
    assert len(CASES) >= 50
    assert len(whole) / len(CASES) > 0.8
