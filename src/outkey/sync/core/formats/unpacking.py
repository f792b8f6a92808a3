"""Unpacking bodies: gzip files and ZIP archives, never more than a limit permits.

Nothing is extracted to a disk, so that the names in an archive are only names.
"""

import zlib
from collections.abc import Iterator
from contextlib import closing
from fnmatch import fnmatchcase
from gzip import GzipFile
from io import BytesIO
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from outkey.foundation.core.errors import ResponseTooLarge
from outkey.foundation.core.text import Text
from outkey.sending.core.request.packed_body import PackedBody
from outkey.sync.core.line.line import Compression, ResponseFormat
from outkey.sync.core.run.reasons import sync_failure

MAX_ENTRIES = 10_000  # of an archive; each is an object in memory
MAX_MEMBERS = 100_000  # of a gzip file (RFC 1952 §2.2); empty ones take time as well
_PART = 64 * 1024
_GZIP = b"\x1f\x8b"
_MEMBER = b"\x1f\x8b\x08"
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"  # in the directory of an archive
_ENCRYPTED = 0x1
# Others may need gigabytes for a dictionary, or give all that a part has at once.
_METHODS = frozenset({ZIP_STORED, ZIP_DEFLATED})
# What the libraries raise for a damaged file, RuntimeError for one with a password.
_DAMAGES = (BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError)


def compression_of(body: bytes) -> Compression:
    """Return how a body is packed, by its first bytes."""
    if body.startswith(_GZIP):
        return Compression.GZIP
    if body.startswith((_ZIP, _EMPTY_ZIP)):
        return Compression.ZIP
    return Compression.NONE


def unpack(
    body: bytes | PackedBody, packing: ResponseFormat, most_bytes: int
) -> Iterator[bytes]:
    """Yield a body without its packing, in small parts.

    ResponseTooLarge as soon as it is more than so many bytes; SyncFailed if it is
    damaged, or packed in another way than the line says.
    """
    compression = packing.compression
    if compression is Compression.AUTO:
        compression = compression_of(next(_parts_of(body), b""))
    if compression is Compression.NONE:
        yield from _parts_of(body)
        return
    if isinstance(body, PackedBody):  # a file is looked for from its end
        body = b"".join(body)
    size = 0
    try:
        with closing(_opened(body, compression, packing.file)) as file:
            while part := file.read(min(_PART, most_bytes - size + 1)):
                if not size and compression_of(part) is not Compression.NONE:
                    raise sync_failure(
                        "bad_archive",
                        Text("the file in the archive is an archive itself"),
                    )
                size += len(part)
                if size > most_bytes:
                    raise ResponseTooLarge
                yield part
    except _DAMAGES:
        raise sync_failure("bad_archive") from None


def _parts_of(body: bytes | PackedBody) -> Iterator[bytes]:
    if isinstance(body, PackedBody):
        return iter(body)
    starts = range(0, len(body), _PART)
    return (body[start : start + _PART] for start in starts)


def _opened(
    body: bytes, compression: Compression, pattern: str
) -> GzipFile | IO[bytes]:
    """Return the file in a packed body."""
    if compression is Compression.GZIP:
        if body.count(_MEMBER) > MAX_MEMBERS:
            raise sync_failure(
                "bad_archive",
                Text("the gzip file has more than {count} parts", count=MAX_MEMBERS),
            )
        return GzipFile(fileobj=BytesIO(body))
    # Before all of them are read into memory.
    if body.count(_ENTRY) > MAX_ENTRIES:
        raise sync_failure(
            "bad_archive",
            Text("the archive has more than {count} files", count=MAX_ENTRIES),
        )
    archive = ZipFile(BytesIO(body))
    return archive.open(_entry_of(archive, pattern))


def _entry_of(archive: ZipFile, pattern: str) -> ZipInfo:
    """Return the only file of an archive, or the only one that a pattern names."""
    entries = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and _is_named(entry.filename, pattern)
    ]
    if len(entries) != 1:
        raise sync_failure("bad_archive", _count_text(len(entries), pattern))
    (entry,) = entries
    if entry.flag_bits & _ENCRYPTED:
        raise sync_failure("bad_archive", Text("the file in the archive is encrypted"))
    if entry.compress_type not in _METHODS:
        raise sync_failure(
            "bad_archive",
            Text("the file in the archive is compressed in a way that is not read"),
        )
    return entry


def _is_named(name: str, pattern: str) -> bool:
    """Whether a pattern names an entry, by its whole name or without its folders."""
    if not pattern:
        return True
    last = name.rpartition("/")[2]
    return fnmatchcase(name, pattern) or fnmatchcase(last, pattern)


def _count_text(count: int, pattern: str) -> Text:
    """Return why it is unknown which entry of an archive has the records."""
    if not count and pattern:
        return Text("no file of the archive is named {file}", file=pattern)
    if not count:
        return Text("the archive has no file")
    if pattern:
        return Text(
            "{count} files of the archive are named {file}", count=count, file=pattern
        )
    return Text("the archive has {count} files", count=count)
