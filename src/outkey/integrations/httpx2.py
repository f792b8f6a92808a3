"""An auth object for httpx2: `httpx2.Client(auth=OutkeyAuth(gateway, "acme"))`."""

import httpx2

from outkey.integrations.httpx_flow import OneHopFlow

__all__ = ["OutkeyAuth"]


class OutkeyAuth(OneHopFlow, httpx2.Auth):
    """Authenticates the requests of an httpx2 client with an outkey configuration."""
