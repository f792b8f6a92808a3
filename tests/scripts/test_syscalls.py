"""All system calls from native code: nothing beyond the list reaches the kernel."""

import json
import platform
import re
import sys
from pathlib import Path

import pytest

from outkey.sending.adapters.scripts_locked import lockdown
from scripts.conftest import VERSIONS, python_of
from scripts.test_lock import inside

# The newest call of Linux 6.18 is below; what comes later is unknown, and killed.
LAST = 480
CALLS = lockdown.calls_of(platform.machine())
HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


# uretprobe and uprobe pass every filter in newer kernels (seen in 6.18): they are for
# the kernel's own trampolines. Whoever else calls them is ended by SIGILL, or told that
# there is no such thing.
PROBES = {335, 336} if platform.machine() == "x86_64" else set()


def sweep(
    first: int, last: int, arguments: tuple[int, ...], python: str = sys.executable
) -> dict[int, str]:
    said = inside(
        f"import json; print(json.dumps(sweep(range({first}, {last}), {arguments!r})))",
        python,
    )
    return {int(number): outcome for number, outcome in json.loads(said).items()}


def expected(number: int) -> set[str]:
    if number in CALLS.allowed.values():
        return {"reached", "refused"}  # also the kernel itself may say EPERM
    if number in CALLS.refused.values():
        return {"refused"}
    if number in CALLS.checked.values():
        return {"reached", "refused"}
    if number in PROBES:
        return {"killed", "illegal", "absent"}
    return {"killed"}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_call_beyond_the_list_reaches_the_kernel(version: str) -> None:
    found = sweep(0, LAST, (-1, 0, 0, 0, 0, 0), python_of(version))
    assert sorted(found) == list(range(LAST))
    assert {n: o for n, o in found.items() if o not in expected(n)} == {}
    assert found[CALLS.checked["read"]] == found[CALLS.checked["write"]] == "refused"


@pytest.mark.parametrize("protection", [4, 5, 7])
def test_no_memory_becomes_executable(protection: int) -> None:
    for name in ("mmap", "mprotect"):
        number = CALLS.checked[name]
        found = sweep(number, number + 1, (0, 4096, protection, 0x22, -1, 0))
        assert found == {number: "refused"}


@pytest.mark.parametrize("descriptor", [0, 1, 2, 4, 100, -1])
def test_no_other_descriptor_is_read_or_written(descriptor: int) -> None:
    for name in ("read", "write"):
        number = CALLS.checked[name]
        assert sweep(number, number + 1, (descriptor, 0, 1)) == {number: "refused"}


@pytest.mark.parametrize("advice", [12, 14, 100, 101, 102])
def test_root_breaks_no_pages(advice: int) -> None:
    number = CALLS.checked["madvise"]
    assert sweep(number, number + 1, (0, 0, advice)) == {number: "refused"}


def test_the_second_numbering_is_killed() -> None:
    x32 = 0x40000000
    assert set(sweep(x32, x32 + 20, (0,) * 6).values()) == {"killed"}


def test_the_sweep_with_other_arguments(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--full"):
        pytest.skip("only in the full run")
    for arguments in (
        (0,) * 6,
        (3, 0, 0, 0, 0, 0),
        (1, 1, 1, 1, 1, 1),
        (2**31 - 1,) * 6,
    ):
        numbers = [n for n in range(1200) if n not in CALLS.allowed.values()]
        found = sweep(0, 1200, arguments)
        assert {n: found[n] for n in numbers if found[n] not in expected(n)} == {}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip("no kernel headers here")
    text = (
        header.read_text()
        .replace("__NR3264_", "__NR_")
        .replace("__NR_fstatat ", "__NR_newfstatat ")
    )
    known = dict(re.findall(r"^#define __NR_(\w+)\s+(\d+)$", text, re.MULTILINE))
    calls = lockdown.calls_of(machine)
    for numbers in (calls.allowed, calls.checked, calls.refused):
        for name, number in numbers.items():
            assert known[name] == str(number), name
