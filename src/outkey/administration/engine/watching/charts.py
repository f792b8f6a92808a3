"""Charts of the pages: what they count, column by column; a host draws them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, tzinfo

from outkey.foundation.core.chart import CHART_HOURS, Chart, ChartColumn
from outkey.foundation.core.errors import (
    AuditUnavailable,
    ConfigError,
    ConnectionMissing,
    EgressDenied,
    HeaderConflict,
    InactiveConfiguration,
    Paused,
    RateLimited,
    RedirectBlocked,
    Sealed,
    SecretMissing,
    SecretRebindRequired,
    UnknownConnection,
    VariableMissing,
)
from outkey.foundation.core.moments import hour_text
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import CHALLENGED
from outkey.sync.core.run.run import Counts

# The outcomes of attempts that outkey itself did not send, or did not follow.
_REFUSALS = frozenset(
    kind.code
    for kind in (
        AuditUnavailable,
        ConfigError,
        ConnectionMissing,
        EgressDenied,
        HeaderConflict,
        InactiveConfiguration,
        Paused,
        RateLimited,
        RedirectBlocked,
        Sealed,
        SecretMissing,
        SecretRebindRequired,
        UnknownConnection,
        VariableMissing,
    )
)
# The kinds of a chart, the lowest of a column first; a kind names a colour.
ATTEMPT_KINDS = {
    "ok": Text("ok"),
    "failed": Text("failed"),
    "refused": Text("refused"),
}
RUN_KINDS = {
    "unchanged": Text("unchanged"),
    "created": Text("new"),
    "updated": Text("changed"),
    "removed": Text("archived or deleted"),
    "rejected": Text("rejected"),
}


def hourly_chart(
    counts: Iterable[tuple[int, str, int]], this_hour: int, zone: tzinfo = UTC
) -> Chart:
    """Return a column for each of the last 24 hours, by what became of the attempts.

    `counts` are hours since 1970, outcomes, and how many attempts ended so. The labels
    are in a time zone.
    """
    hours: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for hour, outcome, count in counts:
        hours[hour][kind_of_outcome(outcome)] += count
    columns = [
        ChartColumn(
            label=hour_text(hour * 3600, zone),
            counts=[hours[hour][kind] for kind in ATTEMPT_KINDS],
        )
        for hour in range(this_hour - CHART_HOURS + 1, this_hour + 1)
    ]
    return Chart(ATTEMPT_KINDS, columns)


def kind_of_outcome(outcome: str) -> str:
    """Return whether an attempt was ok, failed, or was refused by outkey itself."""
    if outcome in {"ok", CHALLENGED}:
        return "ok"
    return "refused" if outcome in _REFUSALS else "failed"


def run_chart(runs: Iterable[tuple[str, bool, Counts]]) -> Chart:
    """Return a column for each run: what became of its records.

    Each run is its label, whether it failed, and its counts.
    """
    columns = [
        ChartColumn(
            label=label,
            counts=[
                counts.unchanged,
                counts.created,
                counts.updated,
                counts.archived + counts.deleted,
                counts.failed,
            ],
            has_failed=has_failed,
        )
        for label, has_failed, counts in runs
    ]
    return Chart(RUN_KINDS, columns)
