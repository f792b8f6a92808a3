"""OpenAPI documents that packages ship: their lines run against what they describe."""

import json
from pathlib import Path

import pytest

from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.importing import read_import
from outkey.sync.core.line.line import Paging
from outkey.sync.core.run.run import RunState
from peers.authorization_servers import INSTALLED
from peers.servers import require
from unit.importing.described_apis import (
    RECORDS,
    USUAL_PAGE,
    DescribedApi,
    machine,
)

DOCUMENTS = ("@directus/specs/dist", "@readme/oas-examples")


def documents(package: str) -> list[Path]:
    folder = INSTALLED / "node_modules" / package
    require(folder, f"missing npm package: {package} (make .venv/.dev installs it)")
    return sorted(
        path
        for path in folder.rglob("*.json")
        if path.parent.name in {"dist", "json"} and path.name != "package.json"
    )


@pytest.mark.parametrize(
    "package",
    [DOCUMENTS[0], pytest.param(DOCUMENTS[1], marks=pytest.mark.full)],
)
def test_lines_of_shipped_documents_bring_records(package: str, tmp_path: Path) -> None:
    lines = 0
    for number, path in enumerate(documents(package)):
        text = path.read_text()
        try:
            imported = read_import(text, source="openapi")
        except OutkeyError:
            continue  # no API, such as a part that others refer to
        folder = tmp_path / str(number)
        folder.mkdir()
        made = machine(imported, DescribedApi(json.loads(text)), folder)
        for line in made.lines:
            assert line.sync is not None
            run = made.run(line)
            assert (run.state, run.counts.failed) == (RunState.DONE, 0), path.name
            is_paged = line.sync.pagination.kind is not Paging.NONE
            expected = {RECORDS} if is_paged else {RECORDS, USUAL_PAGE}
            assert len(made.rows(line)) in expected, (path.name, line.name)
            lines += 1
    print(f"{package}: {lines} lines")  # noqa: T201 - with -s
    assert lines > 5
