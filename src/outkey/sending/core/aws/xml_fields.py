"""The fields of an XML response of AWS."""

from collections.abc import Iterator, Mapping

from outkey.foundation.core.xml_document import NotReadable, XmlValue, parse_xml


def xml_fields(document: bytes) -> Mapping[str, str]:
    """Return the texts of a document by the names of their elements, the first of each.

    Nothing of one that is no XML, is too large or has a DTD.
    """
    try:
        parsed = parse_xml(document)
    except NotReadable:
        return {}
    fields: dict[str, str] = {}
    for name, text in _texts(parsed, ""):
        fields.setdefault(name, text)
    return fields


def _texts(value: XmlValue, name: str) -> Iterator[tuple[str, str]]:
    """Yield each text with the name of its element, without attributes."""
    if isinstance(value, str):
        if value and not name.startswith(("@", "#")):
            yield name, value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, name)
    else:
        for key, part in value.items():
            yield from _texts(part, key)
