"""One script in its locked process: the protocol, the script's view, and its results.

`serve` runs in a process that is locked already. A frame from the application is a tag
of 8 bytes, the length of the frame, the length of its text, the text, and bytes; a
frame that does not fit into one message is continued in the next ones. The text has
ten parts for each call, separated by NUL, the last being the length of the call's
body; the bytes are the bodies.

The response is one or more messages: the tag, and responses separated by NUL, each a
letter and bytes. K: name, newline, value, newline, … in UTF-8, or a record in JSON.
P: the number of headers, newline, then the names and values of headers and parameters.
H, Q: the result is not a mapping of headers, or of parameters. R: it is not a record.
E: an exception. S: there is no secret. N: there is no function. A message that ends
with NUL is continued in the next one. Of a script's own text only its headers, its
parameters or its record leave the process.

The limits on imports and names only make errors clear. The boundary is the kernel.
"""

import builtins
import json
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import chain
from json.encoder import encode_basestring_ascii as json_string
from math import isfinite
from types import FunctionType, GeneratorType, NoneType
from typing import Any

FIRST = 4096  # bytes of the first read
CHUNK = 65536  # and of each following one
TAG = 8  # bytes
HEAD = struct.Struct(f"<{TAG}sII")
LARGEST_RESPONSE = 65536
LARGEST_RECORD = 256 * 1024
TEXTS = 11  # of each call
TRANSFORM = "transform"
_SCRIPT = "<script>"
_PLAIN = {kind for kind in vars(builtins).values() if isinstance(kind, type)} | {
    FunctionType,
    GeneratorType,
    NoneType,
}


class NoSecretKey(Exception):
    """The script asks for a secret that was not entered."""


class ScriptRequest:
    """The request, which a script sees as `sync_line.request`."""

    def __init__(
        self, texts: Sequence[str], headers: tuple[tuple[str, str], ...], body: bytes
    ) -> None:
        self.method, self.url, self.path, self.query = texts
        self.headers = headers
        self.body = body


class ScriptConfiguration:
    """A facade of the configuration: `sync_line.api_config_id` of a script."""

    def __init__(
        self, name: str, base_url: str, username: str, secret: str | None
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.username = username
        self._secret = secret

    def get_secret_key(self) -> str:
        """Return the configuration's one secret."""
        if self._secret is None:
            raise NoSecretKey
        return self._secret


class ScriptSyncLine:
    """The argument of a script's function."""

    def __init__(
        self,
        name: str,
        connection: str,
        configuration: ScriptConfiguration,
        request: ScriptRequest,
    ) -> None:
        self.name = name
        self.connection = connection  # the id of the account; empty without one
        self.api_config_id = configuration
        self.request = request


_builtins: dict[str, Any] = {}


def offer(roots: frozenset[str]) -> None:
    """Prepare the builtins of scripts, which import only these loaded packages."""

    def import_loaded(name: str, *rest: Any) -> object:  # noqa: ANN401 - as __import__ takes it
        if name.partition(".")[0] not in roots or name not in sys.modules:
            raise ImportError
        return __import__(name, *rest)

    _builtins.update(vars(builtins), __import__=import_loaded)


def serve(descriptor: int, set_clock: Callable[[float | None, int], None]) -> None:
    """Load one script and its secret, then run calls until the application hangs up."""
    tag, opening, _ = _receive(descriptor)
    source, secret, at, shift, function = json.loads(opening)
    set_clock(at, shift)
    try:
        compute = _load(source, function)
        os.write(descriptor, tag + (b"K" if callable(compute) else b"N"))
    except BaseException as error:  # noqa: BLE001 - SystemExit and all others are the script's
        os.write(descriptor, tag + _describe(error))
    else:
        sign = partial(_sign, compute, secret)
        _respond_to_calls(
            descriptor, partial(_transform, compute) if function == TRANSFORM else sign
        )


def _respond_to_calls(
    descriptor: int, response_to: Callable[[list[str], bytes], bytes]
) -> None:
    while True:
        tag, text, bodies = _receive(descriptor)
        texts = text.split("\0")
        message, end = tag, 0
        for first in range(0, len(texts), TEXTS):
            start, end = end, end + int(texts[first + TEXTS - 1])
            response = response_to(texts[first : first + TEXTS - 1], bodies[start:end])
            if message is tag:
                message += response
            elif len(message) + len(response) < LARGEST_RESPONSE:
                message += b"\0" + response
            else:
                os.write(descriptor, message)
                message = tag + response
            while len(message) > LARGEST_RESPONSE + len(tag):
                os.write(descriptor, message[:LARGEST_RESPONSE] + b"\0")
                message = tag + message[LARGEST_RESPONSE:]
        os.write(descriptor, message)


def _sign(
    compute: Callable[[ScriptSyncLine], object],
    secret: str | None,
    texts: list[str],
    body: bytes,
) -> bytes:
    name, connection, configuration, base_url, username, *request, headers = texts
    facade = ScriptConfiguration(configuration, base_url, username, secret)
    each = iter(headers.split("\n") if headers else ())
    pairs = tuple(zip(each, each, strict=True))
    try:
        seen = ScriptRequest(request, pairs, body)
        return _encode(compute(ScriptSyncLine(name, connection, facade, seen)))
    except NoSecretKey:
        return b"S"
    except BaseException as error:  # noqa: BLE001 - any exception of the script
        return _describe(error)


def _transform(
    transform: Callable[[object], object], _texts: list[str], record: bytes
) -> bytes:
    """Return the record that the script returns, as JSON; null skips the record."""
    try:
        result = transform(json.loads(record, parse_float=Decimal))
        response = (
            b"K" + json_text(result).encode()
            if isinstance(result, dict | NoneType)
            else b"R"
        )
    except NotJson:
        return b"R"
    except BaseException as error:  # noqa: BLE001 - any exception of the script
        return _describe(error)
    return response if len(response) <= LARGEST_RECORD + 1 else b"R"


class NotJson(Exception):
    """A value that JSON cannot represent."""


def json_text(value: object) -> str:
    """Return JSON with all digits of a decimal and the shortest form of a float."""
    match value:
        case str():
            text = json_string(value)
        case None | True | False:
            text = "null" if value is None else "true" if value else "false"
        case int():
            text = int.__repr__(value)
        case Decimal() if value.is_finite():
            text = Decimal.__str__(value)
        case float() if isfinite(value):
            text = float.__repr__(value)
        case dict() if all(isinstance(name, str) for name in value):
            members = (
                f"{json_string(name)}:{json_text(part)}" for name, part in value.items()
            )
            text = f"{{{','.join(members)}}}"
        case list() | tuple():
            text = f"[{','.join(map(json_text, value))}]"
        case _:
            raise NotJson
    return text


def _receive(descriptor: int) -> tuple[bytes, str, bytes]:
    """Return tag, text and bytes of the next frame; exit when the channel is closed."""
    frame = os.read(descriptor, FIRST)
    tag, size, length = HEAD.unpack_from(frame) if frame else os._exit(0)
    if size > FIRST:
        parts = [frame]
        while (size := size - len(parts[-1])) > 0:
            parts.append(os.read(descriptor, CHUNK) or os._exit(0))
        frame = b"".join(parts)
    start = HEAD.size + length
    return tag, frame[HEAD.size : start].decode("utf-8", "surrogatepass"), frame[start:]


def _load(source: str, function: str) -> Any:  # noqa: ANN401 - whatever the script made
    """Run the script's top level and return its function."""
    space: dict[str, Any] = {"__name__": "script", "__builtins__": _builtins}
    exec(compile(source, _SCRIPT, "exec"), space)  # noqa: S102 - that is what the lock is for
    return space.get(function)


def _encode(result: object) -> bytes:
    """Return the result as bytes, or what is wrong; the application checks again."""
    if type(result) is not dict and not isinstance(result, Mapping):
        return b"Hm" + _plain(result)
    headers = result.get("headers")
    query = result.get("query")
    if not isinstance(headers, Mapping) and not isinstance(query, Mapping):
        return _encode_pairs(b"H", result)
    if not {"headers", "query"}.issuperset(result):
        return b"Hk"
    responses = [
        _encode_pairs(b"H", result.get("headers", {})),
        _encode_pairs(b"Q", result.get("query", {})),
    ]
    for response in responses:
        if response[:1] != b"K":
            return response
    count = len(headers) if isinstance(headers, Mapping) else 0
    lines = [response[1:] for response in responses if response != b"K"]
    response = b"\n".join([b"P%d" % count, *lines])
    return response if len(response) <= LARGEST_RESPONSE else b"Hz"


def _encode_pairs(wrong: bytes, result: object) -> bytes:
    """Return names and values as bytes, or what is wrong with them."""
    if type(result) is not dict and not isinstance(result, Mapping):
        return wrong + b"m" + _plain(result)
    parts = [*chain.from_iterable(result.items())]
    try:
        if sum(map(len, parts)) > LARGEST_RESPONSE:
            return wrong + b"z"
        joined = "\n".join(parts)
    except TypeError:
        at = next(at for at, part in enumerate(parts) if not isinstance(part, str))
        return wrong + (b"v" if at % 2 else b"n") + _plain(parts[at])
    if "\0" in joined or (parts and joined.count("\n") >= len(parts)):
        return wrong + b"l"
    try:
        response = b"K" + joined.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return wrong + b"e"
    return response if len(response) <= LARGEST_RESPONSE else wrong + b"z"


def _plain(value: object) -> bytes:
    """Return the name of the nearest built-in type.

    The name of any other class is text of the script.
    """
    return next(
        kind.__name__ for kind in type(value).__mro__ if kind in _PLAIN
    ).encode()


def _describe(error: BaseException) -> bytes:
    """Name an exception by type and line of the script, never by its text."""
    line = error.lineno or 0 if isinstance(error, SyntaxError) else 0
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == _SCRIPT:
            line = step.tb_lineno
        step = step.tb_next
    return b"E%s %d" % (_plain(error), line)
