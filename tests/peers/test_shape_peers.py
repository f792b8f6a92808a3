"""Lists per parent, windows, CSV and XML, pulled from servers that nobody here wrote.

Each document of the guide is applied to a real server. Every value of the tables is
compared with what the server itself says: after the first run, after changes, and after
a run that was killed in the middle.
"""

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from shutil import rmtree
from urllib.parse import quote

import botocore.session
import httpx
import pytest

import forks
from cli.conftest import Terminal
from outkey.testing.canary import Canaries
from peers.authorization_servers import Asker, basic_header
from peers.certificates import Pki
from peers.directus import STATIC_TOKEN, Directus
from peers.guide import guide_document
from peers.kinto import PASSWORD as KINTO_PASSWORD
from peers.kinto import Kinto
from peers.moto import Moto
from peers.prometheus import prometheus_with_data, promtool
from peers.registries import USERS, docker_registry_running
from peers.sync_apis import COLUMNS, DirectusContacts, ask_directus
from peers.sync_places import Place
from peers.sync_records import CONTACTS, contact, numbered, order, typed
from peers.sync_servers import (
    KEY,
    KEYED,
    TOKEN,
    JsonServer,
    Row,
    datasette_running,
    door_running,
)
from peers.trac import Trac, trac_running

Tables = Mapping[str, Sequence[Row]]
NUMBERS = count(5000)
PATIENCE = 60.0
# A killed run holds its line for a minute, in which it looks like a slow one.
LEASE_IS_OVER = "UPDATE outkey_run SET until = 0"


@dataclass(frozen=True, slots=True, repr=False)
class Shape:
    """A server, the lines of the guide for it, and what it has."""

    heading: str  # of the guide
    url: str
    secret: tuple[str, str]  # the variable that the document takes it from, and itself
    lines: Sequence[str]  # in the order in which they run; the last is killed
    columns: Mapping[str, Sequence[str]]  # of each target
    ask: Callable[[], Tables]  # what the server has for each
    change: Callable[[], None]  # records of each kind: new, other and deleted ones
    settings: tuple[tuple[str, str], ...] = ()  # words of the document


class Copy:
    """The tables of a shape."""

    def __init__(self, shape: Shape, place: Place, canary: Canaries) -> None:
        variable, secret = shape.secret
        canary.made["secret"], canary.usernames["secret"] = secret, ""
        self.shape = shape
        self.place = place
        self.terminal = Terminal(place.home, canary, {variable: secret})
        document = guide_document(shape.heading, shape.url, place)
        for word, value in shape.settings:
            document = document.replace(word, value)
        applied = self.terminal("apply", "-", stdin=document)
        assert applied.code == 0, applied.err

    def pull(self) -> None:
        """Run all lines."""
        for line in self.shape.lines:
            self.run(line)

    def run(self, line: str) -> Mapping[str, object]:
        """Run a line to its end, and return its facts."""
        done = self.terminal("line", "run", line, "--json")
        assert done.code == 0, done
        facts: Mapping[str, object] = done.json
        assert (facts["state"], facts["failed"]) == ("done", 0)
        return facts

    def kill_in_the_middle(self) -> None:
        """Start the last line, and kill it once it has written some records."""
        *earlier, line = self.shape.lines
        for name in earlier:
            self.run(name)
        command = [*forks.OUTKEY, "line", "run", line, "--json"]
        with forks.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.terminal.environment,
        ) as process:
            ends = time.monotonic() + PATIENCE
            while not self.records_of_run() and process.poll() is None:
                assert time.monotonic() < ends
                time.sleep(0.001)
            process.kill()
        self.place.sql(LEASE_IS_OVER)

    def records_of_run(self) -> int:
        """Return how many records the last line's newest run has created."""
        statement = "SELECT counts FROM outkey_run WHERE line_id = (SELECT id FROM"
        where = (
            f" outkey_syncline WHERE name = '{self.shape.lines[-1]}') ORDER BY id DESC"
        )
        rows = self.place.sql(f"{statement}{where} LIMIT 1")
        return int(json.loads(str(rows[0]["counts"]))["created"]) if rows else 0

    def assert_equal(self) -> None:
        """Compare every value of every record."""
        for name, rows in self.shape.ask().items():
            columns = self.shape.columns[name]
            assert rows, name
            assert typed(self.place.read(name), columns) == typed(rows, columns)


# ── the servers ───────────────────────────────────────────────────────────────────────

TICKETS = ("number", "summary", "description", "reporter", "priority", "status")
NEWS = ("guid", "title", "author", "category")


@pytest.fixture(scope="session")
def trac(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trac]:
    with trac_running(tmp_path_factory.mktemp("trac")) as running:
        running.save([ticket(number) for number in range(1, 91)])
        yield running


@pytest.fixture
def trac_door(tmp_path_factory: pytest.TempPathFactory, trac: Trac) -> Iterator[str]:
    with door_running(tmp_path_factory.mktemp("door"), trac.url, KEYED) as url:
        yield url


def ticket(number: int) -> Row:
    return {
        "summary": f'Zoë\'s "ticket", number {number}; <b>',
        "description": "one,\r\ntwo" if number % 2 else "",
        "reporter": "zoë",
        "priority": "major",
        "status": "new",
    }


@pytest.fixture
def trac_tickets(trac: Trac, trac_door: str) -> Shape:
    def ask() -> Tables:
        rows = [row | {"number": row["id"]} for row in trac.tickets()]
        return {"tickets": rows}

    def change() -> None:
        first, second, *_ = trac.tickets()
        trac.save([{"id": first["id"], "summary": "changed"}, ticket(1001)])
        trac.delete(int(str(second["id"])))

    return Shape(
        "Trac",
        trac_door,
        ("TRAC_KEY", KEY),
        ["trac tickets"],
        {"tickets": TICKETS},
        ask,
        change,
    )


# ── Directus ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def directus_exports(shop: Directus) -> Shape:
    api = DirectusContacts(shop)
    api.clear()
    api.add(numbered(CONTACTS[:50]))

    def ask() -> Tables:
        rows = api.all()
        return {"csv_contacts": rows, "xml_contacts": rows, "changed_contacts": rows}

    def change() -> None:
        api.change("C-7", name="changed <&>", credit=0.7)
        api.add(numbered([contact(1001)]))

    names = COLUMNS[:-1]
    return Shape(
        "Directus exports",
        shop.url,
        ("DIRECTUS_TOKEN", STATIC_TOKEN),
        ["directus csv", "directus xml", "directus windows"],
        {
            "csv_contacts": COLUMNS,
            "xml_contacts": names,
            "changed_contacts": ("number", "name"),
        },
        ask,
        change,
    )


@pytest.fixture
def directus_lines(shop: Directus) -> Shape:
    def orders() -> list[Row]:
        found: list[Row] = ask_directus(shop, "/items/orders?limit=-1&fields=*,lines.*")
        return found

    def ask() -> Tables:
        lines = [
            {**line, "order_id": order["id"]}
            for order in orders()
            for line in order["lines"]  # type: ignore[attr-defined]
        ]
        return {"all_orders": orders(), "lines_of_orders": lines}

    def change() -> None:
        first, second, *_ = [order for order in orders() if len(order["lines"]) > 1]  # type: ignore[arg-type]
        ask_directus(shop, f"/items/orders/{first['id']}", "DELETE")
        line = {"order": second["id"], "sku": "new", "quantity": 9, "price": 9.5}
        ask_directus(shop, "/items/order_lines", "POST", line)
        ask_directus(shop, "/items/orders", "POST", order(number=next(NUMBERS)))

    return Shape(
        "Directus lines of orders",
        shop.url,
        ("DIRECTUS_TOKEN", STATIC_TOKEN),
        ["directus orders", "directus lines"],
        {
            "all_orders": ("id", "number", "status"),
            "lines_of_orders": ("id", "order_id", "sku", "quantity", "price"),
        },
        ask,
        change,
    )


# ── Kinto ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kinto_collections(kinto: Kinto) -> Shape:
    archive = f"{kinto.url}/buckets/archive"
    kinto.ask(archive, "PUT")

    def url(collection: str) -> str:
        return f"{archive}/collections/{collection}/records"

    def fill(collection: str, size: int) -> None:
        kinto.ask(f"{archive}/collections/{collection}", "PUT")
        for number in range(size):
            record = {"data": {"name": f"Zoë {collection} {number}"}}
            kinto.ask(f"{url(collection)}/r{number}", "PUT", record)

    for number in range(16):
        fill(f"c{number}", number % 8)

    def ask() -> Tables:
        found = kinto.ask(f"{archive}/collections?_limit=10000")
        collections = [one | {"key": one["id"]} for one in found]
        records = [
            record | {"collection": collection["id"], "key": record["id"]}
            for collection in collections
            for record in kinto.ask(f"{url(collection['id'])}?_limit=10000")
        ]
        return {"collections": collections, "collected": records}

    def change() -> None:
        kinto.ask(f"{archive}/collections/c7", "DELETE")
        kinto.ask(f"{url('c6')}/r1", "DELETE")
        kinto.ask(f"{url('c5')}/r1", "PATCH", {"data": {"name": "changed"}})
        fill("c99", 4)

    return Shape(
        "Kinto collections",
        kinto.url,
        ("KINTO_PASSWORD", KINTO_PASSWORD),
        ["kinto collections", "kinto records"],
        {
            "collections": ("key", "last_modified"),
            "collected": ("collection", "key", "name"),
        },
        ask,
        change,
    )


# ── json-server ───────────────────────────────────────────────────────────────────────


@pytest.fixture
def json_server_posts(json_server_behind: JsonServer, json_server_door: str) -> Shape:
    def ask_server(path: str, method: str = "GET", data: object = None) -> list[Row]:
        answer = Asker().ask(
            f"{json_server_behind.url}{path}", method=method, data=data
        )
        assert answer.status in {200, 201}, answer
        found: list[Row] = answer.json
        return found

    def add(post: str, comments: int) -> None:
        ask_server("/posts", "POST", {"id": post, "title": f"Zoë's {post}"})
        for number in range(comments):
            comment = {"id": f"{post}-{number}", "postId": post, "body": f"№ {number}"}
            ask_server("/comments", "POST", comment)

    for row in ask_server("/posts"):
        ask_server(f"/posts/{quote(str(row['id']), safe='')}", "DELETE")
    for number in range(30):
        add(f"50% ü? #{number}", number % 6)

    def ask() -> Tables:
        posts = [row | {"key": row["id"]} for row in ask_server("/posts")]
        comments = [
            row | {"key": row["id"], "post_id": row["postId"]}
            for row in ask_server("/comments")
        ]
        return {"posts": posts, "comments": comments}

    def change() -> None:
        ask_server(f"/posts/{quote('50% ü? #5', safe='')}", "DELETE")
        ask_server(
            f"/comments/{quote('50% ü? #4-1', safe='')}", "PATCH", {"body": "new"}
        )
        add("later", 3)

    return Shape(
        "json-server parents",
        json_server_door,
        ("JSON_SERVER_KEY", KEY),
        ["json-server posts", "json-server comments"],
        {"posts": ("key", "title"), "comments": ("key", "post_id", "body")},
        ask,
        change,
    )


# ── datasette ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def datasette_csv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shape]:
    folder = tmp_path_factory.mktemp("datasette")
    rows = [contact(number) for number in range(2500)]
    with datasette_running(folder, rows) as url:

        def query(statement: str, *values: object) -> list[Row]:
            with closing(sqlite3.connect(folder / "crm.db")) as database, database:
                database.row_factory = sqlite3.Row
                found = database.execute(statement, values).fetchall()
                return [dict(row) for row in found]

        def ask() -> Tables:
            found = query("SELECT *, id AS number FROM contacts")
            return {"streamed_contacts": found}

        def change() -> None:
            query("UPDATE contacts SET name = 'changed' WHERE id = 'C-7'")
            query("INSERT INTO contacts (id, name) VALUES ('new', ?)", 'a "b",\nc')

        yield Shape(
            "datasette as CSV",
            url,
            ("DATASETTE_TOKEN", TOKEN),
            ["datasette csv"],
            {"streamed_contacts": COLUMNS},
            ask,
            change,
        )


# ── docker-registry ───────────────────────────────────────────────────────────────────


@pytest.fixture
def registry_tags(
    tmp_path_factory: pytest.TempPathFactory, pki: Pki
) -> Iterator[Shape]:
    password = USERS["alice"]
    folder = tmp_path_factory.mktemp("registry")
    with docker_registry_running(folder, pki) as registry:

        def get(path: str) -> Row:
            headers = basic_header("alice", password)
            found: Row = Asker().ask(registry.url + path, headers=headers).json
            return found

        stored = folder / "htpasswd/data/docker/registry/v2/repositories"

        def push(repository: str, tags: int) -> None:
            (stored / repository / "_layers").mkdir(parents=True, exist_ok=True)
            for number in range(tags):
                tag = stored / repository / f"_manifests/tags/v{number}/current"
                tag.mkdir(parents=True, exist_ok=True)
                (tag / "link").write_text(f"sha256:{number:064}")

        for number in range(12):
            push(f"parts-{number}", number % 5 + 1)

        def ask() -> Tables:
            names = get("/v2/_catalog?n=1000")["repositories"]
            assert isinstance(names, list)
            tags = [
                {"repository": name, "tag": tag}
                for name in names
                for tag in get(f"/v2/{name}/tags/list")["tags"]  # type: ignore[attr-defined]
            ]
            return {"repositories": [{"name": name} for name in names], "tags": tags}

        def change() -> None:
            rmtree(stored / "parts-4/_manifests/tags/v1")
            rmtree(stored / "parts-9")
            push("parts-3", 9)
            push("other", 2)

        yield Shape(
            "docker-registry tags",
            registry.url,
            ("REGISTRY_PASSWORD", password),
            ["repositories", "tags"],
            {"repositories": ("name",), "tags": ("repository", "tag")},
            ask,
            change,
        )


# ── Prometheus ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def prometheus_samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shape]:
    folder = tmp_path_factory.mktemp("prometheus")
    begin = int(time.time()) - 4500  # the last sample is no longer the value of now
    samples = "".join(
        f'stock{{item="bolt"}} {number * 7 % 40}.5 {begin + number * 20}\n'
        for number in range(180)
    )
    (folder / "samples").write_text(f"# TYPE stock gauge\n{samples}# EOF\n")
    blocks = [folder / "samples", folder / "data"]
    done = promtool("tsdb", "create-blocks-from", "openmetrics", *map(str, blocks))
    assert done.returncode == 0, done.stderr
    with ExitStack() as closing:
        prometheus = closing.enter_context(prometheus_with_data(folder))
        door_folder = tmp_path_factory.mktemp("door")
        door = closing.enter_context(door_running(door_folder, prometheus, KEYED))

        def ask() -> Tables:
            query = {"query": "stock{item='bolt'}", "step": "1"}
            url = f"{prometheus}/api/v1/query_range"
            found: list[Row] = []
            for part in range(6):
                bounds = {"start": begin + part * 900, "end": begin + part * 900 + 899}
                response = httpx.get(url, params=query | bounds, timeout=30)
                for series in response.json()["data"]["result"]:
                    found += [{"at": at, "value": v} for at, v in series["values"]]
            return {"samples": found}

        yield Shape(
            "Prometheus",
            door,
            ("PROMETHEUS_KEY", KEY),
            ["prometheus samples"],
            {"samples": ("at", "value")},
            ask,
            lambda: None,
        )


# ── S3 ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def s3_objects(moto: Moto) -> Shape:
    client = botocore.session.get_session().create_client(
        "s3",
        endpoint_url=moto.url,
        region_name="eu-central-1",
        aws_access_key_id=moto.key_id,
        aws_secret_access_key=moto.key,
    )
    place = {"LocationConstraint": "eu-central-1"}

    def fill(bucket: str, objects: int) -> None:
        client.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
        for number in range(objects):
            key = f"Zoë & {number}/<b>"
            client.put_object(Bucket=bucket, Key=key, Body=b"x" * number)

    for number in range(6):
        fill(f"outkey-{number}", number * 2)

    def ask() -> Tables:
        buckets = [one["Name"] for one in client.list_buckets()["Buckets"]]
        objects = [
            {"bucket": bucket, "key": one["Key"], "size": one["Size"]}
            for bucket in buckets
            for one in client.list_objects_v2(Bucket=bucket).get("Contents", [])
        ]
        return {"buckets": [{"name": name} for name in buckets], "objects": objects}

    def change() -> None:
        client.delete_object(Bucket="outkey-5", Key="Zoë & 3/<b>")
        client.put_object(Bucket="outkey-0", Key="first", Body=b"now")
        fill("outkey-new", 5)

    return Shape(
        "S3",
        moto.url,
        ("AWS_SECRET", moto.key),
        ["buckets", "objects"],
        {"buckets": ("name",), "objects": ("bucket", "key", "size")},
        ask,
        change,
        settings=(("KEYID", moto.key_id),),
    )


# Their servers start quickly: CSV, and lists per parent.
# XML and windows stay in cli/test_format_commands.py and unit/sync/engine/pull.
QUICK = ("datasette_csv", "registry_tags")
OTHERS = (
    "directus_exports",
    "kinto_collections",
    "directus_lines",
    "json_server_posts",
    "prometheus_samples",
    "s3_objects",
    "trac_tickets",
)


@pytest.fixture(
    params=[*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)]
)
def shape(request: pytest.FixtureRequest) -> Shape:
    made: Shape = request.getfixturevalue(request.param)
    return made


@pytest.mark.parametrize("place", ["own"], indirect=True)
def test_every_record_is_equal_at_first_after_changes_and_after_a_kill(
    shape: Shape, place: Place, new_home: object, canary: Canaries
) -> None:
    copy = Copy(shape, place, canary)
    copy.kill_in_the_middle()
    copy.pull()
    copy.assert_equal()
    shape.change()
    copy.pull()
    copy.assert_equal()
