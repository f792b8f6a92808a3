"""An auth object for httpx: `httpx.Client(auth=OutkeyAuth(gateway, "acme"))`."""

import httpx

from outkey.integrations.httpx_flow import OneHopFlow

__all__ = ["OutkeyAuth"]


class OutkeyAuth(OneHopFlow, httpx.Auth):
    """Authenticates the requests of an httpx client with an outkey configuration."""
