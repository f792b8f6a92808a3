"""Finding a secret in somebody else's text: as it is, encoded, reversed, or in two pieces.

How much is looked for depends on the length of the secret, since a short one stands in ordinary
text by chance:

    4 to 7 characters    only where a JSON value is the secret and nothing else
    8 to 11              anywhere, as it is or encoded
    12 and more          also with other characters in between, or split into two values
"""

import re
from base64 import b64encode, urlsafe_b64encode
from typing import NoReturn, SupportsIndex
from urllib.parse import quote

from outkey.core.encodings import forms

SHORTEST = 4
SHORTEST_INSIDE = 8
SHORTEST_SPLIT = 12
SHORTEST_PIECE = 4  # of a secret that is split
_LOWER = bytes(range(256)).lower()
_ALPHANUMERIC = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OTHERS = bytes(byte for byte in range(256) if byte not in _ALPHANUMERIC)
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class SearchText:
    """A text to look for secrets in, prepared once for all of them."""

    __slots__ = ("letters", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text.translate(_LOWER)
        self.letters = _letters(text)

    @classmethod
    def of_json(cls, text: bytes) -> "SearchText":
        """Return the text of a JSON document with its escapes read as the characters they mean."""
        if b"\\" in text:
            text = _ESCAPE.sub(_character, text)
        return cls(text)


class SearchPatterns:
    """What to look for to find one secret. As safe to print and to pass on as the secret itself."""

    __slots__ = ("__halves", "__inside", "__whole")

    def __init__(self, secret: str) -> None:
        inside: list[bytes] = []
        whole: list[bytes] = []
        if len(secret) < SHORTEST:
            pass
        elif len(secret) < SHORTEST_INSIDE:
            inside = [b'"' + form.translate(_LOWER) + b'"' for form in _whole_values(secret)]
        elif _is_distinctive(secret):
            whole = _without_longer({_letters(form) for form in forms(secret).values()})
        else:
            inside = _without_longer({form.translate(_LOWER) for form in forms(secret).values()})
        self.__inside = tuple(inside)
        self.__whole = tuple(whole)
        # Of two pieces one has at least half of the characters, and holds one of these.
        self.__halves = tuple(
            half for form in whole for half in (form[: -(-len(form) // 2)], form[len(form) // 2 :])
        )

    def may_be_in(self, searched: SearchText) -> bool:
        """Tell whether a closer look is worth it: never False where `is_in` would be True.

        A text of several records may be looked at; each of them then has its own.
        """
        letters = searched.letters
        text = searched.text
        return any(half in letters for half in self.__halves) or any(
            form in text for form in self.__inside
        )

    def is_in(self, searched: SearchText) -> bool:
        """Tell whether the secret stands in a text."""
        if not self.may_be_in(searched):
            return False
        letters = searched.letters
        return any(form in searched.text for form in self.__inside) or any(
            _has_both_pieces(letters, form) for form in self.__whole
        )

    def __repr__(self) -> str:
        return "SearchPatterns(***)"

    def __dir__(self) -> list[str]:
        # Inspectors list what dir() names, values included.
        return [name for name in super().__dir__() if not name.startswith("_SearchPatterns")]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("patterns of a secret cannot be pickled or serialized")

    def __getstate__(self) -> NoReturn:
        raise TypeError("patterns of a secret have no state to hand out")


def _letters(text: bytes) -> bytes:
    """Return the ASCII letters and digits of a text, so that nothing put in between hides them."""
    return text.translate(_LOWER, _OTHERS)


def _whole_values(secret: str) -> set[bytes]:
    """Return what a value is that holds a short secret and nothing else."""
    raw = secret.encode(errors="replace")
    encoded = {b64encode(raw), urlsafe_b64encode(raw)}
    unpadded = {form.rstrip(b"=") for form in encoded}
    return {raw, raw.hex().encode(), quote(raw, safe="").encode(), *encoded, *unpadded}


def _is_distinctive(secret: str) -> bool:
    """Tell whether a secret is itself without its punctuation; a date is its own digits."""
    letters = _letters(secret.encode(errors="replace"))
    return len(letters) >= SHORTEST_SPLIT and not letters.isdigit()


def _without_longer(found: set[bytes]) -> list[bytes]:
    """Leave out each form that holds another one, which is found wherever it is."""
    return [form for form in sorted(found) if not any(one in form for one in found - {form})]


def _has_both_pieces(letters: bytes, form: bytes) -> bool:
    if form in letters:
        return True
    cuts = range(SHORTEST_PIECE, len(form) - SHORTEST_PIECE + 1)
    return any(form[:cut] in letters and form[cut:] in letters for cut in cuts)


def _character(escape: re.Match[bytes]) -> bytes:
    number, character = escape.groups()
    if number is not None:
        return chr(int(number, 16)).encode(errors="surrogatepass")
    return _CONTROL.get(character, character)
