"""`outkey`, whose workers look every second for what is due, or was left behind."""

import sys

from outkey.hosts.cli.main import main
from outkey.sync.engine.runs import loop

loop.PLAN_SECONDS = 1.0  # before the worker is loaded, which copies the value
sys.argv[0] = "outkey"
main()
