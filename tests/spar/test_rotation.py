"""The scenes of an API whose credentials are replaced."""

import http.client
from base64 import b64encode
from collections.abc import Iterator

import pytest

from outkey.spar import Spar

SETS = {
    "old": {"Authorization": "Bearer spar-token"},
    "new": {"Authorization": "Bearer spar-next-token"},
    "none": {},
    "other": {"Authorization": "Bearer guessed"},
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def spar(provider: Spar) -> Spar:
    provider.clear()
    return provider


def status(spar: Spar, path: str, headers: dict[str, str]) -> int:
    host = spar.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        connection.request("GET", f"/rotation/{path}", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def basic(password: str) -> dict[str, str]:
    value = b64encode(f"sparring:{password}".encode()).decode()
    return {"Authorization": f"Basic {value}"}


def statuses(spar: Spar, path: str, *sets: str) -> list[int]:
    return [status(spar, path, SETS[name]) for name in sets]


def test_both_are_accepted_and_nothing_else(spar: Spar) -> None:
    sets = ("old", "new", "none", "other")
    assert statuses(spar, "both", *sets) == [200, 200, 401, 401]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"X-API-Key": "spar-key"}, {"X-API-Key": "spar-next-key"}),
        (basic("open sesame"), basic("open barley")),
        ({"X-Spar-Set": "old"}, {"X-Spar-Set": "new"}),
    ],
)
def test_each_kind_of_credentials_is_known(
    spar: Spar, old: dict[str, str], new: dict[str, str]
) -> None:
    assert [status(spar, "refused", each) for each in (old, new)] == [200, 401]


def test_a_switch_ends_the_old_ones_when_the_new_begin(spar: Spar) -> None:
    sets = ("old", "new", "none", "old", "old", "new")
    assert statuses(spar, "switch?after=3", *sets) == [200, 401, 401, 200, 401, 200]


def test_old_ones_that_are_revoked_late_work_for_a_while(spar: Spar) -> None:
    sets = ("old", "old", "new", "old", "old", "old", "new")
    expected = [200, 200, 200, 200, 200, 401, 200]
    assert statuses(spar, "late?after=2", *sets) == expected


@pytest.mark.parametrize("refusal", [401, 403, 200])
def test_new_ones_are_refused_in_three_ways(spar: Spar, refusal: int) -> None:
    path = f"refused?status={refusal}&after=1"
    assert statuses(spar, path, "new", "new", "old") == [200, refusal, 200]


def test_three_refusals_lock_the_account(spar: Spar) -> None:
    sets = ("old", "new", "new", "new", "new", "old")
    assert statuses(spar, "locked", *sets) == [200, 401, 401, 401, 423, 423]


def test_new_ones_meet_a_limit_first(spar: Spar) -> None:
    sets = ("old", "new", "new", "new")
    assert statuses(spar, "limited?times=2", *sets) == [200, 429, 429, 200]


def test_an_unknown_name_is_answered_with_those_there_are(spar: Spar) -> None:
    assert statuses(spar, "nothing", "old") == [404]
