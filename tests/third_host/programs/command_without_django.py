"""Runs a command of the third host, and fails if that has loaded Django.

Arguments: the home, and those of the command.
"""

import sys
from pathlib import Path

from outkey.hosts.cli.main import run
from third_host.host import command_host

code = run(sys.argv[2:], host=command_host(Path(sys.argv[1])))
assert "django" not in sys.modules, "a command has loaded Django"
sys.exit(code)
