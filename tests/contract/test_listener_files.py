"""What the servers of one home listen on, as other processes read it."""

import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.sending.adapters.transport import listeners_file
from outkey.sending.adapters.transport.listeners_file import ListenerFiles
from programs import program_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "listening"


def test_another_process_of_the_home_knows_it_as_long_as_the_server_runs(
    folder: Path,
) -> None:
    files = ListenerFiles(folder)
    with files.hold("127.0.0.1", 8765):
        assert ListenerFiles(folder).addresses(8765) == {"127.0.0.1"}
        assert ListenerFiles(folder).addresses(8766) == frozenset()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert ListenerFiles(folder).addresses(8765) == frozenset()
    assert list(folder.iterdir()) == []


def test_two_servers_of_one_home_are_both_known(folder: Path) -> None:
    with (
        ListenerFiles(folder).hold("127.0.0.1", 8765),
        ListenerFiles(folder).hold("::1", 8765),
    ):
        assert ListenerFiles(folder).addresses(8765) == {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.1", {"127.0.0.1"}),
        ("0", {"0.0.0.0"}),
        ("::", {"::"}),
        ("::ffff:127.0.0.1", {"127.0.0.1"}),
        ("", {"0.0.0.0", "::"}),
    ],
)
def test_the_address_is_known_as_it_is_bound_whatever_its_spelling(
    folder: Path, host: str, expected: set[str]
) -> None:
    files = ListenerFiles(folder)
    with files.hold(host, 8765):
        assert files.addresses(8765) <= expected
        assert files.addresses(8765)


def test_a_name_is_known_by_its_addresses(folder: Path) -> None:
    files = ListenerFiles(folder)
    with files.hold("localhost", 8765):
        assert "127.0.0.1" in files.addresses(8765)


def test_a_name_that_nobody_knows_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be resolved"), ExitStack() as stack:
        stack.enter_context(ListenerFiles(folder).hold("nowhere.invalid", 8765))
    assert not folder.exists()


def test_what_a_killed_server_left_behind_counts_for_nothing_and_is_removed(
    folder: Path,
) -> None:
    command = program_command("contract/killed_listener", folder)
    done = subprocess.run(command, check=False)
    assert done.returncode == -9
    assert len(list(folder.iterdir())) == 1
    assert ListenerFiles(folder).addresses(8765) == frozenset()
    with ListenerFiles(folder).hold("127.0.0.1", 9999):
        names = [place.name for place in folder.iterdir()]
    assert len(names) == 1
    assert names[0].startswith("9999-")


def test_a_worker_that_ends_does_not_take_the_servers_file_along(folder: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(ListenerFiles(folder).hold("127.0.0.1", 8765))
        child = os.fork()
        if child == 0:
            stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert ListenerFiles(folder).addresses(8765) == {"127.0.0.1"}


def test_what_was_read_is_used_for_a_few_seconds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(listeners_file.time, "monotonic", lambda: now)
    worker = ListenerFiles(folder)
    assert worker.addresses(8765) == frozenset()
    with ListenerFiles(folder).hold("127.0.0.1", 8765):
        assert worker.addresses(8765) == frozenset()
        now += listeners_file.CACHE_SECONDS
        assert worker.addresses(8765) == {"127.0.0.1"}


def test_a_folder_that_cannot_be_used_is_a_failure_of_the_storage(folder: Path) -> None:
    folder.write_text("not a folder")
    with pytest.raises(StorageUnavailable):
        ListenerFiles(folder).addresses(8765)
    with pytest.raises(StorageUnavailable), ExitStack() as stack:
        stack.enter_context(ListenerFiles(folder).hold("127.0.0.1", 8765))


def test_only_addresses_of_this_machine_are_local(folder: Path) -> None:
    files = ListenerFiles(folder)
    assert files.is_local("127.0.0.1")
    for elsewhere in (
        "192.0.2.1",
        "2001:db8::1",
    ):  # for documentation; perhaps without a route
        assert not files.is_local(elsewhere)
    for _, _, _, _, place in socket.getaddrinfo(socket.gethostname(), None):
        assert files.is_local(str(place[0]).partition("%")[0])
