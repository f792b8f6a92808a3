"""outkey as an auth object for other HTTP clients: httpx, httpx2 and requests.

Each module needs its client installed and is imported on first use.
"""

import importlib
from types import ModuleType

_CLIENTS = ("httpx", "httpx2", "requests")


def __getattr__(name: str) -> ModuleType:
    if name in _CLIENTS:
        return importlib.import_module(f"outkey.integrations.{name}")
    raise AttributeError(name)
