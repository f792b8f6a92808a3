"""Writing audit records: the chain, its checkpoints, or the log.

The SQL is the host's.
"""
