"""Small values that the processes of an installation share, and the rules of a lease.

A host stores them as they are: a kind, a key, a generation and a value that JSON can
hold. What a value means is decided where it is read.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.stored_times import is_possible


class StateKind(StrEnum):
    """The kind of a shared state; the comment explains its key."""

    API_TOKEN = "api_token"  # noqa: S105 - of the HTTP interface, by its hash
    API_TOKEN_NAME = "api_token_name"  # noqa: S105 - the hash of a token, by its name
    BASELINE = "baseline"  # what is usual for a configuration
    CONNECT_LINK = "connect_link"  # of a connection, the newest, by its configuration
    CONNECT_LINK_HASH = "connect_link_hash"  # whose link it is, by its hash
    DATABASE = "database"  # another database that tables can be in, by its name
    HOLD = "hold"  # a restored installation that was not resumed yet
    HOOK_ACTIVITY = "hook_activity"  # how often deliveries come, by their endpoint
    HOOK_ENDPOINT = "hook_endpoint"  # whose endpoint it is, by its random characters
    HOOK_REFUSALS = "hook_refusals"  # refused deliveries, by the webhook's name
    HOOK_SAMPLE = "hook_sample"  # a test delivery on its way, by its random mark
    LEASE = "lease"  # which process has a duty, by the name of the duty
    LINE_SHAPE = "line_shape"  # the fields of the records of a pull, by its name
    LINE_START = "line_start"  # where the next run of a reset sync line begins
    MARK = "mark"  # how far a duty has got, by the name of the duty
    METRIC_RUNS = "metric_runs"  # what metrics count of the runs, by the line's name
    METRIC_SENDS = "metric_sends"  # and of requests, by the configuration's name
    NOTICE = "notice"  # an open notice
    PAIR = "pair"  # two lines that synchronize both directions, by the pair's name
    PAUSED_LINE = "paused_line"  # a sync line that a user has paused
    PROCESS = "process"  # the heartbeat of a process
    RATE_LIMIT = "rate_limit"  # the pace of a configuration
    TABLE = "table"  # a table that outkey has created, by its target name
    TRIAL = "trial"  # what is known of the next credentials, by record, set and start
    TOKEN_BESIDE = "token_beside"  # noqa: S105 - of a user or against CSRF, sealed, by record
    RUN_PAUSE = "run_pause"  # until when no run of a configuration begins
    USER_OWNERS = "user_owners"  # to which owners a user is limited, by the user's id
    WEBHOOK = "webhook"  # a webhook with its sealed secrets, by its name
    WORKER = "worker"  # the heartbeat of a process that does runs


class SharedState(NamedTuple):
    """A value and its generation, which every write raises; 0 if it is not stored."""

    generation: int = 0
    value: Mapping[str, Any] = MappingProxyType({})
    # Why nothing may be done by it: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Which process has a duty, and until when."""

    holder: str = ""
    until: float = 0.0

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the lease that `facts` describes; without facts, one that is free."""
        return cls(facts.get("holder", ""), facts.get("until", 0.0))

    def facts(self) -> dict[str, object]:
        """Return the lease as JSON can hold it."""
        return asdict(self)

    def is_free_for(self, holder: str, now: float, longest: float) -> bool:
        """Whether this process may take the duty, or has it already.

        No process takes it for more than the `longest` seconds.
        """
        is_over = self.until < now or not is_possible(self.until, now, longest)
        return self.holder == holder or is_over

    def released(self) -> Self:
        """Return the lease as any process can take it."""
        return replace(self, until=0.0)
