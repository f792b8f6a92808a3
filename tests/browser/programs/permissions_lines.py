"""The page of a line shows records only to those who may see them."""

import html
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from clients import application, boss, client_with, save_document, text_of

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import SyncLine
from outkey.hosts.django.wiring import records

LINES = "/outkey/syncline/"
STORED = "a stored name"
SENT = "a sent name"
served = {"name": STORED}


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps([{"id": 1, "name": served["name"]}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


FIELDS = """
target = "table:people"
keys = ["id"]
fields = [{ api = "id", host = "id" }, { api = "name", host = "name" }]
"""
PULL = f'direction = "pull"{FIELDS}'
PUSH = f'direction = "push"{FIELDS}'
LOOKUP = """
direction = "pull"
target = "table:guesses"
[[fields]]
api = "name"
host = "person"
transform = "lookup"
options = { target = "table:people", field = "name" }
"""
DOCUMENT = """
[configuration.shop]
base_url = "http://127.0.0.1:{port}"
network = "internal"
authentication_type = "bearer"
[line.people]
configuration = "shop"
path = "/people"
"""
api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=api.serve_forever, daemon=True).start()
save_document(
    DOCUMENT.replace("{port}", str(api.server_port)) + PULL, "shop", token="a-token"
)
list(application.sync.runner(records(boss)).run("people", "boss"))
served["name"] = SENT
line = f"{LINES}{SyncLine.objects.get().pk}/"

EDITS = (Permission.VIEW_LINE, Permission.ADD_LINE, Permission.CHANGE_LINE)
operator = client_with("operator", Permission.VIEW_LINE, Permission.RUN_LINE)
editor = client_with("editor", *EDITS, Permission.RUN_LINE)
reader = client_with("reader", *EDITS, Permission.RUN_LINE, Permission.VIEW_DATA)


def new_line(sync: str, method: str = "GET", **values: str) -> dict[str, str]:
    """Return the form of a new line as the page posts it."""
    call = {"name": "new", "configuration": "shop", "method": method, "path": "/people"}
    return {**call, "view": "form", "sync": sync, **values}


def a_check_shows_records_only_to_who_may_see_them() -> None:
    pull = new_line(PULL, do="check")
    push = new_line(PUSH, "POST", do="check")
    posts = ((f"{line}check/", {"do": "check"}), (line, {"do": "check"}))
    forms = ((f"{LINES}add/check/", pull), (f"{LINES}add/check/", push))
    for url, values in (*posts, (f"{line}sample/", {}), *forms):
        for client in (operator, editor):
            response = client.post(url, values)
            assert response.status_code in {403, 422}, (url, response.status_code)
            page = text_of(response)
            assert STORED not in page, (url, values)
            assert SENT not in page, (url, values)
        assert STORED in text_of(reader.post(url, values)), (url, values)


def a_lookup_in_a_posted_sample_finds_nothing_for_who_may_not_see_it() -> None:
    sample = json.dumps({"records_at": "@", "records": [{"name": STORED}]})
    values = new_line(LOOKUP, sample=sample)
    denied = html.unescape(text_of(editor.post(f"{LINES}add/check/", values)))
    assert "permission is missing" in denied
    allowed = html.unescape(text_of(reader.post(f"{LINES}add/check/", values)))
    assert "permission is missing" not in allowed


a_check_shows_records_only_to_who_may_see_them()
a_lookup_in_a_posted_sample_finds_nothing_for_who_may_not_see_it()
api.shutdown()
