"""The application's side of the conversation with one worker.

The only place that reveals a secret to a script, and only to a worker that reports that
it is locked. A response is read as if an attacker had written it; anything unexpected
kills the worker.
"""

import builtins
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from outkey.foundation.core.errors import (
    HeaderFormatError,
    OutkeyError,
    ScriptFailed,
    SecretMissing,
)
from outkey.foundation.core.script_syntax import IMPORT_HINT
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, build_text
from outkey.sending.adapters.scripts_locked.spawner import Spawned, unavailable
from outkey.sending.adapters.scripts_locked.worker import (
    CHUNK,
    FIRST,
    HEAD,
    LARGEST_RESPONSE,
    TAG,
    TEXTS,
)
from outkey.sending.core.request.script import (
    MAX_BODY,
    MAX_RECORD,
    Pairs,
    ScriptCall,
    ScriptResult,
)

_MAX_CALLS = 10_000
# Seconds. A worker is replaced long before its own limit of processor time.
_MAX_BUSY = 20.0
_START_SECONDS = 5.0
_LARGEST_MESSAGE = TAG + LARGEST_RESPONSE
# The limit for the response to one record; other responses may follow it.
_LARGEST_RECORD = 2 * MAX_RECORD

_TYPES = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)
} | {
    "NoneType": type(None),
    "generator": object,
    "function": object,
}
# By the letter that a worker sends; the kind stands for the type of the value.
_WRONG_PARAMETER = {
    "m": Text("the script returned {kind} as query and not a mapping", kind="…"),
    "n": Text(
        "the script returned a parameter name that is {kind} and not text", kind="…"
    ),
    "v": Text(
        "the script returned a parameter value that is {kind} and not text", kind="…"
    ),
    "l": Text("the script returned a parameter with a line break or a NUL character"),
    "e": Text("the script returned text that is not Unicode"),
    "z": Text("the script returned more than 64 KiB of parameters"),
}
_WRONG_HEADER = {
    "m": Text("the script returned {kind} and not a mapping", kind="…"),
    "n": Text(
        "the script returned a header name that is {kind} and not text", kind="…"
    ),
    "v": Text(
        "the script returned a header value that is {kind} and not text", kind="…"
    ),
    "l": Text("the script returned a header with a line break or a NUL character"),
    "e": Text("the script returned text that is not Unicode"),
    "z": Text("the script returned more than 64 KiB of headers"),
    "k": Text("the script returned another key beside headers and query"),
}
_WRONG_RESULT = {"H": _WRONG_HEADER, "Q": _WRONG_PARAMETER}
ResultOrError = ScriptResult | OutkeyError
Read = TypeVar("Read")
ResponseReader = Callable[["ScriptWorker", str], Read]  # of one response
ENDED = Text("the script ended its process")
_OUT_OF_TURN = Text("the script sent an unexpected message")
_RETURN = Text('Write: return {{"X-Name": "text"}}')
_NUMBER = Text("Write a number as text: str(number).")
_BYTES = Text(
    "Convert bytes to text: .decode(), or base64.b64encode(…).decode() if they are not"
    " text."
)
_AS_TEXT = {
    "int": _NUMBER,
    "float": _NUMBER,
    "complex": _NUMBER,
    "bytes": _BYTES,
    "bytearray": _BYTES,
    "memoryview": _BYTES,
}
_HINTS = {
    ("m", "NoneType"): Text(
        'End every path through the function with: return {{"X-Name": "text"}}'
    ),
    ("v", "NoneType"): Text(
        "Omit the header if there is no value, or return an empty text."
    ),
    ("k", ""): Text(
        'Return {{"headers": {{…}}, "query": {{…}}}} with these keys only.'
    ),
    ("l", ""): Text(
        "Use base64.b64encode, not encodebytes, and remove line breaks with .strip()."
    ),
}


class WorkerEnded(Exception):
    """The worker had ended before the call."""


class NoResponse(ScriptFailed):
    """The script gave no response; `word` is the reason given for a rejected record."""

    word = "script_error"


class ScriptTimedOut(NoResponse):
    """The script took longer than it may."""

    word = "script_timeout"


class ScriptWorker:
    """A locked process with one script and one secret."""

    def __init__(self, spawned: Spawned, call: ScriptCall, limit: float) -> None:
        self._channel = spawned.channel
        self._pidfd = spawned.pidfd
        self._limit = limit
        # One byte more than allowed: recv cuts longer messages silently.
        self._buffer = bytearray(_LARGEST_MESSAGE + 1)
        self._view = memoryview(self._buffer)
        self._tags: list[bytes] = []
        self._calls = 0
        self._busy = 0.0
        self._source = call.source
        self._secret = call.secret
        self._shift = call.shift
        self._function = call.function
        self._lines = call.source.count("\n") + 1
        self._is_loaded = False
        self._alive = True
        self.has_failed = False

    @property
    def is_spent(self) -> bool:
        """Whether the worker is due for replacement.

        Replacing it also frees the memory that its scripts have used.
        """
        return not self._alive or self._calls >= _MAX_CALLS or self._busy >= _MAX_BUSY

    def serves(self, call: ScriptCall) -> bool:
        """Whether the worker has the script and the secret of a call."""
        same = self._source == call.source and self._shift == call.shift
        same = same and self._function == call.function
        return same and (self._secret is call.secret or self._secret == call.secret)

    def run(
        self, calls: Sequence[ScriptCall], read: ResponseReader[Read]
    ) -> list[Read]:
        """Return the response to each call, read by `read`, after one round trip."""
        text, bodies = _encode_calls(calls)
        if not self._is_loaded:
            self._load(calls[0])
        started = time.monotonic()
        responses = self._request(text, bodies, len(calls))
        self._calls += len(calls)
        self._busy += time.monotonic() - started
        return [read(self, response) for response in responses]

    def kill(self) -> None:
        """Kill the process by its pidfd, which is never reused for another process."""
        if self._alive:
            self._alive = False
            self._channel.close()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            os.close(self._pidfd)

    def forget(self) -> None:
        """In a forked child, close the descriptors of the parent's worker."""
        if self._alive:
            self._alive = False
            self._channel.close()
            os.close(self._pidfd)

    def _load(self, call: ScriptCall) -> None:
        """Send script and secret to a process that reports that it is locked."""
        self._channel.settimeout(_START_SECONDS)
        try:
            greeting = self._channel.recv(256)
        except OSError:
            greeting = b""
        if greeting != b"R":
            self.kill()
            raise unavailable(
                greeting[1:].decode(errors="replace") or "a worker cannot be locked"
            )
        self._channel.settimeout(self._limit)
        secret = None if call.secret is None else call.secret.reveal()
        opening = call.source, secret, call.at, call.shift, call.function
        (response,) = self._request(json.dumps(opening))
        if response != "K":
            self.kill()
            raise self._reason(response)
        self._is_loaded = True

    def _request(self, text: str, body: bytes = b"", count: int = 1) -> list[str]:
        """Send one frame and return its responses."""
        tag = self._tag()
        data = text.encode("utf-8", "surrogatepass")
        head = HEAD.pack(tag, HEAD.size + len(data) + len(body), len(data))
        try:
            self._send(head + data + body)
        except TimeoutError:
            raise self._too_long() from None
        except OSError:
            self._fail(ENDED)
            raise WorkerEnded from None
        if count == 1:
            return [self._receive(tag)]
        responses: list[str] = []
        # At most four times what one call may take;
        # slower frames are sent call by call.
        end = time.monotonic() + self._limit * min(count, 4)
        while len(responses) < count and self._alive:
            self._channel.settimeout(max(end - time.monotonic(), 0.001))
            responses += self._receive(tag).split("\0")
        if len(responses) != count:
            raise self.fail_out_of_turn()
        self._channel.settimeout(self._limit)
        return responses

    def _receive(self, tag: bytes) -> str:
        """Return the next message with the messages that continue it."""
        text = self._message(tag)
        return self._with_continuations(text, tag) if text[-1] == "\0" else text

    def _with_continuations(self, text: str, tag: bytes) -> str:
        end = time.monotonic() + self._limit
        while text[-1] == "\0":
            seconds = end - time.monotonic()
            if seconds <= 0:
                raise self._too_long()
            if len(text) > _LARGEST_RECORD:
                raise self.fail_out_of_turn()
            self._channel.settimeout(seconds)
            text = text[:-1] + self._message(tag)
        self._channel.settimeout(self._limit)
        return text

    def _message(self, tag: bytes) -> str:
        """Return the next message without its tag, which a script cannot guess."""
        try:
            size = self._channel.recv_into(self._buffer)
        except TimeoutError:
            raise self._too_long() from None
        except OSError:
            size = 0
        if size == 0:
            raise self._fail(ENDED)
        if not TAG < size <= _LARGEST_MESSAGE or not self._buffer.startswith(tag):
            raise self.fail_out_of_turn()
        try:
            return str(self._view[TAG:size], "utf-8")
        except UnicodeDecodeError:
            raise self.fail_out_of_turn() from None

    def _tag(self) -> bytes:
        """Return the next tag; many are drawn at once, which saves system calls."""
        if not self._tags:
            random_bytes = os.urandom(TAG * 256)
            starts = range(0, len(random_bytes), TAG)
            self._tags = [random_bytes[start : start + TAG] for start in starts]
        return self._tags.pop()

    def _send(self, frame: bytes) -> None:
        if len(frame) <= FIRST:
            # `send` would first ask the kernel whether there is room. There is: the
            # worker has read all that it was sent, or it would have been killed.
            os.write(self._channel.fileno(), frame)
            return
        self._channel.send(frame[:FIRST])
        end = time.monotonic() + self._limit
        for start in range(FIRST, len(frame), CHUNK):
            self._channel.send(frame[start : start + CHUNK])
            if time.monotonic() > end:
                raise TimeoutError

    def read_result(self, response: str) -> ResultOrError:
        """Return the result in a response, or the error that it reports."""
        if response[:1] == "K":
            texts = response[1:].split("\n") if response != "K" else []
            count = len(texts) // 2
        elif response[:1] == "P":
            digits, *texts = response[1:].split("\n")
            is_number = digits.isascii() and digits.isdigit() and len(digits) < 8
            count = int(digits) if is_number else len(texts)
        else:
            return self._reason(response)
        if len(texts) % 2 or count > len(texts) // 2:
            return self.fail_out_of_turn()
        if "\r" in response and any("\r" in name for name in texts[::2]):
            return _bad_result_error("H", "l")
        each = iter(texts)
        pairs = tuple(zip(each, map(Secret, each), strict=True))
        return ScriptResult(pairs[:count], pairs[count:])

    def _reason(self, response: str) -> OutkeyError:
        """Return the error for a response, without any text of the script."""
        kind = response[:1]
        rest = response[1:]
        if (exception := self.exception_in(response)) is not None:
            return _exception_error(*exception)
        is_fault = rest[:1] in _WRONG_RESULT.get(kind, ())
        if is_fault and (rest[1:] in _TYPES or not rest[1:]):
            return _bad_result_error(kind, rest[:1], rest[1:])
        if response == "S" and self._secret is None:
            return SecretMissing(field="secret_key")
        if response == "N":
            return ScriptFailed(
                Text("the script has no function {function}", function=self._function)
            )
        return self.fail_out_of_turn()

    def exception_in(self, response: str) -> tuple[type[BaseException], int] | None:
        """Return the type and line of what the script raised.

        The type must be one of Python's own: any other name is text of the script.
        """
        name, _, digits = (
            response[1:].partition(" ") if response[:1] == "E" else ("", "", "")
        )
        kind = _TYPES.get(name, object)
        line = (
            int(digits)
            if digits.isascii() and digits.isdigit() and len(digits) < 8
            else -1
        )
        is_known = issubclass(kind, BaseException) and 0 <= line <= self._lines
        return (kind, line) if is_known else None

    def fail_out_of_turn(self) -> NoResponse:
        """Kill a worker that sent something unexpected, and return the error."""
        return self._fail(_OUT_OF_TURN)

    def _too_long(self) -> NoResponse:
        return self._fail(
            Text(
                "the script took longer than {limit} ms",
                limit=round(self._limit * 1000),
            ),
            ScriptTimedOut,
        )

    def _fail(self, reason: Text, kind: type[NoResponse] = NoResponse) -> NoResponse:
        self.has_failed = True
        self.kill()
        return kind(reason)


def _exception_error(kind: type[BaseException], line: int) -> ScriptFailed:
    if kind is MemoryError:
        message = Text("the script used too much memory")
        if line:
            message = Text("the script used too much memory in line {line}", line=line)
        return ScriptFailed(message)
    message = Text("the script raised {error}", error=kind.__name__)
    if line:
        message = Text(
            "the script raised {error} in line {line}", error=kind.__name__, line=line
        )
    return ScriptFailed(
        message, hint=IMPORT_HINT if issubclass(kind, ImportError) else None
    )


def _bad_result_error(part: str, letter: str, kind: str = "") -> HeaderFormatError:
    """Return the error for what a script returned, with what to write instead."""
    hint = _HINTS.get((letter, kind))
    if hint is None and letter in "nv":
        hint = _AS_TEXT.get(kind, _RETURN)
    elif hint is None and letter == "m":
        hint = _RETURN
    message = build_text(_WRONG_RESULT[part][letter].template, {"kind": kind})
    fault = "invisible-characters" if letter == "l" else ""
    return HeaderFormatError(message, hint=hint, fault=fault)


def _joined(pairs: Pairs) -> str:
    """Return names and values, each on a line: no header has a line break."""
    return "\n".join(chain.from_iterable(pairs))


def _encode_calls(calls: Sequence[ScriptCall]) -> tuple[str, bytes]:
    texts = []
    for call in calls:
        size = len(call.body)
        if size > MAX_BODY:
            raise ScriptFailed(
                Text(
                    "the body of the request is larger than 16 MiB, the limit for"
                    " scripts"
                )
            )
        texts.append(
            f"{call.name}\0{call.connection}\0"
            f"{call.configuration}\0{call.base_url}\0{call.username}\0"
            f"{call.method}\0{call.url}\0{call.path}\0{call.query}\0"
            f"{_joined(call.headers)}\0{size}"
        )
    text = "\0".join(texts)
    if text.count("\0") != len(calls) * TEXTS - 1:
        raise ScriptFailed(
            Text("the name or the URL of the request has a NUL character")
        )
    return text, b"".join([call.body for call in calls])
