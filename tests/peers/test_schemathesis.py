"""The HTTP interface beside its OpenAPI document: schemathesis sends what it likes."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.served_interface import (
    SCOPES,
    Interface,
    create_token,
    scopes,
    serving_interface,
)
from outkey.spar import Spar
from peers.authorization_servers import INSTALLED
from peers.servers import require

PROGRAM = INSTALLED / "schemathesis/bin/schemathesis"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "allow_header_conformance",
    "ignored_auth",
)
FULL_PHASES = "examples,coverage,fuzzing"
# What the names in paths stand for, so that an operation is reached.
NAMES = """
[[operations]]
include-path-regex = "/configurations/[{]name[}]"
exclude-method = "DELETE"
parameters = { "path.name" = "shop" }
[[operations]]
include-path-regex = "/configurations/[{]name[}]/(rotation/)?secrets/"
exclude-method = "DELETE"
parameters = { "path.name" = "shop", "path.field" = "token" }
[[operations]]
include-path-regex = "/lines/[{]name[}]|/webhooks/[{]name[}]"
exclude-method = "DELETE"
parameters = { "path.name" = "contacts" }
[[operations]]
include-path-regex = "/webhooks/[{]name[}]/secrets/"
parameters = { "path.name" = "contacts", "path.field" = "secret" }
[[operations]]
include-path-regex = "/runs/[{]run[}]"
parameters = { "path.run" = "1" }
[[operations]]
include-path-regex = "/send/"
parameters = { "path.configuration" = "acme", "path.path" = "echo" }
"""


@pytest.fixture
def interface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interface]:
    require(PROGRAM, "missing program: schemathesis (make .venv/.dev installs it)")
    folder = tmp_path_factory.mktemp("interface")
    with Spar() as spar, serving_interface(spar, folder) as served:
        served.call("POST", "lines/contacts/runs")
        yield served


@pytest.mark.parametrize("settings", ["", NAMES], ids=["any name", "names"])
def test_the_interface_keeps_its_document(
    interface: Interface, tmp_path: Path, settings: str, request: pytest.FixtureRequest
) -> None:
    """No 5xx, no status or body that is not described, with and without known names."""
    is_full = request.config.getoption("--full")
    limit = ("--per-minute", "1000000", "--allow-targets")
    token = create_token(interface.outkey, "fuzz", *scopes(*SCOPES), *limit)
    (tmp_path / "schemathesis.toml").write_text(settings)
    done = subprocess.run(
        [
            *(str(PROGRAM), "run", f"{interface.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--checks", ",".join(CHECKS)),
            *("--seed", "7"),
            *("--max-examples", "100" if is_full else "1"),
            *("--phases", FULL_PHASES if is_full else "examples,fuzzing"),
            *("--request-timeout", "30"),
            *("--continue-on-failure", "--warnings", "off"),
        ],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=3600 if is_full else 600,
        check=False,
    )
    assert token not in done.stdout
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
