"""What a notice is about."""

import hashlib
import json
from typing import NamedTuple


class Condition(NamedTuple):
    """What a notice is about: there is at most one open notice for each."""

    kind: str
    configuration: str = ""
    about: str = ""  # a host, a URL, a day or a sync line

    def key(self) -> str:
        """Return a short text that no other condition has."""
        text = json.dumps(self).encode()
        return f"{self.kind}:{hashlib.sha256(text).hexdigest()[:32]}"
