from unittest.mock import patch

from outkey.foundation.adapters.clock_system import SystemClock


def test_a_host_may_stop_the_clock_for_its_tests() -> None:
    clock = SystemClock()
    with (
        patch("time.time", lambda: 1.0),
        patch("time.monotonic", lambda: 2.0),
        patch("time.sleep") as sleep,
    ):
        assert (clock.now(), clock.monotonic()) == (1.0, 2.0)
        clock.sleep(60)
    sleep.assert_called_once_with(60)
