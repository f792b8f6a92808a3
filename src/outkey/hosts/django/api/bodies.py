"""Bodies of requests to the send proxy: in memory only if they are small."""

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, TypeGuard

from django.http import HttpRequest

from outkey.hosts.django.api.responses import body_too_large
from outkey.hosts.django.web.content_length import stated_size
from outkey.sending.core.request.message import BodySource

CHUNK = 64 * 1024


class BodyInFile:
    """A body in a file, which is read anew for every attempt to send it."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size

    def __len__(self) -> int:
        return self._size

    def parts(self) -> Iterator[bytes]:
        """Yield the body from its start."""
        self._file.seek(0)
        left = self._size
        while left > 0:
            part = self._file.read(min(CHUNK, left))
            if not part:
                raise OSError("the body is shorter than it was")
            left -= len(part)
            yield part


def read_body(request: HttpRequest, limit: int) -> bytes | BodySource:
    """Return the body of a request, within a limit."""
    size = stated_size(request.META)
    if size > limit:
        raise body_too_large()
    if size <= CHUNK:
        return whole_body(request, limit)
    file = request.META.get("wsgi.input")
    if _is_seekable(file):
        # waitress has read the body already, into a temporary file if it is large.
        return BodyInFile(file, size)
    return _body_in_file(request, limit)


def whole_body(request: HttpRequest, limit: int) -> bytes | BodySource:
    """Return a body that is small, unless it has no length and turns out large."""
    body = request.read(CHUNK + 1)
    if len(body) <= CHUNK:
        return bytes(body)
    return _body_in_file(request, limit, beginning=bytes(body))


def _body_in_file(
    request: HttpRequest, limit: int, beginning: bytes = b""
) -> BodySource:
    """Return a body that arrives as it is read, in a temporary file."""
    file = TemporaryFile()  # noqa: SIM115 - closed when the request is forgotten
    file.write(beginning)
    size = len(beginning)
    while part := request.read(CHUNK):
        size += len(part)
        if size > limit:
            raise body_too_large()
        file.write(part)
    return BodyInFile(file, size)


def _is_seekable(file: object) -> TypeGuard[IO[bytes]]:
    """Whether a file can be read from its start again."""
    seekable = getattr(file, "seekable", None)
    return seekable is not None and bool(seekable())
