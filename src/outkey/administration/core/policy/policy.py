"""The operator's policy: ages in days, and what blocks in an environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outkey.foundation.core.origin import Location
from outkey.sending.core.audit.events import Durability
from outkey.sending.core.request.proxy import ProxyPolicy


@dataclass(frozen=True, slots=True)
class ChangesPolicy:
    """How long the recorded changes of tables are stored."""

    days: int = 30


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's policy: ages in days, and what blocks in an environment."""

    secret_days: int = 365
    unused_days: int = 90
    retention_days: int = 400
    durability: Durability = Durability.PROCESS  # of audit records
    blocking: Mapping[str, frozenset[str]] = field(default_factory=dict)
    proxy: ProxyPolicy = field(default_factory=ProxyPolicy)
    changes: ChangesPolicy = field(default_factory=ChangesPolicy)
    # How long a new API token may be valid, in days; None for ever.
    token_days: int | None = None
    # Where a browser may go after connecting an account: there, or below.
    return_urls: tuple[Location, ...] = ()
