"""Reading a small XML document that another party has written, as a JSON document.

With expat itself, since its handlers can refuse what no API needs to send: a DTD, and
with it entities and files of this machine.
"""

from xml.parsers import expat

_MAX_BYTES = 1024 * 1024
_MAX_DEPTH = 50
_MAX_ELEMENTS = 50_000
# Between a namespace and a local name; no namespace can have it.
_SEPARATOR = " "

XmlValue = str | dict[str, "XmlValue"] | list["XmlValue"]


class NotReadable(Exception):
    """The document is not XML, or has what is not read here."""


class _Element:
    """An element that has not ended: its attributes and children, and its text."""

    def __init__(self, name: str) -> None:
        self.name = _local(name)
        self.members: dict[str, XmlValue] = {}
        self.texts: list[str] = []

    def add(self, name: str, value: XmlValue) -> None:
        """Add a child; several of one name are a list."""
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
        text = "".join(self.texts).strip()
        if not self.members:
            return text
        return self.members | ({"#text": text} if text else {})


class _Reader:
    """Builds the document from the events of expat."""

    def __init__(self) -> None:
        self._open = [_Element("")]
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self._elements += 1
        if len(self._open) > _MAX_DEPTH or self._elements > _MAX_ELEMENTS:
            raise NotReadable
        element = _Element(name)
        for attribute, value in attributes.items():
            element.members[f"@{_local(attribute)}"] = value
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
        raise NotReadable

    def document(self) -> dict[str, XmlValue]:
        """Return the document, whose only key is the root."""
        return self._open[0].members


def parse_xml(document: bytes) -> dict[str, XmlValue]:
    """Return a document with its root as the only key, or raise NotReadable.

    An element is an object by local names, or its text if it has nothing else.
    Attributes are `@name`, the text beside them is `#text`, and repeated elements are a
    list.
    """
    if len(document) > _MAX_BYTES:
        raise NotReadable
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(document, True)  # noqa: FBT003 - the interface of expat
    except (expat.ExpatError, ValueError, LookupError):
        raise NotReadable from None
    return reader.document()


def _local(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]
