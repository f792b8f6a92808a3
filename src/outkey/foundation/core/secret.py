"""The type that prevents a secret from being shown. Nothing else may be added here.

Safe by type, not by name: every way in which Python turns an object into text returns
a mask, and only `reveal()` returns the text; a test lists its callers.
"""

import hmac
from collections.abc import Callable, Iterable
from typing import NoReturn, SupportsIndex

from outkey.foundation.core.echo.search import (
    SHORTEST,
    SHORTEST_SPLIT,
    SearchPatterns,
    SearchText,
    has_escapes,
    is_distinctive,
    literal_forms,
    whole_text,
)
from outkey.foundation.core.errors import ConfigError, OutkeyError, without_traceback
from outkey.foundation.core.text import Text

MASK = "***"


class Secret:
    """A text that must not be shown. Compares in constant time, is not hashable."""

    __slots__ = ("__derived", "__text")
    __text: str
    # The last function of derive_once and its result; None for the secret itself.
    __derived: "tuple[Callable[[str], str], Secret | None] | None"

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_Secret__text", text)
        object.__setattr__(self, "_Secret__derived", None)

    def reveal(self) -> str:
        """Return the text. Only callers that a test lists may call this."""
        return self.__text

    def derive(self, transform: Callable[[str], str]) -> "Secret":
        """Apply a pure function to the text; the result is secret too.

        It is this very object where the function returns the text as it is.
        The function may refuse by raising an OutkeyError, which must not repeat the
        text. Its traceback and any other exception are dropped, since both may hold
        the text.
        """
        failure: OutkeyError
        try:
            text = transform(self.__text)
            return self if text is self.__text else Secret(text)
        except OutkeyError as error:
            failure = error
        except Exception:  # noqa: BLE001 - e.g. UnicodeEncodeError carries the whole text
            failure = ConfigError(
                Text("a secret has an invalid value and cannot be used")
            )
        raise without_traceback(failure)

    def derive_once(self, transform: Callable[[str], str]) -> "Secret":
        """Return what `derive` returns, and store it for the next call.

        Only the result of the last function is stored, as long as the secret lives.
        """
        derived = self.__derived
        if derived is None or derived[0] != transform:
            secret = self.derive(transform)
            # No reference to itself, or the secret would outlive its last user.
            derived = (transform, None if secret is self else secret)
            object.__setattr__(self, "_Secret__derived", derived)
        return self if derived[1] is None else derived[1]

    def derive_all(self, transform: Callable[[str], Iterable[str]]) -> "list[Secret]":
        """Apply a pure function that returns several texts; all are secret."""
        return [Secret(text) for text in transform(self.__text)]

    @staticmethod
    def joined(*parts: "str | Secret") -> "Secret":
        """Concatenate texts and secrets; the result is secret too."""
        texts = (part.reveal() if isinstance(part, Secret) else part for part in parts)
        return Secret("".join(texts))

    def known_prefix(self, words: Iterable[str]) -> str:
        """Return which of the caller's own words the text starts with, or nothing."""
        return next((word for word in words if self.__text.startswith(word)), "")

    def is_mask(self) -> bool:
        """Whether the text is a mask, as copied from a page."""
        return bool(self.__text.strip()) and not self.__text.split()[-1].strip("*•●")

    def occurs_in(self, text: str) -> bool:
        """Whether a remote text contains the secret, as it is or encoded.

        One of three characters or less must be the whole text: it occurs in many words.
        """
        if len(self.__text) < SHORTEST:
            return self.__text == text
        data = text.encode(errors="surrogatepass")
        # No form of a secret is shorter than the secret, and a search adds two quotes.
        if len(data) + 2 < len(self.__text) and not has_escapes(data):
            return False
        return self.occurs_in_search_text(SearchText(data))

    def occurs_in_search_text(self, searched: SearchText) -> bool:
        """Whether a text contains the secret anywhere, even inside a word."""
        text = searched.text
        return text == whole_text(self.__text) or any(
            form in text for form in literal_forms(self.__text)
        )

    def contains(self, other: "Secret") -> bool:
        """Whether the text repeats another secret, as it is or encoded.

        A short one must be the whole text, since it occurs in others by chance.
        """
        return other.patterns().is_in(SearchText.of_value(self.__text))

    def search_also_finds(self, other: "Secret") -> bool:
        """Whether a search for this secret finds the other one too.

        That is so if the other one contains this one and little more, such as a header
        value and its token. This one must be searched in all forms: a number is not, so
        that the split or spaced forms of a token that begins with it would be missed.
        """
        text = self.__text
        longer = other.reveal()
        rest = len(longer) - len(text)
        return is_distinctive(text) and 0 < rest < SHORTEST_SPLIT and text in longer

    def patterns(self) -> SearchPatterns:
        """Return the search patterns that find the secret in many texts."""
        return SearchPatterns(self.__text)

    def fingerprint(self, key: bytes) -> bytes:
        """Return a value that only equal secrets share, for a key that stays secret."""
        return hmac.digest(key, self.__text.encode(errors="surrogatepass"), "sha256")

    @property
    def wire_length(self) -> int:
        """The number of bytes that are sent, which the network can see as well."""
        return len(self.__text.encode(errors="surrogatepass"))

    def has_text(self, text: str) -> bool:
        """Whether this is the text. Not in constant time: only for texts of our own."""
        return self.__text == text

    def longer_than(self, length: int) -> bool:
        """Whether the text has more characters than that."""
        return len(self.__text) > length

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self.__text.encode(errors="surrogatepass"),
            other.__text.encode(errors="surrogatepass"),
        )

    __hash__ = None  # type: ignore[assignment]  # a hash of a weak secret reveals it

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __dir__(self) -> list[str]:
        # Inspectors list what dir() names, values included.
        return [name for name in super().__dir__() if not name.startswith("_Secret")]

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or serialized")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret has no state to hand out")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Secret cannot be changed")
