"""Pushing: records of the host are sent to an API, each with a request of its own."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote

from outkey.core.errors import OutkeyError, SyncFailed
from outkey.core.sync.mapping import (
    Means,
    Unmapped,
    filled_body,
    filled_path,
    nested,
    outgoing,
)
from outkey.core.sync.paging import Position, parameters
from outkey.core.sync.run import Counts, HostRecord, Outcome, Run
from outkey.engine.sync.requests import Answer, LineRequest, RequestBatch
from outkey.engine.sync.run_in_progress import (
    Effect,
    Note,
    Plan,
    RunInProgress,
    SyncPorts,
    is_about_what_was_asked,
)

_AT_ONCE = 100


class Push(RunInProgress):
    """Records of the host on their way to the API."""

    def __init__(self, ports: SyncPorts, plan: Plan, note: Note | None = None) -> None:
        super().__init__(ports, plan, note)
        self._asking = RequestBatch(ports.sender, plan, plan.sync.parallel)
        self._params = parameters(plan.sync, Position(""), "")  # pages are for pulls

    def sample(self, limit: int) -> Sequence[Effect]:
        """Return what would be sent of the first records; nothing is."""
        first = self._ports.records.read(self._sync.target, "", limit)
        return self._masked([_planned(self._made(record)) for record in first])

    def steps(self) -> Iterator[Run]:
        """Send record after record, or some at a time, each time with a checkpoint."""
        position = self._position()
        with self._asking:
            while batch := self._ports.records.read(
                self._sync.target, position.at, _AT_ONCE
            ):
                position = replace(position, pages=position.pages + 1)
                rest = [record for record in batch if record.id not in position.ahead]
                while rest:
                    self._refuse_more_time()
                    width = min(self._asking.width, self._records_left())
                    if width <= 0:
                        self._refuse_more_records()
                    position = self._pushed(position, rest[:width])
                    rest = rest[width:]
                passed = {record.id for record in batch}
                ahead = tuple(one for one in position.ahead if one not in passed)
                position = replace(position, at=batch[-1].id, ahead=ahead)
                yield self.run
                self._refuse_in_vain()

    def _pushed(self, position: Position, records: Sequence[HostRecord]) -> Position:
        """Send records, keep what became of them, and return the position behind them.

        What is not about a record ends the run there. Of those behind it that were answered the
        checkpoint knows, so that the next run does not send them again.
        """
        ends = self._ends([self._made(record) for record in records])
        effects = [end for end in ends if isinstance(end, Effect)]
        failures = [end for end in ends if isinstance(end, BaseException)]
        done = ends.index(failures[0]) if failures else len(ends)
        at = effects[done - 1].key if done else position.at
        ahead = tuple(effect.key for effect in effects[done:])
        position = replace(position, at=at, ahead=position.ahead + ahead)
        if effects:
            with self._ports.runs.page():
                kept = self._kept(position, effects)
            self.run = kept  # not before it is committed
            self._tell(effects)
        if failures:
            raise failures[0]
        return position

    def _ends(
        self, made: Sequence["Effect | _Ready"]
    ) -> Sequence[Effect | BaseException]:
        if self.run.dry_run:
            return [_planned(one) for one in made]
        ready = [one.asked for one in made if isinstance(one, _Ready)]
        answers = iter(self._asking.send(ready) if ready else ())
        return [
            _end(one.effect, next(answers)) if isinstance(one, _Ready) else one
            for one in made
        ]

    def _refuse_in_vain(self) -> None:
        counts = self.run.counts
        if counts == Counts(failed=counts.failed) and counts.failed >= _AT_ONCE:
            raise SyncFailed(
                "not one of the records could be sent",
                hint=(
                    "Look at what was left out; check path, body and fields of the"
                    " line."
                ),
                reason="all_refused",
            )

    def _made(self, record: HostRecord) -> "Effect | _Ready":
        """Return what is sent of a record, or why nothing can be."""
        line, sync = self._plan.line, self._sync
        path = filled_path(line.path, record.values)
        if isinstance(path, Unmapped):
            return _refused(record.id, path.field, path.reason)
        row = outgoing(sync.mappings, record.values, Means(self._ports.zones))
        if isinstance(row, Unmapped):
            return _refused(record.id, row.field, row.reason)
        asked = LineRequest(
            path=path, params=self._params, json=nested(sync.mappings, row)
        )
        if sync.body:
            asked["json"] = filled_body(json.loads(sync.body), row)
        if line.method == "POST":
            # The same after a kill, so that an API that knows the header creates no second one.
            asked["headers"] = {
                "Idempotency-Key": f"{self.run.id}-{quote(record.id, safe='')}"
            }
        outcome = Outcome.CREATED if line.method == "POST" else Outcome.UPDATED
        return _Ready(asked, Effect(outcome, record.id, row))


class _Ready(NamedTuple):
    """A record that can be sent, and what that does."""

    asked: LineRequest
    effect: Effect


def _planned(made: Effect | _Ready) -> Effect:
    return made.effect if isinstance(made, _Ready) else made


def _end(effect: Effect, answer: Answer) -> Effect | BaseException:
    """Return what became of a record, or what ends the run since it is not about the record."""
    if isinstance(answer, BaseException):
        return answer
    if not is_about_what_was_asked(answer.status):
        try:
            answer.raise_for_cause()
        except OutkeyError as error:
            return error
    if answer.status >= 300:
        return _refused(effect.key, "", f"status_{answer.status}")
    return effect


def _refused(key: str, field: str, reason: str) -> Effect:
    return Effect(Outcome.REFUSED, key, {}, field, reason)
