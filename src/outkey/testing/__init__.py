"""Fakes for every port and the contract suites that fakes and real adapters both pass.

Shipped, so that whoever writes a host or an
adapter can test it the way outkey tests its own.
"""

# ruff: noqa: F403, F405 - these, and nothing else
from outkey.testing.fakes import *

__all__ = [
    "AsyncFake",
    "FakeClock",
    "FakeListeners",
    "FakeResolver",
    "FakeTransport",
    "FixedRing",
    "MemoryAudit",
    "MemoryAuditRows",
    "MemoryCheckpoints",
    "MemoryDatabase",
    "MemorySecrets",
    "MemoryStateRows",
    "configuration",
    "fake_gateway",
]
