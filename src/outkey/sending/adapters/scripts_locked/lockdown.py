"""The lock: Linux mechanisms that leave a process one descriptor and nothing else.

Contains only the lock and its proof; no script, no secret and no import from outkey. A
layer that cannot be applied, or that fails its check, is an error: a process that is
not locked never gets a script or a secret.
"""

import ctypes
import errno
import gc
import mmap
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

_libc = ctypes.CDLL(None, use_errno=True)
# Objects of ctypes must outlive its code: a destructor would run unmapped memory.
_immortal: list[object] = [_libc]


class LockError(Exception):
    """A layer cannot be applied, or does not hold; the text names it."""


class LockPlan(NamedTuple):
    """Values that are computed before locking: afterwards no file can be read."""

    descriptor: int  # the only one that may be read and written
    parent: int  # whose end ends this process
    memory: int  # bytes of address space
    seconds: int  # of processor time
    filter: bytes  # for seccomp
    native: tuple[tuple[int, int], ...]  # where the code of ctypes and cffi is mapped


class Layer(NamedTuple):
    """One layer of the lock: how it is applied, and how it is checked."""

    name: str
    build: Callable[[LockPlan], None]
    stands: Callable[[LockPlan], bool]


# ── system calls: name, number on x86_64 and on aarch64, which lacks the old ones ─────

# Calls that a computation needs; none of them reaches beyond the process.
ALLOWED = """
exit 60 93, exit_group 231 94, futex 202 98, clock_gettime 228 113, gettimeofday 96 169,
time 201 -, clock_nanosleep 230 115, getrandom 318 278, munmap 11 215, mremap 25 216,
brk 12 214, rt_sigreturn 15 139, rt_sigprocmask 14 135, sched_yield 24 124,
restart_syscall 219 128, getpid 39 172, gettid 186 178
"""
# Allowed by their arguments: see `_by_argument`.
CHECKED = "read 0 63, write 1 64, mmap 9 222, mprotect 10 226, madvise 28 233"
# Calls that Python's library may make fail with EPERM, which a script sees as an
# exception with its line. All other calls kill the process.
REFUSED = """
open 2 -, openat 257 56, openat2 437 437, creat 85 -, stat 4 -, lstat 6 -, fstat 5 80,
newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48, faccessat2 439 439,
readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, getcwd 79 17,
chdir 80 49, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35,
rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -,
symlinkat 266 36, chmod 90 -, fchmod 91 52, fchmodat 268 53, chown 92 -,
fchownat 260 54, truncate 76 45, ftruncate 77 46, utimensat 280 88, umask 95 166,
statfs 137 43, memfd_create 319 279, close 3 57, close_range 436 436, ioctl 16 29,
lseek 8 62, fcntl 72 25, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59,
pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, sendfile 40 71, fsync 74 82,
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -,
epoll_create1 291 20, eventfd2 290 19, flock 73 32,
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201,
accept 43 202, accept4 288 242, sendto 44 206, recvfrom 45 207, sendmsg 46 211,
recvmsg 47 212, setsockopt 54 208, getsockopt 55 209, getsockname 51 204,
getpeername 52 205, shutdown 48 210, kill 62 129, tkill 200 130, tgkill 234 131,
fork 57 -, vfork 58 -, clone 56 220, clone3 435 435, execve 59 221, execveat 322 281,
wait4 61 260, waitid 247 95, pidfd_open 434 434, pidfd_send_signal 424 424,
prctl 157 167, setrlimit 160 164, getrlimit 97 163, prlimit64 302 261, getrusage 98 165,
times 100 153, getppid 110 173, getpgid 121 155, getpgrp 111 -, setsid 112 157,
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158,
setuid 105 146, setgid 106 144, setresuid 117 147, setresgid 119 149,
rt_sigaction 13 134, sigaltstack 131 132, setitimer 38 103, getitimer 36 102,
alarm 37 -, pause 34 -, nanosleep 35 101, clock_getres 229 114, clock_settime 227 112,
sysinfo 99 179, uname 63 160, sched_getaffinity 204 123, sched_setaffinity 203 122,
getcpu 309 168, getpriority 140 141, setpriority 141 140, msync 26 227, mincore 27 232
"""
# The column of the tables above, and AUDIT_ARCH_*.
_MACHINES = {"x86_64": (1, 0xC000003E), "aarch64": (2, 0xC00000B7)}


class Calls(NamedTuple):
    """The system calls of one machine type, by name."""

    architecture: int
    allowed: dict[str, int]
    checked: dict[str, int]
    refused: dict[str, int]


def calls_of(machine: str) -> Calls:
    """Return the numbers of a machine type; one without a table cannot run scripts."""
    if (
        machine not in _MACHINES
        or sys.byteorder != "little"
        or struct.calcsize("P") != 8
    ):
        raise LockError("no system call table for this machine type")
    column, architecture = _MACHINES[machine]

    def numbers(table: str) -> dict[str, int]:
        rows = [row.split() for row in table.split(",")]
        return {row[0]: int(row[column]) for row in rows if row[column] != "-"}

    return Calls(architecture, numbers(ALLOWED), numbers(CHECKED), numbers(REFUSED))


# ── seccomp: the allow-list ───────────────────────────────────────────────────────────

# Instructions of the Berkeley packet filter.
_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_BITS = 0x45
_RETURN = 0x06
# What the kernel does with a call.
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_EPERM = 0x00050000 | errno.EPERM
# Offsets in struct seccomp_data.
_NUMBER = 0
_ARCHITECTURE = 4
_ARGUMENT_0 = 16
_ARGUMENT_2 = 32
_X32 = 0x40000000  # a second numbering of all calls on x86_64
_PROT_EXEC = 4
# From here on: sharing pages with other processes and, for root, breaking them.
_MADV_MERGEABLE = 12


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)  # struct sock_filter


def _by_argument(
    number: int, offset: int, test: int, value: int, *, good: bool
) -> bytes:
    """Allow a call where the test of one argument is `good`, else EPERM."""
    return b"".join(
        (
            _step(_EQUAL, number, 0, 4),
            # The kernel too reads these arguments as 32 bits: the low half is enough.
            _step(_LOAD, offset),
            _step(test, value, *((0, 1) if good else (1, 0))),
            _step(_RETURN, _ALLOW),
            _step(_RETURN, _EPERM),
        )
    )


def _each(numbers: Iterable[int], verdict: int) -> bytes:
    return b"".join(_step(_EQUAL, n, 0, 1) + _step(_RETURN, verdict) for n in numbers)


def program(calls: Calls, descriptor: int) -> bytes:
    """Return the filter as the kernel takes it."""
    checked = calls.checked
    steps = [
        # 32-bit calls on a 64-bit kernel (int 0x80) come with another architecture.
        _step(_LOAD, _ARCHITECTURE) + _step(_EQUAL, calls.architecture, 1, 0),
        _step(_RETURN, _KILL) + _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1) + _step(_RETURN, _KILL),
        _by_argument(checked["read"], _ARGUMENT_0, _EQUAL, descriptor, good=True),
        _by_argument(checked["write"], _ARGUMENT_0, _EQUAL, descriptor, good=True),
        _by_argument(checked["mmap"], _ARGUMENT_2, _BITS, _PROT_EXEC, good=False),
        _by_argument(checked["mprotect"], _ARGUMENT_2, _BITS, _PROT_EXEC, good=False),
        _by_argument(
            checked["madvise"], _ARGUMENT_2, _AT_LEAST, _MADV_MERGEABLE, good=False
        ),
        _each(calls.allowed.values(), _ALLOW),
        _each(calls.refused.values(), _EPERM),
        _step(_RETURN, _KILL),
    ]
    return b"".join(steps)


def install(filters: bytes) -> None:
    """Give a filter to the kernel; it cannot be removed."""
    code = ctypes.create_string_buffer(filters, len(filters))
    head = struct.pack("HxxxxxxP", len(filters) // 8, ctypes.addressof(code))
    pointer = ctypes.create_string_buffer(head, len(head))
    # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    _control("seccomp", 22, 2, ctypes.addressof(pointer))


def _attempts(plan: LockPlan) -> dict[str, Callable[[], object]]:
    return {
        "open a file": lambda: os.open("/", os.O_RDONLY),
        "look at a file": lambda: Path("/").stat(),
        "open a socket": lambda: socket.socket(socket.AF_INET),
        "make a pair of sockets": socket.socketpair,
        "start a process": os.fork,
        "become another program": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606
        "send a signal": lambda: os.kill(os.getpid(), 0),
        "read another descriptor": lambda: os.read(plan.descriptor - 1, 1),
        "write to another descriptor": lambda: os.write(plan.descriptor - 1, b"."),
        "copy a descriptor": lambda: os.dup(plan.descriptor),
        "make a pipe": os.pipe,
        "make a file in memory": lambda: os.memfd_create("x"),
        "map executable memory": lambda: mmap.mmap(
            -1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC
        ),
        "share memory pages": lambda: mmap.mmap(-1, 4096).madvise(_MADV_MERGEABLE),
        "look at a limit": lambda: resource.getrlimit(resource.RLIMIT_CORE),
        "handle a signal": lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN),
    }


def _is_filtered(plan: LockPlan) -> bool:
    """Try what must be impossible; anything but EPERM is a failure."""
    own = os.getpid()
    for what, attempt in _attempts(plan).items():
        try:
            attempt()
        except OSError as error:
            if error.errno == errno.EPERM:
                continue
        if os.getpid() != own:
            os._exit(1)  # the process that should not have been started
        raise LockError(f"seccomp: it can still {what}")
    return True


# ── the other layers ──────────────────────────────────────────────────────────────────


def _control(layer: str, option: int, *arguments: int) -> int:
    """Call prctl; a refusal is a LockError of the layer."""
    values = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    result = int(_libc.prctl(option, *values))
    if result < 0:
        raise LockError(f"{layer}: {os.strerror(ctypes.get_errno())}")
    return result


def _renounce_privileges(_plan: LockPlan) -> None:
    # PR_SET_NO_NEW_PRIVS, which Landlock and seccomp need
    _control("no new privileges", 38, 1)


def _hide_from_tracers(_plan: LockPlan) -> None:
    # PR_SET_DUMPABLE: no core file, no ptrace, a closed /proc
    _control("not dumpable", 4, 0)


def _die_with_parent(plan: LockPlan) -> None:
    _control("parent death signal", 1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != plan.parent:
        raise LockError("parent death signal: the parent is gone")


def _dies_with_parent(_plan: LockPlan) -> bool:
    number = ctypes.c_int()
    _control("parent death signal", 2, ctypes.addressof(number))  # PR_GET_PDEATHSIG
    return number.value == signal.SIGKILL


# _LINUX_CAPABILITY_VERSION_3, this process
_CAPABILITIES = struct.pack("Ii", 0x20080522, 0)


def _drop_capabilities(_plan: LockPlan) -> None:
    if _libc.capset(_CAPABILITIES, bytes(24)) != 0:
        raise LockError(f"capabilities: {os.strerror(ctypes.get_errno())}")


def _has_no_capabilities(_plan: LockPlan) -> bool:
    sets = ctypes.create_string_buffer(24)
    return _libc.capget(_CAPABILITIES, sets) == 0 and sets.raw == bytes(24)


# Numbers of system calls that are the same on every machine type, and a flag.
_CREATE_RULESET = 444
_RESTRICT_SELF = 446
_VERSION = 1


def _landlock(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise LockError(f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def _restrict_files(_plan: LockPlan) -> None:
    """Handle every right that this kernel's Landlock knows, and grant none."""
    version = _landlock(
        _CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)
    )
    files = (1 << 13) - 1
    for since, right in ((2, 13), (3, 14), (5, 15)):  # refer, truncate, device ioctl
        files |= (1 << right) * (version >= since)
    network = 3 * (version >= 4)  # TCP
    scopes = 3 * (version >= 6)  # abstract sockets and signals
    size = 8 + 8 * (version >= 4) + 8 * (version >= 6)
    rules = struct.pack("QQQ", files, network, scopes)
    ruleset = _landlock(_CREATE_RULESET, rules, ctypes.c_size_t(size), ctypes.c_uint(0))
    try:
        _landlock(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _files_are_restricted(_plan: LockPlan) -> bool:
    try:
        os.close(os.open("/", os.O_RDONLY))
    except OSError as error:
        return error.errno == errno.EACCES
    return False


def _limits(plan: LockPlan) -> dict[int, int]:
    none = "CORE FSIZE NPROC MEMLOCK MSGQUEUE RTPRIO"
    return {getattr(resource, f"RLIMIT_{name}"): 0 for name in none.split()} | {
        resource.RLIMIT_AS: plan.memory,
        resource.RLIMIT_CPU: plan.seconds,
        resource.RLIMIT_NOFILE: plan.descriptor + 1,
    }


def _limit(plan: LockPlan) -> None:
    for what, value in _limits(plan).items():
        try:
            resource.setrlimit(what, (value, value))
        except (OSError, ValueError) as error:
            raise LockError(f"resource limits: {error}") from None


def _is_limited(plan: LockPlan) -> bool:
    return all(
        resource.getrlimit(what) == (value,) * 2
        for what, value in _limits(plan).items()
    )


# ── ctypes and cffi: the code that calls native functions is unmapped ─────────────────


def native_code() -> tuple[tuple[int, int], ...]:
    """Return where the code of ctypes is mapped, and of cffi where it is loaded."""
    needed = {"_ctypes", "_cffi_backend"} & set(sys.modules)
    places: dict[str, list[tuple[int, int]]] = {}
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        module = line.rpartition("/")[2].partition(".")[0]
        if module in needed and " r-xp " in line:
            start, _, end = line.split()[0].partition("-")
            places.setdefault(module, []).append((int(start, 16), int(end, 16)))
    if set(places) != needed:
        raise LockError("ctypes: it is built into this Python and cannot be taken out")
    return tuple(where for ranges in places.values() for where in ranges)


def _eraser(start: int, end: int) -> mmap.mmap:
    """Return a mapping that unmaps another one when it is closed.

    A function called through ctypes cannot return to code that it has unmapped.
    Python's mmap objects call munmap themselves, so the address inside one is replaced.
    """
    mapping = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    inner = (ctypes.c_size_t * 2).from_address(id(mapping) + object.__basicsize__)
    data = ctypes.c_char.from_buffer(mapping)
    if tuple(inner) != (ctypes.addressof(data), len(mapping)):
        raise LockError("ctypes: an unknown build of Python")
    del data
    inner[:] = [start, end - start]
    return mapping


def _erase(plan: LockPlan, erasers: list[mmap.mmap], views: list[memoryview]) -> None:
    """Unmap the code; the kernel must then find nothing there to write."""
    for eraser in erasers:
        eraser.close()
    for view in views:
        try:
            os.write(plan.descriptor, view)
        except OSError as error:
            if error.errno == errno.EFAULT:
                continue
        raise LockError("ctypes: its code is still there")


# ── the whole ─────────────────────────────────────────────────────────────────────────

# Landlock comes before the limit of descriptors: its ruleset needs one.
LAYERS = (
    Layer("no new privileges", _renounce_privileges, lambda _: _control("", 39) == 1),
    Layer("parent death signal", _die_with_parent, _dies_with_parent),
    Layer("not dumpable", _hide_from_tracers, lambda _: _control("", 3) == 0),
    Layer("capabilities", _drop_capabilities, _has_no_capabilities),
    Layer("Landlock", _restrict_files, _files_are_restricted),
    Layer("resource limits", _limit, _is_limited),
)
SECCOMP = Layer("seccomp", lambda plan: install(plan.filter), _is_filtered)


def lock(
    plan: LockPlan, build: Iterable[Layer] = LAYERS, last: Layer = SECCOMP
) -> None:
    """Lock this process, and prove every layer, whether it was applied or not."""
    for layer in build:
        layer.build(plan)
    for layer in LAYERS:
        if not layer.stands(plan):
            raise LockError(f"{layer.name}: it does not hold")
    gc.disable()
    erasers = [_eraser(*where) for where in plan.native]
    views = [
        memoryview((ctypes.c_char * 1).from_address(start)) for start, _ in plan.native
    ]
    _immortal.extend(views)
    last.build(plan)
    SECCOMP.stands(plan)
    _erase(plan, erasers, views)
    # Without it the collector would visit objects of ctypes by code that is unmapped.
    gc.freeze()
    gc.enable()
