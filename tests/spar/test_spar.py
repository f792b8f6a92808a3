"""The sparring provider does what its index says."""

import http.client
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from outkey.spar import Spar
from outkey.spar.scenes import index

LINES_BEFORE_THE_SCENES = 14


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def get(spar: Spar, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(
        spar.url.removeprefix("http://"), timeout=10
    )
    try:
        connection.request(
            "GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/nothing-like-it", {}, 404),
        (
            "/basic",
            {"Authorization": "Basic " + b64encode(b"sparring:open sesame").decode()},
            200,
        ),
        ("/basic", {"Authorization": "Basic eDp5"}, 401),
        ("/basic", {}, 401),
        ("/bearer", {"Authorization": "Bearer spar-token"}, 200),
        ("/bearer", {"Authorization": "Bearer other"}, 401),
        ("/bearer/expired", {"Authorization": "Bearer spar-token"}, 401),
        ("/key", {"X_API_Key": "spar-key"}, 200),
        ("/key", {}, 401),
        ("/status/418", {}, 418),
        ("/status/799", {}, 799),
        ("/forbidden", {}, 403),
        ("/header-format", {}, 400),
        ("/limited", {}, 429),
        ("/redirect/same?status=308", {}, 308),
        ("/redirect/upgrade", {}, 404),
        ("/redirect/nonsense", {}, 404),
        ("/impatient", {}, 200),
    ],
)
def test_each_scene_answers_as_it_says(
    spar: Spar, path: str, headers: dict[str, str], status: int
) -> None:
    assert get(spar, path, **headers)[0] == status


def test_a_status_may_come_with_a_challenge_and_a_retry_time(spar: Spar) -> None:
    challenge = "Basic%20realm=%22x%22%0d%0aX-Injected:%20y"
    path = f"/status/401?challenge={challenge}&retry_after=soon"
    _, headers, _ = get(spar, path)
    assert headers["WWW-Authenticate"] == 'Basic realm="x" X-Injected: y'
    assert headers["Retry-After"] == "soon"
    assert "X-Injected" not in headers


def test_the_journal_lists_names_and_the_library_keeps_values(spar: Spar) -> None:
    spar.clear()
    get(spar, "/echo?q=1", Authorization="Bearer canary")
    status, _, body = get(spar, "/journal")
    (entry,) = json.loads(body)
    assert status == 200
    assert (entry["server"], entry["path"]) == ("main", "/echo")
    assert "Authorization" in entry["headers"]
    assert b"canary" not in body
    assert spar.journal[0].values("authorization") == ["Bearer canary"]
    assert "canary" not in repr(spar.journal)


def test_redirects_lead_where_their_name_says(spar: Spar) -> None:
    places = {
        name: get(spar, f"/redirect/{name}")[1]["Location"]
        for name in ("same", "elsewhere")
    }
    assert places == {"same": "/echo", "elsewhere": f"{spar.elsewhere}/echo"}


def test_tls_is_served_with_an_authority_of_its_own() -> None:
    import ssl

    with Spar(tls=True) as spar:
        context = ssl.create_default_context(cafile=spar.ca_file)
        with urllib.request.urlopen(f"{spar.secure}/echo", context=context) as response:
            assert response.status == 200
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(
                f"{spar.secure}/echo", context=ssl.create_default_context()
            )


def test_a_port_that_is_taken_is_said_in_one_line(spar: Spar) -> None:
    port = spar.url.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "outkey.spar", "--port", port],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"error: port {port} cannot be used. Choose another one with --port, or with"
        " PORT= after make.\n"
    )


def test_it_runs_from_the_command_line_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "outkey.spar", "--port", "0", "--tls"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        # All of them, since whoever writes into a closed pipe ends with an error.
        count = LINES_BEFORE_THE_SCENES + len(index())
        lines = [process.stdout.readline().rstrip() for _ in range(count)]
        assert list(tmp_path.iterdir()) != []
        process.terminate()
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
    assert lines[0] == "The sparring provider is running. Press Ctrl-C to stop it."
    facts = [line[:24].strip() for line in lines[2:12]]
    assert facts == [
        "URL",
        "Token",
        "User",
        "API key",
        "Another origin",
        "URL with TLS",
        "CA certificate",
        "Authorization server",
        "Client",
        "Metadata",
    ]
    assert lines[2].split()[-1].startswith("http://127.0.0.1:")
    assert lines[7].split()[-1].startswith("https://localhost:")
    assert lines[13] == "Scenes by path:"
    assert "List the scenes." in lines[14]


def test_a_body_in_chunks_is_read_and_the_connection_kept(spar: Spar) -> None:
    client = http.client.HTTPConnection(spar.url.removeprefix("http://"), timeout=5)
    try:
        headers = {"Transfer-Encoding": "chunked"}
        client.request(
            "POST", "/echo", iter([b"half", b"half"]), headers, encode_chunked=True
        )
        assert json.loads(client.getresponse().read())["body"] == 8
        client.request("GET", "/echo")
        assert client.getresponse().read()
    finally:
        client.close()
