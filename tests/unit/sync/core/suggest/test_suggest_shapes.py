"""What is suggested for responses that are shaped like those of real APIs."""

import json
import tomllib
from collections.abc import Sequence
from datetime import UTC
from typing import Any

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.origin import Location, parse_base_url
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.mapping.columns import ColumnMapping, map_columns
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.paging.response import read_json, records_in
from outkey.sync.core.suggest.suggest import Sample, Suggestion, suggest
from unit.response_shapes import ORIGIN, SHAPES, Shape

EVERY_SHAPE = pytest.mark.parametrize("name", SHAPES)
CALL = SyncLine("parts", "acme", "GET", "/parts")


def suggested(shape: Shape) -> Suggestion:
    line = SyncLine("parts", "acme", "GET", shape.path)
    location = Location(parse_base_url(ORIGIN).origin, shape.path)
    document = read_json(json.dumps(shape.document))
    return suggest(Sample(document, ResponseHeaders(shape.headers), location, line))


def rows_of(
    shape: Shape, suggestion: Suggestion
) -> Sequence[dict[str, object] | Unmapped]:
    """Map the records of a sample as a run does."""
    find = JmespathCompiler().compile
    document = read_json(json.dumps(shape.document))
    records = records_in(document, find(suggestion.records, field="records"))
    mappings = [field.mapping for field in suggestion.fields]
    finders = [find(mapping.api, field="api") for mapping in mappings]
    columns = [[of(record) for record in records] for of in finders]
    compiled = [ColumnMapping(mapping, lambda _name: UTC) for mapping in mappings]
    return map_columns(compiled, columns, MappingContext(lambda _name: UTC))


def test_there_are_many_shapes() -> None:
    assert len(SHAPES) >= 40


@EVERY_SHAPE
def test_records_pages_and_keys_are_found(name: str) -> None:
    shape = SHAPES[name]
    facts = suggested(shape).facts()
    found = (facts["records"], facts["pagination"], facts["keys"])
    assert found == (shape.records, shape.pages, shape.keys), facts["why"]


@EVERY_SHAPE
def test_transforms_fit_the_values(name: str) -> None:
    shape = SHAPES[name]
    fields = {field.mapping.api: field.mapping for field in suggested(shape).fields}
    found = {
        api: (str(fields[api].transform), dict(fields[api].options))
        for api in shape.transforms
    }
    assert found == shape.transforms


@EVERY_SHAPE
def test_the_suggested_mapping_rejects_no_record_and_its_keys_differ(name: str) -> None:
    shape = SHAPES[name]
    suggestion = suggested(shape)
    rows = rows_of(shape, suggestion)
    assert [row for row in rows if isinstance(row, Unmapped)] == []
    assert len(rows) >= 1
    if suggestion.keys:
        keys = [tuple(row[key] for key in suggestion.keys) for row in rows]  # type: ignore[index]
        assert len({*keys}) == len(keys)


@EVERY_SHAPE
def test_every_field_that_is_not_a_list_or_null_has_a_column(name: str) -> None:
    shape = SHAPES[name]
    suggestion = suggested(shape)
    hosts = [field.mapping.host for field in suggestion.fields]
    assert len({*hosts}) == len(hosts)
    assert all(host.isidentifier() and len(host) <= 63 for host in hosts)
    assert "" not in hosts


@EVERY_SHAPE
def test_every_reason_is_a_text_and_short(name: str) -> None:
    shape = SHAPES[name]
    suggestion = suggested(shape)
    why: Any = suggestion.facts()["why"]
    texts = [why["records"], why["pagination"], why["keys"], *why["notes"]]
    texts += [field.why for field in suggestion.fields]
    assert all(isinstance(text, Text) and 0 < len(text) < 1000 for text in texts)
    for part in shape.notes:
        assert part in " | ".join(why["notes"])


@EVERY_SHAPE
def test_the_suggested_line_is_read_back_from_its_toml(name: str) -> None:
    shape = SHAPES[name]
    suggestion = suggested(shape)
    line = suggestion.completed_line(SyncLine("my parts", "acme", "GET", shape.path))
    text = render([], [line])
    if suggestion.keys:
        assert parse_document(text).lines == (line,)
    else:
        assert "my parts" in tomllib.loads(text)["line"]


def test_parameters_that_the_pages_set_leave_the_path() -> None:
    shape = SHAPES["json-server by offset"]
    call = SyncLine("c", "acme", "GET", f"{shape.path}&q=a")
    line = suggested(shape).completed_line(call)
    assert line.path == "/contacts?q=a"
