"""Finding a secret in remote text: as it is, encoded, reversed, or in two pieces.

A text is searched as it is, and once more with percent-encoding, HTML entities and
backslash escapes decoded.

The search depends on the length of the secret,
since a short one occurs in ordinary text by chance:

    4 to 7 characters    only where a JSON value is the secret and nothing else
    8 to 11              anywhere, as it is or encoded
    12 and more          also with other characters in between, or split into two
                         values; Base32 and encodings of Base64 in one piece only
"""

import re
import sys
from base64 import b64encode, urlsafe_b64encode
from binascii import a2b_qp
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property, partial
from html.entities import html5
from itertools import chain
from typing import NoReturn, SupportsIndex
from urllib.parse import quote, unquote_to_bytes

from outkey.foundation.core.echo.encodings import common_forms, forms, rare_forms
from outkey.foundation.core.groups import groups_of

SHORTEST = 4
SHORTEST_INSIDE = 8
SHORTEST_SPLIT = 12
SHORTEST_PIECE = 4  # of a secret that is split
_LOWER = bytes(range(256)).lower()
_ALPHANUMERIC = frozenset(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)
_OTHERS = bytes(byte for byte in range(256) if byte not in _ALPHANUMERIC)
# Runs of one kind, so that a page full of them needs no call for each character; of
# limited length and possessive, so that they take no memory to backtrack. Each starts
# with a plain character, which `re` finds quickly.
_JSON_ESCAPE = (
    rb"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4}){,4096}+|\\[^u](?:\\[^u]){,4096}+|\\u"
)
_ENTITY = (
    rb"&#[0-9]++;?(?:&#[0-9]++;?){,4096}+"
    rb"|&#[xX][0-9a-fA-F]++;?(?:&#[xX][0-9a-fA-F]++;?){,4096}+"
    rb"|&[A-Za-z][A-Za-z0-9]{1,31};"
)
_JSON_ESCAPES = re.compile(_JSON_ESCAPE, re.DOTALL)
_ENCODED = re.compile(rb"|".join([_JSON_ESCAPE, _ENTITY]), re.DOTALL)
_DECIMAL_NUMBER = re.compile(rb"[0-9]+")
_HEXADECIMAL_NUMBER = re.compile(rb"[xX]([0-9a-fA-F]+)")
_CONTROL = bytes.maketrans(b"bfnrt", b"\b\f\n\r\t")
_MAX_DIGITS = 8  # of a character's number, without leading zeros
# Of a number that is written out; a double has 309 digits at most.
_LARGEST_EXPONENT = 400
_NUMBER = re.compile(r"[-+]?[0-9.]+")
_GROUP = 4096
_PART = 1024 * 1024
_SHORT_RUN = 8


class SearchText:
    """A text to search for secrets, prepared once for all of them."""

    def __init__(self, text: bytes) -> None:
        self._blocks: Callable[[], Iterator[bytes]] = partial(iter, (text,))

    @classmethod
    def of_json(cls, text: bytes) -> "SearchText":
        """Return the text of a JSON document with its escapes decoded."""
        return cls(_decode_runs(text, _JSON_ESCAPES))

    @classmethod
    def of_value(cls, value: object) -> "SearchText":
        """Return the text of a parsed JSON value: its strings, keys and numbers.

        Raises RecursionError if the value is nested too deeply.
        """
        texts: list[str] = []
        numbers: list[str] = []
        collect_texts(value, texts, numbers)
        search_text = cls(b"")
        search_text._blocks = partial(_encode_in_groups, texts + numbers)
        return search_text

    @cached_property
    def text(self) -> bytes:
        """The text in lower case, each value of a document in quotes."""
        blocks = (block.translate(_LOWER) for block in self._views())
        return b'"'.join(chain([b""], blocks, [b""]))

    @cached_property
    def letters(self) -> bytes:
        """The ASCII letters and digits of the text, in lower case."""
        return b"".join(map(_letters_of, self._views()))

    def _views(self) -> Iterator[bytes]:
        """Yield the text as it is, and then its encoded blocks in decoded form."""
        yield from self._blocks()
        for block in self._blocks():
            if has_escapes(block):
                yield decode_percent(_decode_runs(block, _ENCODED))


def has_escapes(text: bytes) -> bool:
    """Whether a text may have escapes: percent signs, entities or backslashes."""
    return b"%" in text or b"&" in text or b"\\" in text


class SearchPatterns:
    """The patterns of one secret. As safe to print and to pass on as the secret."""

    __slots__ = (
        "__halves",
        "__inside",
        "__literal",
        "__only",
        "__rare",
        "__whole",
        "may_be_number",
    )

    def __init__(self, secret: str) -> None:
        self.may_be_number = _NUMBER.fullmatch(secret) is not None
        self.__literal = literal_forms(secret)
        self.__only = whole_text(secret)
        inside: list[bytes] = []
        whole: list[bytes] = []
        rare: list[bytes] = []
        if len(secret) < SHORTEST:
            pass
        elif len(secret) < SHORTEST_INSIDE:
            inside = [
                b'"' + form.translate(_LOWER) + b'"' for form in _whole_values(secret)
            ]
        elif is_distinctive(secret):
            whole = _shortest_forms(
                {_letters_of(form) for form in common_forms(secret).values()}
            )
            rare = _shortest_forms(
                {_letters_of(form) for form in rare_forms(secret).values()}
            )
        else:
            inside = _shortest_forms(
                {form.translate(_LOWER) for form in forms(secret).values()}
            )
        self.__inside = tuple(inside)
        self.__whole = tuple(whole)
        self.__rare = tuple(rare)
        # Of two pieces one has at least half of the characters,
        # and contains one of these.
        self.__halves = tuple(
            half
            for form in whole
            for half in (form[: -(-len(form) // 2)], form[len(form) // 2 :])
        )

    def may_be_in(self, searched: SearchText) -> bool:
        """Whether `is_in` may be True; a quick check that never misses a secret.

        The text may be that of several records, which are then searched one by one.
        """
        # Each view of the text is only made if a pattern needs it.
        parts = (*self.__halves, *self.__rare)
        return any(part in searched.letters for part in parts) or any(
            form in searched.text for form in self.__inside
        )

    def is_in(self, searched: SearchText) -> bool:
        """Whether a text contains the secret."""
        if not self.may_be_in(searched):
            return False
        return (
            any(form in searched.text for form in self.__inside)
            or any(form in searched.letters for form in self.__rare)
            or any(_has_both_pieces(searched.letters, form) for form in self.__whole)
        )

    def occurs_literally_in(self, searched: SearchText) -> bool:
        """Whether a text contains an encoding of the secret in one piece."""
        text = searched.text
        return text == self.__only or any(form in text for form in self.__literal)

    def __repr__(self) -> str:
        return "SearchPatterns(***)"

    def __dir__(self) -> list[str]:
        # Inspectors list what dir() names, values included.
        return [
            name for name in super().__dir__() if not name.startswith("_SearchPatterns")
        ]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("patterns of a secret cannot be pickled or serialized")

    def __getstate__(self) -> NoReturn:
        raise TypeError("patterns of a secret have no state to hand out")


def literal_forms(secret: str) -> tuple[bytes, ...]:
    """Return the texts that a literal search seeks; for a very short secret, none."""
    if len(secret) < SHORTEST:
        return ()
    return tuple(dict.fromkeys(form.lower() for form in forms(secret).values()))


def whole_text(secret: str) -> bytes:
    """Return the `SearchText.text` that is the secret and nothing else."""
    return b'"' + secret.encode(errors="replace").lower() + b'"'


def _letters_of(text: bytes) -> bytes:
    """Return the ASCII letters and digits of a text, without anything between them."""
    return text.translate(_LOWER, _OTHERS)


def _whole_values(secret: str) -> set[bytes]:
    """Return the values that contain a short secret and nothing else."""
    raw = secret.encode(errors="replace")
    encoded = {b64encode(raw), urlsafe_b64encode(raw)}
    unpadded = {form.rstrip(b"=") for form in encoded}
    return {raw, raw.hex().encode(), quote(raw, safe="").encode(), *encoded, *unpadded}


def is_distinctive(secret: str) -> bool:
    """Whether a secret is distinctive without its punctuation, unlike a date."""
    letters = _letters_of(secret.encode(errors="replace"))
    return len(letters) >= SHORTEST_SPLIT and not letters.isdigit()


def _shortest_forms(forms: set[bytes]) -> list[bytes]:
    """Return the forms that contain no other one, which is found along with them."""
    return [
        form
        for form in sorted(forms)
        if not any(other in form for other in forms - {form})
    ]


def _has_both_pieces(letters: bytes, form: bytes) -> bool:
    """Whether a text contains a form, whole or as a first and a last piece."""
    present = SHORTEST_PIECE
    if form[:present] not in letters:
        return False
    missing = len(form) + 1
    # Each prefix of a piece that is present is present too: its length can be bisected.
    while missing - present > 1:
        length = (present + missing) // 2
        if form[:length] in letters:
            present = length
        else:
            missing = length
    return form[min(present, len(form) - SHORTEST_PIECE) :] in letters


def collect_texts(value: object, texts: list[str], numbers: list[str]) -> None:
    """Collect strings, keys and numbers of a value, and spellings of the numbers."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - dict is quicker
        if _are_texts(value) and _are_texts(value.values()):  # a row of CSV
            texts += value
            texts += value.values()
            return
        for key, part in value.items():
            collect_texts(key, texts, numbers)
            collect_texts(part, texts, numbers)
    elif isinstance(value, list | tuple):
        for part in value:
            collect_texts(part, texts, numbers)
    elif value is not None and not isinstance(value, bool):
        texts.append(str(value))
        if isinstance(value, int | float | Decimal):
            numbers += _spellings_of(texts[-1])


def _are_texts(values: Iterable[object]) -> bool:
    return {*map(type, values)} == {str}


def _spellings_of(number: str) -> Iterator[str]:
    """Yield a number without sign, point, exponent, and zeros after the point."""
    if number.isdigit() or len(number) < SHORTEST:
        return
    yield number.lstrip("-")
    decimal = Decimal(number).copy_abs()
    # The digits of a price are not a secret.
    if "." in number and len(number) > SHORTEST_INSIDE:
        yield number.replace(".", "")
    if decimal.is_finite() and abs(decimal.adjusted()) <= _LARGEST_EXPONENT:
        plain = f"{decimal:f}"
        yield plain
        if "." in plain:
            yield plain.rstrip("0").rstrip(".")


def _encode_in_groups(texts: list[str]) -> Iterator[bytes]:
    """Yield texts as blocks of a few thousand, to save memory."""
    for group in groups_of(texts, _GROUP):
        yield '"'.join(group).encode(errors="replace")


def decode_percent(text: bytes) -> bytes:
    """Decode the percent-encoded bytes of a text, a part at a time to save memory."""
    decoded = bytearray()
    start = 0
    while start < len(text):
        end = text.find(b"%", start + _PART)
        end = len(text) if end < 0 else end
        decoded += _decode_percent_part(text[start:end])
        start = end
    return bytes(decoded)


def _decode_percent_part(text: bytes) -> bytes:
    """Decode the percent-encoded bytes of a text, if possible all at once.

    Quoted-printable differs in its mark, in what follows a mark that encodes nothing,
    and in that it has a decoder in C.
    """
    if b"%\n" not in text and b"%\r" not in text:
        quoted = text.replace(b"=", b"%3D").replace(b"%", b"=")
        decoded = a2b_qp(quoted)
        if len(quoted) - len(decoded) == 2 * quoted.count(b"="):
            return decoded  # every mark encodes a byte
    return unquote_to_bytes(text)


def _decode_runs(text: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """Replace the encoded characters of a text by the characters themselves."""
    decoded = bytearray()
    meanings: dict[bytes, bytes] = {}
    end = 0
    for match in pattern.finditer(text):
        start = match.start()
        if start > end:
            decoded += text[end:start]
        run = match[0]
        meaning = meanings.get(run)
        if meaning is None:
            meaning = _meaning_of(run)
            if len(run) < _SHORT_RUN:  # of longer ones there are few
                meanings[run] = meaning
        decoded += meaning
        end = match.end()
    if not end:
        return text
    decoded += text[end:]
    return bytes(decoded)


def _meaning_of(run: bytes) -> bytes:
    """Return the characters of a run of encoded ones of the same kind."""
    if run.startswith(b"\\u") and len(run) > len(b"\\u"):
        units = bytes.fromhex(run.replace(b"\\u", b"").decode())
        return units.decode("utf-16-be", "surrogatepass").encode(errors="replace")
    if run.startswith(b"\\"):
        return run[1::2].translate(_CONTROL)
    if run[:3].lower() == b"&#x":
        return _characters_of(_HEXADECIMAL_NUMBER.findall(run), 16)
    if run.startswith(b"&#"):
        return _characters_of(_DECIMAL_NUMBER.findall(run), 10)
    return html5.get(run[1:].decode(), run.decode()).encode()


def _characters_of(numbers: list[bytes], base: int) -> bytes:
    """Return the characters with these numbers."""
    values = (
        int(number.lstrip(b"0")[:_MAX_DIGITS] or b"0", base) for number in numbers
    )
    text = "".join(chr(value) if value <= sys.maxunicode else "?" for value in values)
    return text.encode(errors="replace")
