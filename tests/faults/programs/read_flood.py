"""Requests a response that is too large; prints how soon that ended, and the memory.

Arguments: the base URL and the path. The first line is the code of the error and the
seconds, the second one the peak of the memory in KiB.
"""

import re
import sys
import time
from pathlib import Path

from outkey import errors
from outkey.hosts.file.loading import from_text

TEXT = """
[configuration.spar]
base_url = "{url}"
network = "internal"
"""


def main(url: str, path: str) -> None:
    gateway = from_text(TEXT.format(url=url))
    started = time.monotonic()
    try:
        gateway.send("spar", "GET", path)
    except errors.ResponseTooLarge as error:
        print(error.code, time.monotonic() - started)
    # Not getrusage: its peak includes that of the process we were forked from.
    status = Path("/proc/self/status").read_text("utf-8")
    print(*re.findall(r"VmHWM:\s+(\d+) kB", status))


main(sys.argv[1], sys.argv[2])
