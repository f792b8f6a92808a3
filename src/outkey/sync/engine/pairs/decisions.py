"""Deciding about each row of a pair, and about records deleted at the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from outkey.sync.core.mapping.records import HostRecord, WriteOutcome, Written
from outkey.sync.core.pairs.pairs import (
    Decision,
    PairAgreement,
    Side,
    Values,
    decide,
    decide_resolved,
    is_host_newer,
    pair_fields,
    plain_values,
    side_of_api,
    side_of_host,
)
from outkey.sync.engine.pairs.matches import Match, PairMatches
from outkey.sync.engine.runs.line_plan import PairPlan


@dataclass(frozen=True, slots=True)
class RowDecision:
    """A row of a page with its record, and what is done with it."""

    match: Match
    api: Values
    host: Values | None  # None: the host does not have the record
    decision: Decision

    @property
    def key(self) -> str:
        """The key of the row."""
        return self.match.key

    @property
    def is_written(self) -> bool:
        """Whether the host gets the API's version."""
        return self.decision is Decision.WRITE

    @property
    def is_kept(self) -> bool:
        """Whether the host has a version that stays."""
        return self.match.is_present and not self.is_written

    @property
    def keeps_name(self) -> bool:
        """Whether the host has another key that stays."""
        return self.is_kept and self.match.is_renamed

    @property
    def is_disputed(self) -> bool:
        """Whether there is a conflict, or was one before this run."""
        agreement = self.match.agreement
        return self.decision is Decision.ASK or bool(agreement and agreement.conflict)

    @property
    def needs_key(self) -> bool:
        """Whether the record gets the key of the row."""
        has_record = self.is_written or self.match.is_present
        return self.match.has_other_key and has_record and not self.keeps_name


class PairDecider:
    """Compares both sides with what they agreed on; the rule decides conflicts."""

    def __init__(self, plan: PairPlan, matches: PairMatches, zone: tzinfo) -> None:
        self._pair = plan.pair
        self._zone = zone  # of the host's times that have none
        self._shared = pair_fields(plan.pull.sync, plan.push.sync).shared
        self._matches = matches

    def decide_row(self, match: Match, api_changed: object) -> RowDecision:
        """Return the decision on a row; `api_changed` is when the API changed it."""
        names = self._names(is_renamed=match.is_renamed)
        api = plain_values(match.row, names)
        host = None
        if match.record and match.is_present:
            host = plain_values(match.record.values, names)
        decision = self._decide(
            match, api, host, is_host_newer=self._is_host_newer(match, api_changed)
        )
        return RowDecision(match, api, host, decision)

    def decide_missing(
        self, record: HostRecord, agreement: PairAgreement | None
    ) -> tuple[Decision, Values]:
        """Return the decision on a record deleted at the API, and its values."""
        is_renamed = self._matches.has_new_key(record, agreement)
        host = plain_values(record.values, self._names(is_renamed=is_renamed))
        side = side_of_host(agreement, host)
        # What was never agreed on may have been changed.
        side = Side.CHANGED if side is Side.NEW else side
        decision = decide(Side.DELETED, side, self._pair.conflict)
        if decision is Decision.ASK and agreement and agreement.conflict:
            decision = decide_resolved(agreement.conflict, None, host)
        return decision, host

    def _names(self, *, is_renamed: bool) -> set[str]:
        """Return the fields that can conflict; a key only if a user has changed it."""
        names = {*self._shared}
        return names | self._matches.sent_keys if is_renamed else names

    def _decide(
        self, match: Match, api: Values, host: Values | None, *, is_host_newer: bool
    ) -> Decision:
        agreement = match.agreement
        if match.is_lost:
            return Decision.WRITE
        host_side = side_of_host(agreement, host)
        shared = plain_values(match.row, self._shared)
        is_lenient = host_side is Side.CHANGED
        decision = decide(
            side_of_api(agreement, shared, is_lenient=is_lenient),
            host_side,
            self._pair.conflict,
            is_equal=api == host,
            is_host_newer=is_host_newer,
        )
        if decision is Decision.ASK and agreement and agreement.conflict:
            return decide_resolved(agreement.conflict, api, host)
        return decision

    def _is_host_newer(self, match: Match, api_changed: object) -> bool:
        if match.record is None:
            return False
        host_changed = match.record.values.get(self._pair.host_changed)
        return is_host_newer(host_changed, api_changed, self._zone)


def record_id(decision: RowDecision) -> str:
    """Return the id of the record of a row, which has one."""
    record = decision.match.record
    assert record is not None  # noqa: S101 - for the type checker
    return record.id


def without_refused(
    decisions: Sequence[RowDecision], results: Mapping[str, Written]
) -> list[RowDecision]:
    """Return those whose rows the host has not refused."""
    refused = {
        key
        for key, written in results.items()
        if written.outcome is WriteOutcome.REFUSED
    }
    return [row for row in decisions if row.key not in refused]
