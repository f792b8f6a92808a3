"""The text of a body: its character encoding, and its lines."""

import io
import re
from collections.abc import Iterator

from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.formats.charsets import codec_of
from outkey.sync.core.run.reasons import sync_failure

_CHARSET = re.compile(r';[ \t]*charset=(?:"([^"\\]*)"|([^\s;"]*))', re.IGNORECASE)
_PART = 64 * 1024
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def stated_codec(charset: str, headers: ResponseHeaders) -> str | None:
    """Return Python's name of the encoding that a line or a response states, if any."""
    name = charset or _charset_in(headers)
    if not name:
        return None
    codec = codec_of(name)
    if codec is None:
        raise sync_failure(
            "bad_charset", Text("the charset of the response is not known here")
        )
    return codec


def _charset_in(headers: ResponseHeaders) -> str:
    """Return the charset of Content-Type (RFC 9110 §8.3.2), "" if it has none."""
    stated = _CHARSET.search(headers.get("Content-Type"))
    return (stated[1] or stated[2]).strip() if stated else ""


def codec_for(codec: str | None, beginning: bytes) -> str:
    """Return the encoding of a body that begins so; UTF-8 unless something tells."""
    if codec is None and beginning.startswith(_UTF_16_MARKS):
        return "utf-16"
    return "utf-8-sig" if codec in {None, "utf-8"} else str(codec)


class TextLines:
    """The lines of a body with their ends, none longer than a limit."""

    def __init__(
        self, parts: Iterator[bytes], codec: str | None, *, newline: str, longest: int
    ) -> None:
        first = next(parts, b"")
        self._text = io.TextIOWrapper(
            io.BufferedReader(_Parts(first, parts), _PART),
            encoding=codec_for(codec, first),
            errors="strict",
            newline=newline,
        )
        self._longest = longest
        self.number = 0  # of the last line
        self.characters = 0  # so far

    def __iter__(self) -> Iterator[str]:
        while line := self._read():
            self.characters += len(line)
            yield line

    def _read(self) -> str:
        """Return the next line, "" at the end."""
        self.number += 1
        try:
            # One that is longer comes in pieces.
            line = self._text.readline(self._longest + 1)
        except UnicodeError:
            raise sync_failure("bad_charset") from None
        return line.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else line


class _Parts(io.RawIOBase):
    """Parts of a body as a file that can be read once."""

    def __init__(self, first: bytes, parts: Iterator[bytes]) -> None:
        super().__init__()
        self._rest = first
        self._parts = parts

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer, with 0 bytes at the end."""
        part = self._rest or next(self._parts, b"")
        count = min(len(part), len(buffer))
        buffer[:count] = part[:count]
        self._rest = part[count:]
        return count
