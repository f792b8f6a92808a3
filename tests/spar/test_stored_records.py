"""The provider's API that stores records: created, changed, found, deleted."""

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
    spar: Spar, method: str, place: str = "", body: object = None, key: str = ""
) -> tuple[int, object]:
    """Send a request to the stored records; return status and document."""
    host = spar.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    headers = {"Authorization": "Bearer spar-token", "Idempotency-Key": key}
    content = b"" if body is None else json.dumps(body).encode()
    try:
        connection.request(method, f"/records/stored{place}", content, headers)
        response = connection.getresponse()
        answer = response.read()
        return response.status, json.loads(answer) if answer else None
    finally:
        connection.close()


def test_a_record_is_created_changed_found_and_deleted(spar: Spar) -> None:
    assert send(spar, "POST", body={"n": 1}) == (201, {"data": {"n": 1, "id": "s1"}})
    changed = (200, {"data": {"n": 1, "x": 2, "id": "s1"}})
    assert send(spar, "PATCH", "/s1", {"x": 2}) == changed
    assert send(spar, "PUT", "/s1", {}) == changed
    found = {"items": [{"n": 1, "x": 2, "id": "s1"}]}
    assert send(spar, "GET", "?n=1") == (200, found)
    assert send(spar, "GET", "?n=2") == (200, {"items": []})
    assert spar.stored.all() == [{"n": 1, "x": 2}]
    assert send(spar, "DELETE", "/s1") == (204, None)
    for method in ("DELETE", "PATCH"):
        assert send(spar, method, "/s1", {})[0] == 404
    assert send(spar, "OPTIONS")[0] == 405


def test_a_value_of_a_record_can_be_its_id(spar: Spar) -> None:
    for record, known in (({"n": "x"}, "x"), ({"m": 1}, "s2")):
        _, created = send(spar, "POST", "?own_id=n", record)
        assert created == {"data": {**record, "id": known}}
    assert send(spar, "GET", "?own_id=n&n=x")[1] == {"items": [{"n": "x", "id": "x"}]}


def test_a_body_that_is_not_json_is_refused(spar: Spar) -> None:
    host = spar.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    headers = {"Authorization": "Bearer spar-token"}
    connection.request("POST", "/records/stored", b"{", headers)
    assert connection.getresponse().status == 400
    connection.close()


def test_a_batch_has_a_result_for_each_record(spar: Spar) -> None:
    items: list[object] = [{"n": 1}, {"n": 2}, {"n": 1}]
    status, created = send(spar, "POST", "/batch?unique=n", {"items": items})
    assert status == 200
    assert created == {
        "results": [
            {"status": 201, "data": {"n": 1, "id": "s1"}},
            {"status": 201, "data": {"n": 2, "id": "s2"}},
            {"status": 409, "error": "it exists"},
        ]
    }
    items = [{"id": "s2", "n": 3}, {"n": 4}]
    _, changed = send(spar, "PATCH", "/batch", {"items": items})
    assert changed == {
        "results": [
            {"status": 200, "data": {"n": 3, "id": "s2"}},
            {"status": 404, "error": "no such record"},
        ]
    }
    _, deleted = send(spar, "DELETE", "/batch", {"items": ["s1", "s2"]})
    assert deleted == {"results": [{"status": 204}, {"status": 204}]}
    assert spar.stored.all() == []


def test_the_same_key_creates_one_record_unless_it_is_ignored(spar: Spar) -> None:
    first = send(spar, "POST", body={"n": 1}, key="k")
    assert send(spar, "POST", body={"n": 1}, key="k") == first
    assert send(spar, "POST", body={"n": 2}, key="k")[0] == 422
    assert len(spar.stored.all()) == 1
    assert send(spar, "POST", "?keys=ignored", {"n": 1}, key="k")[0] == 201
    assert len(spar.stored.all()) == 2
