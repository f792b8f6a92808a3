"""The pages of tables under attack: their values, names, filters and databases."""

import csv
import io
import json

from data_pages_clients import BASE, client_of, prepare, write
from django.db import connection
from page_urls import SUPERUSER, restore

from outkey.hosts.django.pages.access import installation
from outkey.sync.core.mapping.records import FieldKind

HTML = "<script>alert(1)</script>"
FORMULAS = [
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")'),
    *("＝1+1", "＋1", "－1", "＠x"),
]
PLAIN = ["-1", "+1.5", "1-1", "a=b", "-1,5E3", "'", ""]


def exported(name: str, format_: str) -> str:
    response = boss.post(f"{BASE}{name}/export/", {"format": format_})
    assert response.status_code == 200
    return response.getvalue().decode()


def found(text: str, column: str = "note") -> str:
    response = boss.get(f"{BASE}orders/", {"column": column, "text": text})
    assert response.status_code == 200, (text, response.status_code)
    return response.content.decode()


csv.field_size_limit(2_000_000)
restore()
boss = client_of(SUPERUSER)
columns = [(f"c{number}", FieldKind.TEXT) for number in range(200)]
prepare("orders", ("note", FieldKind.TEXT), ("n", FieldKind.NUMBER), *columns)
texts = [*FORMULAS, *PLAIN, HTML, "100%", "a_b", "it's", 'say "x"', "back\\slash", "!"]
rows = [{"id": number, "note": text, "n": number} for number, text in enumerate(texts)]
rows += [{"id": 900, "note": "x" * 1_000_000, "n": None}]
rows += [{"id": 901, "note": HTML, "c199": HTML}]
write("orders", rows)

# What is not a formula in a spreadsheet, and is the same text otherwise.
cells = {
    row["id"]: row["note"]
    for row in csv.DictReader(io.StringIO(exported("orders", "csv"), newline=""))
}
for row in rows[: len(texts)]:
    expected = f"'{row['note']}" if row["note"] in FORMULAS else row["note"]
    assert cells[str(row["id"])] == expected, (row, cells[str(row["id"])])
lines = [json.loads(line) for line in exported("orders", "jsonl").splitlines()]
assert [line["note"] for line in lines] == [row["note"] for row in rows]

# HTML in values and in the names of columns that others have added.
quote = connection.ops.quote_name
for name in (HTML, "=1+1", "a b", "100%"):
    with connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE data_orders ADD COLUMN {quote(name).replace('%', '%%')} TEXT",
            [],
        )
prepare("orders", ("note", FieldKind.TEXT))
content = boss.get(f"{BASE}orders/").content.decode()
assert HTML not in content
assert "&lt;script&gt;alert(1)&lt;/script&gt;" in content
assert len(content) < 500_000, len(content)
header = exported("orders", "csv").splitlines()[0]
assert "'=1+1" in header, header[-200:]

# A filter finds a text and nothing else, whatever its characters mean to others.
for text in ("100%", "a_b", "it's", "back\\slash", 'say "x"', "-1+1"):
    others = [row["note"] for row in rows if text.lower() in str(row["note"]).lower()]
    assert found(text).count("<tr>") == 1 + len(others), text
for text in ("%", "_", "\\", "'; DROP TABLE data_orders; --", "x" * 9000):
    found(text)
assert found("' OR '1'='1").count("<tr>") == 1
assert found("5", column="n").count("<tr>") > 1
for column in ("' OR 1=1 --", HTML, "archived_at", "outkey_line", "nothing"):
    found("x", column=column)
refused = boss.get(f"{BASE}orders/", {"column": "note", "text": "nul\0"})
assert refused.status_code == 422
for after in ("x", "-1", "9" * 30, "1; DROP TABLE", "\0", "１"):
    response = boss.get(f"{BASE}orders/", {"after": after})
    assert response.status_code in {200, 400, 404, 422}, (after, response.status_code)
assert len(boss.get(f"{BASE}orders/", {"after": "5"}).content) > 0

# Values that others have written past the types.
if connection.vendor == "sqlite":
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE data_orders SET n = x'00ff', note = x'00ff' WHERE id = 1"
        )
    assert boss.get(f"{BASE}orders/").status_code == 200
    for format_ in ("csv", "jsonl"):
        assert exported("orders", format_)

# A table that others have dropped.
with connection.cursor() as cursor:
    cursor.execute("DROP TABLE data_orders")
listed = boss.get(BASE)
assert (listed.status_code, b"lacks a table" in listed.content) == (200, True)
shown = boss.get(f"{BASE}orders/")
assert shown.status_code in {404, 503}, shown.status_code
refused = boss.post(f"{BASE}orders/export/", {"format": "csv"})
assert refused.status_code in {404, 503}, refused.status_code
assert installation().sync.tables().targets()
print("passed")
