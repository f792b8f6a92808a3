"""A tour in the terminal: one request for each method and each kind of failure.

The other side is the sparring provider, on this machine. Nothing leaves it.
"""

import os
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
}
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
    """One stop of the tour."""

    title: str
    configuration: str
    path: str


STOPS = [
    Stop("None", "none", "/echo"),
    Stop("Basic", "basic", "/basic"),
    Stop("Bearer Token", "bearer", "/bearer"),
    Stop("API key in a header", "api-key", "/key"),
    Stop("Bearer Token over TLS", "tls", "/bearer"),
    Stop("Redirect, same origin", "bearer", "/redirect/same"),
    Stop("Wrong password", "wrong-password", "/basic"),
    Stop("Expired token", "bearer", "/bearer/expired"),
    Stop("Missing permission", "bearer", "/forbidden"),
    Stop("Malformed header", "bearer", "/header-format"),
    Stop("Too many requests", "bearer", "/limited?after=100"),
    Stop("Server error", "basic", "/status/500"),
    Stop("Redirect, other origin", "basic", "/redirect/elsewhere"),
    Stop("Redirect, TLS to plain", "tls", "/redirect/downgrade"),
    Stop("Unknown CA", "unknown-ca", "/bearer"),
    Stop("Slow answer", "none", "/slow/headers"),
    Stop("Connection reset", "none", "/reset"),
    Stop("Half an answer", "none", "/truncated"),
    Stop("Gzip bomb, 1 MB to 1 GB", "none", "/bomb"),
    Stop("Answer of 5 GB", "none", "/huge"),
    Stop("Secret not set", "no-secret", "/bearer"),
    Stop("Two sources, one header", "two-sources", "/bearer"),
    Stop("Cloud metadata", "metadata", "/"),
    Stop("None in production", "open-production", "/"),
]


def main() -> None:
    """Visit every stop and print what happened."""
    os.environ.update(CREDENTIALS)
    console = Console()
    with Spar(tls=True) as spar, TemporaryDirectory() as folder:
        file = Path(folder) / "tour.toml"
        file.write_text(
            CONFIGURATIONS.format(url=spar.url, secure=spar.secure, ca_file=spar.ca_file)
        )
        with outkey.load(file) as gateway:
            steps = track(STOPS, "sparring", console=console, transient=True)
            console.print(table_of([list(visit(gateway, stop)) for stop in steps]))
        elsewhere = [arrival for arrival in spar.journal if arrival.server == "elsewhere"]
    console.print(
        f"[bold]{len(elsewhere)}[/bold] requests reached the other origin. "
        "Next: [cyan]python -m outkey.spar[/cyan], and aim a configuration of your own at it."
    )


def visit(gateway: outkey.Gateway, stop: Stop) -> Iterator[str]:
    """Send one request and yield the cells of its row."""
    yield escape(stop.title)
    yield "\n".join(shown_headers(gateway, stop))
    try:
        response = gateway.send(stop.configuration, "GET", stop.path)
    except OutkeyError as error:
        yield "[dim]-[/dim]"
        yield f"[yellow]{escape(error.code)}[/yellow]"
        message = error.message[0].upper() + error.message[1:]
        yield escape(f"{message}. {error.hint}")
        return
    colour = "green" if response.cause is None else "red"
    yield f"[{colour}]{response.status}[/{colour}]"
    yield f"[{colour}]{escape(response.cause or 'works')}[/{colour}]"
    yield escape(response.remedy or "")


def shown_headers(gateway: outkey.Gateway, stop: Stop) -> Iterator[str]:
    """Yield the headers that are not mere defaults, masked, with their source."""
    try:
        headers = gateway.preview(stop.configuration, "GET", stop.path).headers
    except OutkeyError:
        yield "[dim]nothing is sent[/dim]"
        return
    told = [header for header in headers if header.source != "default"]
    for header in told:
        yield f"{escape(header.name)}: {escape(header.value)} [dim]{escape(header.source)}[/dim]"
    if not told:
        yield "[dim]no credentials[/dim]"


def table_of(rows: list[list[str]]) -> Table:
    """Return the table that is printed."""
    table = Table(title="outkey against its sparring provider", show_lines=True, expand=True)
    table.add_column("Case", ratio=3)
    table.add_column("Headers by source", ratio=4)
    table.add_column("Status", justify="right", no_wrap=True)
    table.add_column("Cause", overflow="fold", ratio=3)
    table.add_column("Remedy", ratio=6)
    for row in rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    main()
