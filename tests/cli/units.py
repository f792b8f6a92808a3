"""The systemd units of deploy/, read and run without systemd."""

import json
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from programs import program_command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = ("outkey.service", "outkey-worker.service")
INSTALLED = "/opt/outkey/.venv/bin/outkey"  # as in the units
ENVIRONMENT_FILE = "/etc/outkey/outkey.env"
# The checkout, and the Python that its environment was made with: on a real server
# neither is in a home or among temporary files.
VISIBLE = sorted({str(ROOT), sys.base_prefix})
USER = "nobody"  # stands for the user `outkey`, who need not exist here
# What `programs/run_unit.py` and `UnitRun` apply, as systemd does.
APPLIED = {
    "User",
    "Group",
    "EnvironmentFile",
    "Environment",
    "ExecStart",
    "TimeoutStopSec",
    "StateDirectory",
    "StateDirectoryMode",
    "UMask",
    "LimitNOFILE",
    "LimitCORE",
    "NoNewPrivileges",
    "ProtectSystem",
    "ProtectHome",
    "PrivateTmp",
    "PrivateDevices",
    "ProtectControlGroups",
    "ProtectKernelTunables",
    "RestrictAddressFamilies",
    "CapabilityBoundingSet",
    "AmbientCapabilities",
}
# What only systemd can apply, and why outkey does not notice it.
NOT_APPLIED = {
    "Type": "about how systemd waits for the start",
    "KillMode": "there is no control group; SIGTERM is sent to the main process",
    "Restart": "nothing starts the process again",
    "RestartSec": "nothing starts the process again",
    "ProtectClock": "a process without capabilities cannot set the clock anyway",
    "ProtectHostname": "a process without capabilities cannot set it anyway",
    "ProtectKernelLogs": "a process without capabilities cannot read them anyway",
    "ProtectKernelModules": "a process without capabilities cannot load them anyway",
    "RestrictRealtime": "a seccomp filter for a call that outkey never makes",
    "RestrictSUIDSGID": "a seccomp filter for modes that outkey never sets",
    "LockPersonality": "a seccomp filter for a call that outkey never makes",
}


def read_service(unit: str) -> dict[str, str]:
    """Return the settings of the section [Service]; each is there once."""
    settings: dict[str, str] = {}
    section = ""
    for line in (DEPLOY / unit).read_text().splitlines():
        if line.startswith("["):
            section = line
        elif line and not line.startswith(("#", ";")) and section == "[Service]":
            name, _, value = line.partition("=")
            assert name not in settings, f"{unit} has {name} twice"
            settings[name] = value
    return settings


def replace_once(text: str, before: str, after: str) -> str:
    """Replace what must be there."""
    assert before in text, f"there is no {before!r} any more"
    return text.replace(before, after)


def installed_command() -> str:
    return str(Path(sys.executable).with_name("outkey"))


@dataclass
class UnitRun:
    """Runs units with one state directory, as an unprivileged user."""

    folder: Path
    variables: dict[str, str]  # of the environment file
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._owner = pwd.getpwnam(USER)
        self.state = self.folder / "state"
        mode = {read_service(unit)["StateDirectoryMode"] for unit in UNITS}
        assert mode == {"0700"}
        self.state.mkdir(mode=0o700)
        shutil.chown(self.state, self._owner.pw_uid, self._owner.pw_gid)

    def start(
        self, unit: str, *command: str, port: int = 0, stdin: bytes = b""
    ) -> "subprocess.Popen[bytes]":
        """Start the process of a unit, or another command with its settings."""
        service = read_service(unit)
        started = replace_once(service["ExecStart"], INSTALLED, installed_command())
        if port:
            started = replace_once(started, "--port 8765", f"--port {port}")
        plan = {
            "service": service,
            "command": [installed_command(), *command] if command else started.split(),
            "environment": self._environment(service),
            "user": self._owner.pw_uid,
            "group": self._owner.pw_gid,
            "state": str(self.state),
            "visible": VISIBLE,
        }
        file = self.folder / f"plan-{len(self.processes)}.json"
        file.write_text(json.dumps(plan))
        with (self.folder / f"log-{len(self.processes)}").open("wb") as log:
            process = subprocess.Popen(
                program_command("cli/run_unit", file),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        return process

    def run(self, unit: str, *command: str, stdin: str = "") -> str:
        """Run a command with the settings of a unit, and return what it printed."""
        process = self.start(unit, *command, stdin=stdin.encode())
        code = process.wait(60)
        printed = self.log_of(process)
        assert code == 0, printed
        return printed

    def log_of(self, process: "subprocess.Popen[bytes]") -> str:
        number = self.processes.index(process)
        return (self.folder / f"log-{number}").read_text()

    def stop(self, unit: str, process: "subprocess.Popen[bytes]") -> float:
        """Send SIGTERM as systemd does; return the seconds until the end."""
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        patience = float(read_service(unit)["TimeoutStopSec"])
        assert process.wait(patience) == 0, self.log_of(process)
        return time.monotonic() - began

    def end(self) -> None:
        """End what a failed test has left."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(30)

    def _environment(self, service: dict[str, str]) -> dict[str, str]:
        assert service["EnvironmentFile"] == f"-{ENVIRONMENT_FILE}"
        pairs = (word.split("=", 1) for word in shlex.split(service["Environment"]))
        # A variable of the file wins over one of the unit.
        return {
            "PATH": os.defpath,
            "HOME": "/var/lib/outkey",
            "USER": USER,
            **dict(pairs),
            **self.variables,
        }


def facts_of(process: "subprocess.Popen[bytes]") -> dict[str, str]:
    """Return what the kernel knows of a process."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    pairs = (line.split(":", 1) for line in text.splitlines())
    return {name: " ".join(value.split()) for name, value in pairs}


def writable_places(process: "subprocess.Popen[bytes]") -> set[str]:
    """Return the mounts that a process may write to, besides those of the kernel."""
    lines = Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()
    mounts: dict[str, Any] = {line.split()[4]: line.split()[5] for line in lines}
    kernel = ("/proc", "/sys", "/dev")
    return {
        place
        for place, options in mounts.items()
        if "rw" in options.split(",") and not place.startswith(kernel)
    }
