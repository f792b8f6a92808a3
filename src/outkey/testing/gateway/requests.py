"""A request as a test sees it: what the code under test sent, without credentials."""

import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import parse_qsl

from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.headers import compose
from outkey.sending.core.request.message import (
    BodySource,
    Header,
    ResponseHeaders,
    Source,
)

FORM = "application/x-www-form-urlencoded"


class BodyContent(NamedTuple):
    """A body as it is compared and recorded.

    Its kind is `empty`, `json`, `form`, `text` or `base64`.
    """

    kind: str
    value: object = None


NO_CONTENT = BodyContent("empty")


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """One request that was sent to a `FakeGateway`.

    `path` and `query` are percent-encoded as they are sent, without the path of the
    Base URL. `headers` are those that your code passed, and Content-Type; the value of
    a `Secret` is a mask. The credentials that a real gateway adds are not part of it.
    """

    configuration: str
    method: str
    path: str
    query: str = ""
    headers: ResponseHeaders = field(default_factory=ResponseHeaders)
    body: bytes = b""
    connection: str | None = None  #: the account that it is sent for

    @property
    def params(self) -> dict[str, str | list[str]]:
        """The decoded query; a parameter that is repeated has a list of values."""
        return mapping_of(parse_qsl(self.query, keep_blank_values=True))

    @property
    def content(self) -> BodyContent:
        """The body, read by its Content-Type."""
        return read_body(self.body, self.headers.get("Content-Type"))

    @property
    def json(self) -> object:
        """The body parsed as JSON; None if it is not JSON."""
        content = self.content
        return content.value if content.kind == "json" else None

    @property
    def form(self) -> dict[str, str | list[str]] | None:
        """The fields of a form; None if the body is not a form."""
        if self.content.kind != "form":
            return None
        return mapping_of(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def text(self) -> str:
        """The body as UTF-8, with a replacement character for what is not."""
        return self.body.decode("utf-8", "replace")


def request_of(call: Call) -> FakeRequest:
    """Return the request of a call as a test sees it."""
    request = call.request()
    return fake_request(
        configuration=call.configuration.name,
        method=request.method,
        target=without_base(request.target, call.configuration.base.target),
        headers=compose(request.headers),
        body=whole_body(call.body),
        connection=call.configuration.connection_id or None,
    )


def whole_body(body: bytes | BodySource) -> bytes:
    """Return a body that may be read part by part, as a whole."""
    return body if isinstance(body, bytes) else b"".join(body.parts())


def fake_request(
    *,
    configuration: str,
    method: str,
    target: str,
    headers: Iterable[Header],
    body: bytes,
    connection: str | None = None,
) -> FakeRequest:
    """Return a request without the headers that a caller does not pass."""
    path, _, query = target.partition("?")
    pairs = tuple(
        (header.name, str(header.value))
        for header in headers
        if header.source is Source.CALLER or header.name.lower() == "content-type"
    )
    return FakeRequest(
        configuration=configuration,
        method=method,
        path=path,
        query=query,
        headers=ResponseHeaders(pairs),
        body=body,
        connection=connection,
    )


def without_base(target: str, base: str) -> str:
    """Return a target without the path of the Base URL."""
    rest = target.removeprefix(base)
    is_below = rest != target and (not rest or rest[0] in "/?")
    if not is_below:
        return target
    return rest if rest.startswith("/") else f"/{rest}"


def mapping_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Return pairs as a mapping; a name that is repeated gets a list of its values."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {
        name: texts[0] if len(texts) == 1 else texts for name, texts in values.items()
    }


def read_body(body: bytes, content_type: str) -> BodyContent:
    """Return the content of a body: JSON, a form, text, or bytes as Base64."""
    if not body:
        return NO_CONTENT
    media_type = content_type.partition(";")[0].strip().lower()
    # Some APIs send JSON as text/plain or text/html.
    if media_type.endswith("json") or body.lstrip()[:1] in {b"{", b"["}:
        try:
            return BodyContent("json", json.loads(body))
        except (ValueError, RecursionError):
            pass
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return BodyContent("base64", b64encode(body).decode())
    if media_type == FORM:
        pairs = parse_qsl(text, keep_blank_values=True)
        return BodyContent("form", mapping_of(pairs))
    return BodyContent("text", text)
