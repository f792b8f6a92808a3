"""The trial of the next credentials, as requests of several processes go through it."""

import signal
from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from cli.rotating_api import RotatingApi, rotating_api
from cli.test_token_processes import output_of, race
from cli.test_token_processes import start as launch

DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
limits = {{ retries = 0 }}
verification = {{ test_path = "/me" }}
"""


@pytest.fixture
def api() -> Iterator[RotatingApi]:
    with rotating_api() as served:
        yield served


@pytest.fixture
def acme(outkey: Terminal, api: RotatingApi) -> Terminal:
    """A configuration whose next token was tested."""
    assert outkey("apply", "-", stdin=DOCUMENT.format(url=api.url)).code == 0
    assert outkey("secret", "set", "acme", "token", stdin="old").code == 0
    assert outkey("secret", "stage", "acme", "token", stdin="new").code == 0
    assert outkey("rotation", "test", "acme").code == 0
    return outkey


def start(acme: Terminal, api: RotatingApi, *options: str) -> None:
    assert acme("rotation", "start", "acme", *options).code == 0
    api.seen.clear()


def state(acme: Terminal) -> tuple[str, int, int, int]:
    status = acme("rotation", "status", "acme", "--json").json
    made = status["next"] or {}
    counted = tuple(made.get(name, -1) for name in ("good", "refused", "denied"))
    return status["state"], *counted  # type: ignore[return-value]


def test_requests_promote_the_next_token_by_themselves(
    acme: Terminal, api: RotatingApi
) -> None:
    start(acme, api, "--share", "100", "--after", "3")
    for sent in range(1, 3):
        assert acme("request", "acme", "/orders").code == 0
        assert state(acme) == ("trial", sent, 0, 0)
    assert acme("request", "acme", "/orders").code == 0
    assert state(acme)[0] == "overlap"
    promoted = acme("audit", "list", "--json").out
    assert "api:rotation:promoted" in promoted
    acme("request", "acme", "/orders")
    assert api.seen == {("new", 200): 4}


@pytest.mark.full  # the unit tests of the engine have it
def test_a_token_that_is_refused_later_costs_no_request(
    acme: Terminal, api: RotatingApi
) -> None:
    api.refused_after["new"] = 1
    start(acme, api, "--share", "100")
    for _ in range(3):
        assert acme("request", "acme", "POST", "/orders", "--data", "{}").code == 0
    assert api.seen == {("new", 200): 1, ("new", 401): 1, ("old", 200): 2}
    status = acme("rotation", "status", "acme", "--json").json
    assert (status["state"], status["next"]["cause"]) == (
        "rejected",
        "invalid_credentials",
    )
    assert state(acme)[1:] == (1, 1, 0)


@pytest.mark.full  # the unit tests of the engine have it
def test_a_token_of_another_account_is_not_promoted(
    acme: Terminal, api: RotatingApi
) -> None:
    api.statuses["new"] = 403
    start(acme, api, "--share", "100", "--after", "1")
    assert acme("request", "acme", "/orders").code == 1
    api.statuses["new"] = 200
    assert acme("request", "acme", "/orders").code == 0
    assert state(acme) == ("trial", 1, 0, 1)
    assert acme("rotation", "promote", "acme").code == 0, "a person may"


@pytest.mark.parametrize(
    ("processes", "threads"),
    [(2, 25), pytest.param(8, 25, marks=pytest.mark.full)],
)
def test_a_wrong_token_is_tried_once_by_all_processes_and_locks_no_account(
    acme: Terminal, api: RotatingApi, processes: int, threads: int
) -> None:
    start(acme, api, "--share", "100")
    del api.statuses["new"]
    api.locks_after = 3
    ended = race(acme, "/orders", processes=processes, threads=threads)
    assert ended == {200: processes * threads}
    assert api.count("new") == 1
    assert state(acme)[0] == "rejected"
    assert acme("show", "acme", "--json").json.get("paused") in {None, False}


@pytest.mark.full  # the unit tests of the engine have it
@pytest.mark.parametrize(("processes", "threads"), [(2, 10), (8, 25)])
def test_many_requests_at_once_promote_exactly_once(
    acme: Terminal, api: RotatingApi, processes: int, threads: int
) -> None:
    start(acme, api, "--share", "100", "--after", "5")
    api.delays["new"] = 0.5  # so that all others come before its first success
    for _ in range(2):
        ended = race(acme, "/orders", processes=processes, threads=threads)
        assert ended == {200: processes * threads}
        assert api.most_unproved["new"] == 1
        api.delays.clear()
    assert acme("request", "acme", "/orders").code == 0
    assert state(acme)[0] == "overlap"
    audit = acme("audit", "list", "--json", "--limit", "10000").out
    assert audit.count("api:rotation:promoted") == 1


@pytest.mark.parametrize(
    ("status", "refused", "code"),
    [
        (401, True, 0),
        pytest.param(200, False, 1, marks=pytest.mark.full),
        pytest.param(503, None, 1, marks=pytest.mark.full),
        pytest.param(0, None, 1, marks=pytest.mark.full),
    ],
)
def test_one_request_proves_that_the_old_token_is_dead(
    acme: Terminal, api: RotatingApi, *, status: int, refused: bool | None, code: int
) -> None:
    assert acme("rotation", "probe-old", "acme").code == 2, "there is none yet"
    acme("rotation", "promote", "acme")
    api.seen.clear()
    api.statuses["old"] = status
    probed = acme("rotation", "probe-old", "acme", "--json")
    assert (probed.code, probed.json["refused"]) == (code, refused)
    assert (probed.json["serial"], probed.json["status"]) == (1, status or None)
    assert api.seen == {("old", status): 1}
    previous = acme("rotation", "status", "acme", "--json").json["previous"]
    assert (previous["revoked_at"] is not None) is bool(refused)
    assert acme("request", "acme", "/orders").code == 0


def test_each_client_secret_has_a_token_of_its_own(
    outkey: Terminal, api: RotatingApi
) -> None:
    oauth = """
[configuration.acme.oauth2]
token_url = "{url}/token"
client_id = "client"
"""
    lines = DOCUMENT.splitlines()
    lines.insert(5, 'token_source = "oauth2"')
    document = "\n".join(lines) + oauth
    assert outkey("apply", "-", stdin=document.format(url=api.url)).code == 0
    outkey("secret", "set", "acme", "client_secret", stdin="old")
    assert outkey("request", "acme", "/orders").code == 0
    outkey("secret", "stage", "acme", "client_secret", stdin="new")
    assert outkey("rotation", "test", "acme").code == 0
    start(outkey, api, "--share", "100", "--after", "2")
    for _ in range(4):
        assert outkey("request", "acme", "/orders").code == 0
    assert state(outkey)[0] == "overlap"
    # With its promotion the set gets another token, and none of the old set is sent.
    assert api.seen == {("wen", 200): 4, ("secret new", 200): 1}


@pytest.mark.parametrize(
    ("point", "status"),
    [
        ("in reject", 401),
        ("in promote", 200),
        pytest.param("before count", 401, marks=pytest.mark.full),
        pytest.param("after count", 401, marks=pytest.mark.full),
        pytest.param("before reject", 401, marks=pytest.mark.full),
        pytest.param("after reject", 401, marks=pytest.mark.full),
        pytest.param("before count", 200, marks=pytest.mark.full),
        pytest.param("before promote", 200, marks=pytest.mark.full),
        pytest.param("after promote", 200, marks=pytest.mark.full),
    ],
)
def test_a_kill_leaves_credentials_that_work_and_steps_that_can_be_taken(
    acme: Terminal, api: RotatingApi, point: str, status: int
) -> None:
    start(acme, api, "--share", "100", "--after", "1")
    api.statuses["new"] = status
    killed = launch(acme, "cli/killed_trial", point)
    assert output_of(killed, acme.canary) == ""
    assert killed.returncode == -signal.SIGKILL
    for _ in range(2):
        assert acme("request", "acme", "/orders").code == 0
    assert api.count("new") == (1 if status == 401 or point != "after promote" else 3)
    how_far = state(acme)[0]
    is_done = point == "after promote"
    assert how_far == ("overlap" if is_done else how_far)
    assert how_far in {"trial", "rejected", "overlap"}
    done = acme("rotation", "back" if is_done else "discard", "acme")
    assert (done.code, done.err) == (0, "")
    assert acme("request", "acme", "/orders").code == 0
    assert acme("audit", "verify").code == 0
