"""Run the sparring provider in the foreground."""

import argparse
import contextlib
import signal
import sys

from outkey.spar.approval import ISSUER_PATH
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.spar.authorization import WELL_KNOWN
from outkey.spar.logins import PASSWORD, USERNAME
from outkey.spar.scenes import API_KEY, TOKEN, index
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
    except ModuleNotFoundError as error:
        print(  # noqa: T201
            f"error: --tls needs the package {error.name}. Install outkey[server].",
            file=sys.stderr,
        )
        return 2
    except (OSError, OverflowError):
        print(  # noqa: T201
            f"error: port {port} cannot be used. Choose another one with --port,"
            " or with PORT= after make.",
            file=sys.stderr,
        )
        return 2
    # SIGTERM ends it like Ctrl-C, so that its temporary folder is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        for line in introduction_of(spar):
            print(line, flush=True)  # noqa: T201
        spar.wait()
    return 0


def introduction_of(spar: Spar) -> list[str]:
    """Return the lines for the terminal: the URLs, a client and the scenes."""
    lines = [
        "The sparring provider is running. Press Ctrl-C to stop it.",
        "",
        f"  URL                   {spar.url}",
        f"  Token                 {TOKEN}",
        f"  User                  {USERNAME} with password {PASSWORD}",
        f"  API key               {API_KEY} in X-API-Key",
        f"  Another origin        {spar.elsewhere}",
    ]
    if spar.secure:
        lines += [
            f"  URL with TLS          {spar.secure}",
            f"  CA certificate        {spar.ca_file}",
        ]
    lines += [
        f"  Authorization server  {spar.issuer}",
        f"  Client                {CLIENT} with secret {CLIENT_SECRET}",
        f"  Metadata              {spar.url}/{WELL_KNOWN}{ISSUER_PATH}",
        "",
        "Scenes by path:",
    ]
    scenes = index()
    width = max(map(len, scenes))
    return lines + [f"  {path:<{width}}  {purpose}" for path, purpose in scenes.items()]


if __name__ == "__main__":
    sys.exit(main())
