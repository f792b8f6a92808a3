"""The provider's reports: ordered, polled, downloaded, deleted."""

import http.client
import json
from collections.abc import Iterator

import pytest

from outkey.spar import Spar


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def send(
    url: str, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, bytes]:
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    content = b"" if body is None else json.dumps(body).encode()
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in named.items():
            connection.putheader(name, value)
        if content:
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content or None)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


TOKEN = {"Authorization": "Bearer spar-token"}


def test_a_report_is_ordered_once_for_a_key(spar: Spar) -> None:
    for key, identity in (("a", "r1"), ("a", "r1"), ("b", "r2")):
        status, body = send(
            spar.url, "POST", "/reports", {}, Idempotency_Key=key, **TOKEN
        )
        assert (status, json.loads(body)) == (202, {"data": {"id": identity}})
    assert (spar.reports.ordered, spar.reports.open) == (2, ["r1", "r2"])
    assert send(spar.url, "POST", "/reports", [1], **TOKEN)[0] == 400
    assert send(spar.url, "POST", "/reports", {})[0] == 401
    assert send(spar.url, "GET", "/reports/r9", **TOKEN)[0] == 404


def test_a_report_is_done_after_its_polls_and_has_its_rows(spar: Spar) -> None:
    send(spar.url, "POST", "/reports", {"polls": 1, "count": 2}, **TOKEN)
    assert send(spar.url, "GET", "/reports/r1/download", **TOKEN)[0] == 409
    states = [
        json.loads(send(spar.url, "GET", "/reports/r1", **TOKEN)[1])["status"]
        for _ in range(2)
    ]
    assert states == ["running", "done"]
    status, body = send(spar.url, "GET", "/reports/r1/download", **TOKEN)
    assert (status, len(json.loads(body)["items"])) == (200, 2)
    assert send(spar.url, "DELETE", "/reports/r1", **TOKEN)[0] == 204
    assert spar.reports.open == []
    send(spar.url, "POST", "/reports", {"polls": 0, "error": True}, **TOKEN)
    poll = send(spar.url, "GET", "/reports/r2", **TOKEN)[1]
    assert json.loads(poll) == {"status": "error"}


def test_a_file_elsewhere_needs_its_signature_and_refuses_credentials(
    spar: Spar,
) -> None:
    order = {"polls": 0, "url": "elsewhere", "format": "csv", "count": 1}
    send(spar.url, "POST", "/reports", order, **TOKEN)
    poll = json.loads(send(spar.url, "GET", "/reports/r1", **TOKEN)[1])
    url = poll["result"]["url"]
    assert url.startswith(spar.elsewhere)
    path = url.removeprefix(spar.elsewhere)
    status, body = send(spar.elsewhere, "GET", path)
    assert (status, body.count(b"\r\n")) == (200, 2)
    assert send(spar.elsewhere, "GET", path, **TOKEN)[0] == 400
    assert send(spar.elsewhere, "GET", path + "x")[0] == 403
