"""Which record of the host a row of the API is about, in a pair."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.records import HostRecord
from outkey.sync.core.pairs.pairs import (
    PairAgreement,
    has_same_values,
    pair_fields,
    plain_values,
)
from outkey.sync.engine.pull.record_mapper import Row, key_of
from outkey.sync.engine.runs.line_plan import PairPlan, SyncPorts

EMPTY = (None, "")


@dataclass(frozen=True, slots=True)
class Match:
    """A row of a page, and the host's record that it is about."""

    row: Row
    remote_id: str  # of the row
    key: str  # of the row
    record: HostRecord | None = None
    agreement: PairAgreement | None = None
    is_present: bool = False  # the host has the record, and it is not archived
    is_lost: bool = False  # with its table: no user has deleted it
    # The record has other values in the key fields than the row.
    has_other_key: bool = False
    # A user gave it these, and they are sent: the API is to have them too.
    is_renamed: bool = False
    # A user gave it the key of this row, and the sides agreed on another one.
    is_new_key: bool = False


class PairMatches:
    """Finds the records of rows; they are locked until the transaction ends."""

    def __init__(self, ports: SyncPorts, plan: PairPlan) -> None:
        self._records = ports.records
        self._ledger = ports.ledger
        self._agreements = plan.agreements
        self._push_line = plan.push.line.name
        self._target = plan.pull.sync.target
        self._keys = plan.pull.sync.keys
        self.sent_keys = {*self._keys} & pair_fields(
            plan.pull.sync, plan.push.sync
        ).sent

    def find(self, rows: Sequence[Row], remote_ids: Sequence[str]) -> list[Match]:
        """Find the record of each row: by its keys, or else by what is known of it."""
        records = self.by_keys(rows)
        ids = [record.id for record in records.values()]
        agreements = self._agreements.read(self._push_line, ids)
        matches: list[Match] = []
        for row, remote_id in zip(rows, remote_ids, strict=True):
            key = key_text(key_of(self._keys, row))
            record = records.get(self.values_of(row))
            match = Match(row, remote_id, key, record)
            if record:
                match = self._with_agreement(match, agreements.get(record.id))
            matches.append(match)
        matches = self._match_by_remote_id_or_old_key(matches, {*ids})
        record_ids = [match.record.id for match in matches if match.record]
        gone = [
            match.agreement.record
            for match in matches
            if match.agreement and not match.record
        ]
        present = self._records.present(self._target, [*record_ids, *gone])
        return [
            replace(match, is_present=match.record.id in present)
            if match.record
            else replace(
                match,
                is_lost=bool(match.agreement and match.agreement.record in present),
            )
            for match in matches
        ]

    def by_keys(self, rows: Sequence[Row]) -> Mapping[tuple[object, ...], HostRecord]:
        """Return the records with the keys of rows, by the values of these."""
        values = [self.values_of(row) for row in rows]
        return self._records.matching(self._target, self._keys, values)

    def values_of(self, row: Row) -> tuple[object, ...]:
        """Return the values of the key fields."""
        return tuple([row[name] for name in self._keys])

    def has_new_key(self, record: HostRecord, agreement: PairAgreement | None) -> bool:
        """Whether a user has changed a key that is sent, since both sides agreed."""
        agreed = (agreement and agreement.host) or {}
        names = self.sent_keys & {*agreed}
        now = plain_values(record.values, names)
        return not has_same_values(now, {name: agreed[name] for name in names})

    def _with_agreement(self, match: Match, agreement: PairAgreement | None) -> Match:
        """Add the agreement about a record that has the keys of the row."""
        if match.record and self.has_new_key(match.record, agreement):
            return replace(match, is_new_key=True)
        return replace(match, agreement=agreement)

    def _match_by_remote_id_or_old_key(
        self, matches: Sequence[Match], taken: Collection[str]
    ) -> list[Match]:
        """Match rows that no key found.

        A record that the host created does not have the API's key yet, and is found by
        the ID in the ledger. The key of another was changed by a user: the agreement
        has the old key. One that was deleted and made again has the old agreement.
        """
        unknown = [match for match in matches if not match.agreement]
        keys = [match.key for match in unknown if not match.is_new_key]
        by_key = self._agreements.by_key(self._push_line, keys)
        # A user has given the key of another row to the record of such an agreement.
        ids = {
            key: agreement.record
            for key, agreement in by_key.items()
            if agreement.record not in taken
        }
        new = [match for match in unknown if not match.record and match.key not in ids]
        created_again: set[str] = set()
        remote_ids = {match.remote_id for match in new} - {""}
        if remote_ids:
            entries = self._ledger.by_remote_id(self._push_line, remote_ids)
            for match in new:
                entry = entries.get(match.remote_id)
                if entry and entry.record not in taken:
                    ids[match.key] = entry.record
                    if entry.creations:
                        created_again.add(entry.record)
        if not ids:
            return list(matches)
        records = self._records.by_id(self._target, {*ids.values()})
        agreements = self._agreements.read(self._push_line, {*ids.values()})
        return [
            self._with_record(
                match,
                records.get(other),
                agreements.get(other),
                is_created_again=other in created_again,
            )
            if (other := ids.get(match.key))
            else match
            for match in matches
        ]

    def _with_record(
        self,
        match: Match,
        other: HostRecord | None,
        agreement: PairAgreement | None,
        *,
        is_created_again: bool,
    ) -> Match:
        if other is None:  # it was deleted in the host
            return replace(match, agreement=agreement)
        if match.record:
            return match  # the agreement is about another record
        ours = plain_values(other.values, self._keys)
        theirs = plain_values(match.row, self._keys)
        given = {
            name
            for name in self._keys
            if ours[name] not in EMPTY and ours[name] != theirs[name]
        }
        is_renamed = bool(given & self.sent_keys)
        has_old_key = agreement is not None and agreement.key == match.key
        # The API had deleted it, and gave it another ID when it was created again.
        has_new_id = is_created_again and not is_renamed
        if given and not has_old_key and not has_new_id:
            return match  # an API whose IDs are not the keys: they are equal by chance
        return replace(
            match,
            record=other,
            agreement=agreement,
            has_other_key=True,
            is_renamed=is_renamed,
        )
