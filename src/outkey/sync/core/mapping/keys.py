"""The key of a record as text: what users read, and rejected records are found by."""

import hashlib
from collections.abc import Sequence

MAX_KEY_LENGTH = 200
SEPARATOR = ", "


def key_text(parts: Sequence[str]) -> str:
    """Return the values of the key fields as one text; a long one ends in a digest.

    A comma within one of several values gets a backslash, so that two keys are never
    the same text.
    """
    if len(parts) > 1:
        parts = [part.replace("\\", "\\\\").replace(",", "\\,") for part in parts]
    text = SEPARATOR.join(parts)
    if len(text) <= MAX_KEY_LENGTH:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{text[: MAX_KEY_LENGTH - len(digest) - 1]} {digest}"


def key_texts(keys: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts of keys as `key_text` does, in a few steps for all of them."""
    texts = [*map(SEPARATOR.join, keys)]
    separators = sum(max(0, len(key) - 1) for key in keys)
    together = "".join(texts)
    is_plain = "\\" not in together and together.count(",") == separators
    if not is_plain or max(map(len, texts), default=0) > MAX_KEY_LENGTH:
        return [*map(key_text, keys)]
    return texts
