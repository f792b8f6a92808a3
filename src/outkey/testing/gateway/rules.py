"""The table of a `FakeGateway`: which requests it expects, and what it responds."""

import json as json_module
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl

from outkey.foundation.core.errors import BadResponse, OutkeyError
from outkey.foundation.core.origin import Params, query_pairs
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.assembly import encode_body
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.engine.exchange.calls import Data, RequestContent
from outkey.testing.gateway.requests import (
    BodyContent,
    FakeRequest,
    mapping_of,
    read_body,
)

MAX_SHOWN = 200
# It returns a response or a JSON value; an async function returns one of these too.
ResponseFunction = Callable[[FakeRequest], object]
RuleResult = Response | OutkeyError | type[OutkeyError] | ResponseFunction


class PatternOptions(RequestContent, total=False):
    """Conditions of a rule besides the path: content, and a function that agrees."""

    connection: str | None
    where: Callable[[FakeRequest], bool] | None


class UnexpectedRequest(AssertionError):
    """A request that no rule of a `FakeGateway` matches."""


@dataclass(frozen=True)
class RequestPattern:
    """The requests that a rule, or an assertion, is about; None matches everything."""

    configuration: str | None = None
    method: str | None = None
    path: str | re.Pattern[str] | None = None
    params: Mapping[str, object] | None = None
    content: BodyContent | None = None
    headers: Mapping[str, str] | None = None
    where: Callable[[FakeRequest], bool] | None = None
    connection: str | None = None
    # Whether a request may have no other parameters than these, and no connection
    # where none is named.
    is_exact: bool = False

    def mismatches(self, request: FakeRequest) -> list[str]:
        """Return how a request differs from the pattern, in words."""
        reasons = list(self._differences(request))
        # A function may rely on the rest, such as a body that is JSON.
        if not reasons and self.where is not None and not self.where(request):
            reasons = [f"{_function_name(self.where)} returns False"]
        return reasons

    def _differences(self, request: FakeRequest) -> Iterator[str]:
        if self.configuration not in {None, request.configuration}:
            yield f"the configuration is {request.configuration}"
        if self._has_other_connection(request):
            yield f"the connection is {request.connection}"
        if self.method not in {None, request.method}:
            yield f"the method is {request.method}"
        if not self._has_path(request.path):
            yield f"the path is {request.path}"
        yield from self._other_params(request.params)
        if self.content is not None and self.content != request.content:
            yield f"the body is {_body_text(request.content)}"
        for name, value in (self.headers or {}).items():
            if name not in request.headers:
                yield f"the header {name} is missing"
            elif value != request.headers[name]:
                yield f"the header {name} is {request.headers[name]!r}"

    def _has_other_connection(self, request: FakeRequest) -> bool:
        is_compared = self.is_exact or self.connection is not None
        return is_compared and self.connection != request.connection

    def _has_path(self, path: str) -> bool:
        if isinstance(self.path, re.Pattern):
            return self.path.fullmatch(path) is not None
        return self.path is None or self.path == path

    def _other_params(self, params: Mapping[str, object]) -> Iterator[str]:
        expected = self.params or {}
        for name, value in expected.items():
            if name not in params:
                yield f"the parameter {name} is missing"
            elif value != params[name]:
                yield f"the parameter {name} is {params[name]!r}"
        if self.is_exact:
            for name in params.keys() - expected.keys():
                yield f"the parameter {name} was added"

    def __str__(self) -> str:
        path = self.path
        if isinstance(path, re.Pattern):
            path = f"matching {path.pattern}"
        words = [
            self.configuration or "any configuration",
            self.method or "any method",
            "any path" if path is None else str(path),
        ]
        return " ".join(words) + "".join(f", {part}" for part in self._details())

    def _details(self) -> Iterator[str]:
        if self.connection is not None:
            yield f"connection {self.connection}"
        if self.params:
            yield f"params {dict(self.params)}"
        if self.content is not None:
            yield _body_text(self.content)
        if self.headers:
            yield f"headers {dict(self.headers)}"
        if self.where is not None:
            yield f"where {_function_name(self.where)}"


@dataclass(eq=False)
class GatewayRule:
    """A row of the table: a pattern of requests, and the responses to them.

    `FakeGateway.on` returns it. Each of its methods adds one response and returns the
    rule, so that calls can be chained: the first request gets the first response, the
    second one the next. The last response is repeated. `sent` are the requests that the
    rule has responded to.
    """

    pattern: RequestPattern
    times: int | None = None
    sent: list[FakeRequest] = field(default_factory=list)
    results: list[RuleResult] = field(default_factory=list)

    def respond(
        self,
        status: int = 200,
        *,
        json: object = None,
        data: Data = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Add a response with this status; the body is `json` or `data`, as in `send`.

        The real diagnosis adds `cause` and `remedy` to a status of 400 or more.
        """
        response = make_response(status, json=json, data=data, headers=headers)
        self.results.append(response)
        return self

    def respond_with(self, function: ResponseFunction) -> Self:
        """Add a function that is called with the `FakeRequest`.

        It returns a `Response`, for example from `make_response`, or a JSON value,
        which is sent with status 200. It may raise an error of `outkey.errors`. An
        `async` function works with `asend` only.
        """
        self.results.append(function)
        return self

    def raise_error(self, error: OutkeyError | type[OutkeyError]) -> Self:
        """Add an error of `outkey.errors`: an instance, or a class."""
        kind = error if isinstance(error, type) else type(error)
        if not issubclass(kind, OutkeyError):
            raise TypeError(
                f"a gateway raises errors of outkey.errors, and not {kind.__name__}"
            )
        if issubclass(kind, BadResponse):
            raise TypeError(
                "send never raises BadResponse: call respond with the status, and"
                " response.raise_for_cause() raises it"
            )
        self.results.append(error)
        return self

    def is_used_up(self) -> bool:
        """Whether the rule has responded as often as it may."""
        return self.times is not None and len(self.sent) >= self.times

    def mismatches(self, request: FakeRequest) -> list[str]:
        """Return why the rule does not respond to a request; empty if it does."""
        reasons = self.pattern.mismatches(request)
        if not reasons and self.is_used_up():
            reasons = [f"it has responded {count_times(len(self.sent))} already"]
        if not reasons and not self.results:
            reasons = ["it has no response yet: call respond"]
        return reasons

    def take(self, request: FakeRequest) -> RuleResult:
        """Return the response to this request, and remember the request."""
        number = min(len(self.sent), len(self.results) - 1)
        self.sent.append(request)
        return self.results[number]

    def unused_text(self) -> str:
        """Return which responses were never used, empty if all were."""
        wanted = max(len(self.results), self.times or 1)
        if len(self.sent) >= wanted:
            return ""
        if wanted == 1:
            return f"{self.pattern}: never sent"
        return f"{self.pattern}: sent {count_times(len(self.sent))} of {wanted}"


def make_response(
    status: int = 200,
    *,
    json: object = None,
    data: Data = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response as `GatewayRule.respond` adds it, for functions and fakes."""
    body, content_type = encode_body(json, data)
    pairs = list((headers or {}).items())
    has_type = any(name.lower() == "content-type" for name, _ in pairs)
    if content_type and not has_type:
        pairs.insert(0, ("Content-Type", content_type))
    return Response(status, ResponseHeaders(tuple(pairs)), body)


def build_pattern(  # noqa: PLR0913 - the parts of a request, all by keyword
    configuration: str | None,
    method: str | None,
    path: str | re.Pattern[str] | None,
    query: str = "",
    *,
    params: Params | None = None,
    json: object = None,
    data: Data = None,
    headers: Mapping[str, str | Secret] | None = None,
    where: Callable[[FakeRequest], bool] | None = None,
    connection: str | None = None,
) -> RequestPattern:
    """Return the pattern of requests like this one; `query` is that of its path."""
    return RequestPattern(
        configuration=configuration,
        method=method,
        path=path,
        params=_expected_params(params, query),
        content=_expected_content(json, data),
        headers=_expected_headers(headers),
        where=where,
        connection=connection,
    )


def _expected_params(
    params: Params | None, query: str = ""
) -> dict[str, object] | None:
    """Return parameters as a request has them; those of a path's query are added.

    A value that is not text or a number, such as `unittest.mock.ANY`, stays as it is.
    """
    expected: dict[str, object] = {**mapping_of(parse_qsl(query, True))}  # noqa: FBT003
    for name, value in (params or {}).items():
        if isinstance(value, str | int | float | list | tuple):
            expected.update(mapping_of(query_pairs({name: value}, "params")))
        else:
            expected[name] = value
    return expected or None


def _expected_headers(
    headers: Mapping[str, str | Secret] | None,
) -> dict[str, str] | None:
    """Return headers as a request has them, with a mask for a secret."""
    if headers is None:
        return None
    return {
        name: str(value) if isinstance(value, Secret) else value
        for name, value in headers.items()
    }


def _expected_content(json: object, data: Data) -> BodyContent | None:
    """Return the body to expect; None if any will do."""
    if json is not None and data is None:
        return BodyContent("json", json)  # not encoded: it may contain ANY
    if data is None:
        return None
    return read_body(*encode_body(json, data))


def _body_text(content: BodyContent) -> str:
    """Return a body in words, cut to one line."""
    if content.kind == "empty":
        return "empty"
    try:
        text = json_module.dumps(content.value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(content.value)
    if len(text) > MAX_SHOWN:
        text = text[:MAX_SHOWN] + "…"
    return f"{content.kind} {text}"


def request_text(request: FakeRequest) -> str:
    """Return a request in words."""
    target = request.path + (f"?{request.query}" if request.query else "")
    text = f"{request.configuration} {request.method} {target}"
    if request.connection is not None:
        text += f", connection {request.connection}"
    if request.body:
        text += f", {_body_text(request.content)}"
    own = {
        name: value for name, value in request.headers if name.lower() != "content-type"
    }
    return text + (f", headers {own}" if own else "")


def _function_name(function: Callable[..., object]) -> str:
    """Return the name of a function of the test."""
    return getattr(function, "__name__", repr(function))


def count_times(count: int) -> str:
    """Return a number of times in words."""
    return {0: "0 times", 1: "once", 2: "twice"}.get(count, f"{count} times")
