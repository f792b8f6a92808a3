"""A script whose clock follows the API's: every clock of the calendar, and no other."""

import time

import pytest

from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from scripts.conftest import body_of, call_of, worker_of

CLOCKS = (
    "int(time.time())",
    "time.time_ns() // 10**9",
    "int(calendar.timegm(time.gmtime()))",
    "int(time.mktime(time.localtime()))",
    "int(datetime.datetime.now(datetime.timezone.utc).timestamp())",
    "int(datetime.datetime.now().timestamp())",
    "calendar.timegm(datetime.datetime.utcnow().timetuple())",
    "int(email.utils.parsedate_to_datetime(email.utils.formatdate()).timestamp())",
    "int(time.mktime(time.strptime(time.ctime())))",
    "int(time.mktime(time.strptime(time.asctime())))",
    (
        "int(time.mktime(time.strptime(time.strftime('%d.%m.%Y %H:%M:%S'), '%d.%m.%Y"
        " %H:%M:%S')))"
    ),
)
IMPORTS = "import time, datetime, calendar, email.utils\n"


@pytest.mark.parametrize("shift", [600, -7200, 0])
def test_every_clock_shows_the_apis_time(scripts: LockedScripts, shift: int) -> None:
    values = ", ".join(f"'C{at}': str({clock})" for at, clock in enumerate(CLOCKS))
    source = IMPORTS + body_of(f"return {{{values}}}")
    before = time.time()
    given = scripts.run(call_of(source, shift=shift)).headers
    for (_, value), clock in zip(given, CLOCKS, strict=True):
        assert before + shift - 2 < int(value.reveal()) < time.time() + shift + 2, clock


def test_the_clock_goes_on(scripts: LockedScripts) -> None:
    source = "import time\n" + body_of("return {'T': repr(time.time())}")
    first, second = (
        float(scripts.run(call_of(source, shift=60)).headers[0][1].reveal())
        for _ in range(2)
    )
    assert first < second


def test_another_shift_gets_another_process(scripts: LockedScripts) -> None:
    scripts.run(call_of(shift=60))
    before = worker_of(scripts)
    scripts.run(call_of(shift=60))
    assert worker_of(scripts) is before
    scripts.run(call_of(shift=61))
    assert worker_of(scripts) is not before
