"""Reading the fields of a small XML document that another party has written.

With expat itself, since its handlers can refuse what documents of AWS never have: a
DTD, and with it entities and files of this machine.
"""

from collections.abc import Mapping
from xml.parsers import expat

_MAX_BYTES = 1024 * 1024
_MAX_DEPTH = 16
_MAX_ELEMENTS = 500


class _NotReadable(Exception):
    """The document has what is not read here."""


class _Fields:
    """Collects the text of each element that has no others in it."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._names: list[str] = []
        self._parts: list[str] = []
        self._elements = 0

    def start(self, name: str, _attributes: object) -> None:
        """Begin an element."""
        self._elements += 1
        self._names.append(name.rpartition(":")[2])
        self._parts.clear()
        if len(self._names) > _MAX_DEPTH or self._elements > _MAX_ELEMENTS:
            raise _NotReadable

    def end(self, _name: str) -> None:
        """End an element; the first of a name counts."""
        text = "".join(self._parts).strip()
        name = self._names.pop()
        if text:
            self.texts.setdefault(name, text)
        self._parts.clear()

    def add(self, text: str) -> None:
        """Add a part of a text."""
        self._parts.append(text)

    def refuse(self, *_declaration: object) -> None:
        """Refuse a DTD."""
        raise _NotReadable


def xml_fields(document: bytes) -> Mapping[str, str]:
    """Return the texts of a document by the names of their elements.

    Nothing of one that is no XML, is too large or has a DTD.
    """
    if len(document) > _MAX_BYTES:
        return {}
    fields = _Fields()
    parser = expat.ParserCreate()
    parser.StartElementHandler = fields.start
    parser.EndElementHandler = fields.end
    parser.CharacterDataHandler = fields.add
    parser.StartDoctypeDeclHandler = fields.refuse
    try:
        parser.Parse(document, True)  # noqa: FBT003 - the interface of expat
    except (expat.ExpatError, _NotReadable, ValueError):
        return {}
    return fields.texts
