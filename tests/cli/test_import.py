"""`outkey import`: what it prints, what it saves, and what it never shows."""

import json
import resource
import subprocess
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.testing.canary import Canaries

MEMORY = 200 * 1024 * 1024
SECONDS = 30


def command(spar: Spar, token: str) -> str:
    return (
        f"curl '{spar.url}/bearer?page=1&per_page=10' -k"
        f" -H 'Authorization: Bearer {token}'"
    )


def test_without_apply_toml_with_references_is_printed_and_nothing_saved(
    outkey: Terminal, spar: Spar, canary: Canaries
) -> None:
    done = outkey("import", "-", "--name", "acme", stdin=command(spar, canary.token()))
    assert done.code == 0
    assert 'token = "env:ACME_TOKEN"' in done.out
    assert '# position_parameter = "page"' in done.out
    assert "--insecure: dropped" in done.err
    assert "Authorization: taken: it is a secret\n" in done.err
    assert "set the environment variables ACME_TOKEN, and apply it" in done.err
    assert "import again with --apply" in done.err
    assert not outkey.home.exists()


def test_the_printed_toml_is_applied_and_works(outkey: Terminal, spar: Spar) -> None:
    toml = outkey(
        "import", "-", "--name", "acme", stdin=command(spar, "spar-token")
    ).out
    assert outkey("apply", "-", stdin=toml, ACME_TOKEN="spar-token").code == 0
    assert outkey("test", "acme", ACME_TOKEN="spar-token").code == 0


class MailServer(BaseHTTPRequestHandler):
    """The HTTP interface of doveadm: commands as lists in the body of a POST."""

    def do_POST(self) -> None:
        command = self.rfile.read(int(self.headers["Content-Length"]))
        expected = "Basic " + b64encode(b"doveadm:open-sesame").decode()
        is_right = self.headers["Authorization"] == expected
        is_json = self.headers["Content-Type"] == "application/json"
        is_known = is_json and json.loads(command) == [["who", {}, "t"]]
        self.send_response(200 if is_right and is_known else 401 if is_known else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_documented_command_with_a_body_works_at_once(outkey: Terminal) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), MailServer) as server:
        Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/doveadm/v1"
        try:
            for name, password, code in (("a", "open-sesame", 0), ("b", "wrong", 1)):
                text = (
                    f"curl -u doveadm:{password} -X POST {url} -H 'Content-Type:"
                    """ application/json' -d '[["who", {}, "t"]]'"""
                )
                done = outkey("import", "-", "--apply", "--name", name, stdin=text)
                assert done.code == 0, done.err
                report = outkey("test", name, "--json")
                assert (report.code, report.json["ok"]) == (code, code == 0)
                assert "open-sesame" not in report.out
        finally:
            server.shutdown()


def test_a_password_in_the_body_of_a_request_saves_nothing(outkey: Terminal) -> None:
    text = "curl https://api.example/v1/orders -d 'user=erp&password=hunter2-hunter2'"
    done = outkey("import", "-", "--apply", "--name", "acme", stdin=text)
    assert done.code == 2
    assert "member password: dropped: it is a credential in the body" in done.err
    assert "hunter2" not in done.out + done.err
    assert outkey("show", "acme").code == 2


def test_json_has_the_shape_of_the_contract(outkey: Terminal, spar: Spar) -> None:
    done = outkey("import", "-", "--json", stdin=command(spar, "spar-token"))
    assert set(done.json) == {"configurations", "lines", "report"}
    (one,) = done.json["configurations"]
    assert set(one) == {"name", "toml", "secrets"}
    assert one["secrets"] == ["token"]
    assert one["toml"].startswith("[configuration.")
    assert done.json["lines"][0]["pagination"]["kind"] == "page"
    for item in done.json["report"]:
        assert set(item) == {"level", "item", "action", "why"}
        assert item["action"] in {"taken", "changed", "dropped"}
        assert item["level"] in {"error", "warning", "notice"}
        assert item["why"]


def test_apply_saves_seals_and_prints_neither(
    outkey: Terminal, spar: Spar, canary: Canaries
) -> None:
    secret = canary.token()
    text = command(spar, secret) + f" -H 'X-Api-Key: {secret}' -b 'sid={secret}'"
    done = outkey("import", "-", "--name", "acme", "--apply", stdin=text)
    assert done.code == 0
    assert "created: acme" in done.out
    assert "[configuration" not in done.out
    assert "created: line acme bearer" in done.out
    assert outkey("import", "-", "--name", "acme", "--apply", stdin=text).code == 2
    again = outkey("import", "-", "--name", "b", "--apply", "--json", stdin=text)
    assert again.json["configurations"][0]["toml"] == ""
    assert again.json["lines"][0]["toml"] == ""
    listed = outkey("audit", "list", "--json").out
    assert "api:secret:set" in listed


def test_an_imported_configuration_works_at_once(outkey: Terminal, spar: Spar) -> None:
    text = command(spar, "spar-token")
    assert outkey("import", "-", "--name", "acme", "--apply", stdin=text).code == 0
    assert outkey("test", "acme").code == 0
    assert outkey("line", "list").code == 0


def test_a_collection_and_its_environment_are_two_files(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    collection = {
        "info": {"name": "Acme", "schema": "v2.1.0"},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
        "item": [{"name": "me", "request": {"url": spar.url + "/bearer"}}],
    }
    environment = {"values": [{"key": "token", "value": "spar-token"}]}
    (tmp_path / "c.json").write_text(json.dumps(collection))
    (tmp_path / "e.json").write_text(json.dumps(environment))
    files = [str(tmp_path / "c.json"), str(tmp_path / "e.json")]
    assert outkey("import", *files, "--from", "postman", "--apply").code == 0
    assert outkey("test", "Acme").code == 0


def description(spar: Spar) -> str:
    """Return an OpenAPI document that states all that a line needs."""
    texts = {name: {"type": "string"} for name in ("id", "full_name", "mail", "type")}
    record = {
        "type": "object",
        "required": ["id"],
        "properties": texts | {"updated_at": {"type": "string", "format": "date-time"}},
    }
    page = {"type": "object", "properties": {"items": {"type": "array"}}}
    page["properties"]["items"] |= {"items": {"$ref": "#/components/schemas/Contact"}}
    parameters = {
        "page": {"type": "integer", "minimum": 1},
        "per_page": {"type": "integer", "maximum": 100},
        "updated_since": {"type": "string", "format": "date-time"},
    }
    operation = {
        "operationId": "contacts",
        "parameters": [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in parameters.items()
        ],
        "responses": {"200": {"content": {"application/json": {"schema": page}}}},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Acme"},
        "servers": [{"url": spar.url}],
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Contact": record},
        },
        "paths": {"/records/contacts": {"get": operation}},
    }
    return json.dumps(document)


def test_a_line_of_a_description_is_applied_checked_and_run(
    outkey: Terminal, spar: Spar
) -> None:
    outkey.settings["ACME_TOKEN"] = "spar-token"
    toml = outkey("import", "-", stdin=description(spar)).out
    assert "# " not in toml
    assert outkey("apply", "-", stdin=toml).code == 0
    shown = outkey("line", "show", "Acme contacts", "--json").json
    assert shown["findings"] == []
    for since in (False, True):
        assert outkey("line", "run", "Acme contacts").code == 0
        queries = [a.query for a in spar.journal if a.path == "/records/contacts"]
        assert queries[0] == "per_page=100&page=1"
        assert ("updated_since=2026-01-28" in queries[-1]) is since
    rows = outkey("data", "export", "table:acme_contacts").out.splitlines()
    assert len([row for row in rows if "@example.com" in row]) == 250


@pytest.mark.parametrize(
    "arguments",
    [["import", "missing.json"], ["import", "/"], ["import", "-", "--from", "har"]],
)
def test_what_cannot_be_read_is_exit_2(
    outkey: Terminal, arguments: list[str], canary: Canaries
) -> None:
    assert outkey(*arguments, stdin=f"a: {canary.token()}").code == 2


def test_what_is_no_text_is_exit_2(outkey: Terminal, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    assert outkey("import", str(tmp_path / "x.bin")).code == 2


def aliases() -> str:
    text = "openapi: 3.0.0\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for letter, before in zip("bcdefgh", "abcdefg", strict=True):
        text += f"{letter}: &{letter} [{', '.join([f'*{before}'] * 10)}]\n"
    return text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 40_000_000, id="40 MB"),
        pytest.param('{"openapi": ' + "[" * 100_000, id="depth"),
        pytest.param(aliases(), id="aliases"),
        pytest.param('{"openapi": [' + "[]," * 600_000, id="lists"),
        pytest.param("openapi: 3.0.0\na: [" + "x, " * 500_000, id="events"),
    ],
)
def test_a_bomb_ends_within_the_limits_of_time_and_memory(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "bomb").write_text(text)
    began = time.monotonic()
    process = subprocess.run(
        [*forks.OUTKEY, "import", "bomb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        preexec_fn=limit_memory,
    )
    assert process.returncode == 2, process.stderr
    assert process.stderr.startswith("error[configuration]")
    assert time.monotonic() - began < SECONDS


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def test_with_an_error_in_the_report_nothing_is_saved_and_no_reason_invented(
    outkey: Terminal,
) -> None:
    secret = "8s7D6f5G4h3J2k1L0qW9eRt"
    text = f"curl http://127.0.0.1:9/bot/{secret}/send"
    done = outkey("import", "-", "--apply", "--name", "q2", stdin=text)
    assert done.code == 2
    assert "created" not in done.out
    assert "error path: dropped" in done.err
    assert "nothing was saved" in done.err
    as_json = outkey("import", "-", "--apply", "--json", stdin=text)
    assert as_json.code == 2
    assert set(as_json.json) == {"error", "report"}
    assert "no_auth_reason" not in outkey("import", "-", stdin=text).out
    assert outkey("list", "--json").json == []


def test_what_is_missing_or_taken_is_named_with_the_way_out(outkey: Terminal) -> None:
    assert "missing.json does not exist" in outkey("import", "missing.json").err
    assert "--from" in outkey("import", "-", stdin="hello").err
    text = "curl https://api.acme.example/me -u a:s3cr3t99"
    assert outkey("import", "-", "--apply", stdin=text).code == 0
    assert "--name" in outkey("import", "-", "--apply", stdin=text).err
