"""Administrators' scripts, each in a process of its own that the kernel has locked.

Two sides that never share memory.
The application's side: `pool.py` assigns a worker to each script, `link.py` talks to
one worker, `spawner.py` starts the process that workers are forked from. The locked
side knows nothing of outkey: `zygote.py`, `preload.py`, `lockdown.py`,
`frozen_clock.py` and `worker.py`.
"""
