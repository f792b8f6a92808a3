"""Synchronization: the records of one line, page by page, from an API into the host or back.

Every page is one transaction with its checkpoint, and writing is idempotent: whatever ends a run
in the middle, the next one goes on behind the last page that was kept. No more than one page is in
memory at any time.

    runner   what callers use: check, preview, run
    course   what both directions share: checkpoint, counts, the end
    pull     from the API into the host
    push     from the host to the API
"""

from outkey.engine.sync.course import Effect, SyncPorts
from outkey.engine.sync.runner import SyncRunner

__all__ = ["Effect", "SyncPorts", "SyncRunner"]
