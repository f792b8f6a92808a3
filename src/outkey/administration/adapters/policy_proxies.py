"""The operator's word on proxies, from the policy."""

import time
from collections.abc import Callable

from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.errors import secret_missing
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.request.proxy import ProxyPolicy

_CACHE_SECONDS = 5.0  # every send asks, and an operator changes it rarely


class PolicyProxies:
    """Reads the policy again every few seconds.

    A policy that cannot be read stops sending: it may name a proxy that no request must
    bypass.
    """

    def __init__(
        self, read: Callable[[], Policy], references: ReferencedSecrets
    ) -> None:
        self._read = read
        self._references = references
        self._cached = ProxyPolicy()
        self._cached_until = 0.0

    def policy(self) -> ProxyPolicy:
        """Return the proxies of the policy."""
        now = time.monotonic()
        if now >= self._cached_until:
            self._cached = self._read().proxy
            self._cached_until = now + _CACHE_SECONDS
        return self._cached

    def password(self) -> Secret:
        """Return the password of the installation's proxy."""
        reference = self.policy().password
        if reference is None:
            raise secret_missing("proxy.password")
        return self._references.open_reference(reference, "proxy.password")
