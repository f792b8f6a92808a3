"""Runs a command as it is without a umask: new files are for everybody."""

import os

from outkey.hosts.cli.main import main

os.umask(0)
main()
