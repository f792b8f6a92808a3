"""HAR 1.2: one request of a recording is read, and the others are ignored.

Recordings hold live sessions and whole bodies, so that no more of them is looked at.
"""

from collections.abc import Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.tree import Table, rows, table, text_of
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import SeenApi, SeenRequest
from outkey.sending.core.request.headers import looks_like_credential


def read_har(trees: Sequence[Table], report: ImportReport) -> list[SeenApi]:
    """Return the API of the entry that shows most of how requests authenticate."""
    entries = list(rows(table(trees[0].get("log")).get("entries")))
    if not entries:
        raise ConfigError(Text("the recording has no requests"))
    entry = max(entries, key=score)
    if len(entries) > 1:
        report.note_dropped(
            "entries",
            Text("of {count} requests one was read", count=len(entries)),
            Level.NOTICE,
        )
    source = table(entry.get("request"))
    headers = pairs_of(source.get("headers"))
    post_data = table(source.get("postData"))
    request = SeenRequest(
        text_of(source.get("url")),
        method=text_of(source.get("method")) or "GET",
        headers=headers,
        body=text_of(post_data.get("text")),
        has_body=bool(post_data),
    )
    return [SeenApi([request])]


def pairs_of(value: object) -> list[tuple[str, str]]:
    """Return the names and values of a list."""
    return [
        (text_of(row.get("name")), text_of(row.get("value")))
        for row in rows(value)
        if row.get("name")
    ]


def score(entry: Table) -> int:
    """Return how much an entry shows: credentials first, then an API's response."""
    request = table(entry.get("request"))
    names = [name.lower() for name, _ in pairs_of(request.get("headers"))]
    content = table(table(entry.get("response")).get("content"))
    is_api = "json" in text_of(content.get("mimeType"))
    is_signed = "authorization" in names
    has_key = any(
        looks_like_credential(name) and not name.startswith(("cookie", "sec-", ":"))
        for name in names
    )
    reads = text_of(request.get("method")).upper() in {"", "GET"}
    return 8 * is_signed + 4 * has_key + 2 * is_api + reads
