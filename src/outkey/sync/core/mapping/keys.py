"""The key of a record as text: what users read, and rejected records are found by."""

import hashlib
from collections.abc import Sequence

MAX_KEY_LENGTH = 200


def key_text(parts: Sequence[str]) -> str:
    """Return the values of the key fields as one text; a long one ends in a digest.

    A comma within one of several values gets a backslash, so that two keys are never
    the same text.
    """
    if len(parts) > 1:
        parts = [part.replace("\\", "\\\\").replace(",", "\\,") for part in parts]
    text = ", ".join(parts)
    if len(text) <= MAX_KEY_LENGTH:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{text[: MAX_KEY_LENGTH - len(digest) - 1]} {digest}"
