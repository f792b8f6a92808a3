"""Run the sparring provider in the foreground."""

import argparse
import contextlib
import sys

from outkey.spar.approval import ISSUER_PATH
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.spar.authorization import WELL_KNOWN
from outkey.spar.scenes import index
from outkey.spar.server import Spar


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m outkey.spar", description=__doc__)
    parser.add_argument(
        "--port", type=int, default=9000, help="the port of the main server"
    )
    parser.add_argument("--tls", action="store_true", help="serve https as well")
    arguments = parser.parse_args()
    return serve(arguments.port, tls=arguments.tls)


def serve(port: int, *, tls: bool) -> int:
    """Serve until interrupted, and return the exit code."""
    try:
        spar = Spar(port=port, tls=tls)
    except (OSError, OverflowError):
        print(  # noqa: T201
            f"port {port} cannot be used; choose another with --port", file=sys.stderr
        )
        return 2
    with contextlib.suppress(KeyboardInterrupt):
        for line in _introduction(spar):
            print(line, flush=True)  # noqa: T201
        spar.wait()
    return 0


def _introduction(spar: Spar) -> list[str]:
    lines = [f"sparring provider on {spar.url}, another origin on {spar.elsewhere}"]
    if spar.secure:
        lines.append(f"with TLS on {spar.secure}, CA certificates in {spar.ca_file}")
    lines.append(
        f"authorization server {spar.issuer}: client {CLIENT} with secret"
        f" {CLIENT_SECRET}, metadata at {spar.url}/{WELL_KNOWN}{ISSUER_PATH}"
    )
    return lines + [f"  {path:<16} {purpose}" for path, purpose in index().items()]


if __name__ == "__main__":
    sys.exit(main())
