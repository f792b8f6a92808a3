"""The operator's file of backends: what is read, and what is refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sending.adapters.secrets.backends_file import BackendsFile
from outkey.sending.core.backends.settings import FILE_NAME, NO_BACKENDS

TEXT = """
[backend.main]
store = "vault"
address = "https://vault.example"
token = "env:T"
"""


def make_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def make_folder(path: Path) -> None:
    path.mkdir(0o700)


def link_to_a_file_of_all(path: Path) -> None:
    target = path.with_name("other.toml")
    target.write_text(TEXT)
    target.chmod(0o666)
    path.symlink_to(target)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def write_latin(path: Path) -> None:
    path.write_bytes(b"# \xe4")
    path.chmod(0o600)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / FILE_NAME


@pytest.mark.parametrize(
    "make",
    [make_pipe, make_folder, link_to_a_file_of_all, link_to_itself, write_latin],
)
def test_what_is_no_file_of_the_operator_is_refused_and_blocks_nobody(
    path: Path, make: Callable[[Path], None]
) -> None:
    make(path)
    file = BackendsFile(path.parent.parent)
    for _ in range(2):
        with pytest.raises(ConfigError) as refusal:
            file.read()
        assert refusal.value.field == FILE_NAME


def test_without_the_file_there_are_no_backends(path: Path) -> None:
    assert BackendsFile(path.parent.parent).read() is NO_BACKENDS


def test_an_unchanged_file_gives_the_same_backends(path: Path) -> None:
    path.write_text(TEXT)
    path.chmod(0o600)
    file = BackendsFile(path.parent.parent)
    first = file.read()
    file._look_at = 0.0
    assert file.read() is first
    assert first.named("main").name == "main"
