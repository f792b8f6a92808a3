"""outkey: outbound authentication for business applications.

gateway = outkey.open()                       # a Django project, or the embedded home
gateway = await outkey.aopen()                # the same, on an event loop
gateway = outkey.load("configurations.toml")  # a document, without a database
response = gateway.send("acme", "GET", "/orders")

Each name is loaded when it is first used: a command that sends nothing, such as
`outkey --help`, does not load the transports.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outkey import errors, integrations
    from outkey.foundation.core.secret import Secret
    from outkey.hosts.file.loading import load
    from outkey.hosts.opening import aopen, open  # noqa: A004 - see opening.py
    from outkey.sending.core.request.message import Response
    from outkey.sending.engine.gateway import Gateway

__all__ = [
    "Gateway",
    "Response",
    "Secret",
    "aopen",
    "errors",
    "integrations",
    "load",
    "open",
]
_MODULES = {
    "Gateway": "outkey.sending.engine.gateway",
    "Response": "outkey.sending.core.request.message",
    "Secret": "outkey.foundation.core.secret",
    "aopen": "outkey.hosts.opening",
    "load": "outkey.hosts.file.loading",
    "open": "outkey.hosts.opening",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value: object = getattr(import_module(_MODULES[name]), name)
    elif name in __all__:
        value = import_module(f"outkey.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
