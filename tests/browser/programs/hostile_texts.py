"""Texts that are made to stop the pages are refused, while others are served."""

import resource
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from clients import boss, client_of, save_document

from outkey.hosts.django.pages.lines.list_page import running_samples

PAGE_BYTES = 4096
MEBIBYTE = 2**20
BODIES = {
    "/small": b'[{"id": "1", "name": "Ada"}]',
    "/flood": b"[" + b"{}," * 11_000_000 + b"{}]",
}
SHOP = """
[configuration.shop]
base_url = "http://127.0.0.1:{port}"
network = "internal"
authentication_type = "bearer"
"""
LINE = """
direction = "pull"
target = "demo.contact"
keys = ["external_id"]
records = "{records}"
fields = [{{ api = "id", host = "external_id" }}, {{ api = "{name}", host = "name" }}]
"""
LINES = "/outkey/syncline/"
BOMB = "@" + "|[@,@]" * 22 + "|to_string(@)"


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = BODIES[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client does not want the rest
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class PageResponse(NamedTuple):
    status: int
    content: bytes


class Measured(NamedTuple):
    """What happened while hostile requests were served."""

    responses: list[PageResponse]
    longest_wait: float  # seconds, of another user
    peak: float  # MiB


def post_line(
    path: str = "/small", records: str = "@", name: str = "name", toml: str = ""
) -> PageResponse:
    """Post the form of a new line; a text that is no TOML of a line is not tested."""
    values = {
        "name": "new",
        "configuration": "shop",
        "method": "GET",
        "path": path,
        "sync": toml or LINE.format(records=records, name=name),
    }
    if not toml:
        values["sample"] = "1"
    response = client_of(boss).post(LINES + "add/", values)
    return PageResponse(response.status_code, response.content)


def resident() -> float:
    """Return how much memory this process has, in MiB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * PAGE_BYTES / MEBIBYTE


def measure(hostile: Callable[[], PageResponse], times: int = 1) -> Measured:
    """Send hostile requests in threads, and those of another user beside them."""
    responses: list[PageResponse] = []
    waits: list[float] = []
    sizes: list[float] = []
    threads = [
        threading.Thread(target=lambda: responses.append(hostile()))
        for _ in range(times)
    ]
    other = client_of(boss)
    other.get(LINES)
    for thread in threads:
        thread.start()
    is_running = True
    while is_running:
        is_running = any(thread.is_alive() for thread in threads)
        started = time.monotonic()
        assert other.get(LINES).status_code == 200
        waits.append(time.monotonic() - started)
        sizes.append(resident())
    return Measured(responses, longest_wait=max(waits), peak=max(sizes))


def a_usual_line_is_tested() -> None:
    (response,) = measure(post_line).responses
    assert response.status == 200, response.content[-3000:]
    assert b"Ada" in response.content


def hostile_texts_cost_little(usual_size: float) -> None:
    cases: dict[str, tuple[Callable[[], PageResponse], int]] = {
        "a value that doubles in a record": (lambda: post_line(name=BOMB), 200),
        "a value that doubles on the page": (lambda: post_line(records=BOMB), 422),
        "a key of many parts": (lambda: post_line(toml="a." * 8_000 + "a = 1"), 422),
        "a long text": (lambda: post_line(toml="#" * 200_000), 422),
    }
    for case, (hostile, status) in cases.items():
        started = time.monotonic()
        measured = measure(hostile)
        seconds = time.monotonic() - started
        (response,) = measured.responses
        assert response.status == status, (case, response.status)
        assert measured.longest_wait < 1, (case, measured.longest_wait)
        assert seconds < 10, (case, seconds)
        growth = measured.peak - usual_size
        assert growth < 50, (case, growth)


def four_large_responses_at_a_time_are_refused(usual_size: float) -> None:
    measured = measure(lambda: post_line("/flood"), times=4)
    assert [response.status for response in measured.responses] == [422] * 4
    for response in measured.responses:
        assert b"4 MiB that a preview reads" in response.content
    assert measured.longest_wait < 1, measured.longest_wait
    growth = measured.peak - usual_size
    assert growth < 200, growth


def one_test_too_many_at_a_time_has_to_wait() -> None:
    for _ in range(4):
        assert running_samples.acquire(blocking=False)
    assert b"any tests are running" in post_line().content
    for _ in range(4):
        running_samples.release()
    assert post_line().status == 200


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
    api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    save_document(SHOP.format(port=api.server_port), "shop", token="a-token")
    a_usual_line_is_tested()  # first, so that everything is loaded
    usual_size = resident()
    hostile_texts_cost_little(usual_size)
    four_large_responses_at_a_time_are_refused(usual_size)
    one_test_too_many_at_a_time_has_to_wait()


main()
