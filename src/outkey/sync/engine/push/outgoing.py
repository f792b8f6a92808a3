"""Records of the host as a push sends them: values, digest and body."""

import json
from collections.abc import Mapping

from outkey.sync.core.line.templates import fill_body, is_too_long, value_at
from outkey.sync.core.mapping.mapping import (
    Unmapped,
    fill_path,
    map_outgoing,
    nest_values,
)
from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry, digest_of
from outkey.sync.core.run.effects import Effect
from outkey.sync.engine.push.push_jobs import OUTCOMES, Job, PushRequests, Settled
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts


class OutgoingRecords:
    """Maps the records of a line, and plans the request that each of them needs."""

    def __init__(self, ports: SyncPorts, plan: LinePlan) -> None:
        self._sync = plan.sync
        self.requests = PushRequests(plan.line, plan.sync)
        self._path_names = self.requests.path_names()
        self._template = json.loads(plan.sync.body) if plan.sync.body else None
        self._context = MappingContext(ports.zones)

    def plan(self, record: HostRecord, entry: LedgerEntry) -> Job | Settled:
        """Return the request that a record needs, or that it needs none."""
        row = self.row(record)
        if isinstance(row, Unmapped):
            return Settled(refused_record(record.id, row.field, row.reason))
        digest = self._digest(record, row)
        action = self.requests.action_for(entry, digest)
        if action is None:
            return Settled(Effect(WriteOutcome.UNCHANGED, record.id, row))
        job = Job(
            action,
            entry,
            OUTCOMES[action],
            digest=digest,
            row=row,
            values=record.values,
            is_repeated=bool(entry.key),
        )
        path = self.path(job)
        if isinstance(path, Unmapped):
            return Settled(refused_record(record.id, path.field, path.reason))
        return job

    def digest_now(self, record: HostRecord) -> str:
        """Return the digest of a record as it is; UNSURE if it cannot be sent."""
        row = self.row(record)
        return UNSURE if isinstance(row, Unmapped) else self._digest(record, row)

    def path(self, job: Job) -> str | Unmapped:
        """Return the path of a request; that of a list has no names."""
        values = job.values
        if not self.requests.has_single:
            values = {**values, "remote_id": job.entry.remote_id or None}
        return fill_path(self.requests[job.action].path, values)

    def body(self, row: Mapping[str, object], remote_id: str = "") -> object:
        """Return the body of a request for one record."""
        if self._template is None:
            return nest_values(self._sync.mappings, row)
        return fill_body(self._template, {"remote_id": remote_id or None, **row})

    def row(self, record: HostRecord) -> Mapping[str, object] | Unmapped:
        """Return the values of a record to send, or why it cannot be sent."""
        row = map_outgoing(self._sync.mappings, record.values, self._context)
        if not isinstance(row, Unmapped) and is_too_long(self._sync.body, row):
            return Unmapped("", "too_long")
        return row

    def _digest(self, record: HostRecord, row: Mapping[str, object]) -> str:
        names = self._path_names
        in_path = {name: value_at(record.values, name) for name in names}
        return digest_of(self.body(row), in_path)


def refused_record(key: str, field: str, reason: str) -> Effect:
    """Return the effect of a record that was not sent, or that the API refused."""
    return Effect(WriteOutcome.REFUSED, key, {}, field, reason)
