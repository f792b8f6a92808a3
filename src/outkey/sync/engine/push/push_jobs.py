"""The jobs of a push: to create, update or delete a record, or to find it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from outkey.foundation.core.groups import groups_of
from outkey.sync.core.line.line import PushedRecords, PushRequest, Sync, SyncLine
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.push.ledger import LedgerEntry, count_of
from outkey.sync.core.run.effects import Effect


class Action(StrEnum):
    """The purpose of a request."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    FIND = "find"


OUTCOMES = {
    Action.CREATE: WriteOutcome.CREATED,
    Action.UPDATE: WriteOutcome.UPDATED,
    Action.DELETE: WriteOutcome.DELETED,
}


@dataclass(frozen=True, slots=True)
class Job:
    """A record to send, and what the ledger has of it."""

    action: Action
    entry: LedgerEntry
    outcome: WriteOutcome  # if it succeeds
    digest: str = ""
    row: Mapping[str, object] = field(default_factory=dict, repr=False)
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    # A create that had no response: the API may have the record.
    is_repeated: bool = False
    refusal: int = 0  # the status that a create got, while its record is searched
    done: frozenset[Action] = frozenset()  # what was tried before

    @property
    def record(self) -> str:
        """The id of the record."""
        return self.entry.record

    def then(self, action: Action, entry: LedgerEntry, **changes: object) -> "Job":
        """Return the next request for the same record."""
        done = self.done | {self.action}
        return replace(self, action=action, entry=entry, done=done, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Settled:
    """The effect on a record, and its entry if that has changed."""

    effect: Effect
    entry: LedgerEntry | None = None
    # The host's, of a record that the API has accepted.
    values: Mapping[str, object] = field(default_factory=dict, repr=False)


Group = list[Job]  # the jobs of one request
Plan = Job | Settled | str  # the id alone: nothing is to be done or counted


class PushRequests:
    """The requests of a line; one that has only a method and a path sends that."""

    def __init__(self, line: SyncLine, sync: Sync) -> None:
        self._sync = sync
        self.has_single = not sync.has_requests
        single = PushRequest(line.method, line.path)
        find = PushRequest("GET", sync.find.path) if sync.find else PushRequest()
        self._by_action = {
            Action.CREATE: single if self.has_single else sync.create,
            Action.UPDATE: single if self.has_single else sync.update,
            Action.DELETE: sync.delete,
            Action.FIND: find,
        }

    def __getitem__(self, action: Action) -> PushRequest:
        return self._by_action[action]

    def path_names(self) -> list[str]:
        """Return the host's fields in the paths that send a record."""
        paths = {self[Action.CREATE].path, self[Action.UPDATE].path}
        names = {name for path in paths for name in placeholders(path)}
        return sorted(names if self.has_single else names - {"remote_id"})

    def takes_list(self, action: Action) -> bool:
        """Whether the body of a request is a list of records."""
        if self._sync.batch == 1 or action is Action.FIND:
            return False
        return not placeholders(self[action].path)

    def has_key(self, action: Action) -> bool:
        """Whether a request has an Idempotency-Key: PUT repeats nothing anyway."""
        return action is Action.CREATE and self[action].method != "PUT"

    def action_for(self, entry: LedgerEntry, digest: str) -> Action | None:
        """Return the action for a record of the host; None if it needs none."""
        sends_all = self._sync.pushed_records is PushedRecords.ALL
        if entry.exists and entry.digest == digest and not sends_all:
            return None
        if self.has_single:
            is_post = self[Action.CREATE].method == "POST"
            return Action.CREATE if is_post else Action.UPDATE
        update = self[Action.UPDATE]
        if not entry.exists and self[Action.CREATE]:
            return Action.CREATE
        is_known = entry.exists or "remote_id" not in placeholders(update.path)
        return Action.UPDATE if update and is_known else None

    def groups(self, jobs: Sequence[Job]) -> list[Group]:
        """Return the jobs of each request, in the order of their first records.

        A create that is repeated is in the same request as before, so that its key is
        for the same records.
        """
        groups: list[Group] = []
        for action in dict.fromkeys(job.action for job in jobs):
            of_action = [job for job in jobs if job.action is action]
            if not self.takes_list(action):
                groups += [[job] for job in of_action]
                continue
            repeated = list(_repeated_groups(of_action))
            again = {job.record for group in repeated for job in group}
            fresh = [job for job in of_action if job.record not in again]
            groups += repeated
            groups += map(list, groups_of(fresh, self._sync.batch))
        order = {job.record: number for number, job in enumerate(jobs)}
        return sorted(groups, key=lambda group: order[group[0].record])


def _repeated_groups(jobs: Sequence[Job]) -> Iterator[Group]:
    """Yield the jobs that shared a request, if all of them are still there."""
    by_key: dict[str, Group] = {}
    for job in jobs:
        if job.is_repeated:
            by_key.setdefault(job.entry.key, []).append(job)
    for key, group in by_key.items():
        if count_of(key) == len(group):
            yield group


class StepProgress:
    """How far a run is in one step; the position is that of the next checkpoint."""

    def __init__(self, position: Position, plans: Sequence[tuple[str, Plan]]) -> None:
        self.position = position
        self._plans = plans
        self._order = {record: number for number, (record, _) in enumerate(plans)}
        # What is done behind the first record that is not.
        ahead = (record for record in position.ahead if record in self._order)
        self._ahead = dict.fromkeys(ahead)
        self._next = 0

    def advance(self, sent: Mapping[str, Settled]) -> list[Settled]:
        """Pass what is done; return it in its order, as the checkpoint counts it."""
        self._ahead.update(dict.fromkeys(sent))
        counted = dict(sent)
        at = self.position.at
        while self._next < len(self._plans):
            record, plan = self._plans[self._next]
            if isinstance(plan, Settled):
                counted[record] = plan
            elif isinstance(plan, Job) and record not in self._ahead:
                break
            self._ahead.pop(record, None)
            self._next += 1
            at = record
        self.position = replace(self.position, at=at, ahead=tuple(self._ahead))
        in_order = sorted(counted, key=self._order.__getitem__)
        return [counted[record] for record in in_order]
