"""Activity: changes of users and sent requests, as pages and commands list them.

A request is one row: its intent and its outcome are two records of the audit, which may
lie some records apart. The requests of a run are one row together.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

from outkey.administration.engine.watching.audit_trail import recorded_at
from outkey.sending.core.audit.actors import possible_actors
from outkey.sending.core.audit.chain import FAILURE
from outkey.sending.core.audit.events import COMPARISON, DRAFT, Tag, draft_name
from outkey.sending.ports.storage import AuditRows

WINDOW = 1500  # records that are read at a time
MAX_WINDOWS = 3  # of one page
NEAR = 40  # records between the intent and the outcome of most requests
FAR = 1000  # of the others
TOKEN_TAGS = frozenset({Tag.TOKEN_INTENT, Tag.TOKEN_OUTCOME})
INTENTS = frozenset({Tag.SEND_INTENT, Tag.TOKEN_INTENT})
ENDS = frozenset({Tag.SEND_OUTCOME, Tag.TOKEN_OUTCOME, Tag.SEND_REFUSED})
OK = "ok"
RENAME_SECONDS = 1.0  # between the two records of one rename
Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Which records are listed; what is empty does not restrict them.

    `former_names` are those of the configuration, each with the Unix time until which
    it had that name.
    """

    configuration: str = ""
    former_names: Sequence[tuple[str, float]] = ()
    actor: str = ""  # with or without its origin
    outcome: str = ""  # FAILURE for every one that is not ok
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records, newest first, and where the next page begins; 0 at the end."""

    records: Sequence[Facts]
    older: int


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request: what was sent, and what became of it."""

    id: int  # of its newest record
    at: float
    attempt: str
    configuration: str
    line: str = ""
    method: str = ""
    target: str = ""  # origin and path
    status: int = 0
    outcome: str = ""  # "" while there is none
    duration_ms: int | None = None
    retry: int = 0
    is_token: bool = False
    is_refused: bool = False  # by outkey, before it was sent
    purpose: str = ""

    @property
    def is_comparison(self) -> bool:
        """Whether a test sent it without credentials, to prove that they are needed."""
        return self.purpose == COMPARISON

    @property
    def is_draft(self) -> bool:
        """Whether unsaved values of the configuration were tested."""
        return self.configuration.endswith(DRAFT)

    @property
    def stored_name(self) -> str:
        """The name of the configuration, also of a draft."""
        return self.configuration.removesuffix(DRAFT)


@dataclass(frozen=True, slots=True)
class RunSpan:
    """The time that a run of a line took; one that has not ended has no end."""

    id: str
    line: str
    started: float
    ended: float | None
    actor: str = ""

    def includes(self, request: SentRequest) -> bool:
        """Whether a request was sent by this run."""
        return (
            request.line == self.line
            and self.started <= request.at
            and (self.ended is None or request.at <= self.ended)
        )


@dataclass(slots=True)
class RequestGroup:
    """The requests of one run on a page, newest first."""

    run: RunSpan
    requests: list[SentRequest] = field(default_factory=list)

    def outcomes(self) -> list[tuple[str, int]]:
        """Return how many requests ended in each status or outcome, most first."""
        counts = Counter(
            str(request.status or request.outcome or "?") for request in self.requests
        )
        return counts.most_common()

    def targets(self) -> list[tuple[str, int]]:
        """Return the requested targets with their counts, the most frequent first."""
        counts = Counter(
            f"{request.method} {request.target}".strip() for request in self.requests
        )
        return counts.most_common()

    @property
    def duration(self) -> float:
        """The seconds from its first to its last request on this page."""
        return self.requests[0].at - self.requests[-1].at


@dataclass(frozen=True, slots=True)
class RequestPage:
    """Requests and runs, newest first, and where the next page begins; 0 at the end."""

    items: Sequence[SentRequest | RequestGroup]
    older: int


# Returns the runs of some lines that were active between two moments.
RunSpans = Callable[[Collection[str], float, float], Sequence[RunSpan]]


class NameSpan(NamedTuple):
    """The rows in which a name is that of one configuration, between two ids."""

    name: str
    after: int
    before: int  # 0: to the newest row


EVERY_NAME = NameSpan("", 0, 0)


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """The rows of some names and actors; where there are none, of all."""

    rows: AuditRows
    spans: Sequence[NameSpan]
    actors: Sequence[str] = ()

    def newest(self, limit: int, before: int, **labels: str) -> list[dict[str, object]]:
        """Return the newest rows before an id that have these labels."""
        found: list[dict[str, object]] = []
        # One search by index for each: to search for several would sort all rows.
        for span, actor in product(self.spans or (EVERY_NAME,), self.actors or ("",)):
            searched = {"configuration": span.name, "actor": actor, **labels}
            rows = self.rows.newest(
                limit,
                before=earlier(before, span.before),
                **{label: value for label, value in searched.items() if value},
            )
            found += [row for row in rows if id_of(row) > span.after]
        found.sort(key=id_of, reverse=True)
        return found[:limit]


@dataclass(frozen=True, slots=True)
class Activity:
    """Reads the audit for its pages; `window` limits how much of it at a time."""

    rows: AuditRows
    window: int = 0  # WINDOW, if not given

    def records(
        self, kind: str, chosen: ActivityFilter, limit: int, *, before: int = 0
    ) -> RecordPage:
        """Return changes or sign-ins, newest first."""
        first, before = self._bounds(chosen, before)
        filtered = self._filtered(chosen)
        rows = filtered.newest(limit + 2, before, kind=kind)
        rows = [row for row in rows if id_of(row) > first]
        taken = limit
        if len(rows) > limit and _are_one_rename(rows[limit - 1], rows[limit]):
            taken += 1  # the other half must not begin the next page
        older = id_of(rows[taken - 1]) if len(rows) > taken else 0
        return RecordPage(_fold_renames(rows[:taken]), older)

    def requests(
        self,
        chosen: ActivityFilter,
        limit: int,
        runs: RunSpans,
        *,
        before: int = 0,
    ) -> RequestPage:
        """Return requests, those of a run together, newest first."""
        first, before = self._bounds(chosen, before)
        is_failure = chosen.outcome not in {"", OK}
        read = self._read_failures if is_failure else self._read_window
        filtered = self._filtered(chosen)
        requests: list[SentRequest] = []
        items: list[SentRequest | RequestGroup] = []
        position = before
        for _ in range(MAX_WINDOWS):
            window, position = read(filtered, chosen.outcome, position, limit)
            requests += [request for request in window if request.id > first]
            if position <= first:
                position = 0
            items, taken = _group_by_run(requests, runs, limit)
            if taken < len(requests):
                return RequestPage(items, requests[taken].id + 1)
            if not position:
                break
        return RequestPage(items, position)

    def _filtered(self, chosen: ActivityFilter) -> FilteredRows:
        """Return the rows of a configuration, under its former names and as a draft."""
        actors = possible_actors(chosen.actor) if chosen.actor else ()
        if not chosen.configuration:
            return FilteredRows(self.rows, (), actors)
        spans: list[NameSpan] = []
        after = 0
        for name, until in chosen.former_names:
            end = self.rows.position_at(until)
            # Another configuration may have had the name before, or have it since.
            spans += [NameSpan(one, after, end + 1) for one in (name, draft_name(name))]
            after = end
        name = chosen.configuration
        spans += [NameSpan(one, after, 0) for one in (name, draft_name(name))]
        return FilteredRows(self.rows, spans, actors)

    def _bounds(self, chosen: ActivityFilter, before: int) -> tuple[int, int]:
        """Return the id that rows come after, and the one they come before."""
        first = 0
        if chosen.since is not None:
            first = self.rows.position_at(chosen.since)
        if chosen.until is not None:
            end = self.rows.position_at(chosen.until) + 1
            before = earlier(before, end)
        return first, before

    def _read_window(
        self, filtered: FilteredRows, outcome: str, before: int, _limit: int
    ) -> tuple[list[SentRequest], int]:
        """Return the requests of the next records, and where to go on; 0 at the end."""
        window = self.window or WINDOW
        rows = filtered.newest(window, before)
        if not rows:
            return [], 0
        end = id_of(rows[-1]) if len(rows) == window else 0
        intents = {_attempt_of(row): row for row in rows if row.get("tag") in INTENTS}
        requests = [outcome_of(row) for row in rows if row.get("tag") in ENDS]
        without_intent = {
            request.attempt
            for request in requests
            if not request.is_refused and request.attempt not in intents
        }
        if without_intent and end:  # they began before these records
            older = filtered.newest(FAR, end)
            intents |= {
                _attempt_of(row): row
                for row in older
                if _is_intent(row, without_intent)
            }
        requests = [_with_intent_of(request, intents) for request in requests]
        ended = {request.attempt for request in requests}
        if before:  # the outcomes of some are on the page before this one
            ended |= {_attempt_of(row) for row in self.rows.after(before - 1, FAR)}
        requests += [
            _with_intent(outcome_of(row), row)
            for row in rows
            if row.get("tag") in INTENTS and _attempt_of(row) not in ended
        ]
        if outcome:
            requests = [request for request in requests if request.outcome == outcome]
        requests.sort(key=lambda request: request.id, reverse=True)
        return requests, end

    def _read_failures(
        self, filtered: FilteredRows, outcome: str, before: int, limit: int
    ) -> tuple[list[SentRequest], int]:
        """Return the next requests that failed, by the index of failures."""
        labels = {"kind": FAILURE}
        if outcome != FAILURE:
            labels["outcome"] = outcome
        size = limit * 2
        rows = filtered.newest(size, before, **labels)
        requests = [self._with_nearby_intent(outcome_of(row)) for row in rows]
        return requests, id_of(rows[-1]) if len(rows) == size else 0

    def _with_nearby_intent(self, request: SentRequest) -> SentRequest:
        """Add what was sent, from the records before that of the outcome."""
        if request.is_refused:
            return request
        for distance in (NEAR, FAR):
            rows = self.rows.after(max(0, request.id - distance - 1), distance)
            intents = {
                _attempt_of(row): row
                for row in rows
                if _is_intent(row, {request.attempt})
            }
            if intents:
                return _with_intent_of(request, intents)
        return request


def _group_by_run(
    requests: Sequence[SentRequest], runs: RunSpans, limit: int
) -> tuple[list[SentRequest | RequestGroup], int]:
    """Put the requests of each run together; return the items and how many are in them.

    The first request that would need one item more than the limit is left out, and all
    that follow it.
    """
    lines = {request.line for request in requests if request.line}
    spans: Sequence[RunSpan] = ()
    if lines:
        moments = [request.at for request in requests]
        spans = runs(lines, min(moments), max(moments))
    groups: dict[str, RequestGroup] = {}
    items: list[SentRequest | RequestGroup] = []
    for count, request in enumerate(requests):
        span = next((span for span in spans if span.includes(request)), None)
        if span is not None and span.id in groups:
            groups[span.id].requests.append(request)
            continue
        if len(items) == limit:
            return items, count
        if span is None:
            items.append(request)
        else:
            group = RequestGroup(span, [request])
            groups[span.id] = group
            items.append(group)
    return items, len(requests)


def _fold_renames(rows: Sequence[Facts]) -> list[Facts]:
    """Return the rows, newest first, with one for each rename.

    It is recorded under both names, so that it is found by either.
    """
    folded: list[Facts] = []
    previous: Facts | None = None
    for row in rows:
        if previous is not None and _are_one_rename(previous, row):
            names = ["name", row.get("configuration"), previous.get("configuration")]
            folded[-1] = {**previous, "changes": [names]}
            previous = None
        else:
            folded.append(row)
            previous = row
    return folded


def _are_one_rename(newer: Facts, older: Facts) -> bool:
    """Whether two records are those of one rename."""
    return (
        newer.get("tag") == older.get("tag") == Tag.CONFIGURATION_RENAMED
        and newer.get("actor") == older.get("actor")
        and newer.get("configuration") != older.get("configuration")
        and abs(recorded_at(newer) - recorded_at(older)) <= RENAME_SECONDS
    )


def earlier(one: int, other: int) -> int:
    """Return the lower of two ids that rows come before; 0 does not restrict them."""
    return min(one, other) if one and other else one or other


def outcome_of(facts: Facts) -> SentRequest:
    """Return a request as its last record describes it."""
    tag = facts.get("tag")
    return SentRequest(
        id=id_of(facts),
        at=recorded_at(facts),
        attempt=_attempt_of(facts),
        configuration=str(facts.get("configuration", "")),
        line=str(facts.get("line", "")),
        status=number_of(facts.get("status")) or 0,
        outcome=str(facts.get("outcome") or facts.get("code") or ""),
        duration_ms=number_of(facts.get("duration_ms")),
        is_token=tag in TOKEN_TAGS,
        is_refused=tag == Tag.SEND_REFUSED,
    )


def _with_intent(request: SentRequest, intent: Facts) -> SentRequest:
    """Add what was sent, and when."""
    return replace(
        request,
        at=recorded_at(intent),
        line=str(intent.get("line", "")),
        method=str(intent.get("method", "")),
        target=f"{intent.get('origin', '')}{intent.get('path', '')}",
        retry=number_of(intent.get("retry")) or 0,
        purpose=str(intent.get("purpose", "")),
    )


def _with_intent_of(request: SentRequest, intents: Mapping[str, Facts]) -> SentRequest:
    """Add what was sent, if the intent is among these."""
    intent = intents.get(request.attempt)
    if intent is None or request.is_refused:
        return request
    return _with_intent(request, intent)


def _is_intent(facts: Facts, attempts: Collection[str]) -> bool:
    """Whether a record is the intent of one of these attempts."""
    return facts.get("tag") in INTENTS and _attempt_of(facts) in attempts


def id_of(facts: Facts) -> int:
    """Return the id of a record."""
    return int(str(facts["id"]))


def _attempt_of(facts: Facts) -> str:
    """Return the id of the attempt that a record is about."""
    return str(facts.get("attempt", ""))


def number_of(value: object) -> int | None:
    """Return a number of a record; None if it was tampered with."""
    return value if isinstance(value, int) else None
