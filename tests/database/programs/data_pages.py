"""The pages of tables, for those who may view them and for those who may not."""

import re
from datetime import UTC, datetime
from decimal import Decimal

from data_pages_clients import BASE, client_of, prepare, write
from django.db import connection
from django.test import Client
from page_urls import SUPERUSER, restore, user_named

from outkey.hosts.django.models import Run, SyncLine
from outkey.hosts.django.pages.access import installation
from outkey.hosts.django.time_zones import choose_zone
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape

TARGET = "table:orders"
ROWS = [
    {"id": number, "note": f"<b>{number}</b>" if number else "=HYPERLINK(1)"}
    for number in range(70)
]


def exported_as(name: str, **wanted: str) -> list[str]:
    """Return the lines of an exported file."""
    response = boss.post(f"{BASE}orders/export/", {"format": name, **wanted})
    assert response["Content-Disposition"] == f'attachment; filename="orders.{name}"'
    return response.getvalue().decode().splitlines()


def fill() -> None:
    """Make a table whose last row is archived."""
    line = SyncLine.objects.get(name="nightly")
    tables = installation().sync.tables()
    fields = (
        HostField("id", "id", FieldKind.NUMBER, required=True),
        HostField("note", "note", FieldKind.TEXT),
    )
    tables.prepare(TARGET, Shape(("id",), fields, archives=True, retires=True))
    for rows in (ROWS, ROWS[:-1]):
        run = Run.objects.create(
            line=line,
            dry_run=False,
            state="done",
            checkpoint="{}",
            started_at=1,
            until=1,
        )
        tables.upsert(TARGET, ["id"], rows, str(run.pk))
    assert tables.retire(TARGET, line.name, str(run.pk), Gone.ARCHIVE) == 1


restore()
boss = client_of(SUPERUSER)
assert b"no tables yet" in boss.get(BASE).content
fill()
assert b"orders" in boss.get(BASE).content
first = boss.get(f"{BASE}orders/").content.decode()
assert "&lt;b&gt;1&lt;/b&gt;" in first
assert "<b>1</b>" not in first
assert "?after=50" in first
assert "Records 1–50 of 70" in first
assert "Export CSV (all records: 70)" in first
assert "outkey id" in first
assert "No record matches." not in first
second = boss.get(f"{BASE}orders/?after=50").content.decode()
assert "archived" in second
assert "Records 51–70 of 70" in second
found = boss.get(f"{BASE}orders/?column=note&text=%3Eb69").content.decode()
assert "&lt;b&gt;69" not in found
assert "No record matches." in found
assert '<a href="?">Show all records</a>' in found
assert "Export CSV (found records: 0)" in found
found = boss.get(f"{BASE}orders/?column=note&text=B%3E69").content.decode()
assert "&lt;b&gt;69" in found
assert "Export JSONL (found records: 1)" in found
assert boss.get(f"{BASE}orders/?column=nothing&text=x").status_code == 200
assert boss.get(f"{BASE}nothing/").status_code == 404
assert boss.get(f"{BASE}orders/export/").status_code == 405
for name in ("parquet", "exe"):
    refused = boss.post(f"{BASE}orders/export/", {"format": name})
    assert refused.status_code == 404, name
lines = exported_as("csv")
assert lines[:2] == ["id,note,archived_at", "0,'=HYPERLINK(1),"], lines[:2]
assert len(lines) == 71
assert len(exported_as("jsonl")) == 70
# What the page lists is exported, all pages of it.
assert exported_as("csv", column="id", text="60.0")[1:] == ["60,<b>60</b>,"]
assert len(exported_as("jsonl", column="note", text="B>6")) == 11
# Times are in the zone of the user, numbers are found however they are written.
prepare("meters", ("at", FieldKind.DATETIME), ("kwh", FieldKind.DECIMAL))
moment = datetime(2026, 2, 1, 7, tzinfo=UTC)
write("meters", [{"id": 1, "at": moment, "kwh": Decimal("0.50")}, {"id": 2}])
choose_zone(user_named(SUPERUSER), "Asia/Tokyo")
stored = r"0\.50" if connection.vendor == "postgresql" else r"0\.5"  # as it is kept
for query in ("", "?column=kwh&text=0.50", "?column=at&text=2026-02-01+16:00"):
    shown = boss.get(f"{BASE}meters/{query}").content.decode()
    assert "2026-02-01 16:00:00</time>" in shown, query
    assert 'title="2026-02-01T07:00:00+00:00"' in shown
    assert "Times in Asia/Tokyo" in shown
    assert re.search(rf'<td class="ok-amount">\s*{stored}\s*</td>', shown)
    assert f"of {1 if query else 2}" in shown
for name in ("Operator", "Auditor", "nobody"):
    client = client_of(name)
    for path in (BASE, f"{BASE}orders/"):
        assert client.get(path).status_code == 403, name
    assert client.post(f"{BASE}orders/export/", {"format": "csv"}).status_code == 403
assert Client(SERVER_NAME="127.0.0.1").get(f"{BASE}orders/").status_code == 302
exported = [
    record
    for record in installation().audit_trail.rows.newest(50)
    if record.get("tag") == "api:data:exported"
]
assert len(exported) == 4, exported
print("passed")
