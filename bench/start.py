"""What a command costs before it does anything: processor seconds of whole processes.

Each command is a process of its own, with a home that exists. `test` sends its request
to the sparring provider in this process, whose time is not counted. An empty Django
project is measured in the same rounds: on a busy machine all of them take longer.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Budget, finish

from outkey.spar import Spar

ROUNDS = 7
OUTKEY = str(Path(sys.executable).with_name("outkey"))
DJANGO = """
import django
from django.conf import settings
settings.configure()
django.setup()
"""
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "empty Django project": [sys.executable, "-c", DJANGO],
    "outkey --help": [OUTKEY, "--help"],
    "outkey list": [OUTKEY, "list"],
    "outkey show": [OUTKEY, "show", "acme"],
    "outkey test": [OUTKEY, "test", "acme"],
}
LIMITS = {
    "outkey --help": 0.15,
    "outkey list": 0.45,
    "outkey show": 0.45,
    "outkey test": 0.45,
}
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
"""


def processor_seconds(command: list[str], environment: dict[str, str]) -> float:
    """Run a command that succeeds, and return the user and system time it took."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def make_home(url: str, environment: dict[str, str]) -> None:
    """Create a home with one configuration that works."""
    entered = {
        (OUTKEY, "apply", "-"): DOCUMENT.format(url=url),
        (OUTKEY, "secret", "set", "acme", "token"): "spar-token",
    }
    for command, text in entered.items():
        subprocess.run(
            command,
            env=environment,
            input=text,
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def main() -> int:
    """Measure all commands in turns, and judge the least of each."""
    with tempfile.TemporaryDirectory() as folder, Spar() as spar:
        environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": f"{folder}/home"}
        make_home(spar.url, environment)
        seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, command in COMMANDS.items():
                seconds[name].append(processor_seconds(command, environment))
    least = {name: min(measured) for name, measured in seconds.items()}
    for name, measured in least.items():
        print(f"{name}: {measured:.3f} s of processor time")
    budgets = [
        Budget(f"{name}, seconds of processor time", least[name], limit)
        for name, limit in LIMITS.items()
    ]
    return finish("start", {"seconds": seconds, "least": least}, budgets)


if __name__ == "__main__":
    sys.exit(main())
