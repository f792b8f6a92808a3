"""The contexts of sends whose secrets of external stores are all in the cache.

Looking each of them up, and making a context, costs more than all the rest that a
stored secret does not need. While nothing in the cache changes, and none of its values
has expired, one context is good for every send with a configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.engine.wire.context import SendContext

_MOST = 1024


@dataclass(frozen=True, slots=True)
class _Known:
    context: SendContext  # whose reads have all secrets
    configuration: Configuration
    state: object  # of the stores when they were read
    until: float  # by the monotonic clock


class KnownReads:
    """One context for each account and set of credentials."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}

    def context_for(
        self, parent: SendContext, configuration: Configuration
    ) -> SendContext | None:
        """Return the context that was made of this one, while its reads are fresh."""
        known = self._known.get((configuration.account, configuration.serial))
        if known is None or known.configuration is not configuration:
            return None
        if known.context.parent is not parent or parent.stores is None:
            return None
        is_fresh = parent.clock.monotonic() < known.until
        return (
            known.context
            if is_fresh and parent.stores().state() is known.state
            else None
        )

    def has(self, context: SendContext, configuration: Configuration) -> bool:
        """Whether this very context has all secrets that sending opens."""
        known = self._known.get((configuration.account, configuration.serial))
        return (
            known is not None
            and known.context is context
            and known.configuration is configuration
        )

    def note(
        self, context: SendContext, configuration: Configuration, state: object
    ) -> None:
        """Remember that a context has all secrets, from stores in this state."""
        if context.reads is None:
            return
        ends = [
            read.read_at + read.key.backend.cache_seconds
            for read in context.reads.by_key.values()
        ]
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[configuration.account, configuration.serial] = _Known(
            context, configuration, state, min(ends, default=0.0)
        )
