"""The system's clock."""

import time


class SystemClock:
    """Tells the time and waits."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
