"""`outkey serve`, with less patience for clients that send slowly.

Arguments: the seconds for a head, those for a request, and the arguments of `outkey`.
"""

import sys

from outkey.hosts.cli.main import main
from outkey.hosts.server.web import listener

_, head, request, *arguments = sys.argv
listener.HEAD_SECONDS = float(head)
listener.REQUEST_SECONDS = float(request)
listener.DISCARD_SECONDS = float(head)
sys.argv = ["outkey", *arguments]
main()
