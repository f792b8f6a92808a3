"""Where the records of a line are: in the host's models, in tables or in files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import (
    HostRecord,
    PreparedTarget,
    Shape,
    Target,
    Unseen,
    Written,
    find_target,
    missing_table,
)
from outkey.sync.core.mapping.targets import FileName, TableName, parse_target
from outkey.sync.ports.sync import Key, Models, Records, StoredTables, TargetStore


class Targets:
    """All targets under one interface; the prefix of a name tells where it is."""

    def __init__(
        self,
        models: Models,
        tables: StoredTables | None = None,
        files: TargetStore | None = None,
        refuse: Callable[[str], None] | None = None,
    ) -> None:
        self._models = models
        self._tables = tables
        self._files = files
        self._refuse_target = refuse  # of another owner than the user's; None: none

    def targets(self) -> Sequence[Target]:
        """Return the targets that are there, with their fields."""
        stores = filter(None, (self._models, self._tables, self._files))
        targets = [target for store in stores for target in store.targets()]
        if self._refuse_target is None:
            return targets
        return [target for target in targets if self._admits(target.name)]

    def _refuse(self, target: str) -> None:
        if self._refuse_target is not None:
            self._refuse_target(target)

    def _admits(self, target: str) -> bool:
        try:
            self._refuse(target)
        except ConfigError:
            return False
        return True

    def get(self, name: str) -> Target:
        """Return one target that is there; no other place is asked for its own."""
        store = self._store(name)
        if store is None:
            return find_target(self._models.targets(), name)
        wanted = name.lower()
        targets = [
            target for target in store.targets() if target.name.lower() == wanted
        ]
        if not targets:
            raise missing_table(name)
        return targets[0]

    def prepare(
        self, target: str, shape: Shape, *, dry_run: bool = False
    ) -> PreparedTarget:
        """Return a target that has the fields of a shape; a model is as it is."""
        store = self._store(target)
        if store is None:
            return PreparedTarget(find_target(self._models.targets(), target))
        return store.prepare(target, shape, dry_run=dry_run)

    def transaction(self, targets: Collection[str]) -> AbstractContextManager[None]:
        """Write all of what is written to these targets inside, or nothing."""
        stores = {self._store(target) for target in targets}
        if len(stores) > 1:
            raise ConfigError(
                Text("children must be in the same place as their parents"),
                hint=Text("Choose targets in the same database."),
                field="children",
            )
        store = next(iter(stores), None)
        return nullcontext() if store is None else store.transaction(targets)

    def set_feed(self, target: str, line: str, *, wants_feed: bool) -> None:
        """Record changes of a table from now on, while any of its lines wants that."""
        self._refuse(target)
        if self._tables and isinstance(parse_target(target), TableName):
            self._tables.set_feed(target, line, wants_feed=wants_feed)

    def begin(self, target: str, run: str) -> None:
        """Begin at the first page: a file drops what an unfinished run has left."""
        store = self._store(target)
        if store is not None:
            store.begin(target, run)

    def complete(
        self,
        target: str,
        run: str,
        *,
        is_doubtful: bool = False,
        may_lose: bool = False,
    ) -> Sequence[Text]:
        """Note that a run has read everything: only now a file is replaced."""
        store = self._store(target)
        if store is None:
            return ()
        return store.complete(target, run, is_doubtful=is_doubtful, may_lose=may_lose)

    def journal(self, target: str, line: str) -> str:
        """Return the journal beside the rows of a table for a line, or ""."""
        self._refuse(target)
        if not self._tables or not isinstance(parse_target(target), TableName):
            return ""
        return self._tables.journal(target, line)

    def put_journal(self, target: str, line: str, text: str) -> None:
        """Write a text in the transaction of a table's rows; nothing for a model."""
        self._refuse(target)
        if self._tables and isinstance(parse_target(target), TableName):
            self._tables.put_journal(target, line, text)

    def read(self, target: str, after: str, limit: int) -> Sequence[HostRecord]:
        """Return the next records after an id, ordered by id."""
        return self._records(target).read(target, after, limit)

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
        saves: bool = False,
    ) -> Sequence[Written]:
        """Create or update the record of each row; with `saves` one by one."""
        store = self._store(target)
        if store is None:
            return self._models.upsert(
                target, keys, rows, run, dry_run=dry_run, saves=saves
            )
        return store.upsert(target, keys, rows, run, dry_run=dry_run)

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        """Return how many records this line brought, and this run has not seen."""
        return self._records(target).unseen(target, line, run)

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        """Archive or delete what this line brought and this run has not seen."""
        return self._records(target).retire(target, line, run, gone)

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        """Delete the children of these parents whose keys are not in `kept`."""
        return self._records(target).delete_children(target, parent, keys, kept)

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> Mapping[Key, HostRecord]:
        """Return the records with these values of the key fields, locked."""
        return self._records(target).matching(target, keys, values)

    def by_id(self, target: str, ids: Collection[str]) -> Mapping[str, HostRecord]:
        """Return the records with these ids, locked."""
        return self._records(target).by_id(target, ids)

    def assign(
        self,
        target: str,
        values: Mapping[str, Mapping[str, object]],
        run: str,
        *,
        saves: bool = False,
    ) -> Collection[str]:
        """Write values of some fields into records; return the ids of those done."""
        store = self._store(target)
        if store is None:
            return self._models.assign(target, values, run, saves=saves)
        return store.assign(target, values, run)

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> Sequence[HostRecord]:
        """Return the next of what this line brought and this run has not seen."""
        return self._records(target).missing(target, line, run, after, limit)

    def present(self, target: str, ids: Sequence[str]) -> Collection[str]:
        """Return those of these ids whose records exist and are not archived."""
        return self._records(target).present(target, ids)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> Mapping[object, object]:
        """Return the ids of the records that have these values in a field."""
        return self._records(target).find(target, field, values)

    def _records(self, target: str) -> Records:
        return self._store(target) or self._models

    def _store(self, target: str) -> TargetStore | None:
        """Return the tables or the files, or None for a model of the host."""
        self._refuse(target)
        name = parse_target(target)
        if isinstance(name, TableName):
            return self._require_store(self._tables)
        if isinstance(name, FileName):
            return self._require_store(self._files)
        return None

    def _require_store(self, store: TargetStore | None) -> TargetStore:
        if store is None:
            raise ConfigError(
                Text("this installation has no tables and files"),
                hint=Text("Choose a model that the host opens."),
                field="target",
            )
        return store
