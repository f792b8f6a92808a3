"""Run the sparring provider in the foreground."""

import argparse
import contextlib

from outkey.spar.scenes import index
from outkey.spar.server import Spar


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m outkey.spar", description=__doc__)
    parser.add_argument("--port", type=int, default=9000, help="the port of the main server")
    spar = Spar(port=parser.parse_args().port)
    print(f"sparring provider on {spar.url}, another origin on {spar.elsewhere}")  # noqa: T201
    for path, purpose in index().items():
        print(f"  {path:<16} {purpose}")  # noqa: T201
    with contextlib.suppress(KeyboardInterrupt):
        spar.wait()


if __name__ == "__main__":
    main()
