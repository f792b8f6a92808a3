"""A real sender: docker-registry tells outkey what was pushed.

It posts envelopes with a token that it was given, and repeats one until it is taken.
"""

import json
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import forks
from cli.conftest import Terminal
from cli.test_own_pages import wait_for
from outkey.testing.canary import Canaries
from peers.guide import guide_text
from peers.registries import (
    MANIFEST,
    USERS,
    Image,
    NotifyingRegistry,
    notifying_registry_running,
)
from peers.sync_places import Place
from peers.sync_servers import Row
from ports import free_port

PROGRAMS = Path(__file__).parent / "programs"
TOKEN = "registry-token-4b1c7e"
PATIENCE = 300  # seconds


@pytest.fixture
def outkey(new_home: Path, tmp_path: Path, canary: Canaries) -> Terminal:
    """A terminal whose home has the webhook with its token."""
    canary.made["token"], canary.usernames["token"] = TOKEN, ""
    settings = {"REGISTRY_PASSWORD": USERS["alice"]}
    terminal = Terminal(tmp_path / "home", canary, settings)
    shutil.copytree(new_home, terminal.home)
    apply(terminal, guide_text("webhooks", "docker-registry"))
    assert terminal("webhook", "secret", "registry", stdin=TOKEN).code == 0
    return terminal


def apply(outkey: Terminal, document: str) -> None:
    applied = outkey("apply", "-", stdin=document)
    assert applied.code == 0, applied.err


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def registry(
    outkey: Terminal, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NotifyingRegistry]:
    path = outkey("webhook", "show", "registry", "--json").json["endpoint"]
    endpoint = f"http://127.0.0.1:{port}{path}"
    # Its settings have the token, which no file of outkey's may have.
    folder = tmp_path_factory.mktemp("notifying")
    with notifying_registry_running(folder, endpoint, TOKEN) as running:
        yield running


@contextmanager
def serving(
    outkey: Terminal, port: int, end: signal.Signals = signal.SIGTERM
) -> Iterator[None]:
    """Run `outkey serve` during the block, and end it with a signal."""
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=outkey.environment,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield
    finally:
        process.send_signal(end)
        process.wait(20)


def rows_of(outkey: Terminal) -> list[Row]:
    """Return the records that the deliveries have become; the first makes the table."""
    place = Place("own", outkey.home)
    found = place.sql(
        f"SELECT name FROM sqlite_master WHERE name = '{place.table('pushes')}'"
    )
    return place.read("pushes") if found else []


def wait_for_records(outkey: Terminal, count: int) -> list[Row]:
    """Wait until there are so many records."""
    deadline = time.monotonic() + PATIENCE
    while len(rows := rows_of(outkey)) < count:
        assert time.monotonic() < deadline, f"{len(rows)} of {count} records"
        time.sleep(0.5)
    return rows


def assert_each_once(rows: list[Row], images: list[Image]) -> None:
    """Compare the records with what was pushed."""
    assert {row["action"] for row in rows} == {"push"}
    manifests = Counter(
        (row["repository"], row["tag"], row["digest"])
        for row in rows
        if row["media_type"] == MANIFEST
    )
    assert manifests == Counter(
        (image.repository, image.tag, image.digest) for image in images
    )
    blobs = Counter(row["digest"] for row in rows if row["media_type"] != MANIFEST)
    assert blobs == Counter(digest for image in images for digest in image.blobs)


def assert_all_processed(outkey: Terminal) -> None:
    for state in ("received", "failed", "ignored"):
        inbox = outkey("webhook", "inbox", "registry", "--state", state, "--json")
        assert inbox.json == []


def test_what_is_pushed_becomes_records(
    outkey: Terminal, registry: NotifyingRegistry, port: int
) -> None:
    with serving(outkey, port):
        images = [registry.push("shop/parts", f"v{number}") for number in range(3)]
        rows = wait_for_records(outkey, 3 * len(images))
        assert_each_once(rows, images)
        assert_all_processed(outkey)
        inbox = outkey("webhook", "inbox", "registry", "--json").json
        assert {row["event_id"] for row in inbox} == {row["id"] for row in rows}


def test_a_registry_with_another_token_is_refused(
    outkey: Terminal, registry: NotifyingRegistry, port: int
) -> None:
    with serving(outkey, port):
        assert outkey("webhook", "secret", "registry", stdin="another").code == 0
        image = registry.push("shop/parts", "v1")
        deadline = time.monotonic() + PATIENCE
        while True:
            shown = outkey("webhook", "show", "registry", "--json").json
            if shown["refused"]:
                break
            assert time.monotonic() < deadline
            time.sleep(0.2)
        # It is recognized as the one that was entered before.
        assert set(shown["refused"]) == {"previous_secret"}
        assert rows_of(outkey) == []
        # The registry repeats the delivery, so that the mistake loses nothing.
        assert outkey("webhook", "secret", "registry", stdin=TOKEN).code == 0
        assert_each_once(wait_for_records(outkey, 3), [image])


def test_an_outage_in_the_middle_of_pushes_loses_none(
    outkey: Terminal,
    registry: NotifyingRegistry,
    port: int,
    pytestconfig: pytest.Config,
) -> None:
    # After a kill, the line counts as busy for two minutes.
    is_full = pytestconfig.getoption("--full")
    end, outage = (signal.SIGKILL, 60) if is_full else (signal.SIGTERM, 4)
    with ExitStack() as closing:
        images = closing.enter_context(pushing(registry))
        with serving(outkey, port, end):
            wait_for_records(outkey, 10)
        pushed, recorded = len(images), len(rows_of(outkey))
        time.sleep(outage)
        assert len(images) > pushed
        assert len(rows_of(outkey)) == recorded
        with serving(outkey, port):
            wait_for_records(outkey, recorded + 10)
            closing.close()  # no more pushes
            rows = wait_for_records(outkey, 3 * len(images))
            assert_each_once(rows, images)
            assert_all_processed(outkey)


@pytest.mark.parametrize("handler", ["note", "pushed"])
def test_a_function_or_a_signal_of_a_project_gets_each_delivery_once(
    handler: str,
    outkey: Terminal,
    registry: NotifyingRegistry,
    port: int,
    tmp_path: Path,
) -> None:
    received = tmp_path / "received"
    outkey.settings |= {
        "PYTHONPATH": str(PROGRAMS),
        "OUTKEY_WEBHOOK_HANDLERS": "registry_hooks",
        "RECEIVED": str(received),
    }
    document = guide_text("webhooks", "docker-registry")
    handled = f'handler = "registry_hooks.{handler}"\n'
    apply(outkey, document.replace('line = "pushes"\nrecords = "events"\n', handled))
    with serving(outkey, port):
        image = registry.push("shop/parts", "v1")
        failed = wait_for_inbox(outkey, "failed", 3)
        assert {row["reason"] for row in failed} == {"handler_failed"}
        received.touch()
        ids = [row["id"] for row in failed]
        assert outkey("webhook", "replay", "registry", *ids).code == 0
        processed = wait_for_inbox(outkey, "processed", 3)
    events = [json.loads(line) for line in received.read_text().splitlines()]
    assert {event["webhook"] for event in events} == {"registry"}
    assert Counter(event["event_id"] for event in events) == Counter(
        row["event_id"] for row in processed
    )
    for event in events:
        assert json.loads(event["body"]) == event["payload"]
    targets = [event["payload"]["events"][0]["target"] for event in events]
    assert {target["digest"] for target in targets} == {image.digest, *image.blobs}


def wait_for_inbox(outkey: Terminal, state: str, count: int) -> list[Any]:
    """Wait until so many deliveries have a state."""
    deadline = time.monotonic() + PATIENCE
    while True:
        rows: list[Any] = outkey(
            "webhook", "inbox", "registry", "--state", state, "--json"
        ).json
        if len(rows) == count:
            return rows
        assert time.monotonic() < deadline, rows
        time.sleep(0.5)


@contextmanager
def pushing(registry: NotifyingRegistry) -> Iterator[list[Image]]:
    """Push one image after the other during the block; give those that were pushed."""
    images: list[Image] = []
    is_over = Event()

    def push() -> None:
        while not is_over.wait(0.2):
            number = len(images)
            images.append(registry.push(f"shop/part-{number % 7}", f"v{number}"))

    with ThreadPoolExecutor(1) as pool:
        pushed = pool.submit(push)
        try:
            yield images
        finally:
            is_over.set()
    pushed.result()
