"""Budgets of requests that responses state: so many in each window of time."""

import math
import threading
import time
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Window:
    """The present window of one budget."""

    ends: float = 0.0
    count: int = 0


class Budgets:
    """Counts requests by their path; `refused` is how many were beyond a budget."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: dict[str, Window] = {}
        self.refused = 0

    def take(self, path: str, limit: int, seconds: float) -> tuple[bool, Headers]:
        """Count a request; return whether it is permitted, and what to state."""
        now = time.monotonic()
        with self._lock:
            window = self._windows.setdefault(path, Window())
            if now >= window.ends:
                window.ends = now + seconds
                window.count = 0
            window.count += 1
            is_permitted = window.count <= limit
            self.refused += not is_permitted
            left = max(0, limit - window.count)
            reset = math.ceil(window.ends - now)
        return is_permitted, (
            ("X-RateLimit-Limit", str(limit)),
            ("X-RateLimit-Remaining", str(left)),
            ("X-RateLimit-Reset", str(reset)),
        )
