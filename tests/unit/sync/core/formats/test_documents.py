"""Documents: JSON and XML, whole and hostile."""

import gzip
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import SyncFailed
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sync.core.formats.documents import read_document
from outkey.sync.core.line.line import RecordFormat, ResponseFormat

XML = ResponseFormat(RecordFormat.XML)
JSON = ResponseFormat()
LAUGHS = (
    b'<!DOCTYPE a [<!ENTITY l0 "ha">'
    + b"".join(
        b'<!ENTITY l%d "%s">' % (number + 1, b"&l%d;" % number * 10)
        for number in range(9)
    )
    + b"]><a>&l9;</a>"
)


def read(
    body: bytes, format_: ResponseFormat = XML, content_type: str = "", most: int = 1000
) -> Any:  # noqa: ANN401 - any document
    headers = ResponseHeaders((("Content-Type", content_type),))
    return read_document(
        Response(200, headers, body), format_, most_bytes=2**25, most_values=most
    )


def refusal_of(body: bytes, **settings: Any) -> str:  # noqa: ANN401 - of read
    with pytest.raises(SyncFailed) as caught:
        read(body, **settings)
    return str(caught.value.reason)


def test_xml_has_the_shape_that_the_documentation_promises() -> None:
    body = (
        b'<o:orders xmlns:o="urn:o" xmlns="urn:d" count="2"><order id="7"><n>A</n>'
        b'</order><order o:id="8" id="9">B</order><note/></o:orders>'
    )
    assert read(body) == {
        "orders": {
            "@count": "2",
            "order": [{"@id": "7", "n": "A"}, {"@id": ["8", "9"], "#text": "B"}],
            "note": "",
        }
    }
    assert read(gzip.compress(body)) == read(body)


names = st.sampled_from(["a", "b", "item", "größe"])
texts = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Cn", "Co"]), max_size=5
)


@st.composite
def elements(draw: Any, depth: int = 3) -> ET.Element:  # noqa: ANN401 - of hypothesis
    element = ET.Element(draw(names), draw(st.dictionaries(names, texts)))
    element.text = draw(texts)
    if depth:
        element.extend(draw(st.lists(elements(depth - 1), max_size=3)))
    return element


def expected(element: ET.Element) -> Any:  # noqa: ANN401 - any value
    members: dict[str, Any] = {f"@{name}": text for name, text in element.items()}
    for name in dict.fromkeys(child.tag for child in element):
        found = [expected(child) for child in element if child.tag == name]
        members[name] = found if len(found) > 1 else found[0]
    text = element.text or ""
    if not members:
        return text
    return members | ({"#text": text} if text else {})


@given(elements(), st.sampled_from(["utf-8", "utf-16"]))
def test_any_document_of_a_writer_is_read_as_it_was(
    element: ET.Element, encoding: str
) -> None:
    body = ET.tostring(element, encoding=encoding)
    assert read(body) == {element.tag: expected(element)}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_xml"),
        (b"<a>", "not_xml"),
        (b"<a></b>", "not_xml"),
        (b"<a/>text", "not_xml"),
        (b"<a>\0</a>", "not_xml"),
        (b"<a>&other;</a>", "not_xml"),
        (b'{"a": 1}', "not_xml"),
        (LAUGHS, "unsafe_xml"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "unsafe_xml"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///x">]><a>&x;</a>', "unsafe_xml"),
        (b"<!DOCTYPE html><html/>", "unsafe_xml"),
        (b"<a>" * 10**6, "too_deep"),
        (b"<a>" + b"<b/>" * 2000 + b"</a>", "too_many_values"),
        (
            b"<a " + b" ".join(b'a%d=""' % n for n in range(2000)) + b"/>",
            "too_many_values",
        ),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "bad_charset"),
        (b'<?xml version="1.0" encoding="utf-16"?><a/>', "bad_charset"),
    ],
)
def test_hostile_and_damaged_xml_is_refused_by_name(body: bytes, reason: str) -> None:
    assert refusal_of(body) == reason


@pytest.mark.parametrize(
    ("content_type", "charset", "encoding"),
    [
        ("", "", "utf-8"),
        ("text/xml; charset=iso-8859-1", "", "latin-1"),
        ("text/xml; charset=utf-8", "windows-1252", "cp1252"),
        ("", "utf-16le", "utf-16-le"),
    ],
)
def test_a_stated_charset_counts_more_than_the_declared_one(
    content_type: str, charset: str, encoding: str
) -> None:
    body = '<?xml version="1.0" encoding="utf-8"?><a>Müller</a>'.encode(encoding)
    format_ = ResponseFormat(RecordFormat.XML, charset=charset)
    assert read(body, format_, content_type) == {"a": "Müller"}


def test_a_document_in_another_charset_than_stated_is_refused() -> None:
    body = "<a>Müller</a>".encode("latin-1")
    assert refusal_of(body, content_type="text/xml; charset=utf-8") == "bad_charset"


def test_json_may_be_packed_and_in_a_stated_charset() -> None:
    assert read(gzip.compress(b'{"a": 1}'), JSON) == {"a": 1}
    latin = ResponseFormat(charset="iso-8859-1")
    assert read('{"a": "ü"}'.encode("latin-1"), latin) == {"a": "ü"}
    assert refusal_of('{"a": "ü"}'.encode("latin-1"), format_=JSON) == "not_json"
    assert refusal_of(b"\xff", format_=ResponseFormat(charset="utf-8")) == "bad_charset"
