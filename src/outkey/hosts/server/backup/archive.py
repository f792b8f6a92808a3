"""The file of a backup: a tar archive with a manifest, readable by its owner only.

It has what cannot be made again: the database, the checkpoints of the audit and the
operator's policy. It never has a key: without one the secrets in it stay sealed.
"""

import errno
import gzip
import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import IO, BinaryIO, Self

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.hosts.server.backup.work_folders import DRAFT

FORMAT = 2  # 1 had no signature
MANIFEST = "manifest.json"
DATABASE = "database"
CHECKPOINTS = "audit-checkpoints"
POLICY = "policy.toml"
MAX_MANIFEST = 64 * 1024
CHUNK = 1024 * 1024
MAX_READ = 4 * CHUNK
_HEXADECIMAL = re.compile("[0-9a-f]*")
NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts about a backup."""

    version: str  # of outkey
    database: str  # sqlite or postgresql
    created_at: str  # ISO 8601
    sha256: Mapping[str, str]  # of each member
    format: int = FORMAT
    key: str = ""  # the name of the key that signed it
    code: str = ""  # over everything else in the manifest

    @classmethod
    def from_bytes(cls, text: bytes) -> Self:
        """Return the manifest of a backup, or raise ConfigError."""
        try:
            facts = json.loads(text)
            is_newer = facts["format"] > FORMAT
            manifest = None if is_newer else cls(**facts)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise not_a_backup() from None
        if manifest is None:
            raise _made_by_newer_version()
        if not manifest.is_well_formed():
            raise not_a_backup()
        # Its tables may be others than this version knows.
        if _release_of(manifest.version) > _release_of(version("outkey")):
            raise _made_by_newer_version()
        return manifest

    def is_well_formed(self) -> bool:
        """Whether each fact has the form that a backup gives it."""
        texts = (self.version, self.database, self.created_at, self.key, self.code)
        return (
            all(isinstance(text, str) for text in texts)
            and isinstance(self.sha256, dict)
            and all(_HEXADECIMAL.fullmatch(text) for text in (self.key, self.code))
        )

    def to_bytes(self) -> bytes:
        """Return the manifest as it is stored."""
        return json.dumps(asdict(self), indent=2).encode() + b"\n"


def write_archive(
    file: Path,
    members: Mapping[str, Path],
    manifest: Callable[[Mapping[str, str]], Manifest],
    *,
    progress: Progress,
    folder: Path,
) -> None:
    """Write a backup: whole, or not at all.

    Where the unfinished file is stands in the folder, for the case of a kill.
    """
    hashes = {name: hash_of(path, progress) for name, path in members.items()}
    text = manifest(hashes).to_bytes()
    draft = file.absolute().with_name(f".{file.name}-{token_hex(4)}")
    (folder / DRAFT).write_text(str(draft), encoding="utf-8")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as output:
            _write_members(output, text, members, progress)
            output.flush()
            os.fsync(output.fileno())
        give_name(draft, file)
    except FileExistsError:
        raise file_exists() from None
    finally:
        draft.unlink(missing_ok=True)


def give_name(draft: Path, file: Path) -> None:
    """Give a written file its name, or raise FileExistsError."""
    try:
        os.link(draft, file)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        # As on a memory stick or a share, where two steps are needed.
        if file.exists():
            raise FileExistsError from None
        draft.rename(file)


def _write_members(
    output: BinaryIO, manifest: bytes, members: Mapping[str, Path], progress: Progress
) -> None:
    """Write the manifest and the members, without owners and times of this machine."""
    with tarfile.open(fileobj=output, mode="w:gz", compresslevel=1) as archive:
        with tempfile.TemporaryFile() as written:
            written.write(manifest)
            written.seek(0)
            archive.addfile(entry(MANIFEST, len(manifest)), written)
        for name, path in members.items():
            with path.open("rb") as member:
                size = os.fstat(member.fileno()).st_size
                archive.addfile(entry(name, size), member)
                progress(size)


def entry(name: str, size: int) -> tarfile.TarInfo:
    """Return the entry of a member."""
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o600
    return info


def read_archive(file: Path, folder: Path) -> Manifest:
    """Write the members of a backup to a folder, and return its manifest.

    Raises ConfigError if it is not a whole backup. No name of the archive is used.
    """
    manifest: Manifest | None = None
    found: dict[str, str] = {}
    try:
        with (
            BoundedGzip(file) as content,
            tarfile.open(fileobj=content, mode="r:") as archive,
        ):
            for info in archive:
                member = archive.extractfile(info) if _is_plain_file(info) else None
                if member is None:
                    raise not_a_backup()
                if info.name == MANIFEST:
                    manifest = Manifest.from_bytes(member.read(MAX_MANIFEST))
                elif info.name in {DATABASE, CHECKPOINTS, POLICY}:
                    _refuse_full_disk(folder, info.size)
                    found[info.name] = _copy_member(member, folder / info.name)
                else:
                    raise not_a_backup()
    except FileNotFoundError:
        raise ConfigError(Text("there is no such file"), field="FILE") from None
    except (tarfile.TarError, EOFError, OSError, zlib.error):
        raise not_a_backup() from None
    if manifest is None or DATABASE not in found or found != dict(manifest.sha256):
        raise not_a_backup()
    return manifest


class BoundedGzip(gzip.GzipFile):
    """Refuses a header of an archive that would fill the memory."""

    def read(self, size: int | None = -1) -> bytes:
        """Return some bytes: nothing in a backup is read as a whole."""
        if size is None or not 0 <= size <= MAX_READ:
            raise not_a_backup()
        return super().read(size)


def _is_plain_file(info: tarfile.TarInfo) -> bool:
    """Whether a member has as many bytes in the archive as its header states."""
    return info.isreg() and not info.issparse()


def _refuse_full_disk(folder: Path, size: int) -> None:
    """Raise StorageUnavailable if a folder has no space for a member."""
    if shutil.disk_usage(folder).free < size:
        raise StorageUnavailable(
            Text("the disk has no space for the data of the backup")
        )


def _copy_member(content: IO[bytes], place: Path) -> str:
    """Write a member to a file for its owner only, and return its hash."""
    digest = hashlib.sha256()
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as output:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            output.write(chunk)
        output.flush()
        os.fsync(output.fileno())
    return digest.hexdigest()


def hash_of(path: Path, progress: Progress) -> str:
    """Return the hash of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            progress(len(chunk))
    return digest.hexdigest()


def not_a_backup() -> ConfigError:
    """Return the error for a file that no backup wrote, or that is damaged."""
    return ConfigError(
        Text("this is not a backup of outkey, or it is damaged"),
        hint=Text("Use a file that `outkey backup` has written."),
        field="FILE",
    )


def _made_by_newer_version() -> ConfigError:
    """Return the error for a backup that this version may not understand."""
    return ConfigError(
        Text("the backup was made by a newer version of outkey"),
        hint=Text("Restore it with that version."),
        field="FILE",
    )


def _release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to be compared."""
    return tuple(map(int, re.findall(r"[0-9]{1,9}", version)[:3]))


def file_exists() -> ConfigError:
    """Return the error for a file that a backup would overwrite."""
    return ConfigError(
        Text("the file exists already"),
        hint=Text("Choose another name: a backup never overwrites a file."),
        field="FILE",
    )


def copy_if_there(source: Path, place: Path) -> bool:
    """Copy a file; return whether there was one."""
    with suppress(FileNotFoundError):
        place.write_bytes(source.read_bytes())
        return True
    return False
