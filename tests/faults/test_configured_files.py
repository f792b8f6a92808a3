"""Files that a configuration names: what is never read, however its path is spelled."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from outkey.foundation.core.errors import ConfigError, SecretMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.tls_context import make_context
from outkey.sending.core.configuration.configuration import build
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.sections import TlsSettings

KERNEL = [
    "/proc/self/environ",
    "//proc/self/environ",
    "/proc/./self/environ",
    "/proc/../proc/self/environ",
    "/proc/thread-self/environ",
    f"/proc/{os.getpid()}/environ",
    "/proc/self/task/../environ",
    "/proc/self/root/proc/self/environ",
    "/dev/fd/../environ",
    "/proc/self/cmdline",
    "/proc/self/maps",
    "/proc/kmsg",
    "/proc/version",
    "/sys/kernel/uevent_seqnum",
    "/sys/fs/cgroup/cgroup.procs",
]


@pytest.mark.parametrize("path", [p for p in KERNEL if Path(p).exists()])
def test_no_file_of_the_kernel_is_read(path: str) -> None:
    started = time.monotonic()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on what the path leads to
        ConfiguredFiles().read(path, 100)
    assert time.monotonic() - started < 1


def test_a_link_to_a_file_of_the_kernel_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")
    (tmp_path / "folder").symlink_to("/proc/self")
    for path in (tmp_path / "link", tmp_path / "folder" / "environ"):
        with pytest.raises(PermissionError):
            ConfiguredFiles().read(str(path), 100)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for folder in ("config", "data/files"):
        (home / folder).mkdir(parents=True)
    for name in (
        "config/key",
        "config/signing-key",
        "config/audit-checkpoints",
        "data/db.sqlite3",
    ):
        (home / name).write_text("precious", encoding="ascii")
    (home / "data/files/orders.csv").write_text("precious", encoding="ascii")
    return home


def own_files(home: Path) -> ConfiguredFiles:
    return ConfiguredFiles(own=[home / "config", home / "data"])


def test_nothing_of_the_home_is_read_by_any_name(home: Path, tmp_path: Path) -> None:
    files = own_files(home)
    inside = [path for path in home.rglob("*") if path.is_file()]
    assert len(inside) == 5
    for number, path in enumerate(inside):
        hard, soft = tmp_path / f"hard{number}", tmp_path / f"soft{number}"
        os.link(path, hard)
        soft.symlink_to(path)
        around = f"{path.parent}/../{path.parent.name}/{path.name}"
        for name in (str(path), str(hard), str(soft), around, f"/proc/self/root{path}"):
            with pytest.raises(PermissionError):
                files.read(name, 100)


def test_a_home_behind_a_link_is_protected_as_well(home: Path, tmp_path: Path) -> None:
    (tmp_path / "by link").symlink_to(home)
    files = own_files(tmp_path / "by link")
    with pytest.raises(PermissionError):
        files.read(str(home / "config/key"), 100)


def test_a_file_that_is_written_later_is_protected_as_well(home: Path) -> None:
    files = own_files(home)
    (home / "config/.key-new").write_text("precious", encoding="ascii")
    with pytest.raises(PermissionError):
        files.read(str(home / "config/.key-new"), 100)


def test_other_files_are_read_up_to_a_limit(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "secret"
    place.write_bytes(b"x" * 50)
    assert own_files(home).read(str(place), 100) == b"x" * 50
    assert own_files(home).read(str(place), 10) == b"x" * 11, (
        "one more, so that it is noticed"
    )
    assert (
        ConfiguredFiles(own=[tmp_path / "missing"]).read(str(place), 100) == b"x" * 50
    )


def test_pipes_sockets_devices_and_folders_are_refused_without_waiting(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        started = time.monotonic()
        for place in (
            tmp_path / "pipe",
            tmp_path / "socket",
            tmp_path,
            Path("/dev/zero"),
        ):
            with pytest.raises(OSError):  # noqa: PT011 - as above
                ConfiguredFiles().read(str(place), 100)
    assert time.monotonic() - started < 1


def test_no_descriptor_stays_open_after_a_refusal(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for place in (tmp_path, "/proc/self/environ", "/dev/zero"):
        for _ in range(20):
            with pytest.raises(OSError):  # noqa: PT011 - as above
                ConfiguredFiles().read(str(place), 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_reference_to_the_environment_of_this_process_is_a_missing_secret() -> None:
    reference = parse_reference("file:/proc/self/environ", field="client_secret")
    made = build(
        "acme",
        {"base_url": "https://a.example"},
        references={"client_secret": reference},
    )
    with pytest.raises(SecretMissing, match="cannot be read"):
        ReferencedSecrets().open(made, "client_secret")


@pytest.mark.parametrize(
    "path", ["/proc/kmsg", "/proc/self/environ", "/dev/zero", "/dev/tty"]
)
@pytest.mark.parametrize("field", ["ca_file", "client_certificate"])
def test_certificates_are_read_without_waiting(path: str, field: str) -> None:
    failures: list[str] = []

    def try_context() -> None:
        try:
            make_context(TlsSettings(**{field: path}), Secret(""))
        except ConfigError as error:
            failures.append(str(error.field))

    thread = threading.Thread(target=try_context, daemon=True)
    thread.start()
    thread.join(5)
    assert failures == [f"tls.{field}"], "refused, and not waited for"


def test_a_certificate_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "ca.pem"
    one = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    place.write_text(one + "#" * 5_000_000, encoding="ascii")
    with pytest.raises(ConfigError, match="CA certificates"):
        make_context(TlsSettings(ca_file=str(place)))
