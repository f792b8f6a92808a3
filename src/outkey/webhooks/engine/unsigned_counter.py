"""How many deliveries that prove nothing are accepted in a minute."""

import math
import threading
from collections import Counter

from outkey.sending.core.request.addresses import counted_part

UNSIGNED_PER_MINUTE = 600  # of one webhook
UNSIGNED_OF_ADDRESS = 120  # of these, those from one address
MINUTE = 60


class UnsignedCounter:
    """Counts the deliveries of this minute that prove nothing, by endpoint and address.

    What is refused is not counted, so that one address does not use up the number of
    all, and no more addresses are remembered than deliveries are accepted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()
        self._counts_of_address: Counter[tuple[str, str]] = Counter()

    def seconds_to_wait(self, endpoint: str, address: str, now: float) -> int:
        """Count a delivery; return for how long it is too much, 0 if it is not.

        An address that is not known, "", has no number of its own.
        """
        sender = (endpoint, counted_part(address))
        minute = int(now // MINUTE)
        with self._lock:
            if minute != self._minute:
                self._minute = minute
                self._counts.clear()
                self._counts_of_address.clear()
            is_over = self._counts[endpoint] >= UNSIGNED_PER_MINUTE or (
                bool(address) and self._counts_of_address[sender] >= UNSIGNED_OF_ADDRESS
            )
            if not is_over:
                self._counts[endpoint] += 1
                self._counts_of_address[sender] += 1
        return math.ceil((minute + 1) * MINUTE - now) if is_over else 0
