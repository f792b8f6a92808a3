"""An API whose list of records a test changes, and that can do something on its way."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

SIZE = 20
Record = dict[str, object]

DOCUMENT = """
[configuration.list]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:LIST_TOKEN"
{more}
[line.orders]
configuration = "list"
direction = "pull"
path = "/orders"
records = "items"
target = "{target}"
keys = ["{key}"]
{keys}
[line.orders.pagination]
kind = "page"
size = {size}
size_parameter = "per_page"
position_parameter = "page"
[[line.orders.fields]]
api = "id"
host = "{key}"
transform = "text"
[[line.orders.fields]]
api = "name"
host = "name"
"""
CHILDREN = """
[[line.orders.children]]
list = "lines"
target = "{target}_lines"
parent = "order_id"
keys = ["order_id", "position"]
[[line.orders.children.fields]]
api = "$index"
host = "position"
[[line.orders.children.fields]]
api = "sku"
host = "sku"
"""


@dataclass
class ListApi:
    """A list of records, page by page."""

    records: list[Record] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)  # as they were requested
    before_page: Callable[[int], None] = lambda _page: None
    url: str = ""

    def document(
        self,
        target: str,
        *,
        more: str = "",
        keys: str = "",
        key: str = "id",
        has_children: bool = False,
    ) -> str:
        """Return a document with a line into a target."""
        text = DOCUMENT.format(
            url=self.url, target=target, more=more, keys=keys, key=key, size=SIZE
        )
        return text + CHILDREN.format(target=target) if has_children else text

    def page(self, number: int) -> bytes:
        """Return a page of the list."""
        self.pages.append(number)
        self.before_page(number)
        start = (number - 1) * SIZE
        return json.dumps({"items": self.records[start : start + SIZE]}).encode()


def orders(count: int, text: str = "x") -> list[Record]:
    """Return records with two children each."""
    return [
        {
            "id": f"o{number:06}",
            "name": f"{number} {text}",
            "lines": [{"sku": f"a{number}"}, {"sku": f"b{number}"}],
        }
        for number in range(count)
    ]


@contextmanager
def list_api() -> Iterator[ListApi]:
    """Serve a list that is empty at first."""
    api = ListApi()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            body = api.page(int(query["page"][0]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=[0.05])
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
