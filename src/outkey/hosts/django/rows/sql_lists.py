"""A list of values as one parameter of a statement.

Drivers take longer for each parameter than databases for its value, and the text of the
statement does not depend on how many there are.
"""

import json
from collections.abc import Sequence

from outkey.foundation.adapters.postgresql_text import array_literal


def text_list(vendor: str, texts: Sequence[str]) -> object:
    """Return a list of texts as one parameter."""
    return json.dumps(texts) if vendor == "sqlite" else array_literal(texts)
