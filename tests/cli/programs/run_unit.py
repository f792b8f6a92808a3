"""Becomes a process as systemd would start it for a unit; needs root.

Argument: a JSON file with what `cli.units.Plan` has. Everything is done in a mount
namespace of its own, so that nothing outside changes.
"""

import ctypes
import json
import os
import platform
import resource
import struct
import sys
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
FLAGS = {"nosuid": NO_SUID, "nodev": NO_DEVICES, "noexec": NO_PROGRAMS}
FLAGS |= {"noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
DROP_BOUNDING, SET_SECCOMP, NO_NEW_PRIVILEGES = 24, 22, 38
LAST_CAPABILITY = 63
SOCKET_CALLS = {"x86_64": 41, "aarch64": 198}
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
KERNEL_SYSTEMS = ("/dev", "/proc", "/sys")
TEMPORARY = ("/tmp", "/var/tmp")


def check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = libc.mount(
        source.encode(),
        target.encode(),
        kind.encode(),
        ctypes.c_ulong(flags),
        options.encode(),
    )
    check(result, f"mount {target}")


class Places:
    """Paths that are visible again after what is above them was hidden."""

    def __init__(self, paths: list[str]) -> None:
        # By descriptors: their paths lead nowhere once they are hidden.
        self._descriptors = {
            path: os.open(path, os.O_PATH) for path in paths if Path(path).exists()
        }

    def hide(self, place: str, mode: str = "0755") -> None:
        """Mount an empty folder over a place, with what is to stay visible below it."""
        if not Path(place).is_dir():
            return
        mount("tmpfs", place, "tmpfs", NO_SUID | NO_DEVICES, f"mode={mode}")
        for path, descriptor in self._descriptors.items():
            if path.startswith(f"{place}/"):
                bind(descriptor, path)


def bind(descriptor: int, path: str) -> None:
    """Make what is open visible at a path."""
    source = f"/proc/self/fd/{descriptor}"
    if Path(source).is_dir():
        Path(path).mkdir(parents=True, exist_ok=True)
    else:
        Path(path).touch()
    mount(source, path, "", BIND)


def hide_places(service: dict[str, str], visible: list[str]) -> None:
    """Hide what the unit hides: homes, temporary files and devices of others."""
    devices = [f"/dev/{name}" for name in DEVICES]
    places = Places([*visible, *devices, "/dev/shm"])
    if service["ProtectHome"] == "yes":
        for place in ("/home", "/root", "/run/user"):
            places.hide(place)
    if service["PrivateTmp"] == "yes":
        for place in TEMPORARY:
            places.hide(place, "1777")
    if service["PrivateDevices"] == "yes":
        places.hide("/dev")
    places.hide("/var/lib")


def make_read_only(besides: list[str]) -> None:
    """Remount everything read-only but some places, as ProtectSystem=strict does."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, options = line.split()[4:6]
        place = place.encode().decode("unicode_escape")
        if place in besides or place.startswith(KERNEL_SYSTEMS):
            continue
        flags = sum(FLAGS.get(option, 0) for option in options.split(","))
        mount("", place, "", REMOUNT | BIND | READ_ONLY | flags)


def isolate(plan: dict[str, Any]) -> None:
    """Show the process the file system that the unit gives it."""
    service = plan["service"]
    state = f"/var/lib/{service['StateDirectory']}"
    check(libc.unshare(NEW_MOUNTS), "unshare")
    mount("", "/", "", RECURSIVE | PRIVATE)
    descriptor = os.open(plan["state"], os.O_PATH)
    hide_places(service, plan["visible"])
    bind(descriptor, state)
    if service["ProtectSystem"] == "strict":
        make_read_only([state, *TEMPORARY])
    for setting, place in (
        ("ProtectKernelTunables", "/proc/sys"),
        ("ProtectControlGroups", "/sys/fs/cgroup"),
    ):
        if service[setting] == "yes" and Path(place).is_dir():
            mount(place, place, "", BIND | RECURSIVE)
            mount("", place, "", REMOUNT | BIND | READ_ONLY)


def allow_families(names: list[str]) -> None:
    """Let the process create sockets of these families only (seccomp)."""
    load, equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 97  # EAFNOSUPPORT
    families = [FAMILIES[name] for name in names]
    steps = [
        (load, 0, 0, 0),  # the number of the call
        (equal, 0, len(families) + 2, SOCKET_CALLS[platform.machine()]),
        (load, 0, 0, 16),  # its first argument
        *(
            (equal, len(families) - index, 0, family)
            for index, family in enumerate(families)
        ),
        (give, 0, 0, refuse),
        (give, 0, 0, allow),
    ]
    # Another call jumps to the last step, and so does each family that is listed.
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
    pointer = ctypes.create_string_buffer(program, len(program))
    check(libc.prctl(SET_SECCOMP, 2, pointer, 0, 0), "seccomp")


def renounce(plan: dict[str, Any]) -> None:
    """Become the user of the unit, without a capability and for good."""
    service = plan["service"]
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == ""
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(DROP_BOUNDING, capability, 0, 0, 0)  # those that the kernel knows
    os.setgroups([])
    os.setresgid(plan["group"], plan["group"], plan["group"])
    os.setresuid(plan["user"], plan["user"], plan["user"])
    if service["NoNewPrivileges"] == "yes":
        check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    allow_families(service["RestrictAddressFamilies"].split())


def main() -> None:
    """Start the command of the unit in place of this program."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    service = plan["service"]
    isolate(plan)
    files = int(service["LimitNOFILE"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    core = int(service["LimitCORE"])
    resource.setrlimit(resource.RLIMIT_CORE, (core, core))
    os.umask(int(service["UMask"], 8))
    os.chdir("/")
    renounce(plan)
    os.execve(plan["command"][0], plan["command"], plan["environment"])


main()
