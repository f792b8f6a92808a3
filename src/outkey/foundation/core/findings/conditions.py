"""Conditions: the problems that a notice can be about."""

import hashlib
import json
from typing import NamedTuple


class Condition(NamedTuple):
    """The problem that a notice is about; at most one open notice has it."""

    kind: str
    configuration: str = ""
    about: str = ""  # a host, a URL, a day or a sync line

    def key(self) -> str:
        """Return a short text that no other condition has."""
        text = json.dumps(self).encode()
        return f"{self.kind}:{hashlib.sha256(text).hexdigest()[:32]}"
