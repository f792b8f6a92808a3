"""Signing scripts from the terminal: kept, tried, sent with, and locked away."""

import hashlib
import hmac
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from cli.conftest import HomeOf, Terminal
from outkey.spar import Spar
from outkey.spar.scenes import SIGNING_KEY

# The specification's example, section 5.5.
EXAMPLE = """
import hashlib
import hmac
import time

def compute_auth_header(sync_line):
    timestamp = str(int(time.time()))
    secret = sync_line.api_config_id.get_secret_key()
    signature = hmac.new(
        secret.encode(), timestamp.encode(), hashlib.sha256
    ).hexdigest()
    return {"X-Timestamp": timestamp, "X-Signature": signature}
"""


def document(spar: Spar, script: str = EXAMPLE, **more: str) -> str:
    extra = "\n".join(f"{key} = {value}" for key, value in more.items())
    return f"""
[configuration.signed]
base_url = "{spar.url}"
network = "internal"
{extra}
verification = {{ test_path = "/signed" }}
limits = {{ retries = 0 }}
script = '''
{script}'''
"""


@pytest.fixture
def signed(outkey: Terminal, spar: Spar, copied_home: HomeOf) -> Terminal:
    def make(run: Terminal) -> None:
        assert run("apply", "-", stdin=document(spar)).code == 0
        assert run("secret", "set", "signed", "secret_key", stdin=SIGNING_KEY).code == 0

    return copied_home(outkey, "signed", make)


def test_the_specification_s_example_is_accepted_by_a_server_that_verifies_it(
    signed: Terminal, spar: Spar
) -> None:
    spar.clear()
    done = signed("request", "signed", "/signed", "--json")
    assert (done.code, done.json["status"]) == (0, 200), done.out
    report = signed("test", "signed", "--json").json
    assert report["ok"]
    assert "script" in [step["step"] for step in report["steps"]]


def test_a_trial_shows_names_and_lengths_and_never_a_value(signed: Terminal) -> None:
    done = signed("script", "run", "signed", "--at", "1700000000", "--json")
    assert done.code == 0
    assert set(done.json) == {"ok", "headers", "query", "ms", "error"}
    assert done.json["query"] == []
    assert done.json["headers"] == [
        {"name": "X-Timestamp", "length": 10},
        {"name": "X-Signature", "length": 64},
    ]
    shown = signed("script", "run", "signed")
    assert "X-Signature" in shown.out
    assert "ms with the start of its process." in shown.out


def test_a_preview_runs_the_script_and_masks_its_secret_headers(
    signed: Terminal,
) -> None:
    shown = signed("preview", "signed", "--json").json["headers"]
    ours = [header for header in shown if header["source"] == "script"]
    (timestamp, moment), signature = [(row["name"], row["value"]) for row in ours]
    assert (timestamp, abs(int(moment) - time.time()) < 60) == ("X-Timestamp", True)
    assert signature == ("X-Signature", "***")


WRONG = {
    "return {}['no']": "script_error",
    "while True: pass": "script_error",
    "return None": "header_format",
    "return ['X']": "header_format",
    "return {'X': 1}": "header_format",
    "return {'X': 'a\\r\\nY: b'}": "header_format",
    "return {'Host': 'evil.example'}": "header_format",
    "return {f'X-{n}': '1' for n in range(1000)}": "header_format",
    "return {secret: '1'}": "header_format",
    "raise type(secret, (Exception,), {})": "script_error",
    "raise ValueError(secret)": "script_error",
    "__import__('socket')": "script_error",
    "open('/etc/passwd')": "script_error",
}


def test_a_script_that_goes_wrong_sends_nothing_and_tells_no_secret(
    outkey: Terminal, spar: Spar
) -> None:
    """All in one home, since a process each is what takes the time."""
    key, text = {"SIGNING": SIGNING_KEY}, ""
    for number, line in enumerate(WRONG):
        script = f"""def compute_auth_header(sync_line):
    secret = sync_line.api_config_id.get_secret_key()
    {line}
"""
        made = document(spar, script, secret_key='"env:SIGNING"')
        text += made.replace("configuration.signed", f"configuration.c{number}")
    assert outkey("apply", "-", stdin=text, **key).code == 0
    spar.clear()
    for number, error in enumerate(WRONG.values()):
        done = outkey("request", f"c{number}", "/signed", "--json", **key)
        assert (done.code, done.json["error"]["code"]) == (2, error), (number, done.out)
        assert SIGNING_KEY not in done.out + done.err
        tried = outkey("script", "run", f"c{number}", "--json", **key)
        assert (tried.code, tried.json["error"]["code"]) == (2, error)
        assert SIGNING_KEY not in tried.out + tried.err
    assert spar.journal == []
    assert SIGNING_KEY not in outkey("audit", "export").out


SIGNED_QUERY = """
import hashlib
import hmac

def compute_auth_header(sync_line):
    request = sync_line.request
    secret = sync_line.api_config_id.get_secret_key()
    types = [value for name, value in request.headers if name == "Content-Type"]
    text = "|".join([request.method, request.url, *types]).encode() + request.body
    signature = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {"headers": {"X-Key": "erp"}, "query": {"key": "e r/p", "sig": signature}}
"""


class SignedQueryApi(BaseHTTPRequestHandler):
    """Accepts a request whose last parameter is the signature of all the rest."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        target, _, signature = self.path.rpartition("&sig=")
        url = f"http://{self.headers['Host']}{target.removesuffix('&key=e%20r%2Fp')}"
        text = f"POST|{url}|{self.headers['Content-Type']}".encode() + body
        expected = hmac.new(SIGNING_KEY.encode(), text, hashlib.sha256).hexdigest()
        self.send_response(200 if signature == expected else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_script_signs_the_query_for_a_server_that_verifies_it(
    outkey: Terminal, spar: Spar
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SignedQueryApi) as server:
        Thread(target=server.serve_forever).start()
        try:
            text = document(spar, SIGNED_QUERY, secret_key='"env:SIGNING"').replace(
                spar.url, f"http://127.0.0.1:{server.server_port}/v1"
            )
            key = {"SIGNING": SIGNING_KEY}
            assert outkey("apply", "-", stdin=text, **key).code == 0
            order = ("signed", "POST", "/orders?page=2", "--data", '{"a": 1}')
            done = outkey("request", *order, "--json", **key)
            assert (done.code, done.json["status"]) == (0, 200), done.out
            taken = ("signed", "POST", "/orders?page=2&key=mine", "--data", "{}")
            done = outkey("request", *taken, "--json", **key)
            assert (done.code, done.json["error"]["code"]) == (2, "parameter_conflict")
        finally:
            server.shutdown()
    tried = outkey("script", "run", "signed", "--json", **key)
    assert tried.json["query"] == [
        {"name": "key", "length": 5},
        {"name": "sig", "length": 64},
    ]
    shown = outkey("preview", "signed", "POST", "/orders?page=2", "--json", **key)
    assert shown.json["url"].endswith("/v1/orders?page=2&key=***&sig=***")
    assert "sig=" not in outkey("audit", "export", **key).out


def test_a_script_without_a_secret_to_give_says_so(
    outkey: Terminal, spar: Spar
) -> None:
    assert outkey("apply", "-", stdin=document(spar)).code == 0
    done = outkey("request", "signed", "/signed", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "secret_missing")
    steps = outkey("test", "signed", "--json").json["steps"]
    assert [(step["step"], step["ok"]) for step in steps][1:] == [("secrets", False)]
    assert outkey("show", "signed", "--json").json["secret_key"]["set"] is False


def test_a_script_beside_basic_may_not_set_its_header(
    outkey: Terminal, spar: Spar
) -> None:
    script = (
        "def compute_auth_header(sync_line):\n    return {'authorization': 'mine'}\n"
    )
    text = document(spar, script, authentication_type='"basic"', username='"u"')
    assert outkey("apply", "-", stdin=text).code == 0
    assert outkey("secret", "set", "signed", "password", stdin="p").code == 0
    done = outkey("request", "signed", "/signed", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "header_conflict")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("def compute_auth_header(sync_line)\n    pass\n", "line 1"),
        ("def other(sync_line):\n    pass\n", "compute_auth_header"),
        ("import requests\n" + EXAMPLE, "line 1: requests cannot be imported"),
        (
            EXAMPLE + 'GOLDEN = [{"at": 1, "expect": {"X-Timestamp": "2"}}]\n',
            "example 1",
        ),
    ],
)
def test_a_script_that_is_not_right_is_not_kept(
    script: str, told: str, outkey: Terminal, spar: Spar
) -> None:
    done = outkey("apply", "-", "--json", stdin=document(spar, script))
    assert done.code == 2
    assert told in done.json["error"]["message"]
    assert outkey("list", "--json").json == []


def test_a_change_of_a_script_is_recorded_by_its_fingerprint(
    signed: Terminal, spar: Spar
) -> None:
    signed("apply", "-", stdin=document(spar, EXAMPLE + "# another version\n"))
    records = signed("audit", "list", "--json").json
    written = {
        record["key"]
        for record in records
        if str(record.get("key")).startswith("script ")
    }
    assert len(written) == 2


def test_a_script_that_is_switched_off_is_not_run(signed: Terminal, spar: Spar) -> None:
    signed("apply", "-", stdin="[configuration.signed]\nscript_enabled = false")
    done = signed("request", "signed", "/signed", "--json")
    assert done.json["status"] == 401
