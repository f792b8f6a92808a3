"""Entry point for pairs: run them by name, show and resolve their conflicts."""

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from shlex import quote

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Sync
from outkey.sync.core.pairs.pairs import PairAgreement, after_deletion, pair_fields
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.runs.line_plan import PairPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs

# The steps of a line's run, begun with the callbacks of `SyncRunner.run`.
Begin = Callable[..., Generator[Run]]
Follow = Callable[[str, Begin], Run]


def run_to_end(_line: str, begin: Begin) -> Run:
    """Do a run to its end, and return how it ended."""
    for run in begin():
        last = run
    return last


class PairRunner:
    """Runs both lines of a pair; the lines themselves follow its rules."""

    def __init__(self, ports: PairPorts, runner: SyncRunner, runs: Runs) -> None:
        self._pairs = ports.pairs
        self._agreements = Agreements(ports.agreements)
        self._runner = runner
        self._runs = runs

    def pairs(self) -> Mapping[str, Pair]:
        """Return the pairs, by name."""
        return self._pairs()

    def get(self, name: str) -> Pair:
        """Return one pair, or raise UnknownConfiguration."""
        pair = self.pairs().get(name)
        if pair is None:
            raise UnknownConfiguration(
                Text("there is no such pair"),
                hint=Text("See: outkey pair list"),
            )
        return pair

    def run(self, name: str, actor: str, follow: Follow = run_to_end) -> list[Run]:
        """Pull, and then push if the pull is done; return the runs.

        `follow` is given a line and what begins its run, does the run to its end and
        returns how it ended. Raises what ended a run early.
        """
        pair = self.get(name)
        began_at = self._runs.now()
        begin_pull = partial(self._runner.run, pair.pull, actor)
        pull = follow(pair.pull, begin_pull)
        if pull.state is RunState.DONE and pull.started_at < began_at:
            # It continued an older run, whose pages may be out of date: the push would
            # overwrite what the API has changed since.
            pull = follow(pair.pull, begin_pull)
        if pull.state is not RunState.DONE:
            return [pull]
        begin_push = partial(self._runner.run, pair.push, actor)
        return [pull, follow(pair.push, begin_push)]

    def conflicts(self, name: str) -> Iterator[PairAgreement]:
        """Return the records that wait for a user, or for the next run."""
        return self._agreements.every_conflict(self.get(name).push)

    def count_open(self, name: str) -> int:
        """Return how many records wait for a user."""
        return sum(agreement.is_open for agreement in self.conflicts(name))

    def conflict(self, name: str, key: str, version: str = "") -> PairAgreement:
        """Return the record with this key that has a conflict, or raise ConfigError.

        `version` is that of the conflict which a user has seen, "" for the current one.
        """
        line = self.get(name).push
        agreement = self._agreements.by_key(line, [key]).get(key)
        if agreement is None or agreement.conflict is None:
            raise ConfigError(
                Text("no record with this key has a conflict"),
                hint=Text(
                    "List them with: outkey pair conflicts {pair}", pair=quote(name)
                ),
                field="key",
            )
        if version and version != conflict_version(agreement):
            raise ConfigError(
                Text("the record has changed since you looked at its versions"),
                hint=Text("Look at both versions again, and decide then."),
                field="key",
            )
        return agreement

    def resolve(
        self, name: str, key: str, choice: ConflictRule, version: str = ""
    ) -> None:
        """Store whose version of a record stays; the next run applies it.

        The conflict ends at once if no run has anything to do about it.
        """
        line = self.get(name).push
        with self._runs.transaction():
            agreement = self.conflict(name, key, version).resolve(choice)
            if not self._runner.has_record(line, agreement.record):
                sends_deletions = self._runner.sends_deletions(line)
                after = after_deletion(agreement, sends_deletions=sends_deletions)
            else:
                after = agreement
            if after is None:
                self._agreements.delete(line, [agreement.record])
            else:
                self._agreements.put(line, [after])


def fields_by_owner(pull: Sync | None, push: Sync | None) -> dict[str, list[str]]:
    """Return the names of the fields that each side may change, to be shown."""
    if pull is None or push is None:
        return {}
    fields = pair_fields(pull, push)
    both = fields.shared | {*pull.keys}
    return {
        "keys": list(pull.keys),
        "shared": sorted(fields.shared),
        "pulled": sorted(fields.pulled - both),
        "sent": sorted(fields.sent - both),
    }


def conflict_version(agreement: PairAgreement) -> str:
    """Return a digest of the two versions between which a user decides."""
    conflict = agreement.conflict
    versions = conflict and [conflict.api, conflict.host]
    return hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()
