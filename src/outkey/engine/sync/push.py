"""Pushing: records of the host are sent to an API, each with a request of its own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from outkey.core.errors import SyncFailed
from outkey.core.sync.mapping import Means, Unmapped, filled_body, filled_path, nested, outgoing
from outkey.core.sync.run import Counts, HostRecord, Outcome, Run
from outkey.engine.sync.course import Course, Effect, is_about_what_was_asked

_AT_ONCE = 100


class Push(Course):
    """Records of the host on their way to the API."""

    def sample(self, limit: int) -> Sequence[Effect]:
        """Return what would be sent of the first records; nothing is."""
        first = self._ports.records.read(self._sync.target, "", limit)
        return [self._pushed(record) for record in first]

    def steps(self) -> Iterator[Run]:
        """Send record after record, each with its checkpoint; some of them are one page."""
        position = self._position()
        while batch := self._ports.records.read(self._sync.target, position.at, _AT_ONCE):
            position = replace(position, pages=position.pages + 1)
            for record in batch:
                position = replace(position, at=record.id)
                effect = self._pushed(record)
                with self._ports.runs.page():
                    kept = self._kept(position, [effect])
                self.run = kept  # not before it is committed
                self._tell([effect])
            yield self.run
            self._refuse_in_vain()

    def _refuse_in_vain(self) -> None:
        counts = self.run.counts
        if counts == Counts(failed=counts.failed) and counts.failed >= _AT_ONCE:
            raise SyncFailed(
                "not one of the records could be sent",
                hint="Look at what was left out; check path, body and fields of the line.",
                reason="all_refused",
            )

    def _pushed(self, record: HostRecord) -> Effect:
        line, mappings = self._plan.line, self._sync.mappings
        path = filled_path(line.path, record.values)
        if isinstance(path, Unmapped):
            return _refused(record, path.field, path.reason)
        row = outgoing(mappings, record.values, Means(self._ports.zones))
        if isinstance(row, Unmapped):
            return _refused(record, row.field, row.reason)
        status = 200 if self.run.dry_run else self._sent(record, path, row)
        if status >= 300:
            return _refused(record, "", f"status_{status}")
        return Effect(Outcome.CREATED if line.method == "POST" else Outcome.UPDATED, record.id, row)

    def _sent(self, record: HostRecord, path: str, row: Mapping[str, object]) -> int:
        """Send a record and return the status; what is not about the record ends the run."""
        line, headers = self._plan.line, {}
        body: object = nested(self._sync.mappings, row)
        if self._sync.body:
            body = filled_body(json.loads(self._sync.body), row)
        if line.method == "POST":
            # The same after a kill, so that an API that knows the header creates no second one.
            headers["Idempotency-Key"] = f"{self.run.id}-{quote(record.id, safe='')}"
        response = self._ports.gateway.send(
            line.configuration,
            line.method,
            path,
            json=body,
            headers=headers,
            line=line.name,
            begun_with=self._plan.configuration,
        )
        if not is_about_what_was_asked(response.status):
            response.raise_for_cause()
        return response.status


def _refused(record: HostRecord, field: str, reason: str) -> Effect:
    return Effect(Outcome.REFUSED, record.id, {}, field, reason)
