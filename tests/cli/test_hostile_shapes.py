"""Servers that are hostile, or broken, in each shape of API that a line can read.

Whatever they send: the run ends soon and says why, nothing goes where it must not, and
the next good run has everything.
"""

import gzip
import io
import json
import os
import re
import resource
import sqlite3
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from _pytest.mark.structures import ParameterSet

import forks
from cli.conftest import Done, Terminal
from outkey.testing.canary import Canaries

MEBIBYTE = 1024 * 1024


def quickly(names: Iterable[str], *quick: str) -> list[ParameterSet]:
    """Return the cases, of which the quick run has only some."""
    return [
        pytest.param(
            name,
            marks=() if name in quick else pytest.mark.full,
            id=name[:20] or "empty",
        )
        for name in names
    ]


Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class Hostile:
    """A server whose responses a test sets by path; "" is any other path."""

    responses: dict[str, Answer] = field(default_factory=dict)
    journal: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    url: str = ""

    def set(self, path: str, body: object, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.responses[path] = status, named, content

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.journal]


def handler_of(server: Hostile) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.journal.append((self.command, self.path, dict(self.headers)))
            path = urlsplit(self.path).path
            response = server.responses.get(path, server.responses.get(""))
            status, headers, body = response or (404, {}, b"")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - named by the standard library

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    return Handler


def serving() -> Iterator[Hostile]:
    server = Hostile()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(server)) as listening:
        server.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield server
        listening.shutdown()
        thread.join()


hostile = pytest.fixture(serving)
elsewhere = pytest.fixture(serving)


@pytest.fixture
def shop(outkey: Terminal, canary: Canaries) -> Terminal:
    outkey.settings |= {"SHOP_TOKEN": canary.token()}
    return outkey


def apply(terminal: Terminal, server: Hostile, more: str = "", **keys: object) -> None:
    """Save the line `items`; `keys` replace its own, `more` follows them."""
    settings = {
        "configuration": "shop",
        "direction": "pull",
        "path": "/items",
        "target": "table:items",
        "keys": ["id"],
    } | keys
    rows = "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in settings.items()
    )
    text = f"""
[configuration.shop]
base_url = "{server.url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
headers = [{{ key = "X-Tenant", value = "7" }}]
limits = {{ retries = 0 }}
[line.items]
{rows}
fields = [{{ api = "id", host = "id" }}, {{ api = "name", host = "name" }}]
{more}
"""
    done = terminal("apply", "-", stdin=text)
    assert done.code == 0, done.err


def run(terminal: Terminal, name: str = "items") -> Done:
    return terminal("line", "run", name, "--json")


def rows(terminal: Terminal) -> list[tuple[object, ...]]:
    path = terminal.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path, timeout=10)) as database:
        return database.execute(
            "SELECT id, name FROM data_items ORDER BY id"
        ).fetchall()


GOOD = {
    "csv": b"id,name\n1,a\n2,b\n",
    "xml": b"<r><i><id>1</id><name>a</name></i><i><id>2</id><name>b</name></i></r>",
}
ENTITIES = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
BOMB = f'<!DOCTYPE r [<!ENTITY e0 "lol">{ENTITIES}]><r>&e9;</r>'.encode()
CASES = {
    "entities": ("xml", BOMB, "DOCTYPE"),
    "depth": ("xml", b"<a>" * 100_000, "too deeply"),
    "columns": ("csv", b",".join(b"c%d" % n for n in range(100_000)), "columns"),
    "charset": ("csv", b"id,name\n1,\xe9\n", "character encoding"),
    "page": ("csv", b"<html><body>Maintenance</body></html>", "HTML"),
    "cut": ("csv", gzip.compress(GOOD["csv"] * 99)[:-9], "damaged"),
}


@pytest.mark.parametrize("case", quickly(CASES, "entities", "page"))
def test_a_hostile_body_is_named_and_the_next_good_run_has_everything(
    shop: Terminal, hostile: Hostile, case: str
) -> None:
    record_format, body, words = CASES[case]
    records = {"records": "r.i"} if record_format == "xml" else {}
    response = f'[line.items.response]\nformat = "{record_format}"'
    apply(shop, hostile, response, **records)
    hostile.set("/items", body)
    refused = run(shop)
    assert refused.code == 1
    assert words in refused.json["error"]["message"]
    hostile.set("/items", GOOD[record_format])
    assert run(shop).json["created"] == 2
    assert rows(shop) == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize("record_format", quickly(GOOD, "csv"))
def test_a_secret_is_stored_neither_as_a_value_nor_as_the_name_of_a_field(
    shop: Terminal, hostile: Hostile, canary: Canaries, record_format: str
) -> None:
    secret = shop.settings["SHOP_TOKEN"]
    body = f"id,name,{secret}\n1,{secret},x\n2,b,y\n"
    if record_format == "xml":
        one = f"<i><id>1</id><name>{secret}</name><{secret}>x</{secret}></i>"
        body = f"<r>{one}<i><id>2</id><name>b</name></i></r>"
    records = {"records": "r.i"} if record_format == "xml" else {}
    apply(
        shop, hostile, f'[line.items.response]\nformat = "{record_format}"', **records
    )
    hostile.set("/items", body.encode())
    # A record that repeats a secret anywhere is rejected, whatever else it has.
    rejected = {"csv": 2, "xml": 1}[record_format]
    assert run(shop).json["failed"] == rejected
    assert len(rows(shop)) == 2 - rejected
    shop("line", "shape", "items", "--json")
    shop("run", "show", "1")
    # The fixture looks for the secret in all files and in all that was printed.


JOB = """
[line.items.job]
order = {{ path = "/reports" }}
id = "id"
poll = {{ path = "/reports/{{job.id}}", every_seconds = 1 }}
state = "state"
done = ["done"]
failed = ["error"]
url = "url"
origins = ["{origin}"]
max_minutes = 1
"""
URLS = {
    "named": ("{origin}/file", 0),
    "user": ("http://u:p@{host}/file", 1),
    "host in user": ("http://{host}@{base}/file", 1),
    "backslash": ("http://{base}\\@{host}/file", 1),
    "another": ("http://127.0.0.1:9/file", 3),
    "redirect": ("{origin}/moved", 3),
}


@pytest.mark.parametrize("case", quickly(URLS, "named", "host in user"))
def test_the_file_of_a_job_elsewhere_gets_nothing_of_the_credentials(
    shop: Terminal, hostile: Hostile, elsewhere: Hostile, case: str
) -> None:
    template, code = URLS[case]
    origin = elsewhere.url
    url = template.format(
        origin=origin,
        host=origin.removeprefix("http://"),
        base=hostile.url.removeprefix("http://"),
    )
    apply(shop, hostile, JOB.format(origin=origin))
    hostile.set("/reports", {"id": "j/1?x"})
    hostile.set("/reports/j%2F1%3Fx", {"state": "done", "url": url})
    elsewhere.set("/moved", b"", 302, Location=f"{hostile.url}/items")
    elsewhere.set("/file", [{"id": "1", "name": "a"}])
    assert run(shop).code == code
    assert hostile.paths() == ["/reports", "/reports/j%2F1%3Fx"]
    assert len(elsewhere.journal) == (case in {"named", "redirect"})
    for _, _, headers in elsewhere.journal:
        assert not {*headers} & {"Authorization", "X-Tenant", "Cookie"}


@pytest.mark.parametrize(
    "value", quickly(["..", "../admin", "%2e%2e", "", "x" * 3000], "%2e%2e")
)
def test_the_id_of_a_job_leads_to_no_other_path(
    shop: Terminal, hostile: Hostile, elsewhere: Hostile, value: str
) -> None:
    apply(shop, hostile, JOB.format(origin=elsewhere.url))
    hostile.set("", {"id": value, "state": "done", "url": f"{elsewhere.url}/file"})
    refused = run(shop)
    assert (refused.code, hostile.paths()) == (1, ["/reports"])
    assert "no usable ID" in refused.json["error"]["message"]


def test_values_of_parents_stay_inside_their_part_of_the_path(
    shop: Terminal, hostile: Hostile
) -> None:
    bad = ["..", ".", "../admin", "%2e%2e"]
    values = {"a;b": "a%3Bb", "a?b#c": "a%3Fb%23c", "a\nb": "a%0Ab", "{since}": "%7B"}
    apply(
        shop,
        hostile,
        f"""
[line.items.for_each]
values = {json.dumps([*values, *bad])}
""",
        path="/orders/{parent.value}/items",
        parallel=8,
    )
    hostile.set("", [{"id": "1", "name": "a"}])
    parents = run(shop).json["parents"]
    assert (parents["done"], parents["failed"]) == (len(values), len(bad))
    parts = sorted(path.split("/")[2] for path in hostile.paths())
    assert [len(path.split("/")) for path in hostile.paths()] == [4] * len(values)
    assert all(
        part.startswith(expected)
        for part, expected in zip(parts, sorted(values.values()), strict=True)
    )


@pytest.mark.parametrize(
    "reset", quickly(["1" + "0" * 15, "9" * 40, "-5", "NaN"], "1" + "0" * 15)
)
def test_a_stated_budget_is_over_in_a_day_at_most(
    shop: Terminal, hostile: Hostile, reset: str
) -> None:
    apply(shop, hostile)
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    hostile.responses["/items"] = 200, spent, b'[{"id": "1", "name": "a"}]'
    assert run(shop).code == 0
    again = run(shop)
    if not reset.startswith("10"):
        assert again.code == 0
        return
    error = again.json["error"]
    assert (again.code, error["code"]) == (3, "rate_limited")
    stated = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d", error["hint"])
    most = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() + 86_500))
    assert [moment for moment in stated if moment > most] == []


def cell_of_a_gibibyte() -> Iterator[bytes]:
    yield b'id,name\n1,"'
    for _ in range(1024):
        yield b"a" * MEBIBYTE
    yield b'"\n'


def zipped(parts: Iterator[bytes]) -> bytes:
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("items.csv", "w", force_zip64=True) as entry,
    ):
        for part in parts:
            entry.write(part)
    return packed.getvalue()


@pytest.mark.full
@pytest.mark.parametrize("packing", ["gzip", "zip"])
def test_a_cell_of_a_gibibyte_takes_neither_memory_nor_time(
    shop: Terminal, hostile: Hostile, packing: str
) -> None:
    body = zipped(cell_of_a_gibibyte())
    if packing == "gzip":
        body = gzip.compress(b"".join(cell_of_a_gibibyte()), 1)
    apply(shop, hostile, '[line.items.response]\nformat = "csv"')
    hostile.set("/items", body)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    command = [*forks.OUTKEY, "line", "run", "items", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=shop.environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    # A process begins with the peak of the one that it was forked from.
    assert used.ru_maxrss < before + 200 * 1024
    hostile.set("/items", GOOD["csv"])
    assert run(shop).json["created"] == 2
