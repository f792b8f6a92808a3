"""For tests: a gateway for your own code, and fakes for the ports of outkey.

`FakeGateway` is for code that sends with outkey. The fakes for every port, and the
contract suites that fakes and real adapters both pass, are for hosts and adapters: they
can be tested the way outkey tests its own.

Each name is loaded when it is first used: pytest loads this package in every project
that has outkey installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outkey.foundation.adapters.states_memory import MemoryStateRows
    from outkey.testing.fakes.basic import (
        AsyncFake,
        FakeClock,
        FakeListeners,
        FakeResolver,
        FakeTransport,
        FixedRing,
        MemoryAudit,
        MemoryAuditRows,
        MemoryCheckpoints,
        MemoryDatabase,
        MemorySecrets,
        configuration,
        fake_gateway,
    )
    from outkey.testing.gateway.fake_gateway import FakeGateway
    from outkey.testing.gateway.requests import FakeRequest
    from outkey.testing.gateway.rules import (
        GatewayRule,
        UnexpectedRequest,
        make_response,
    )

__all__ = [
    "AsyncFake",
    "FakeClock",
    "FakeGateway",
    "FakeListeners",
    "FakeRequest",
    "FakeResolver",
    "FakeScripts",
    "FakeTransport",
    "FakeWorld",
    "FixedRing",
    "GatewayRule",
    "MemoryAudit",
    "MemoryAuditRows",
    "MemoryCheckpoints",
    "MemoryDatabase",
    "MemorySecrets",
    "MemoryStateRows",
    "UnexpectedRequest",
    "configuration",
    "fake_gateway",
    "make_response",
]
_MODULES = {
    "FakeGateway": "outkey.testing.gateway.fake_gateway",
    "FakeRequest": "outkey.testing.gateway.requests",
    "GatewayRule": "outkey.testing.gateway.rules",
    "UnexpectedRequest": "outkey.testing.gateway.rules",
    "make_response": "outkey.testing.gateway.rules",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULES.get(name, "outkey.testing.fakes.basic"))
    value: object = getattr(module, name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
