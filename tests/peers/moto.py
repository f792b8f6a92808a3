"""moto: AWS as nobody here wrote it, with IAM switched on."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers.authorization_servers import INSTALLED
from peers.documents import Given, Table
from peers.servers import require

PROGRAM = Path(__file__).parent / "programs" / "moto_aws.py"


@dataclass(frozen=True)
class Moto:
    """A running moto, and the keys of its users."""

    url: str
    key_id: str
    key: str
    denied_id: str
    denied_key: str
    role: str

    def table(self, **changed: object) -> Table:
        aws: dict[str, object] = {
            "access_key_id": self.key_id,
            "secret_access_key": Given(self.key),
            "region": "eu-central-1",
            "service": "s3",
            "sts_url": f"{self.url}/",
        }
        return {
            "base_url": self.url,
            "authentication_type": "aws_sigv4",
            "verification": {"test_path": "/", "compare": False},
            "aws": aws | changed,
        }


@contextmanager
def moto_running(folder: Path) -> Iterator[Moto]:
    """Run moto until the block ends."""
    python = require(
        INSTALLED / "moto/bin/python",
        "missing libraries: requirements/moto.lock (make .venv/.dev installs it)",
    )
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    with ExitStack() as closing:
        log = closing.enter_context((folder / "log").open("wb"))
        process = closing.enter_context(
            subprocess.Popen(
                [str(python), str(PROGRAM)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        )
        closing.callback(process.kill)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()[-3000:]
        yield Moto(**json.loads(line))
