"""Recordings: exchanges with a real API as a readable JSON file, without secrets.

    {"outkey_recording": 1, "exchanges": [
      {"request": {"configuration", "connection", "method", "path", "params", "headers",
                   BODY},
       "response": {"status", "headers", "cause", "remedy", BODY}},
      {"request": {…},
       "error": {"type", "message", "hint", "field", "reason", "said", "pause"}}]}

BODY is one of `json`, `form`, `text` and `base64`. What is empty is left out. `***` is
a mask, and matches any text of a request.
"""

import json
import re
from base64 import b64decode
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import urlencode

from outkey import errors
from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import as_text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.core.request.sent_secrets import credentials_in
from outkey.sending.engine.exchange.calls import SendOptions, find_account
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.gateway import Gateway, threads_of
from outkey.sending.engine.wire.off_loop import off_loop
from outkey.testing.gateway.recorded_secrets import (
    KnownSecrets,
    masked_forms,
    masked_markup,
    masked_members,
    masked_parameters,
    masked_path,
)
from outkey.testing.gateway.requests import (
    NO_CONTENT,
    BodyContent,
    FakeRequest,
    mapping_of,
    read_body,
    request_of,
)
from outkey.testing.gateway.rules import RequestPattern, RuleResult

VERSION = 1
Facts = dict[str, Any]
# These differ with each recording, or describe the bytes before masking.
_VOLATILE = frozenset(
    {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}
)
_BODY_KINDS = ("json", "form", "text", "base64")
# Not searched: the name of a configuration may be its password too, as in many tests.
_OWN_NAMES = frozenset(
    {"configuration", "connection", "method", "cause", "remedy", "type"}
)
_MASKED_LAST = (
    ("response", _BODY_KINDS),
    ("response", ("headers",)),
    ("request", (*_BODY_KINDS, "headers")),
    ("request", ("params", "path")),
)


@dataclass
class RecordedExchange:
    """One call of `send`, and how it ended."""

    request: FakeRequest
    username: str = ""
    response: Response | None = None
    error: OutkeyError | None = None
    # What was made for this request alone, such as its signature.
    secrets: list[Secret] = field(default_factory=list)


class RecordingGateway(Gateway):
    """Sends with another gateway, and records each exchange."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway._sender)  # noqa: SLF001 - previews and tests are its own
        self._gateway = gateway
        self._exchanges: list[RecordedExchange] = []
        self._known = KnownSecrets()

    def send(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Send with the real gateway, and record request and response."""
        exchange = self._begin(configuration, method, path, **options)
        try:
            response = self._gateway.send(configuration, method, path, **options)
        except OutkeyError as error:
            self._end(exchange, error)
            raise
        self._end(exchange, response)
        return response

    async def asend(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Do what `send` does, without blocking the event loop while it waits."""
        exchange = self._begin(configuration, method, path, **options)
        try:
            response = await self._gateway.asend(configuration, method, path, **options)
        except OutkeyError as error:
            self._end(exchange, error)
            raise
        self._end(exchange, response)
        return response

    @off_loop(threads_of)
    def _begin(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> RecordedExchange | None:
        """Note a request before it is sent; None for one that will be refused."""
        with suppress(OutkeyError):
            call = self._gateway._build_call(  # noqa: SLF001 - as `send` does
                configuration, method, path, **options
            )
            settings = call.configuration
            exchange = RecordedExchange(request_of(call), settings.username)
            self._note_secrets(settings)  # a token may be replaced while this is sent
            self._exchanges.append(exchange)
            return exchange
        return None

    @off_loop(threads_of)
    def _end(
        self, exchange: RecordedExchange | None, result: Response | OutkeyError
    ) -> None:
        if exchange is None:
            return
        request = exchange.request
        self._note_secrets(
            find_account(
                self._sender.configurations, request.configuration, request.connection
            )
        )
        if isinstance(result, OutkeyError):
            exchange.error = result
            return
        exchange.secrets = credentials_in(result.sent)
        exchange.response = result

    def _note_secrets(self, configuration: Configuration) -> None:
        """Note the secrets that a configuration has now."""
        secrets = sent_secrets(self._sender.context, configuration)
        self._known.add(configuration.username, secrets)

    def save(self, path: Path) -> None:
        """Write the exchanges that have ended to a file."""
        exchanges = [
            masked_exchange(exchange, self._known)
            for exchange in self._exchanges
            if exchange.response is not None or exchange.error is not None
        ]
        document = {"outkey_recording": VERSION, "exchanges": exchanges}
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Half of a surrogate pair is not valid UTF-8, so it becomes its JSON escape.
        path.write_bytes(text.encode(errors="backslashreplace"))


def masked_exchange(exchange: RecordedExchange, known: KnownSecrets) -> Facts:
    """Return an exchange as it is written.

    If a secret can still be recognized in it, such as in two pieces, these are masked
    as a whole: the body of the response, then its headers, then the request.
    """
    known = known.with_others(exchange.username, exchange.secrets)
    facts: Facts = {"request": _request_facts(exchange.request, known)}
    if exchange.error is not None:
        facts["error"] = _error_facts(exchange.error, known)
    elif exchange.response is not None:
        facts["response"] = response_facts(exchange.response, known)
    for part, names in _MASKED_LAST:
        if part in facts and known.are_in(values_of(facts)):
            facts[part] = _mask_parts(facts[part], names)
    return facts


def values_of(facts: Facts) -> list[object]:
    """Return the values of an exchange that came from outside."""
    return [
        value
        for part in facts.values()
        for name, value in part.items()
        if name not in _OWN_NAMES
    ]


def _request_facts(request: FakeRequest, known: KnownSecrets) -> Facts:
    """Return a request as it is written."""
    headers = tuple(
        pair for pair in request.headers if pair[0].lower() != "content-type"
    )
    facts = {
        "configuration": request.configuration,
        "connection": request.connection,
        "method": request.method,
        "path": known.masked_text(masked_path(request.path)),
        "params": known.masked_value(masked_parameters(request.params)),
        "headers": mapping_of(known.masked_headers(headers)),
    }
    facts |= _content_facts(request.content, request.body, known)
    return {
        name: value for name, value in facts.items() if value or name in _BODY_KINDS
    }


def response_facts(response: Response, known: KnownSecrets) -> Facts:
    """Return a response as it is written."""
    pairs = tuple(
        (name, value)
        for name, value in response.headers
        if name.lower() not in _VOLATILE
    )
    content = read_body(response.body, response.headers.get("Content-Type"))
    if content.kind == "form":
        content = BodyContent("text", response.text)
    facts: Facts = {
        "status": response.status,
        "headers": mapping_of(known.masked_headers(pairs)),
        "cause": response.cause and str(response.cause),
        "remedy": response.remedy and str(response.remedy),
    }
    facts |= _content_facts(content, response.body, known)
    return {
        name: value for name, value in facts.items() if value or name in _BODY_KINDS
    }


def _content_facts(content: BodyContent, body: bytes, known: KnownSecrets) -> Facts:
    """Return a body as it is written: nothing for an empty one."""
    kind, value = content
    match kind:
        case "empty":
            return {}
        case "json":
            try:
                value = known.masked_value(masked_members(value))
            except RecursionError:  # it is nested too deeply to be searched
                return {"text": MASK}
        case "form":
            assert isinstance(value, dict)
            value = known.masked_value(masked_parameters(value))
        case "text":
            value = known.masked_text(masked_markup(str(value)))
        case _:
            if known.masked_bytes(body) != body:
                return {"text": MASK}
    return {kind: value}


def _error_facts(error: OutkeyError, known: KnownSecrets) -> Facts:
    """Return an error as it is written."""
    facts: Facts = {
        "type": type(error).__name__,
        "message": known.masked_text(error.message),
        "hint": known.masked_text(error.hint),
        "field": known.masked_text(error.field or ""),
        "reason": error.reason,
        "said": known.masked_text(masked_forms(error.said)),
        "pause": error.pause,
    }
    return {name: value for name, value in facts.items() if value}


def _mask_parts(facts: Facts, names: Collection[str]) -> Facts:
    """Return a request or response with these parts masked as a whole."""
    masked: Facts = {}
    for name, value in facts.items():
        if name not in names:
            masked[name] = value
        elif name in _BODY_KINDS:
            masked["text"] = MASK
        elif name == "path":
            masked[name] = MASK
        else:
            masked[name] = dict.fromkeys(value, MASK)
    return masked


class MaskedText:
    """A recorded text with masks, each of which matches anything."""

    __slots__ = ("_pattern", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        parts = map(re.escape, text.split(MASK))
        self._pattern = re.compile(".*".join(parts), re.DOTALL)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MaskedText):
            return self._text == other._text
        if isinstance(other, str):
            return self._pattern.fullmatch(other) is not None
        # A number that was masked.
        return self._text == MASK and isinstance(other, int | float)

    __hash__ = None  # type: ignore[assignment]  # it equals many texts

    def __repr__(self) -> str:
        return repr(self._text)


def _with_masks(value: object) -> object:
    """Return a recorded value in which each mask matches anything."""
    if isinstance(value, str):
        return MaskedText(value) if MASK in value else value
    if isinstance(value, dict):
        return {key: _with_masks(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_masks(part) for part in value]
    return value


def read_recording(
    path: Path, *, compare_body: bool
) -> list[tuple[RequestPattern, list[RuleResult]]]:
    """Return the requests of a recording, each with its responses in order.

    The first request of a recording is the last of the list, since the newest rule of a
    gateway is the first to respond.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["outkey_recording"] != VERSION:
            raise ValueError(f"{path} is a recording of another version of outkey")
        exchanges = document["exchanges"]
    except (KeyError, TypeError, json.JSONDecodeError):
        raise ValueError(f"{path} is not a recording of FakeGateway.record") from None
    rules: list[tuple[RequestPattern, list[RuleResult]]] = []
    for exchange in exchanges:
        pattern = read_request(exchange["request"], compare_body=compare_body)
        result = _read_result(exchange)
        equal_rules = [results for other, results in rules if other == pattern]
        if equal_rules:
            equal_rules[0].append(result)
        else:
            rules.append((pattern, [result]))
    return rules[::-1]


def read_request(facts: Facts, *, compare_body: bool) -> RequestPattern:
    """Return the pattern of a recorded request."""
    path = facts["path"]
    if MASK in path:
        path = re.compile("[^/]*".join(map(re.escape, path.split(MASK))))
    if facts["path"] == MASK:
        path = None
    content = None
    if compare_body:
        recorded = body_of(facts)
        content = BodyContent(recorded.kind, _with_masks(recorded.value))
        if recorded == BodyContent("text", MASK):
            content = None
    params = _with_masks(facts.get("params", {}))
    assert isinstance(params, dict)
    return RequestPattern(
        configuration=facts["configuration"],
        connection=facts.get("connection"),
        method=facts["method"],
        path=path,
        params=params,
        content=content,
        is_exact=path is not None,
    )


def _read_result(exchange: Facts) -> RuleResult:
    """Return the response or the error of a recorded exchange."""
    if "error" in exchange:
        return _read_error(exchange["error"])
    facts = exchange["response"]
    content = body_of(facts)
    pairs = tuple(
        (name, value)
        for name, values in facts.get("headers", {}).items()
        for value in ([values] if isinstance(values, str) else values)
    )
    remedy = facts.get("remedy")
    return Response(
        status=facts["status"],
        headers=ResponseHeaders(pairs),
        body=body_bytes(content),
        cause=Cause(facts["cause"]) if "cause" in facts else None,
        remedy=as_text(remedy) if remedy else None,
    )


def _read_error(facts: Facts) -> OutkeyError:
    """Return a recorded error."""
    kind = getattr(errors, facts["type"])
    error: OutkeyError = kind(
        as_text(facts["message"]),
        hint=as_text(facts.get("hint", "")),
        field=facts.get("field"),
    )
    error.reason = facts.get("reason", "")
    error.said = facts.get("said", "")
    error.pause = facts.get("pause", 0.0)
    return error


def body_of(facts: Mapping[str, object]) -> BodyContent:
    """Return the body of a recorded request or response."""
    for kind in _BODY_KINDS:
        if kind in facts:
            return BodyContent(kind, facts[kind])
    return NO_CONTENT


def body_bytes(content: BodyContent) -> bytes:
    """Return the bytes of a recorded body."""
    kind, value = content
    match kind:
        case "empty":
            return b""
        case "json":
            text = json.dumps(value, ensure_ascii=False)
        case "form":
            assert isinstance(value, dict)
            text = urlencode(value, doseq=True)
        case "base64":
            return b64decode(str(value))
        case _:
            text = str(value)
    return text.encode(errors="backslashreplace")
