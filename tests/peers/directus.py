"""Directus on SQLite: an API whose tokens come from a JSON login."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers.authorization_servers import INSTALLED, Asker, require_node
from peers.servers import listening, require

EMAIL = "admin@example.com"
PASSWORD = 'sesame "öffne" dich\\7'
STATIC_TOKEN = "static-token-of-the-administrator"
TOKEN_SECONDS = 5  # a loaded machine may take two for a login and its use
_START_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Directus:
    """A running Directus; its access tokens live for two seconds."""

    url: str

    def end_sessions(self) -> None:
        """Change the password to what it is, which ends every session."""
        answer = Asker().ask(
            f"{self.url}/users/me",
            method="PATCH",
            data={"password": PASSWORD},
            headers={"Authorization": f"Bearer {STATIC_TOKEN}"},
        )
        assert answer.status == 200


@contextmanager
def directus_running(folder: Path) -> Iterator[Directus]:
    """Run Directus until the block ends."""
    node = require_node()
    modules = INSTALLED / "node_modules"
    # Not by its own command, which looks for updates in the internet.
    program = require(
        modules / "@directus" / "api" / "dist" / "cli" / "run.js",
        "missing npm package: directus (make .venv/.dev installs it)",
    )
    require(
        modules / "sqlite3" / "build" / "Release" / "node_sqlite3.node",
        "missing library: sqlite3 of npm, compiled (make .venv/.dev builds it)",
    )
    settings = {
        "PATH": os.environ.get("PATH", os.defpath),
        "DB_CLIENT": "sqlite3",
        "DB_FILENAME": str(folder / "data.db"),
        "KEY": "11111111-1111-4111-8111-111111111111",
        "SECRET": "the-secret-that-signs-its-tokens",
        "ADMIN_EMAIL": EMAIL,
        "ADMIN_PASSWORD": PASSWORD,
        "ADMIN_TOKEN": STATIC_TOKEN,
        "ACCESS_TOKEN_TTL": f"{TOKEN_SECONDS}s",
        "HOST": "127.0.0.1",
        "SERVE_APP": "false",
        "TELEMETRY": "false",
        # Directus responds 503 while its event loop is late, which on a busy
        # test machine says nothing about outkey.
        "PRESSURE_LIMITER_ENABLED": "false",
        "EXTENSIONS_PATH": str(folder / "extensions"),
        "STORAGE_LOCAL_ROOT": str(folder / "uploads"),
        "LOG_LEVEL": "error",
    }
    subprocess.run(
        [str(node), str(program), "bootstrap"],
        cwd=folder,
        env=settings,
        check=True,
        capture_output=True,
        timeout=_START_SECONDS,
    )

    def command(port: int) -> list[str]:
        pairs = [f"{name}={value}" for name, value in settings.items()]
        started = [str(node), str(program), "start"]
        return ["env", "-i", *pairs, f"PORT={port}", *started]

    with listening(folder, "directus", command, "/server/ping") as port:
        yield Directus(f"http://127.0.0.1:{port}")
