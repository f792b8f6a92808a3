"""The id of the request that is being served, in logs and in the audit.

A host sets it for the time that it serves a request; elsewhere there is none.
"""

from contextvars import ContextVar

current_request_id: ContextVar[str] = ContextVar("outkey_request_id", default="")
