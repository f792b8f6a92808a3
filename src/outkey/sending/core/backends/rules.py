"""The rules of each store, loaded when its first backend is used."""

from importlib import import_module
from typing import cast

from outkey.sending.core.backends.settings import StoreKind
from outkey.sending.core.backends.store import StoreRules

_MODULES = {
    StoreKind.VAULT: "vault",
    StoreKind.AWS: "aws",
    StoreKind.AZURE: "azure",
    StoreKind.GCP: "google",
    StoreKind.OP: "onepassword",
}


def rules_of(kind: StoreKind) -> StoreRules:
    """Return the module with the rules of a store."""
    module = import_module(f"outkey.sending.core.backends.{_MODULES[kind]}")
    return cast("StoreRules", module)
