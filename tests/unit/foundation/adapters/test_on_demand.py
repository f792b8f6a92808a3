"""A value that threads ask for at the same moment is made once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from outkey.foundation.adapters.on_demand import OnDemand

THREADS = 8


def test_threads_that_ask_at_once_get_one_value() -> None:
    made: list[object] = []
    others_may_ask = Event()

    def make() -> object:
        others_may_ask.wait(0.05)
        made.append(object())
        return made[-1]

    value = OnDemand(make)
    barrier = Barrier(THREADS)

    def ask(_: int) -> object:
        barrier.wait(10)
        return value()

    assert value.made is None
    with ThreadPoolExecutor(THREADS) as pool:
        values = list(pool.map(ask, range(THREADS)))
    assert len(made) == 1
    assert set(values) == {made[0]} == {value.made}


def test_what_could_not_be_made_is_made_at_the_next_call() -> None:
    outcomes = iter([OSError, "made"])

    def make() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, str):
            return outcome
        raise outcome

    value = OnDemand(make)
    try:
        value()
    except OSError:
        assert value.made is None
    assert value() == "made"
