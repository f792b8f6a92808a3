"""Libraries that sign and verify webhooks, each in a process of its own.

Those of PyPI run in an environment that has no outkey, those of npm in Node.js.
"""

import json
import os
import select
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from outkey.webhooks.core.inbox.delivery import Delivery
from peers.authorization_servers import INSTALLED, require_node
from peers.servers import require

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE = 60  # seconds
EVENT_ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"


class Judge:
    """A library that answers as long as its process lives."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    def sign(self, delivery: Delivery, secret: str, now: int) -> Delivery:
        """Return a delivery as the library signs it."""
        signed = self._ask("sign", delivery, secret, now)
        return Delivery(
            delivery.method,
            signed["url"],
            tuple(signed["headers"].items()),
            b64decode(signed["body"]),
        )

    def accepts(self, delivery: Delivery, secret: str) -> bool:
        """Whether the library finds that a delivery is signed with a secret."""
        answer = self._ask("verify", delivery, secret)
        assert isinstance(answer, bool)
        return answer

    def _ask(self, task: str, delivery: Delivery, secret: str, now: int = 0) -> Any:  # noqa: ANN401 - its answer
        asked = {
            "task": task,
            "url": delivery.url,
            "headers": dict(delivery.headers),
            "body": b64encode(delivery.body).decode(),
            "secret": secret,
            "event_id": EVENT_ID,
            "now": now,
        }
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(asked).encode() + b"\n")
        stdin.flush()
        readable, _, _ = select.select([stdout], [], [], PATIENCE)
        line = stdout.readline() if readable else b""
        assert line.endswith(b"\n"), self._log.read_text(errors="replace")[-3000:]
        return json.loads(line)


def judge_command(name: str) -> list[str]:
    """Return the command of a judge, or skip the test: `pypi:stripe`, `npm:svix`."""
    origin, _, judge = name.partition(":")
    if origin == "pypi":
        python = require(
            INSTALLED / "judges/bin/python",
            "missing libraries: requirements/judges.lock (make .venv/.dev installs it)",
        )
        return [str(python), str(PROGRAMS / "webhook_judges.py"), judge]
    for package in ("@octokit/webhooks", "@shopify/shopify-api", "stripe", "svix"):
        missing = f"missing npm package: {package} (make .venv/.dev installs it)"
        require(INSTALLED / "node_modules" / package, missing)
    node = require_node()
    return [str(node), str(PROGRAMS / "webhook_judges.mjs"), str(INSTALLED), judge]


@contextmanager
def judge_running(name: str, folder: Path) -> Iterator[Judge]:
    """Run a judge until the block ends."""
    log = folder / f"{name.replace(':', '-')}.log"
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    with ExitStack() as closing:
        process = closing.enter_context(
            subprocess.Popen(
                judge_command(name),
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=closing.enter_context(log.open("wb")),
            )
        )
        closing.callback(process.kill)
        yield Judge(process, log)
