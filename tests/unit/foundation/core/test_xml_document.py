"""Tests of reading XML documents of other parties."""

import pytest

from outkey.foundation.core.xml_document import NotReadable, parse_xml


def test_elements_attributes_texts_and_lists_have_the_shape_of_json() -> None:
    document = (
        b'<r:list xmlns:r="urn:x" page="1"><item id="7">seven</item>'
        b"<item><name>A&amp;B</name></item><empty/><!-- no --></r:list>"
    )
    assert parse_xml(document) == {
        "list": {
            "@page": "1",
            "item": [{"@id": "7", "#text": "seven"}, {"name": "A&B"}],
            "empty": "",
        }
    }


def test_a_text_in_several_parts_is_one() -> None:
    assert parse_xml(b"<a>1<![CDATA[<2>]]>&#51;</a>") == {"a": "1<2>3"}


def test_the_declared_encoding_is_used() -> None:
    document = '<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>'
    assert parse_xml(document.encode("latin-1")) == {"a": "ü"}


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b"<a>",
        b"<a></b>",
        b"<a>&undefined;</a>",
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a [<!ENTITY x "1">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b'<?xml version="1.0" encoding="no-such"?><a/>',
        b"<a>" * 51 + b"</a>" * 51,
        b"<a>" + b"<b/>" * 50_000 + b"</a>",
        b"<a>" + b"x" * 1024 * 1024 + b"</a>",
        b"<a b='1' b='2'/>",
    ],
)
def test_what_is_no_plain_document_is_not_read(document: bytes) -> None:
    with pytest.raises(NotReadable):
        parse_xml(document)
