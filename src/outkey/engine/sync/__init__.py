"""Synchronization: the records of one line, page by page, from an API into the host or back.

Every page is one transaction with its checkpoint, and writing is idempotent: whatever ends a run
in the middle, the next one goes on behind the last page that was kept. No more pages are in memory
than the line asks for at a time, which is one unless it says otherwise.

    runner   what callers use: check, preview, run
    course   what both directions share: checkpoint, counts, the end
    asking   the requests, one after another or several at a time
    pull     from the API into the host
    push     from the host to the API
    planner  runs that are asked for, and done by whoever is free
"""

from outkey.engine.sync.planner import Planner
from outkey.engine.sync.run_in_progress import Effect, SyncPorts
from outkey.engine.sync.runner import SyncRunner

__all__ = ["Effect", "Planner", "SyncPorts", "SyncRunner"]
