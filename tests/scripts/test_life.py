"""Workers that hang, eat memory, die or are killed: a typed error, and life goes on."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from opcode import opmap
from pathlib import Path

import pytest

from outkey.foundation.core.errors import HeaderFormatError, OutkeyError, ScriptFailed
from outkey.sending.adapters.scripts_locked import link, pool
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from scripts.conftest import (
    EXAMPLE,
    body_of,
    call_of,
    children_of,
    descriptors,
    pid_of,
    worker_of,
    zygote_of,
)

LIMIT = 0.25
SLOW = f"the script took longer than {LIMIT * 1000:.0f} ms"
MEMORY = "the script used too much memory"
ENDED = "the script ended its process"
OS = "import uuid\nos = uuid.os\n"
# Four gigabytes behind the code, where no memory is. What lies right behind it may be
# anything, also a text that a script can return.
EXTENDED = opmap["EXTENDED_ARG"]
FAR_JUMP = [EXTENDED, 127, EXTENDED, 255, EXTENDED, 255, opmap["JUMP_FORWARD"], 255]

BAD = {
    "endless loop": (body_of("while True: pass"), SLOW),
    "endless loop at load": ("while True: pass\n" + EXAMPLE, SLOW),
    "sleep": ("import time\n" + body_of("time.sleep(60)"), SLOW),
    "swallowing exceptions": (
        body_of(
            "while True:", "    try:", "        1/0", "    except BaseException: pass"
        ),
        SLOW,
    ),
    "regular expression": (
        "import re\n" + body_of("re.match('(a+)+$', 'a' * 60 + 'b')"),
        SLOW,
    ),
    "big numbers": (body_of("return {'A': str(7 ** (10 ** 9))}"), f"{SLOW}|{MEMORY}"),
    "endless C loop": (
        "import itertools\n" + body_of("sum(itertools.repeat(1))"),
        SLOW,
    ),
    "destructor": (
        "class A:\n    def __del__(self):\n        while True: pass\n"
        + body_of("A()", "return {}"),
        SLOW,
    ),
    "10 GB in one piece": (
        body_of("return {'A': str(len(bytearray(10 ** 10)))}"),
        MEMORY,
    ),
    "memory in many pieces": (
        body_of("a = []", "while True: a.append(bytearray(10 ** 6))"),
        f"{MEMORY}|{SLOW}",
    ),
    "recursion": (
        body_of("def f(n): return f(n + 1)", "return f(0)"),
        "raised RecursionError in line 2",
    ),
    "recursion without a limit": (
        "import uuid\n"
        + body_of(
            "uuid.sys.setrecursionlimit(10 ** 9)",
            "def f(): return [*map(f2, [1])]",
            "def f2(x): return f()",
            "return f()",
        ),
        f"{ENDED}|{MEMORY}|{SLOW}|RecursionError",
    ),
    "fork": (OS + body_of("os.fork()"), "raised PermissionError in line 4"),
    "leaving": (OS + body_of("os._exit(0)"), ENDED),
    "leaving at load": (OS + "os._exit(0)\n", ENDED),
    "abort": (OS + body_of("os.abort()"), ENDED),
    "system exit": (body_of("raise SystemExit"), "raised SystemExit in line 2"),
    "keyboard interrupt": (
        body_of("raise KeyboardInterrupt"),
        "raised KeyboardInterrupt",
    ),
    "segmentation fault": (
        body_of(
            "import types",
            "f = lambda: 0",
            f"c = f.__code__.replace(co_code=bytes({FAR_JUMP}))",
            "return types.FunctionType(c, {})()",
        ),
        ENDED,
    ),
    "50 MB of headers": (body_of("return {'A': 'x' * 50_000_000}"), "64 KiB"),
    "a million headers": (
        body_of("return {str(n): 'x' for n in range(10 ** 6)}"),
        f"64 KiB|{SLOW}",
    ),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[LockedScripts]:
    made = LockedScripts(LIMIT)
    yield made
    made.close()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_script_is_a_typed_error_in_time(
    shared: LockedScripts, name: str
) -> None:
    source, message = BAD[name]
    started = time.monotonic()
    with pytest.raises((ScriptFailed, HeaderFormatError), match=message):
        shared.run(call_of(source, place=name))
    assert time.monotonic() - started < LIMIT + 2  # 50 ms on a quiet machine
    assert len(shared.run(call_of(place=name)).headers) == 2
    assert len(shared.run(call_of(place="another")).headers) == 2


def test_the_limit_is_kept_by_some_50_milliseconds(scripts: LockedScripts) -> None:
    call, spent = call_of(body_of("while True: pass")), []
    scripts.run(call_of(place="warm"))
    for number in range(6):
        started = time.monotonic()
        with pytest.raises(ScriptFailed, match=SLOW):
            scripts.run(call_of(call.source, place=str(number)))
        spent.append(time.monotonic() - started)
    assert min(spent) < LIMIT + 0.05


def test_a_signal_does_not_prolong_the_limit(scripts: LockedScripts) -> None:
    """A profiler's timer interrupts the wait again and again."""
    former = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        started = time.monotonic()
        with pytest.raises(ScriptFailed, match=SLOW):
            scripts.run(call_of(body_of("while True: pass")))
        assert time.monotonic() - started < LIMIT + 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_many_kills_leave_no_zombie_and_no_descriptor(
    request: pytest.FixtureRequest,
) -> None:
    scripts = LockedScripts(most=2000)
    leave = OS + body_of("os._exit(1)")
    scripts.run(call_of(place="warm"))
    gc.collect()
    before = descriptors()
    for number in range(1000 if request.config.getoption("--full") else 40):
        with pytest.raises(ScriptFailed):
            scripts.run(call_of(leave, place=f"bad{number % 3}{number}"))
    assert descriptors() <= before  # a slot without a worker holds none
    # One that was killed may be running to its end, or be a zombie for a moment.
    _until(lambda: len(children_of(zygote_of(scripts))) == 1)
    scripts.close()
    assert descriptors() < before


def test_three_failures_in_a_row_set_a_script_aside(
    scripts: LockedScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(pool.time, "monotonic", lambda: now[0])
    call = call_of(OS + body_of("os._exit(1)"))
    waits = []
    for wait in (30, 60, 120, 240, 300, 300):
        for _ in range(3 if wait == 30 else 1):
            with pytest.raises(ScriptFailed, match=ENDED):
                scripts.run(call)
        with pytest.raises(ScriptFailed, match=f"disabled for another {wait} s"):
            scripts.run(call)
        waits.append(wait)
        now[0] += wait + 0.1
    assert len(scripts.run(call_of()).headers) == 2, "a new script starts afresh"


def test_time_outs_set_a_script_aside_and_an_answer_starts_over(
    scripts: LockedScripts,
) -> None:
    fast = LockedScripts(limit=0.05)
    source = body_of("while sync_line.name == 'loop': pass", "return {}")
    for names in (("loop", "loop", "fine"), ("loop", "loop", "loop")):
        for name in names:
            try:
                fast.run(call_of(source, name=name))
            except ScriptFailed as error:
                assert "took longer than 50 ms" in error.message
    with pytest.raises(ScriptFailed, match="it failed to respond 3 times in a row"):
        fast.run(call_of(source, name="fine"))
    fast.close()


def test_an_exception_is_an_answer(scripts: LockedScripts) -> None:
    for _ in range(6):
        with pytest.raises(ScriptFailed, match="ZeroDivisionError"):
            scripts.run(call_of(body_of("1/0")))


def test_a_warm_worker_is_kept(scripts: LockedScripts) -> None:
    numbers = set()
    for _ in range(5):
        scripts.run(call_of())
        numbers.add(pid_of(scripts))
    assert len(numbers) == 1


@pytest.mark.parametrize(
    "change",
    [{"secret": "another secret"}, {"source": EXAMPLE + "\n"}, {"secret": None}],
)
def test_another_secret_or_script_gets_another_process(
    scripts: LockedScripts, change: dict[str, str]
) -> None:
    scripts.run(call_of())
    before = pid_of(scripts)
    try:
        scripts.run(call_of(**change))
    except OutkeyError as error:
        assert change == {"secret": None}, error.message
    assert pid_of(scripts) != before
    _until(lambda: before not in children_of(zygote_of(scripts)))


def test_a_worker_is_recycled(
    scripts: LockedScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_MAX_CALLS", 3)
    numbers = []
    for _ in range(6):
        scripts.run(call_of())
        numbers.append(pid_of(scripts))
    assert len(set(numbers[:3])) == len(set(numbers[3:])) == 1
    assert numbers[0] != numbers[5]


def test_a_busy_worker_is_recycled_before_its_processor_time_ends(
    scripts: LockedScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts.run(call_of())
    before = pid_of(scripts)
    monkeypatch.setattr(link, "_MAX_BUSY", 0.0)
    scripts.run(call_of())
    assert pid_of(scripts) != before


def test_the_pool_is_bounded_and_the_oldest_goes() -> None:
    scripts = LockedScripts(most=4)
    for number in range(10):
        scripts.run(call_of(place=str(number)))
        scripts.run(call_of(place="0"))
    assert "0" in scripts._slots
    assert len(scripts._slots) == 4
    _until(lambda: len(children_of(zygote_of(scripts))) == 4)
    scripts.close()


def test_idle_workers_are_evicted(
    scripts: LockedScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts.run(call_of(place="old"))
    later = time.monotonic() + 601
    monkeypatch.setattr(pool.time, "monotonic", lambda: later)
    scripts.run(call_of(place="new"))
    assert list(scripts._slots) == ["new"]


def test_a_worker_in_a_call_is_not_evicted() -> None:
    scripts = LockedScripts(limit=1.0, most=1)
    slow = "import time\n" + body_of("time.sleep(0.4)", "return {'A': 'slow'}")
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.append(len(scripts.run(call_of(slow)).headers))
    )
    thread.start()
    time.sleep(0.2)
    scripts.run(call_of(place="other"))
    thread.join()
    assert found == [1]
    scripts.close()


def test_many_threads_share_workers() -> None:
    scripts, failures = LockedScripts(most=3, limit=5.0), []
    source = body_of(
        "return {'A': sync_line.name + sync_line.api_config_id.get_secret_key()}"
    )

    def work(number: int) -> None:
        for turn in range(30):
            place = str((number + turn) % 5)
            found = scripts.run(
                call_of(source, place, place=place, name=f"{number}-{turn}-")
            ).headers
            if found[0][1].reveal() != f"{number}-{turn}-{place}":
                failures.append(place)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    scripts.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_killed_from_outside_is_replaced(
    scripts: LockedScripts, how: int
) -> None:
    scripts.run(call_of())
    before = pid_of(scripts)
    os.kill(before, how)
    _until(lambda: before not in children_of(zygote_of(scripts)))
    assert len(scripts.run(call_of()).headers) == 2
    assert pid_of(scripts) != before


def test_a_zygote_killed_from_outside_is_replaced(scripts: LockedScripts) -> None:
    scripts.run(call_of())
    worker = pid_of(scripts)
    os.kill(zygote_of(scripts), signal.SIGKILL)
    _until(lambda: not Path(f"/proc/{worker}").exists() or _is_zombie(worker))
    assert len(scripts.run(call_of()).headers) == 2
    assert len(scripts.run(call_of(place="another")).headers) == 2


def test_two_configurations_do_not_touch_each_other(scripts: LockedScripts) -> None:
    evil = (
        "import hmac, hashlib, json, time\n"
        "hmac.new = hashlib.sha256 = json.loads = lambda *a, **k: 1 / 0\n"
        "time.time = lambda: 0\n" + body_of("return {'A': 'evil'}")
    )
    scripts.run(call_of(place="good"))
    assert scripts.run(call_of(evil, place="evil")).headers[0][1].reveal() == "evil"
    assert scripts.run(call_of(place="good")).headers[0][1].reveal() != "0"
    assert scripts.run(call_of(place="new")).headers[0][1].reveal() != "0"
    assert pid_of(scripts, "good") != pid_of(scripts, "evil")


def test_a_forked_application_has_workers_of_its_own(scripts: LockedScripts) -> None:
    scripts.run(call_of())
    before, worker = zygote_of(scripts), pid_of(scripts)
    reader, writer = os.pipe()
    number = os.fork()
    if number == 0:
        status = 1
        try:
            held = len(scripts._slots)
            fine = len(scripts.run(call_of()).headers) == 2 and held == 0
            own = zygote_of(scripts) not in {before, 0}
            scripts.close()
            status = 0 if fine and own else 2
        finally:
            os._exit(status)
    os.close(reader)
    os.close(writer)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
    assert len(scripts.run(call_of()).headers) == 2
    assert (zygote_of(scripts), pid_of(scripts)) == (before, worker)


APPLICATION = """
import os, sys, time
sys.path[:0] = {path!r}
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from scripts.conftest import call_of, pid_of, zygote_of
scripts = LockedScripts()
scripts.run(call_of())
print(zygote_of(scripts), pid_of(scripts), flush=True)
{end}
"""


@pytest.mark.parametrize(
    "end",
    [
        "",
        "os._exit(1)",
        "os.kill(os.getpid(), 9)",
        "1/0",
        "scripts.close()",
        "del scripts",
        "os.fork() or time.sleep(3); os._exit(0)",
    ],
)
def test_the_end_of_an_application_leaves_no_process(end: str) -> None:
    path = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    ran = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", APPLICATION.format(path=path, end=end)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout
    assert ran.stderr
    numbers = [int(number) for number in ran.stdout.readline().split()]
    assert len(numbers) == 2
    if "fork" not in end:
        ran.wait(20)
        assert "ResourceWarning" not in ran.stderr.read()
    else:
        ran.wait(20)
    for number in numbers:
        _until(
            lambda number=number: (
                not Path(f"/proc/{number}").exists() or _is_zombie(number)
            )
        )
    ran.stdout.close()
    ran.stderr.close()


def test_processes_have_nothing_of_the_application(scripts: LockedScripts) -> None:
    if os.getuid() != 0:
        pytest.skip("they are not dumpable, so only root may look")
    os.environ["PLANTED_HERE"] = "1"
    scripts.run(call_of(secret="the-secret-of-the-worker"))
    for number in (zygote_of(scripts), pid_of(scripts)):
        assert b"PLANTED_HERE" not in Path(f"/proc/{number}/environ").read_bytes()
        assert b"the-secret" not in Path(f"/proc/{number}/cmdline").read_bytes()
    del os.environ["PLANTED_HERE"]
    assert sorted(os.listdir(f"/proc/{pid_of(scripts)}/fd")) == ["3"]  # noqa: PTH208
    status = Path(f"/proc/{pid_of(scripts)}/status").read_text()
    for fact in (
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "CapEff:\t0000000000000000",
        "Threads:\t1",
    ):
        assert fact in status


def test_closing_twice_and_using_again_works(scripts: LockedScripts) -> None:
    scripts.close()
    scripts.run(call_of())
    scripts.close()
    scripts.close()
    assert len(scripts.run(call_of()).headers) == 2
    assert worker_of(scripts) is not None


def _is_zombie(number: int) -> bool:
    try:
        return ") Z" in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return True


def _until(condition: object, seconds: float = 10.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
