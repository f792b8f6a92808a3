"""The system's clock."""

import time


class SystemClock:
    """Reads the system's clocks, and sleeps."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
