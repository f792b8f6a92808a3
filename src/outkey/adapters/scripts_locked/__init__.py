"""Administrators' scripts, each in a process of its own that the kernel has locked.

Two sides that never share memory. The application's side: `pool.py` (who gets which worker),
`link.py` (one worker: frames and their limits), `nursery.py` (the process that workers come from).
The locked side, which knows nothing of outkey: `zygote.py`, `preload.py`, `lockdown.py`, `still.py`
and `worker.py`.
"""

from outkey.adapters.scripts_locked.pool import LockedScripts

__all__ = ["LockedScripts"]
