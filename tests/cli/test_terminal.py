"""What a terminal is sent: foreign text must not control it or reverse its lines."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import forks
from cli.conftest import HomeOf, Terminal
from cli.test_doctor import change
from outkey.testing.canary import Canaries

HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u061c\u200e\u200f\u2028forged\u2029"
    "\u202eevil\u2066 [link=https://evil.example]x[/link]"
)
ESCAPED = (
    r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u061c\u200e\u200f\u2028forged\u2029"
    r"\u202eevil\u2066 [link=https://evil.example]x[/link]"
)
# What must never arrive; colours of our own are other sequences.
STEERING = ["\x1b]", "\x1b[2J", "\x07", "\x9b", "\x7f", "\x08", "\u202e", "\u2066"]
STEERING += ["\u061c", "\u200e", "\u200f", "\u2028", "\u2029"]
BODY = f"first\tline\r\n{HOSTILE}\n".encode() + b"\x9b31m\xff"
CALLS = {
    "print_line": "output.print_line(text)",
    "warn": "output.warn(text)",
    "print_json": "output.print_json({text: text})",
    "print_error": (
        "output.print_error(ConfigError(text, hint=text, field='x' + text),"
        " as_json=False)"
    ),
    "print_lines": "output.print_lines(('bold', text))",
    "print_done": "output.print_done('set', as_json=False, configuration=text)",
    "print_table": "output.print_table(('A', 'B'), [(text, text)])",
    "print_findings": (
        "output.print_findings([(text, Finding('W1', Level.WARNING, text, text,"
        " text))])"
    ),
    "progress_bar": (
        "with output.progress_bar(text, 3) as advance:\n    advance(1)\n   "
        " time.sleep(0.3)"
    ),
    "confirm": "output.confirm(text, yes=False)",
}
PROGRAM = """
import sys, time
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.errors import ConfigError
from outkey.hosts.cli.printing import output
text = {text!r}
{call}
"""


class Hostile(BaseHTTPRequestHandler):
    """Answers with a body and a header that would steer a terminal."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-Hostile", "\x1b[2J\x9b31m")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token:
            self.send_header(f"X-{token}", "1")
            self.send_header("X-First-Half", token[:10])
            self.send_header("X-Second-Half", token[10:])
        body = b"{}" if token else BODY
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


@pytest.fixture
def home(outkey: Terminal, hostile: str, copied_home: HomeOf) -> Terminal:
    def make(run: Terminal) -> None:
        text = f'[configuration.acme]\nbase_url = "{hostile}"\nnetwork = "internal"\n'
        assert run("apply", "-", stdin=text + 'environment = "test"').code == 0

    return copied_home(outkey, "hostile", make)


def on_terminal(environment: dict[str, str], *command: str) -> bytes:
    """Run Python with a terminal as input and output; return what it was sent."""
    master, slave = pty.openpty()
    start = subprocess.Popen if command[0] == "-c" else forks.Popen
    process = start(
        [sys.executable, *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"COLUMNS": "300", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        | environment,
        start_new_session=True,
    )
    os.close(slave)
    os.write(master, b"y\n")
    sent = bytearray()
    while True:
        try:
            part = os.read(master, 65_536)
        except OSError:  # nobody has it open any more
            break
        if not part:
            break
        sent += part
    process.wait(60)
    os.close(master)
    # as which a terminal driver sends a line feed
    return bytes(sent).replace(b"\r\n", b"\n")


def outkey_on_terminal(home: Terminal, *arguments: str) -> bytes:
    return on_terminal(home.environment, "-m", "outkey.hosts.cli.main", *arguments)


def assert_harmless(sent: bytes) -> None:
    text = sent.decode()
    assert [sequence for sequence in STEERING if sequence in text] == []


@pytest.mark.parametrize("name", CALLS)
def test_nothing_that_is_printed_steers_a_terminal(name: str) -> None:
    program = PROGRAM.format(text=HOSTILE, call=CALLS[name])
    sent = on_terminal({"PATH": os.environ["PATH"]}, "-c", program)
    assert_harmless(sent)
    assert rb"\u202eevil\u2066 [link=https://evil.example]x[/link]" in sent


@pytest.mark.parametrize("form", ["--include", "--json"])
def test_a_token_in_a_header_name_or_in_two_headers_is_masked(
    outkey: Terminal, hostile: str, canary: Canaries, form: str
) -> None:
    token = canary.token()
    text = f'[configuration.acme]\nbase_url = "{hostile}"\nnetwork = "internal"\n'
    assert outkey("apply", "-", stdin=text + 'authentication_type = "bearer"').code == 0
    outkey("secret", "set", "acme", "token", stdin=token)
    done = outkey("request", "acme", "/", form)
    assert done.code == 0
    assert "X-***" in done.out
    assert token[:10] not in done.out
    assert token[10:] not in done.out


def test_a_body_is_escaped_on_a_terminal(home: Terminal) -> None:
    sent = outkey_on_terminal(home, "request", "acme", "/", "--include")
    assert_harmless(sent)
    text = sent.decode()
    assert f"first\tline\n{ESCAPED}\n" in text
    assert "\\x9b31m\\xff" in text
    assert "X-Hostile: \\x1b[2J\\x9b31m" in text


def test_a_raw_body_is_as_it_came_on_a_terminal_too(home: Terminal) -> None:
    sent = outkey_on_terminal(home, "request", "acme", "/", "--raw")
    assert BODY.replace(b"\r\n", b"\n") in sent.replace(b"\r", b"")


def test_a_body_in_a_pipe_is_as_it_came(home: Terminal) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "outkey.hosts.cli.main", "request", "acme", "/"],
        env=home.environment,
        capture_output=True,
        check=True,
    )
    assert done.stdout == BODY


def test_json_on_a_terminal_is_harmless_and_the_same_document(home: Terminal) -> None:
    change(
        home,
        "UPDATE outkey_configuration SET base_url = ?",
        "http://127.0.0.1:9/\u202e\x9b",
    )
    sent = outkey_on_terminal(home, "list", "--json")
    assert_harmless(sent)
    document = json.loads(sent[sent.index(b"[") :])
    assert document[0]["base_url"] == "http://127.0.0.1:9/\u202e\x9b"


@pytest.mark.parametrize("command", [("list",), ("audit", "list"), ("audit", "export")])
def test_what_is_stored_is_harmless_on_a_terminal(
    home: Terminal, command: tuple[str, ...]
) -> None:
    """Commands refuse such names, but other programs may write to the database."""
    change(home, "UPDATE outkey_configuration SET name = ?", HOSTILE)
    change(
        home,
        "UPDATE outkey_auditrecord SET body = CAST(replace(body, 'acme', ?) AS BLOB)",
        "acme\u202e\x9b",
    )
    sent = outkey_on_terminal(home, *command)
    assert_harmless(sent)
    assert b"\x1b]8;" not in sent
    assert rb"\u202e" in sent


@pytest.mark.parametrize("command", [("show", "acme"), ("export",)])
def test_a_script_is_harmless_on_a_terminal(
    home: Terminal, command: tuple[str, ...]
) -> None:
    script = (
        "# turned \u202earound \x9b31m\ndef compute_auth_header(sync_line):\n    return"
        " {}\n"
    )
    text = f"[configuration.acme]\nscript = {json.dumps(script)}"
    assert home("apply", "-", stdin=text).code == 0
    sent = outkey_on_terminal(home, *command)
    assert_harmless(sent)
    assert b"around" in sent
    # in a pipe as it is, to be applied elsewhere
    assert "\u202earound" in home("export").out
