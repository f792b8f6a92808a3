"""The exports of the sparring provider."""

import csv
import gzip
import io
import json
import zipfile
from xml.etree import ElementTree as ET

import pytest

from outkey.spar.exports import export
from outkey.spar.records_api import contact, order

RECORDS = [contact(1), contact(2)]


def exported(kind: str = "contacts", **query: str) -> bytes:
    found = export(RECORDS if kind == "contacts" else [order(1)], kind, query)
    assert found is not None
    return found[0]


def test_a_table_has_a_header_and_the_delimiter_that_is_requested() -> None:
    text = exported(format="csv", delimiter="semicolon").decode()
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
    assert [row["id"] for row in rows] == ["c1", "c2"]
    assert (
        exported(format="csv", header="no")
        == exported(format="csv").partition(b"\r\n")[2]
    )
    assert export([], "contacts", {"format": "csv"}) == (b"\r\n", "text/csv")


def test_lines_and_elements_have_the_same_records() -> None:
    lines = exported(format="jsonl").splitlines()
    assert [json.loads(line) for line in lines] == RECORDS
    root = ET.fromstring(exported(format="xml"))
    names = [record.findtext("{urn:spar}full_name") for record in root]
    assert names == ["Contact 1", "Contact 2"]


@pytest.mark.parametrize("name", ["csv", "jsonl", "xml"])
def test_exports_may_be_packed(name: str) -> None:
    plain = exported("orders", format=name)
    assert gzip.decompress(exported("orders", format=name, packed="gzip")) == plain
    archive = exported("orders", format=name, packed="zip")
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.read(f"orders.{name}") == plain


def test_another_format_is_none() -> None:
    assert export(RECORDS, "contacts", {"format": "json"}) is None
