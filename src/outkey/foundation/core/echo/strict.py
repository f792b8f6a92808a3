"""The strictest search for secrets in a value, for what is shown or stored of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outkey.foundation.core.echo.search import SearchText

if TYPE_CHECKING:
    from outkey.foundation.core.secret import Secret


def reveals_secret(secrets: Iterable[Secret], value: object) -> bool:
    """Whether one of these secrets is in a value."""
    return StrictSearch(secrets).finds(value)


class StrictSearch:
    """The strictest search, in many values: what to look for is computed once."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._patterns = [secret.patterns() for secret in secrets]

    def finds(self, value: object) -> bool:
        """Whether one of the secrets is in a value."""
        text = search_text(value)
        return text is None or any(
            patterns.occurs_literally_in(text) or patterns.is_in(text)
            for patterns in self._patterns
        )


def search_text(value: object) -> SearchText | None:
    """Return the text of a value; None if it is nested too deeply to be read."""
    try:
        return SearchText.of_value(value)
    except RecursionError:
        return None
