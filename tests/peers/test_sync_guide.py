"""The documents of the guide, at servers that nobody here wrote.

Every value in a table or a file is compared with what the server itself says, and what
has arrived at a server is counted by its own log.
"""

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from typing import NamedTuple

import pytest

from outkey.testing.canary import Canaries
from peers.authorization_servers import Asker, basic_header
from peers.directus import PASSWORD as DIRECTUS_PASSWORD
from peers.directus import STATIC_TOKEN, Directus
from peers.kinto import PASSWORD as KINTO_PASSWORD
from peers.kinto import Kinto
from peers.registries import USERS
from peers.sync_apis import (
    COLUMNS,
    Api,
    DirectusContacts,
    JsonServerContacts,
    KintoContacts,
    ask_directus,
)
from peers.sync_places import FILES, TABLES, Place
from peers.sync_records import CONTACTS, contact, numbered, order, typed
from peers.sync_servers import KEY, TOKEN, JsonServer, Row
from peers.sync_sources import Copy, Source

ORDER_COLUMNS = ("number", "status", "total", "paid", "due", "placed")
LINE_COLUMNS = ("id", "order_number", "sku", "quantity", "price")
PLAIN = numbered(CONTACTS[5:30])  # Kinto takes no odd numbers
ODD = numbered(CONTACTS[:25])
PAGE = 20  # records that a request of the guide has
Records = Mapping[str, list[Row]]


# ── the servers ───────────────────────────────────────────────────────────────────────


@pytest.fixture
def directus_orders(shop: Directus) -> Source:
    def ask() -> Records:
        query = "limit=-1&fields=*,lines.*&filter[status][_in]=open,sent"
        orders = ask_directus(shop, f"/items/orders?{query}")
        lines = [
            line | {"order_number": order["number"]}
            for order in orders
            for line in order["lines"]
        ]
        return {"orders": orders, "order_lines": lines}

    return Source(
        "Directus",
        shop.url,
        ("DIRECTUS_PASSWORD", DIRECTUS_PASSWORD),
        pull="directus orders",
        columns={"orders": ORDER_COLUMNS, "order_lines": LINE_COLUMNS},
        ask=ask,
    )


@pytest.fixture
def directus_contacts(shop: Directus) -> Source:
    api = DirectusContacts(shop)
    api.clear()
    api.add(ODD)
    return Source(
        "Directus",
        shop.url,
        ("DIRECTUS_PASSWORD", DIRECTUS_PASSWORD),
        pull="directus contacts",
        columns={"contacts": COLUMNS},
        ask=lambda: {"contacts": api.all()},
        push="contacts to directus",
    )


@pytest.fixture
def kinto_contacts(kinto: Kinto) -> Source:
    api = KintoContacts(kinto)
    api.clear()
    api.add(PLAIN)
    return Source(
        "Kinto",
        kinto.url,
        ("KINTO_PASSWORD", KINTO_PASSWORD),
        pull="kinto contacts",
        columns={"kinto_contacts": COLUMNS},
        ask=lambda: {"kinto_contacts": api.all()},
        push="contacts to kinto",
    )


@pytest.fixture
def json_server_contacts(
    json_server_behind: JsonServer, json_server_door: str
) -> Source:
    api = JsonServerContacts(json_server_behind)
    api.clear()
    api.add(ODD)
    return Source(
        "json-server",
        json_server_door,
        ("JSON_SERVER_KEY", KEY),
        pull="json-server contacts",
        columns={"people": COLUMNS},
        ask=lambda: {"people": api.all()},
        push="contacts to json-server",
    )


@pytest.fixture
def datasette_contacts(datasette_url: str) -> Source:
    def ask() -> Records:
        url = f"{datasette_url}/crm/contacts.json?_shape=array&_size=max"
        rows = Asker().ask(url, headers={"Authorization": f"Bearer {TOKEN}"}).json
        return {"crm_contacts": numbered(rows)}

    return Source(
        "datasette",
        datasette_url,
        ("DATASETTE_TOKEN", TOKEN),
        pull="datasette contacts",
        columns={"crm_contacts": COLUMNS},
        ask=ask,
    )


@pytest.fixture
def repositories(catalog_url: str) -> Source:
    def ask() -> Records:
        headers = basic_header("alice", USERS["alice"])
        url = f"{catalog_url}/v2/_catalog?n=1000"
        names = Asker().ask(url, headers=headers).json["repositories"]
        return {"repositories": [{"name": name} for name in names]}

    return Source(
        "docker-registry",
        catalog_url,
        ("REGISTRY_PASSWORD", USERS["alice"]),
        pull="repositories",
        columns={"repositories": ("name",)},
        ask=ask,
    )


# ── pulls ─────────────────────────────────────────────────────────────────────────────


# Each kind of target at each kind of server is for the full run.
QUICK = {
    "directus_orders": TABLES,
    "directus_contacts": ("parquet",),
    "kinto_contacts": ("own", "jsonl"),
    "json_server_contacts": ("csv",),
    "datasette_contacts": ("postgresql", "csv"),
    "repositories": ("mariadb", "parquet"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_full = metafunc.config.getoption("--full")
    if "name" in metafunc.fixturenames:
        pulls = [
            (name, place)
            for name, quick in QUICK.items()
            for place in ((*TABLES, *FILES) if is_full else quick)
            # Children cannot be written to files.
            if name != "directus_orders" or place in TABLES
        ]
        metafunc.parametrize(("name", "place"), pulls, indirect=["place"])
    if "contacts" in metafunc.fixturenames:
        places = {
            server: TABLES if is_full else (quick,)
            for server, quick in QUICK_PUSHES.items()
        }
        pushes = [(server, place) for server in places for place in places[server]]
        metafunc.parametrize(("server", "place"), pushes, indirect=["place"])


def test_every_value_of_a_server_is_in_the_target(
    name: str, place: Place, request: pytest.FixtureRequest, canary: Canaries
) -> None:
    source: Source = request.getfixturevalue(name)
    copy = source.open(place, canary)
    counts = copy.pull()
    records, *children = map(len, source.ask().values())
    assert counts.pop("created") == records > PAGE
    assert [*counts.values()] == children
    copy.assert_equal()


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_changes_of_orders_and_their_lines_are_those_of_the_next_pull(
    directus_orders: Source, shop: Directus, place: Place, canary: Canaries
) -> None:
    copy = directus_orders.open(place, canary)
    copy.pull()
    orders = {order["number"]: order for order in directus_orders.ask()["orders"]}
    first, second, third = orders["O-7"]["lines"]
    lines = {
        "create": [{"sku": "new", "quantity": 9, "price": 0.1}],
        "update": [{"id": second["id"], "price": 0.7}],
        "delete": [third["id"]],
    }
    for number, changes in {"O-7": {"lines": lines}, "O-8": {"total": 0.3}}.items():
        path = f"/items/orders/{orders[number]['id']}"
        ask_directus(shop, path, "PATCH", changes)
    draft, sent = (order(number) | {"id": number} for number in (1002, 1003))
    ask_directus(shop, "/items/orders", "POST", [draft, sent])
    assert copy.pull() == {
        "created": 1,
        "updated": 1,
        "unchanged": len(orders) - 1,
        "created children": 4,
        "updated children": 1,
        "unchanged children": len(directus_orders.ask()["order_lines"]) - 5,
        "deleted children": 1,
    }
    assert first["id"] in {line["id"] for line in place.read("order_lines")}
    copy.assert_equal()


@pytest.mark.parametrize("place", ["own"], indirect=True)
def test_an_incremental_line_brings_only_what_has_changed(
    directus_contacts: Source, shop: Directus, place: Place, canary: Canaries
) -> None:
    copy = directus_contacts.open(place, canary)
    api, line = DirectusContacts(shop), "directus changes"
    assert copy.run(line) == {"created": len(ODD)}
    newest = copy.run(line)["unchanged"]
    api.change("C-7", name="Newer")
    api.add(numbered([contact(1001)]))
    counts = copy.run(line)
    assert counts.pop("unchanged") == newest < len(ODD)
    assert counts == {"created": 1, "updated": 1}
    columns = ("number", "name")
    assert typed(place.read("contact_names"), columns) == typed(api.all(), columns)


# ── what the guide says ───────────────────────────────────────────────────────────────


def test_directus_responds_as_the_guide_says(
    shop: Directus, directus_contacts: Source
) -> None:
    def status(method: str, path: str, data: object = None) -> int:
        headers = {"Authorization": f"Bearer {STATIC_TOKEN}"}
        url = f"{shop.url}/items/contacts{path}"
        return Asker().ask(url, method=method, data=data, headers=headers).status

    assert status("POST", "", {"number": "C-7"}) == 400
    assert status("PATCH", "/987654", {"name": "Nobody"}) == 204
    assert status("DELETE", "/987654") == 204
    bare = ask_directus(shop, "/items/orders?filter[number][_eq]=O-1&fields=lines")
    assert isinstance(bare[0]["lines"][0], int)


def test_kinto_responds_as_the_guide_says(kinto: Kinto, kinto_contacts: Source) -> None:
    api = KintoContacts(kinto)
    before = api.all()
    stored = kinto.ask(kinto.records, "POST", {"data": {"id": "C-7", "name": "Other"}})
    assert stored["name"] == contact(7)["name"]
    assert api.all() == before
    first = kinto.answer(f"{kinto.records}?_limit=1")
    assert (first.headers["Link"], "_token" in first.headers["Next-Page"]) == (
        None,
        True,
    )
    api.remove("C-8")
    changes = kinto.ask(f"{kinto.records}?_since=0")
    assert "C-8" in {row["id"] for row in changes if row.get("deleted")}


def test_json_server_responds_as_the_guide_says(
    json_server_behind: JsonServer, json_server_contacts: Source
) -> None:
    url = f"{json_server_behind.url}/people"
    assert Asker().ask(url, method="POST", data={"id": "C-7"}).status == 500
    assert Asker().ask(f"{url}/unknown", method="PUT", data={"name": ""}).status == 404


def test_this_datasette_has_no_api_to_write_rows() -> None:
    assert version("datasette").startswith("0.")


# ── pushes ────────────────────────────────────────────────────────────────────────────


class Shop(NamedTuple):
    """Contacts that are the same at a server and in a table, and known to a push."""

    api: Api
    place: Place
    copy: Copy
    table: str

    def change(self, what: str, **values: object) -> None:
        """Change rows of the table."""
        self.place.sql(f"UPDATE {self.place.table(self.table)} SET {what}", values)

    def delete(self, which: str) -> None:
        """Delete rows of the table."""
        self.place.sql(f"DELETE FROM {self.place.table(self.table)} WHERE {which}")

    def insert(self, *numbers: int) -> None:
        rows = numbered(contact(number) for number in numbers)
        self.place.insert(self.table, typed(rows, COLUMNS))


def at_directus(request: pytest.FixtureRequest, place: Place) -> Shop:
    """Make contacts at Directus, pull them, and let the push adopt them."""
    source, canary = map(request.getfixturevalue, ("directus_contacts", "canary"))
    api = DirectusContacts(request.getfixturevalue("shop"))
    copy = source.open(place, canary)
    copy.pull()
    before = api.writes()
    assert copy.push() == {"updated": len(ODD)}
    assert api.writes() - before == Counter(update=len(ODD))
    return Shop(api, place, copy, "contacts")


def at_kinto(request: pytest.FixtureRequest, place: Place) -> Shop:
    """Make contacts at Kinto, pull them, and put them there again, once."""
    source, canary = map(request.getfixturevalue, ("kinto_contacts", "canary"))
    api = KintoContacts(request.getfixturevalue("kinto"))
    copy = source.open(place, canary)
    copy.pull()
    before = api.writes()
    assert copy.push() == {"created": len(PLAIN)}
    assert api.writes() - before == Counter(update=len(PLAIN))
    return Shop(api, place, copy, "kinto_contacts")


def at_json_server(request: pytest.FixtureRequest, place: Place) -> Shop:
    """Make contacts in a table, and send them all to an empty json-server."""
    source, canary = map(request.getfixturevalue, ("json_server_contacts", "canary"))
    api = JsonServerContacts(request.getfixturevalue("json_server_behind"))
    api.clear()
    copy = source.open(place, canary)
    assert copy.pull() == {}
    shop = Shop(api, place, copy, "people")
    shop.insert(*range(len(ODD)))
    before = api.writes()
    assert copy.push() == {"created": len(ODD)}
    assert api.writes() - before == Counter(create=len(ODD))
    assert copy.pull() == {"unchanged": len(ODD)}
    return shop


SHOPS = {"directus": at_directus, "kinto": at_kinto, "json_server": at_json_server}
QUICK_PUSHES = {"directus": "postgresql", "kinto": "own", "json_server": "mariadb"}


@pytest.fixture
def contacts(server: str, place: Place, request: pytest.FixtureRequest) -> Shop:
    shop = SHOPS[server](request, place)
    shop.copy.assert_equal()
    return shop


def test_each_change_travels_once_and_both_sides_end_equal(
    contacts: Shop, server: str
) -> None:
    copy = contacts.copy
    before = contacts.api.writes()
    change_the_table(contacts)
    counts = {"created": 1, "updated": 2, "unchanged": 21, "deleted": 2}
    assert copy.push() == counts
    sent = Counter(create=1, update=2, delete=2)
    assert contacts.api.writes() - before == sent
    copy.assert_equal()
    assert copy.push() == copy.pull() == {"unchanged": 24}
    assert contacts.api.writes() - before == sent

    # json-server refuses the create of what is there as its own failure.
    adds = server != "json_server"
    change_both_sides(contacts, adds=adds)
    before = contacts.api.writes()
    copy.push()
    assert contacts.api.writes() - before == Counter(create=1, update=1, delete=1)
    created = {"created": 1} if adds else {}
    assert copy.pull() == {"updated": 1, "unchanged": 22, "deleted": 1} | created
    copy.assert_equal()
    copy.push()
    copy.assert_equal()
    settled = contacts.api.writes()
    assert copy.pull() == copy.push() == {"unchanged": 23 + adds}
    assert contacts.api.writes() == settled


def change_the_table(contacts: Shop) -> None:
    """Change, delete and add rows of the table."""
    contacts.change("name = :name WHERE number = 'C-7'", name="Ünal 🚚")
    contacts.change("credit = 0.3, note = NULL WHERE number = 'C-8'")
    contacts.delete("number IN ('C-10', 'C-11')")
    contacts.insert(1001)


def change_both_sides(contacts: Shop, *, adds: bool) -> None:
    """Change, delete and add different contacts on both sides."""
    contacts.change("name = :name WHERE number = 'C-7'", name="Ours")
    contacts.delete("number = 'C-14'")
    contacts.insert(1002)
    contacts.api.change("C-12", name="Theirs", credit=0.7)
    contacts.api.remove("C-13")
    if adds:
        contacts.api.add(numbered([contact(1003)]))
