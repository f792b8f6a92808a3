"""One script in its locked process: what it is given, how it is asked, what leaves.

Starts behind the lock. A frame from the application is a tag of 8 bytes, its own length and that of
its text, the text and bytes; what does not fit into one message follows in more. The text of some
calls is nine texts for each with NUL between them, the last the length of its body; the bytes are
the bodies. They are answered in messages of the tag and answers with NUL between them: a letter and
bytes. K name, newline, value, newline, … in UTF-8; H not headers; E an exception; S no secret; N no
function. No text that a script could choose leaves but its headers.

What a script may import, and what it sees, is for clear errors. The boundary is the kernel.
"""

import builtins
import json
import os
import struct
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from types import FunctionType, GeneratorType, NoneType
from typing import Any

FIRST, CHUNK = 4096, 65536  # what the first read takes, and each of the others
HEAD = struct.Struct("<8sII")
LARGEST_ANSWER = 65536
TEXTS = 9  # of each call
FUNCTION = "compute_auth_header"
_SCRIPT = "<script>"
_PLAIN = {kind for kind in vars(builtins).values() if isinstance(kind, type)} | {
    FunctionType,
    GeneratorType,
    NoneType,
}


class SecretMissing(Exception):
    """The script asks for a secret that nobody has entered."""


class Request:
    """What a script sees as `sync_line.request`."""

    def __init__(self, method: str, url: str, path: str, query: str, body: bytes) -> None:
        self.method = method
        self.url = url
        self.path = path
        self.query = query
        self.body = body


class Configuration:
    """What a script sees as `sync_line.api_config_id`: a facade, and no record."""

    def __init__(self, name: str, base_url: str, username: str, secret: str | None) -> None:
        self.name = name
        self.base_url = base_url
        self.username = username
        self._secret = secret

    def get_secret_key(self) -> str:
        """Return the configuration's one secret."""
        if self._secret is None:
            raise SecretMissing
        return self._secret


class SyncLine:
    """What a script is called with."""

    def __init__(self, name: str, configuration: Configuration, request: Request) -> None:
        self.name = name
        self.api_config_id = configuration
        self.request = request


_builtins: dict[str, Any] = {}


def offer(roots: frozenset[str]) -> None:
    """Make the builtins of scripts, which may import these packages where they are loaded."""

    def limited(name: str, *rest: Any) -> object:  # noqa: ANN401 - as __import__ takes it
        if name.partition(".")[0] not in roots or name not in sys.modules:
            raise ImportError
        return __import__(name, *rest)

    _builtins.update(vars(builtins), __import__=limited)


def serve(descriptor: int, set_clock: Callable[[float | None, int], None]) -> None:
    """Load one script with its secret, then answer calls until the application hangs up."""
    tag, opening, _ = _receive(descriptor)
    source, secret, at, shift = json.loads(opening)
    set_clock(at, shift)
    try:
        compute = _load(source)
        os.write(descriptor, tag + (b"K" if callable(compute) else b"N"))
    except BaseException as error:  # noqa: BLE001 - SystemExit and all others are the script's
        os.write(descriptor, tag + _describe(error))
    else:
        _answer_calls(descriptor, compute, secret)


def _answer_calls(descriptor: int, compute: Callable[[SyncLine], object], secret: str) -> None:
    while True:
        tag, text, bodies = _receive(descriptor)
        texts = text.split("\0")
        message, end = tag, 0
        for first in range(0, len(texts), TEXTS):
            start, end = end, end + int(texts[first + TEXTS - 1])
            line = _line(texts[first : first + TEXTS - 1], bodies[start:end], secret)
            answer = _answer(compute, line)
            if message is tag:
                message += answer
            elif len(message) + len(answer) < LARGEST_ANSWER:
                message += b"\0" + answer
            else:
                os.write(descriptor, message)
                message = tag + answer
        os.write(descriptor, message)


def _line(texts: list[str], body: bytes, secret: str | None) -> SyncLine:
    name, configuration, base_url, username, method, url, path, query = texts
    facade = Configuration(configuration, base_url, username, secret)
    return SyncLine(name, facade, Request(method, url, path, query, body))


def _answer(compute: Callable[[SyncLine], object], line: SyncLine) -> bytes:
    try:
        return _encode(compute(line))
    except SecretMissing:
        return b"S"
    except BaseException as error:  # noqa: BLE001 - the script's, whatever it is
        return _describe(error)


def _receive(descriptor: int) -> tuple[bytes, str, bytes]:
    """Return tag, text and bytes of the next frame; when there is none, the work is done."""
    frame = os.read(descriptor, FIRST)
    tag, size, length = HEAD.unpack_from(frame) if frame else os._exit(0)
    if size > FIRST:
        parts = [frame]
        while (size := size - len(parts[-1])) > 0:
            parts.append(os.read(descriptor, CHUNK) or os._exit(0))
        frame = b"".join(parts)
    start = HEAD.size + length
    return tag, frame[HEAD.size : start].decode("utf-8", "surrogatepass"), frame[start:]


def _load(source: str) -> Any:  # noqa: ANN401 - whatever the script made
    """Run the script's top level and return its function."""
    space: dict[str, Any] = {"__name__": "script", "__builtins__": _builtins}
    exec(compile(source, _SCRIPT, "exec"), space)  # noqa: S102 - that is what the lock is for
    return space.get(FUNCTION)


def _encode(result: object) -> bytes:
    """Return the headers as bytes, or what is wrong with them. The application checks again."""
    if type(result) is not dict and not isinstance(result, Mapping):
        return b"Hm" + _plain(result)
    parts = [*chain.from_iterable(result.items())]
    try:
        if sum(map(len, parts)) > LARGEST_ANSWER:
            return b"Hz"
        joined = "\n".join(parts)
    except TypeError:
        at = next(at for at, part in enumerate(parts) if not isinstance(part, str))
        return (b"Hv" if at % 2 else b"Hn") + _plain(parts[at])
    if "\0" in joined or (parts and joined.count("\n") >= len(parts)):
        return b"Hl"
    try:
        answer = b"K" + joined.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return b"He"
    return answer if len(answer) <= LARGEST_ANSWER else b"Hz"


def _plain(value: object) -> bytes:
    """Name the nearest built-in type: the name of any other class is text of the script."""
    return next(kind.__name__ for kind in type(value).__mro__ if kind in _PLAIN).encode()


def _describe(error: BaseException) -> bytes:
    """Name an exception by type and line of the script, never by its text."""
    line = error.lineno or 0 if isinstance(error, SyntaxError) else 0
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == _SCRIPT:
            line = step.tb_lineno
        step = step.tb_next
    return b"E%s %d" % (_plain(error), line)
