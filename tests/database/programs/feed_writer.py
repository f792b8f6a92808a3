"""Runs one sync line again and again: feed_writer.py LINE TIMES."""

import sys

from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.cli.session import open_application

application = open_application()
runner = application.sync.runner()
for _ in range(int(sys.argv[2])):
    try:
        for _run in runner.run(sys.argv[1], "test"):
            pass
    except OutkeyError as error:  # SQLite was busy for longer than it waits
        print(error.code, error, file=sys.stderr, flush=True)
