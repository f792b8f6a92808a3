"""A tour in the terminal: one request for each method and each kind of failure.

The other side is the sparring provider, on this machine. Nothing leaves it.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

import outkey
from outkey.errors import OutkeyError
from outkey.spar import Spar

# Public, made-up credentials of the sparring provider.
CREDENTIALS = {
    "SPAR_PASSWORD": "open sesame",
    "SPAR_WRONG_PASSWORD": "open barley",
    "SPAR_TOKEN": "spar-token",
    "SPAR_KEY": "spar-key",
    "SPAR_CLIENT_SECRET": "spar-client-secret",
    "SPAR_SIGNING_KEY": "spar-signing-key",
}
SCRIPT = Path(__file__).parent / "scripts" / "hmac_time.py"
CONFIGURATIONS = """
[configuration.none]
base_url = "{url}"
network = "internal"
limits = {{ read_timeout = 1, total_timeout = 3, retries = 0, response_mebibytes = 4 }}

[configuration.basic]
base_url = "{url}"
network = "internal"
authentication_type = "basic"
username = "sparring"
password = "env:SPAR_PASSWORD"

[configuration.wrong-password]
base_url = "{url}"
network = "internal"
authentication_type = "basic"
username = "sparring"
password = "env:SPAR_WRONG_PASSWORD"

[configuration.bearer]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SPAR_TOKEN"

[configuration.api-key]
base_url = "{url}"
network = "internal"
headers = [{{ key = "X-API-Key", value = "env:SPAR_KEY" }}]

[configuration.oauth2]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"

[configuration.oauth2.oauth2]
token_url = "{url}/oauth/token"
client_id = "spar-client"
client_secret = "env:SPAR_CLIENT_SECRET"

[configuration.script]
base_url = "{url}"
network = "internal"
secret_key = "env:SPAR_SIGNING_KEY"
script = '''{script}'''

[configuration.broken-script]
base_url = "{url}"
network = "internal"
script = "def compute_auth_header(sync_line): return 1 / 0"

[configuration.tls]
base_url = "{secure}"
network = "internal"
authentication_type = "bearer"
token = "env:SPAR_TOKEN"
tls = {{ ca_file = "{ca_file}" }}

[configuration.unknown-ca]
base_url = "{secure}"
network = "internal"
authentication_type = "bearer"
token = "env:SPAR_TOKEN"

[configuration.no-secret]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SPAR_TOKEN_THAT_IS_NOT_SET"

[configuration.two-sources]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SPAR_TOKEN"
headers = [{{ key = "Authorization", value = "env:SPAR_KEY" }}]

[configuration.metadata]
base_url = "http://169.254.169.254"
network = "internal"

[configuration.open-production]
base_url = "https://api.acme.example"
"""


@dataclass(frozen=True)
class Stop:
    """One stop of the tour and what should happen there."""

    title: str
    configuration: str
    path: str
    expected: str = "works"


STOPS = [
    Stop("None", "none", "/echo"),
    Stop("Basic", "basic", "/basic"),
    Stop("Bearer Token", "bearer", "/bearer"),
    Stop("API key in a header", "api-key", "/key"),
    Stop("OAuth 2.0, client credentials", "oauth2", "/oauth/api"),
    Stop("Signed by a script", "script", "/signed"),
    Stop("Bearer Token over TLS", "tls", "/bearer"),
    Stop("Redirect, same origin", "bearer", "/redirect/same"),
    Stop("Wrong password", "wrong-password", "/basic", "invalid_credentials"),
    Stop("Missing permission", "bearer", "/forbidden", "insufficient_permissions"),
    Stop("Expired token", "bearer", "/bearer/expired", "token_expired"),
    Stop("Malformed header", "bearer", "/header-format", "header_format"),
    Stop("Too many requests", "bearer", "/limited?after=100", "rate_limited"),
    Stop("Server error", "basic", "/status/500", "server_error"),
    Stop("Redirect, other origin", "basic", "/redirect/elsewhere", "redirect_blocked"),
    Stop("Redirect, TLS to plain", "tls", "/redirect/downgrade", "redirect_blocked"),
    Stop("Unknown CA", "unknown-ca", "/bearer", "tls"),
    Stop("Slow response", "none", "/slow/headers", "timeout"),
    Stop("Connection reset", "none", "/reset", "connection"),
    Stop("Half a response", "none", "/truncated", "connection"),
    Stop("Gzip bomb, 1 MB to 1 GB", "none", "/bomb", "response_too_large"),
    Stop("Response of 5 GB", "none", "/huge", "response_too_large"),
    Stop("Secret not set", "no-secret", "/bearer", "secret_missing"),
    Stop("Script that fails", "broken-script", "/signed", "script_error"),
    Stop("Two sources, one header", "two-sources", "/bearer", "header_conflict"),
    Stop("Cloud metadata", "metadata", "/", "egress_denied"),
    Stop("None in production", "open-production", "/", "authentication_required"),
]


@dataclass(frozen=True)
class Visit:
    """What happened at a stop."""

    stop: Stop
    headers: list[str]
    status: int | None
    cause: str
    remedy: str

    @property
    def as_expected(self) -> bool:
        """Whether the tour went as planned here."""
        return self.cause == self.stop.expected


def main() -> int:
    """Visit every stop and print what happened; anything unexpected is exit code 1."""
    os.environ.update(CREDENTIALS)
    console = Console()
    with Spar(tls=True) as spar, TemporaryDirectory() as folder:
        file = Path(folder) / "tour.toml"
        file.write_text(
            CONFIGURATIONS.format(
                url=spar.url,
                secure=spar.secure,
                ca_file=spar.ca_file,
                script=SCRIPT.read_text(encoding="utf-8"),
            )
        )
        with outkey.load(file) as gateway:
            steps = track(STOPS, "sparring", console=console, transient=True)
            visits = [visit(gateway, stop) for stop in steps]
        elsewhere = [
            arrival for arrival in spar.journal if arrival.server == "elsewhere"
        ]
    console.print(table_of(visits, wide=console.width >= 120))
    expected = sum(visit.as_expected for visit in visits)
    console.print(
        f"[bold]{expected} of {len(visits)}[/bold] went as expected, and "
        f"[bold]{len(elsewhere)}[/bold] requests reached the other origin.\n"
        "Next: [cyan]make spar[/cyan] starts this API, for the examples of README.md."
    )
    return int(expected < len(visits) or bool(elsewhere))


def visit(gateway: outkey.Gateway, stop: Stop) -> Visit:
    """Send one request and return what happened."""
    headers = list(masked_headers(gateway, stop))
    try:
        response = gateway.send(stop.configuration, "GET", stop.path)
    except OutkeyError as error:
        return Visit(
            stop, headers, None, str(error.code), f"{error.message}. {error.hint}"
        )
    return Visit(
        stop, headers, response.status, response.cause or "works", response.remedy or ""
    )


def masked_headers(gateway: outkey.Gateway, stop: Stop) -> Iterator[str]:
    """Yield the headers that are not mere defaults, masked, with their source."""
    try:
        headers = gateway.preview(stop.configuration, "GET", stop.path).headers
    except OutkeyError:
        return
    for header in headers:
        if header.source != "default":
            yield f"{header.name}: {header.value} ({header.source})"


def table_of(visits: list[Visit], *, wide: bool) -> Table:
    """Return the table to print; a narrow one stacks its cells in two columns."""
    table = Table(
        title="outkey against its sparring provider", expand=True, show_lines=not wide
    )
    if wide:
        columns = {
            "Case": 0,
            "Headers by source": 4,
            "Status": 0,
            "Cause": 0,
            "Remedy": 5,
        }
    else:
        columns = {"Case and headers": 2, "Status, cause and remedy": 3}
    for title, ratio in columns.items():
        table.add_column(title, ratio=ratio or None, no_wrap=not ratio, overflow="fold")
    for visit in visits:
        case, headers, status, cause, remedy = cells_of(visit)
        if wide:
            table.add_row(case, headers, status, cause, remedy)
        else:
            table.add_row(
                f"{case}\n[dim]{headers}[/dim]", f"{status} {cause}\n{remedy}".strip()
            )
    return table


def cells_of(visit: Visit) -> tuple[str, str, str, str, str]:
    """Return one visit as Rich markup."""
    colour = "green" if visit.cause == "works" else "red" if visit.status else "yellow"
    cause = f"[{colour}]{visit.cause}[/{colour}]" + (
        "" if visit.as_expected else " (!)"
    )
    headers = "\n".join(visit.headers) or "no credentials"
    status = str(visit.status or "")
    return (
        escape(visit.stop.title),
        escape(headers),
        status,
        cause,
        escape(visit.remedy),
    )


if __name__ == "__main__":
    sys.exit(main())
