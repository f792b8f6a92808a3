"""The tree of errors, under the name that callers use; `core/errors.py` draws it."""

# ruff: noqa: F403, F405 - the whole tree, and nothing else
from outkey.core.errors import *

# fmt: off
__all__ = [
    "AnswerBroken", "AuditUnavailable", "AuthenticationRequired", "BadAnswer", "BlockedByPolicy",
    "Cause", "ChainBroken", "ConfigError", "ConnectTimedOut", "ConnectionFailed", "DnsFailed",
    "EditConflict", "EgressDenied", "HeaderConflict", "HeaderFormatError", "HostError",
    "InactiveConfiguration", "KeyStepRefused", "LineBusy", "OutkeyError", "Paused", "PolicyError",
    "RateLimited", "ReauthorizationNeeded", "RedirectBlocked", "RemoteError", "ResponseTooLarge",
    "RunStopped", "ScriptFailed", "Sealed", "SecretMissing", "SecretRebindRequired",
    "SecretUnreadable", "StorageUnavailable", "SyncFailed", "TimedOut", "TlsBelowFloor",
    "TlsFailed", "TokenEndpointFailed", "UnknownConfiguration",
]
# fmt: on
