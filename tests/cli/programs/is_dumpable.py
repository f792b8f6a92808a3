"""Prints whether a core file could be written of this process, before and after.

With arguments it runs them as a command in between, else it sends with the library.
"""

import ctypes
import sys

import outkey
from outkey.hosts.cli.main import main

GET_DUMPABLE = 3
is_dumpable = ctypes.CDLL(None).prctl
before = is_dumpable(GET_DUMPABLE, 0, 0, 0, 0)
if sys.argv[1:]:
    try:
        main()
    except SystemExit as end:
        assert end.code == 0
else:
    with outkey.open() as gateway:
        assert gateway.send("acme", "GET", "/bearer").status == 200
print(before, is_dumpable(GET_DUMPABLE, 0, 0, 0, 0))
