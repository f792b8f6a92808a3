"""`outkey`, on a kernel that does not have Landlock."""

import errno
import sys

from outkey.hosts.cli.main import main
from scripts.inside import deny

LANDLOCK_CREATE_RULESET = 444  # on every machine type

deny(LANDLOCK_CREATE_RULESET, errno.ENOSYS)
sys.argv[0] = "outkey"
main()
