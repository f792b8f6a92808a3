"""A program that pulls records, in a process and a folder of its own."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outkey.spar.records_api import TOKEN

PEER_PYTHON = Path(__file__).parent.parent / ".venv-bench" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Program:
    """The source of a program, and the interpreter that runs it."""

    label: str
    python: Path
    source: str
    timeout: int  # seconds
    document: str = ""  # that `outkey apply` saves first

    def measure(
        self, url: str, count: int, size: int, settings: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run the program for so many records in pages, and return what it prints."""
        with tempfile.TemporaryDirectory() as folder:
            # Clean: no proxy, no netrc, no configuration files.
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "OUTKEY_HOME": f"{folder}/home",
                "SHOP_TOKEN": TOKEN,
                "RUNTIME__DLTHUB_TELEMETRY": "false",
                "RUNTIME__LOG_LEVEL": "ERROR",
                **settings,
            }
            if self.document:
                apply = ["-m", "outkey.hosts.cli.main", "apply", "-"]
                self._run(apply, environment, self.document)
            arguments = ["-c", self.source, url, str(count), str(size)]
            figures: dict[str, Any] = json.loads(self._run(arguments, environment))
        if figures["records"] != count:
            raise RuntimeError(
                f"{self.label} has {figures['records']} records instead of {count}"
            )
        return figures

    def _run(
        self, arguments: list[str], environment: Mapping[str, str], stdin: str = ""
    ) -> str:
        process = subprocess.run(
            [self.python, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=self.timeout,
            check=False,
            env=environment,
            cwd=environment["HOME"],
        )
        if process.returncode:
            raise RuntimeError(f"{self.label} failed:\n{process.stderr[-2000:]}")
        return process.stdout
