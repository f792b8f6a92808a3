"""Records in other formats than JSON, as an export of a shop has them."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from xml.sax.saxutils import escape

Records = Iterable[Mapping[str, object]]

_DELIMITERS = {"semicolon": ";", "tab": "\t"}


def export(
    records: Records, kind: str, query: Mapping[str, str]
) -> tuple[bytes, str] | None:
    """Return records in the format that `?format=` names, with its Content-Type.

    `?packed=` makes a gzip file or a ZIP archive of it. None for an unknown format.
    """
    name = query.get("format", "")
    if name not in _WRITERS:
        return None
    write, content_type = _WRITERS[name]
    body = write(records, query).encode()
    match query.get("packed"):
        case "gzip":
            return gzip.compress(body), "application/gzip"
        case "zip":
            return _zipped(f"{kind}.{name}", body), "application/zip"
    return body, content_type


def _csv(records: Records, query: Mapping[str, str]) -> str:
    target = io.StringIO()
    delimiter = _DELIMITERS.get(query.get("delimiter", ""), ",")
    writer = csv.writer(target, delimiter=delimiter)
    rows = list(records)
    if query.get("header") != "no":
        writer.writerow(rows[0] if rows else [])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return target.getvalue()


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict) else value


def _json_lines(records: Records, _query: Mapping[str, str]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _xml(records: Records, _query: Mapping[str, str]) -> str:
    parts = "".join(f"<record>{_elements(record)}</record>" for record in records)
    return f'<?xml version="1.0"?>\n<records xmlns="urn:spar">{parts}</records>\n'


def _elements(record: Mapping[str, object]) -> str:
    return "".join(
        f"<{name}>{_elements(value) if isinstance(value, dict) else escape(str(value))}"
        f"</{name}>"
        for name, value in record.items()
    )


def _zipped(name: str, body: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, body)
        archive.writestr("README.txt", b"Records of the sparring provider.\n")
    return target.getvalue()


_WRITERS: Mapping[str, tuple[Callable[[Records, Mapping[str, str]], str], str]] = {
    "csv": (_csv, "text/csv"),
    "jsonl": (_json_lines, "application/x-ndjson"),
    "xml": (_xml, "application/xml"),
}
