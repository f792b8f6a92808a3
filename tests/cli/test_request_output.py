"""What `outkey request` prints: readable on a terminal, the exact bytes in a pipe."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cli.conftest import Terminal
from cli.test_terminal import outkey_on_terminal
from outkey.hosts.cli.printing.presenters import MAX_FORMATTED, formatted_json

BODIES = {
    "/json": b'{"id":1.10,"big":12345678901234567890,"list":[],"text":"a\\u001b[2J"}',
    "/text": b"plain",
    "/lines": b"one\ntwo\n",
    "/broken": b'{"id": 1',
    "/empty": b"",
    "/steering": '{"a": "\u202e\x9b31m"}'.encode(),
}
READABLE = """\
{
  "id": 1.10,
  "big": 12345678901234567890,
  "list": [],
  "text": "a\\u001b[2J"
}
"""


class Bodies(BaseHTTPRequestHandler):
    """Answers with the body of a path."""

    def do_GET(self) -> None:
        body = BODIES[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Bodies) as bodies:
        thread = threading.Thread(target=bodies.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{bodies.server_port}"
        bodies.shutdown()
        thread.join(5)


@pytest.fixture
def home(outkey: Terminal, server: str) -> Terminal:
    text = f'[configuration.a]\nbase_url = "{server}"\nnetwork = "internal"\n'
    assert outkey("apply", "-", stdin=text + 'environment = "test"').code == 0
    return outkey


def shown(home: Terminal, path: str, *options: str) -> str:
    sent = outkey_on_terminal(home, "request", "a", path, *options)
    return sent.decode().removeprefix("y\n")  # the terminal's echo of an answer


def test_on_a_terminal_json_is_in_lines_and_every_body_ends_its_line(
    home: Terminal,
) -> None:
    assert shown(home, "/json") == READABLE
    assert shown(home, "/text") == "plain\n"
    assert shown(home, "/lines") == "one\ntwo\n"
    assert shown(home, "/broken") == '{"id": 1\n'
    assert shown(home, "/empty") == ""
    assert shown(home, "/steering") == '{\n  "a": "\\u202e\\u009b31m"\n}\n'
    assert shown(home, "/json", "--raw") == BODIES["/json"].decode() + "\n"


@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_in_a_pipe_every_body_has_exactly_its_bytes(
    home: Terminal, options: list[str]
) -> None:
    for path, body in BODIES.items():
        command = ["-m", "outkey.hosts.cli.main", "request", "a", path, *options]
        done = subprocess.run(
            [sys.executable, *command],
            env=home.environment,
            capture_output=True,
            check=True,
        )
        assert done.stdout == body, path


@pytest.mark.parametrize(
    "value",
    [{}, [], [[]], {"a": {}}, {"a": [1, {"b": [None, "x"]}], "c": '{,}[]:\\"'}, [1, 2]],
)
def test_json_is_formatted_as_python_formats_it(value: object) -> None:
    text = formatted_json(json.dumps(value).encode())
    assert text == json.dumps(value, indent=2)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 2}',
        b"[NaN]",
        b"12",
        b"\xff",
        b'["' + b"x" * MAX_FORMATTED + b'"]',
        b"[" * 5000,
    ],
)
def test_what_is_doubtful_is_not_formatted(body: bytes) -> None:
    assert formatted_json(body) is None
