"""The send path with canaries as secrets: all that is shown, logged or raised."""

import logging
import traceback
from collections.abc import Iterator

import pytest

from outkey import Gateway
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.file.loading import from_text
from outkey.spar import Spar
from outkey.testing.canary import Canaries

TEXT = """
[configuration.basic]
base_url = "{url}"
network = "internal"
authentication_type = "basic"
username = "user"
password = "env:CANARY_PASSWORD"
limits = {{ read_timeout = 0.5, total_timeout = 1, retries = 1 }}
headers = [{{ key = "X-API-Key", value = "env:CANARY_KEY" }}]

[configuration.bearer]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "file:{file}"
limits = {{ read_timeout = 0.5, total_timeout = 1, retries = 1 }}

[configuration.broken]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:CANARY_BROKEN"
"""
PATHS = [
    "/echo",
    "/basic",
    "/bearer/expired",
    "/forbidden",
    "/redirect/elsewhere",
    "/redirect/same",
    "/reset",
    "/truncated",
    "/slow/silent",
    "/headers?count=150",
    "/status/503",
]


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def gateway(
    spar: Spar,
    canary: Canaries,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gateway]:
    logging.getLogger("outkey.audit").setLevel(logging.DEBUG)
    monkeypatch.setenv("CANARY_PASSWORD", canary("password", username="user"))
    monkeypatch.setenv("CANARY_KEY", canary("key"))
    monkeypatch.setenv("CANARY_BROKEN", canary("broken") + "\r\nX-Injected: 1")
    # Outside the searched folder: the file is where the secret is meant to be.
    file = tmp_path_factory.mktemp("vault") / "token"
    file.write_text(f"Bearer {canary('token')}\n", encoding="utf-8")
    with from_text(TEXT.format(url=spar.url, file=file)) as made:
        yield made


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["basic", "bearer", "broken"])
def test_nothing_shown_of_a_request_holds_a_secret(
    gateway: Gateway, name: str, path: str
) -> None:
    logger = logging.getLogger("application")
    try:
        response = gateway.send(
            name, "POST", path, json={"a": 1}, headers={"X-Trace": "7"}
        )
        print(response, response.headers, response.cause, response.remedy)
        logger.debug("%r", response)
        response.raise_for_cause()
    except OutkeyError as error:
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        print("".join(shown.format()), error.facts(), vars(error))
        logger.exception("failed")
    assert gateway.test(name).steps


@pytest.mark.parametrize("name", ["basic", "bearer", "broken"])
def test_nothing_shown_of_a_configuration_holds_a_secret(
    gateway: Gateway, name: str
) -> None:
    sender = gateway._sender
    print(gateway, vars(gateway), vars(sender), sender.context)
    try:
        print(gateway.preview(name, "GET", "/x"))
    except OutkeyError as error:
        print(repr(error), error.__notes__)
    print(sender.configurations.get(name))
    loan = None
    if name != "broken":
        loan = gateway.lend(name, "GET", gateway.preview(name).url, [])
        gateway.settle(loan, 200)
    print(loan)
    assert (loan is None) == (name == "broken")
