"""Maintain a copy of a table of outkey in a file of SQLite.

OUTKEY_URL=http://127.0.0.1:8765 OUTKEY_TOKEN=ok_… python copy_table.py orders copy.db

The copy and its cursor are committed together. So it may be killed at any moment: it
continues at its cursor, and no change is lost or applied twice.
"""

import json
import os
import sqlite3
import sys
import time
from typing import Any

import httpx

SECONDS = 1.0  # between two looks for changes
PAGE = 1000
TRIES = 10
BUSY = {httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE}


def get(path: str, **query: object) -> httpx.Response:
    """Return a response of outkey; an unexpected status is an error."""
    for _ in range(TRIES):
        response = httpx.get(
            f"{os.environ['OUTKEY_URL']}/api/v1/tables/{path}",
            params={name: str(value) for name, value in query.items()},
            headers={"Authorization": f"Bearer {os.environ['OUTKEY_TOKEN']}"},
            timeout=60,
        )
        if response.status_code not in BUSY:
            break
        time.sleep(float(response.headers.get("Retry-After", SECONDS)))
    if response.status_code != httpx.codes.GONE:
        response.raise_for_status()
    return response


def open_copy(file: str) -> sqlite3.Connection:
    """Return the database of a copy; new tables are empty."""
    copy = sqlite3.connect(file)
    copy.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, row TEXT)")
    copy.execute("CREATE TABLE IF NOT EXISTS place (cursor TEXT)")
    return copy


def read_all(copy: sqlite3.Connection, table: str) -> str:
    """Copy all rows; return the cursor of the first page, where changes continue."""
    pages = [get(f"{table}/rows", limit=PAGE).json()]
    while pages[-1]["next"] is not None:
        pages.append(get(f"{table}/rows", limit=PAGE, after=pages[-1]["next"]).json())
    cursor = pages[0]["cursor"]
    if cursor is None:
        sys.exit("No line of this table has feed = true.")
    with copy:  # one transaction
        copy.execute("DELETE FROM rows")
        for row in (row for page in pages for row in page["rows"]):
            put(copy, row)
        save_cursor(copy, cursor)
    return str(cursor)


def apply(copy: sqlite3.Connection, change: dict[str, Any]) -> None:
    """Apply one change; a row that was deleted is in `before`."""
    if change["row"] is None:
        key = str(change["before"]["outkey_id"])
        copy.execute("DELETE FROM rows WHERE key = ?", (key,))
    else:
        put(copy, change["row"])


def put(copy: sqlite3.Connection, row: dict[str, Any]) -> None:
    """Insert or replace a row."""
    values = (str(row["outkey_id"]), json.dumps(row))
    copy.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", values)


def save_cursor(copy: sqlite3.Connection, cursor: str) -> None:
    """Store where to continue."""
    copy.execute("DELETE FROM place")
    copy.execute("INSERT INTO place VALUES (?)", (cursor,))


def follow(copy: sqlite3.Connection, table: str) -> None:
    """Apply changes for ever, each page in one transaction with its cursor."""
    stored = copy.execute("SELECT cursor FROM place").fetchone()
    cursor = stored[0] if stored else read_all(copy, table)
    while True:
        response = get(f"{table}/changes", after=cursor, limit=PAGE)
        if response.status_code == httpx.codes.GONE:  # away for more than 30 days
            cursor = read_all(copy, table)
            continue
        page = response.json()
        with copy:
            for change in page["changes"]:
                apply(copy, change)
            save_cursor(copy, page["next"])
        cursor = page["next"]
        if not page["more"]:
            time.sleep(SECONDS)


if __name__ == "__main__":
    follow(open_copy(sys.argv[2]), sys.argv[1])
