"""Packed bodies: gzip files and ZIP archives, whole, damaged and hostile."""

import gzip
import io
import zipfile

import pytest

from outkey.foundation.core.errors import OutkeyError, ResponseTooLarge, SyncFailed
from outkey.sending.core.request.packed_body import PackedBody
from outkey.sync.core.formats import unpacking
from outkey.sync.core.formats.unpacking import compression_of, unpack
from outkey.sync.core.line.line import Compression, ResponseFormat

MEBIBYTE = 1024 * 1024
TEXT = b"id,name\r\n1,Ada\r\n"


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def bomb(mebibytes: int) -> bytes:
    """Return a gzip file of a few kilobytes that is so large when it is unpacked."""
    return gzip.compress(b"0" * MEBIBYTE) * mebibytes


def whole_body(
    body: bytes,
    compression: Compression = Compression.AUTO,
    file: str = "",
    most_bytes: int = MEBIBYTE,
) -> bytes:
    packing = ResponseFormat(compression=compression, file=file)
    return b"".join(unpack(body, packing, most_bytes))


def refusal_of(body: bytes, **settings: object) -> str:
    with pytest.raises(SyncFailed) as caught:
        whole_body(body, **settings)  # type: ignore[arg-type]
    assert caught.value.reason == "bad_archive"
    return str(caught.value.message)


@pytest.mark.parametrize(
    "body",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:5]) + gzip.compress(b"") + gzip.compress(TEXT[5:]),
        gzip.compress(TEXT) + b"\0" * 20,  # padding, which tapes have
        zipped({"a.csv": TEXT}),
        zipped({"a.csv": TEXT}, zipfile.ZIP_STORED),
        zipped({"folder/": b"", "folder/a.csv": TEXT}),
        zipped({"../../etc/passwd": TEXT}),
        zipped({"C:\\con": TEXT}),
    ],
)
def test_a_body_is_unpacked_by_its_first_bytes(body: bytes) -> None:
    assert whole_body(body) == TEXT
    assert b"".join(unpack(PackedBody([body]), ResponseFormat(), MEBIBYTE)) == TEXT


@pytest.mark.parametrize("body", [b"", b"\x1f", b"[]", b"<a/>"])
def test_what_is_not_packed_stays_as_it_is(body: bytes) -> None:
    assert compression_of(body) is Compression.NONE
    assert whole_body(body) == body


def test_a_body_that_is_said_not_to_be_packed_stays_as_it_is() -> None:
    body = gzip.compress(TEXT)
    assert whole_body(body, Compression.NONE) == body


@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.ZIP])
def test_a_body_that_is_not_packed_as_the_line_says_is_refused(
    compression: Compression,
) -> None:
    assert "damaged, or not one" in refusal_of(TEXT, compression=compression)


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(TEXT)[:-1],
        gzip.compress(TEXT)[:12],
        gzip.compress(TEXT) + b"rubbish",
        gzip.compress(TEXT)[:-8] + b"\0" * 8,  # another checksum
        zipped({"a": TEXT * 99})[:-1],
        zipped({"a": TEXT * 99})[:60],
        zipped({"a": TEXT}, zipfile.ZIP_STORED).replace(b"Ada", b"Bob"),
        b"PK\x03\x04" + b"\0" * 40,
    ],
)
def test_a_damaged_file_is_refused(body: bytes) -> None:
    assert refusal_of(body)


def test_the_file_of_an_archive_is_chosen_by_a_pattern() -> None:
    archive = zipped({"read.me": b"no", "2026/prices-7.csv": TEXT, "other.csv": b"no"})
    for pattern in ("prices-*.csv", "2026/*.csv", "2026/prices-7.csv"):
        assert whole_body(archive, file=pattern) == TEXT
    assert "3 files" in refusal_of(archive)
    assert "named *.xml" in refusal_of(archive, file="*.xml")
    assert "2 files of the archive are named *.csv" in refusal_of(archive, file="*.csv")
    assert "no file" in refusal_of(zipped({}))


def test_an_encrypted_file_is_refused() -> None:
    archive = bytearray(zipped({"a": TEXT}))
    archive[6] |= 1
    archive[archive.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refusal_of(bytes(archive))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_without_a_limit_of_memory_are_refused(method: int) -> None:
    assert "a way that is not read" in refusal_of(zipped({"a": TEXT}, method))


@pytest.mark.parametrize(
    "body",
    [
        zipped({"a.zip": zipped({"b": TEXT})}),
        zipped({"a.gz": gzip.compress(TEXT)}),
        gzip.compress(gzip.compress(TEXT)),
    ],
)
def test_an_archive_in_an_archive_is_refused(body: bytes) -> None:
    assert "an archive itself" in refusal_of(body)


@pytest.mark.parametrize("size", [0, 1, 1000, 200_000])
def test_no_more_is_unpacked_than_the_limit(size: int) -> None:
    content = b"x" * size
    for body in (gzip.compress(content), zipped({"a": content})):
        assert whole_body(body, most_bytes=size) == content
        if size:
            with pytest.raises(ResponseTooLarge):
                whole_body(body, most_bytes=size - 1)


def test_a_bomb_is_refused_by_name_before_it_is_unpacked() -> None:
    packed = bomb(64)
    sizes: list[int] = []
    parts = unpack(packed, ResponseFormat(), MEBIBYTE)
    with pytest.raises(ResponseTooLarge) as caught:
        sizes.extend(map(len, parts))
    assert caught.value.code == "response_too_large"
    assert sum(sizes) <= MEBIBYTE
    assert max(sizes) <= 64 * 1024


def test_overlapping_files_of_an_archive_give_no_more_than_one() -> None:
    """As in a better zip bomb: every entry of the directory is the same content."""
    archive = zipped({f"{number:03}": b"0" * MEBIBYTE for number in range(2)})
    first = archive.index(b"PK\x01\x02")
    second = archive.index(b"PK\x01\x02", first + 1)
    overlapping = bytearray(archive)
    overlapping[second + 42 : second + 46] = b"\0" * 4  # where the content begins
    with pytest.raises(OutkeyError) as caught:
        whole_body(bytes(overlapping), file="001", most_bytes=10 * MEBIBYTE)
    assert (caught.value.reason or caught.value.code) == "bad_archive"
    assert len(whole_body(bytes(overlapping), file="000")) == MEBIBYTE


def test_too_many_files_are_refused_before_they_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unpacking, "MAX_ENTRIES", 3)
    archive = zipped({str(number): TEXT for number in range(3)})
    assert whole_body(archive, file="2") == TEXT
    more = zipped({str(number): TEXT for number in range(4)})
    assert "more than 3 files" in refusal_of(more, file="2")


def test_too_many_parts_of_a_gzip_file_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 3)
    assert whole_body(gzip.compress(b"") * 3) == b""
    assert "more than 3 parts" in refusal_of(gzip.compress(b"") * 4)
