"""Reading an XML document that another party has written, as a JSON document.

With expat itself, since its handlers can refuse what no API needs to send: a DTD, and
with it entities and files of this machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

_WHITESPACE = " \t\r\n"  # XML 1.0 §2.3; other spaces are text
XmlValue = str | dict[str, "XmlValue"] | list["XmlValue"]

_ENCODING_ERRORS = frozenset(
    {
        expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING],
        expat.errors.codes[expat.errors.XML_ERROR_INCORRECT_ENCODING],
    }
)


@dataclass(frozen=True, slots=True)
class XmlLimits:
    """How large a document may be."""

    size: int = 1024 * 1024  # bytes
    depth: int = 50
    values: int = 50_000  # elements and attributes


_SMALL = XmlLimits()


class NotReadable(Exception):
    """The document is not XML, or has what is not read here."""


class UnsafeXml(NotReadable):
    """The document has a DTD, which may have entities and names of files."""


class UnknownEncoding(NotReadable):
    """The document is in a character encoding that is not read here."""


class TooDeepXml(NotReadable):
    """The elements are nested too deeply."""


class TooLargeXml(NotReadable):
    """The document has too many bytes, elements or attributes."""


class _Element:
    """An element that has not ended: its attributes and children, and its text."""

    def __init__(self, name: str) -> None:
        self.name = _local(name)
        self.members: dict[str, XmlValue] = {}
        self.texts: list[str] = []

    def add(self, name: str, value: XmlValue) -> None:
        """Add a child or an attribute; several of one name are a list."""
        if name not in self.members:
            self.members[name] = value
            return
        before = self.members[name]
        if isinstance(before, list):
            before.append(value)
        else:
            self.members[name] = [before, value]

    def value(self) -> XmlValue:
        """Return the element: its text, or an object of what it has."""
        text = "".join(self.texts).strip(_WHITESPACE)
        if not self.members:
            return text
        return self.members | ({"#text": text} if text else {})


class _Reader:
    """Builds the document from the events of expat."""

    def __init__(self, limits: XmlLimits) -> None:
        self._limits = limits
        self._open = [_Element("")]
        self._values = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self._values += 1 + len(attributes)
        if len(self._open) > self._limits.depth:
            raise TooDeepXml
        if self._values > self._limits.values:
            raise TooLargeXml
        element = _Element(name)
        for attribute, value in _plain_attributes(attributes):
            element.add(f"@{_local(attribute)}", value)
        self._open.append(element)

    def end(self, _name: str) -> None:
        """End an element."""
        element = self._open.pop()
        self._open[-1].add(element.name, element.value())

    def text(self, text: str) -> None:
        """Add a part of a text."""
        self._open[-1].texts.append(text)

    def refuse(self, *_declaration: object) -> None:
        """Refuse a DTD."""
        raise UnsafeXml

    def document(self) -> dict[str, XmlValue]:
        """Return the document, whose only key is the root."""
        return self._open[0].members


def parse_xml(
    document: bytes, limits: XmlLimits = _SMALL, *, encoding: str | None = None
) -> dict[str, XmlValue]:
    """Return a document with its root as the only key, or raise NotReadable.

    An element is an object by local names, or its text if it has nothing else.
    Attributes are `@name`, the text beside them is `#text`, and repeated elements are a
    list. An encoding is that of the document, whatever it declares.
    """
    # The attributes of one element are in memory before they can be counted.
    if len(document) > limits.size or document.count(b"=") > limits.values:
        raise TooLargeXml
    reader = _Reader(limits)
    # Without namespaces: expat would write the whole URI before each name.
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(document, True)  # noqa: FBT003 - the interface of expat
    except expat.ExpatError as error:
        if error.code in _ENCODING_ERRORS:
            raise UnknownEncoding from None
        raise NotReadable from None
    except (ValueError, LookupError):  # of an encoding that Python does not know
        raise UnknownEncoding from None
    return reader.document()


def _plain_attributes(attributes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes that do not declare a namespace."""
    for name, value in attributes.items():
        if name != "xmlns" and not name.startswith("xmlns:"):
            yield name, value


def _local(name: str) -> str:
    return name.rpartition(":")[2]
