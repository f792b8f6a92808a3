"""Bodies that are one document: JSON and XML."""

from outkey.foundation.core.xml_document import (
    NotReadable,
    TooDeepXml,
    TooLargeXml,
    UnknownEncoding,
    UnsafeXml,
    XmlLimits,
    parse_xml,
)
from outkey.sending.core.request.message import Response
from outkey.sync.core.formats.texts import codec_for, stated_codec
from outkey.sync.core.formats.unpacking import unpack
from outkey.sync.core.line.line import RecordFormat, ResponseFormat
from outkey.sync.core.paging.response import MAX_DEPTH, read_json
from outkey.sync.core.run.reasons import sync_failure

_FAILURES = {
    UnsafeXml: "unsafe_xml",
    UnknownEncoding: "bad_charset",
    TooDeepXml: "too_deep",
    TooLargeXml: "too_many_values",
}


def read_document(
    response: Response, format_: ResponseFormat, *, most_bytes: int, most_values: int
) -> object:
    """Return the document of a response, or raise why it cannot be read."""
    body = b"".join(unpack(response.body, format_, most_bytes))
    if format_.format is RecordFormat.XML:
        codec = stated_codec(format_.charset, response.headers)
        return _read_xml(body, codec, most_values)
    if not format_.charset:  # JSON tells its encoding by its first bytes
        return read_json(body, most_values=most_values)
    codec = stated_codec(format_.charset, response.headers)
    return read_json(_decode(body, codec), most_values=most_values)


def _read_xml(body: bytes, codec: str | None, most_values: int) -> object:
    """Read XML; a stated encoding counts more than a declared one (RFC 7303 §3.2)."""
    encoding = None
    if codec is not None:
        body = _decode(body, codec).encode()
        encoding = "utf-8"
    limits = XmlLimits(size=len(body), depth=MAX_DEPTH, values=most_values)
    try:
        return parse_xml(body, limits, encoding=encoding)
    except NotReadable as error:
        raise sync_failure(_FAILURES.get(type(error), "not_xml")) from None


def _decode(body: bytes, codec: str | None) -> str:
    try:
        return body.decode(codec_for(codec, body)).removeprefix("\ufeff")
    except UnicodeError:
        raise sync_failure("bad_charset") from None
