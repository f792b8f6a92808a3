"""What tests start: a home's server by a fork, and a PostgreSQL if there is one.

Writes the number of each process to a file, and waits until it is ended.
"""

import os
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

import forks  # noqa: E402 - which lies beside the suites
from database.conftest import POSTGRESQL, Cluster  # noqa: E402
from ports import free_port  # noqa: E402

assert forks.FORKS in os.environ
place = Path(sys.argv[1])
home = place / "home"
environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
command = [*forks.OUTKEY, "serve", "--port", str(free_port())]
server = forks.Popen(command, env=environment)
# After the name of a program, the second field is the parent: whatever has forked.
fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
pids = [os.getpid(), server.pid, int(fields[1])]
if POSTGRESQL:
    folder = Path(os.environ["TMPDIR"], "outkey-postgresql-test")
    folder.mkdir()
    Cluster(folder)
    pids.append(int((folder / "data" / "postmaster.pid").read_text().split()[0]))
(place / "part").write_text(" ".join(map(str, pids)))
(place / "part").rename(place / "pids")
time.sleep(600)
