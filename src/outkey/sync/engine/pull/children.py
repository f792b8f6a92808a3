"""Lists inside the records of a pull: their elements become records of other targets.

They are written in the transaction of their parents. What is missing from the list of
a parent is deleted, unless it is not known what is missing: a record without the list
says nothing about its children.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from outkey.foundation.core.errors import SyncFailed
from outkey.sync.core.line.line import Children, Sync, Writes
from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import HostField, WriteOutcome
from outkey.sync.core.mapping.shape import child_mappings, shape_of_children
from outkey.sync.core.paging.response import MAX_FIELDS_WITH_CHILDREN
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import ChildCounts, Run
from outkey.sync.engine.pull.record_mapper import (
    RecordMapper,
    Row,
    Upsert,
    key_of,
    refused_effect,
    write_rows,
)
from outkey.sync.engine.pull.target_columns import NoteChange, TargetColumns
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.ports.sync import Key

MAX_CHILDREN = 10_000  # of one record
NOT_A_LIST = "not_a_list"
TOO_MANY = "too_many_children"


@dataclass(slots=True)
class ParentRow:
    """A record of a page that was mapped, with the elements of its list."""

    place: int  # on the page
    row: Row
    children: list[Row | Unmapped] = field(default_factory=list)
    fault: Unmapped | None = None  # why the list cannot be read
    has_list: bool = True


@dataclass(slots=True)
class ChildEffects:
    """The effects on the children of a page."""

    # Each with the place of its parent on the page.
    effects: list[tuple[int, Effect]] = field(default_factory=list)
    deleted: Counter[str] = field(default_factory=Counter)  # by target
    without_list: int = 0  # parents

    def add(self, other: "ChildEffects") -> None:
        """Add the effects on the children of another list."""
        self.effects += other.effects
        self.deleted += other.deleted
        self.without_list += other.without_list

    def counts(self) -> ChildCounts:
        """Return how many children ended in each way."""
        outcomes = [effect.outcome for _, effect in self.effects]
        return ChildCounts(
            created=outcomes.count(WriteOutcome.CREATED),
            updated=outcomes.count(WriteOutcome.UPDATED),
            unchanged=outcomes.count(WriteOutcome.UNCHANGED),
            failed=outcomes.count(WriteOutcome.REFUSED),
            deleted=self.deleted.total(),
            without_list=self.without_list,
        )


class ChildTarget:
    """One list of a line's records, and the target of its elements."""

    def __init__(
        self,
        ports: SyncPorts,
        sync: Sync,
        number: int,
        *,
        keep_working: Callable[[], None],
        screen: Callable[[list[Row | Unmapped]], list[Row | Unmapped]],
    ) -> None:
        place = f"children[{number}]."
        self.children = sync.children[number]
        self._ports = ports
        self._sync = sync
        self._find_list = ports.finder.compile(self.children.list, field=f"{place}list")
        self.columns = TargetColumns(
            ports.records,
            self.children.target,
            lambda: shape_of_children(sync, number),
            child_mappings(sync, number),
        )
        # Of accepted parents, with and without the list.
        self._lists = 0
        self._missing_lists = 0
        self._screen = screen  # rejects rows where secrets were put together
        self._is_linked = is_linked(sync, self.children, self.columns.fields)
        self._mapper = RecordMapper(
            ports,
            self.children.mappings,
            field_of=self.columns.field_for,
            keep_working=keep_working,
            place=place,
            most_fields=MAX_FIELDS_WITH_CHILDREN,
        )

    def read(
        self, records: Sequence[object], rows: Sequence[Row | Unmapped]
    ) -> list[ParentRow]:
        """Return the records that were mapped, with the elements of their lists."""
        parents = [
            self._parent(place, row, record)
            for place, (record, row) in enumerate(zip(records, rows, strict=True))
            if not isinstance(row, Unmapped)
        ]
        elements = [element for _, of_parent in parents for element in of_parent]
        indexes = [
            index for _, of_parent in parents for index in range(1, len(of_parent) + 1)
        ]
        mapped = iter(self._screen(self._mapper.map(elements, indexes)))
        for parent, of_parent in parents:
            parent.children = [next(mapped) for _ in of_parent]
        return [parent for parent, _ in parents]

    def _parent(
        self, place: int, row: Row, record: object
    ) -> tuple[ParentRow, Sequence[object]]:
        parent = ParentRow(place, row)
        try:
            elements = self._find_list(record)
        except SyncFailed as failed:
            parent.fault = Unmapped(self.children.list, failed.reason)
            return parent, ()
        if elements is None:
            parent.has_list = False
            return parent, ()
        if not isinstance(elements, list):
            parent.fault = Unmapped(self.children.list, NOT_A_LIST, value=elements)
            return parent, ()
        if len(elements) > MAX_CHILDREN:
            parent.fault = Unmapped(self.children.list, TOO_MANY)
            return parent, ()
        return parent, elements

    def write(
        self,
        parents: Sequence[ParentRow],
        effects: Sequence[Effect],
        run: Run,
        note_change: NoteChange,
    ) -> ChildEffects:
        """Write the children of the parents that were accepted, or compare them.

        `effects` are those of the page, by place.
        """
        accepted = [
            parent
            for parent in parents
            if effects[parent.place].outcome is not WriteOutcome.REFUSED
        ]
        keys = self._parent_keys([parent.row for parent in accepted])
        page = ChildPage(self.children, self._sync.keys)
        for parent, key in zip(accepted, keys, strict=True):
            page.add(parent, key)
        written = page.write(self._upsert(run, note_change))
        if not run.dry_run and page.remaining:
            written.deleted[self.children.target] = self._delete_others(page.remaining)
        self._lists += len(accepted) - written.without_list
        self._missing_lists += written.without_list
        return written

    @property
    def finds_no_list(self) -> bool:
        """Whether no record had the list, though there were records."""
        return self._missing_lists > 0 and self._lists == 0

    def delete_all_of(self, parents: Sequence[Row]) -> int:
        """Delete all children of these parents; return how many."""
        keys = self._parent_keys(parents)
        return self._delete_others({key: set() for key in keys if key is not None})

    def _delete_others(self, remaining: Mapping[Key, set[Key]]) -> int:
        return self._ports.records.delete_children(
            self.children.target,
            self.children.parent,
            self.children.keys,
            self._stored_keys(remaining),
        )

    def _stored_keys(self, remaining: Mapping[Key, set[Key]]) -> dict[Key, set[Key]]:
        """Return the children that stay by parent, as the columns have the keys."""
        stored: dict[Key, set[Key]] = {}
        for parent, keys in remaining.items():
            stays = stored.setdefault(
                self.columns.fit_key(self.children.parent, parent), set()
            )
            stays |= {self.columns.fit_key(self.children.keys, key) for key in keys}
        return stored

    def _upsert(self, run: Run, note_change: NoteChange) -> Upsert:
        return lambda rows: self._ports.records.upsert(
            self.children.target,
            self.children.keys,
            self.columns.fit(rows, note_change, dry_run=run.dry_run),
            run.id,
            dry_run=run.dry_run,
            saves=self._sync.writes is Writes.MODEL,
        )

    def _parent_keys(self, rows: Sequence[Row]) -> list[Key | None]:
        """Return the key or the link of each parent, as its children hold it.

        None: a link to a parent that a dry run has not written.
        """
        keys: list[Key | None] = [
            tuple(row[name] for name in self._sync.keys) for row in rows
        ]
        if not self._is_linked:
            return keys
        (name,) = self._sync.keys
        values = [row[name] for row in rows]
        ids = self._ports.records.find(self._sync.target, name, values)
        return [(ids[value],) if value in ids else None for value in values]


class ChildPage:
    """The children of one page, which are written together."""

    def __init__(self, children: Children, parent_keys: Sequence[str]) -> None:
        self._children = children
        self._parent_keys = parent_keys
        self._rows: list[Row | Unmapped] = []
        self._parents: list[tuple[int, Key, str]] = []  # of each row
        self._effects: list[tuple[int, Effect]] = []
        # The keys of the children that stay, by parent: all others are deleted.
        self.remaining: dict[Key, set[Key]] = {}
        self._uncertain: set[Key] = set()
        self._without_list = 0

    def add(self, parent: ParentRow, key: Key | None) -> None:
        """Add the children of a parent."""
        text = key_text(key_of(self._parent_keys, parent.row))
        if parent.fault is not None:
            self._refuse(parent.place, text, parent.fault)
            return
        if not parent.has_list:
            self._without_list += 1
            return
        if key is None:
            self._effects += [
                (parent.place, self._new_child(text, row)) for row in parent.children
            ]
            return
        self.remaining.setdefault(key, set())
        parent_values = dict(zip(self._children.parent, key, strict=True))
        for child in parent.children:
            self._parents.append((parent.place, key, text))
            if isinstance(child, Unmapped):
                self._rows.append(replace(child, row=parent_values | dict(child.row)))
            else:
                self._rows.append(parent_values | child)

    def write(self, upsert: Upsert) -> ChildEffects:
        """Write all children, and note which of them stay."""
        effects = write_rows(self._children.keys, self._rows, upsert)
        for (place, parent, text), effect in zip(self._parents, effects, strict=True):
            self._keep(parent, effect)
            self._effects.append((place, self._as_child(effect, text)))
        for parent in self._uncertain:
            self.remaining.pop(parent, None)
        return ChildEffects(
            sorted(self._effects, key=lambda pair: pair[0]),
            without_list=self._without_list,
        )

    def _keep(self, parent: Key, effect: Effect) -> None:
        """Keep a child, also one that was rejected and is there from an earlier run."""
        key = tuple(effect.values.get(name) for name in self._children.keys)
        if any(part in (None, "") for part in key):
            self._uncertain.add(parent)
        else:
            self.remaining[parent].add(key)

    def _refuse(self, place: int, text: str, fault: Unmapped) -> None:
        effect = refused_effect((text,), fault)
        self._effects.append((place, replace(effect, target=self._children.target)))

    def _new_child(self, text: str, row: Row | Unmapped) -> Effect:
        """Return the effect of a child whose parent a dry run has not written."""
        if isinstance(row, Unmapped):
            return self._as_child(refused_effect((text,), row), text)
        changes = {name: (None, value) for name, value in row.items()}
        created = Effect(WriteOutcome.CREATED, text, row, changes=changes)
        return self._as_child(created, text)

    def _as_child(self, effect: Effect, text: str) -> Effect:
        """Return an effect under the key of the parent, which a retry looks for."""
        name = f"{self._children.list}[].{effect.field}"
        return replace(
            effect,
            key=text,
            field=name if effect.field else "",
            target=self._children.target,
        )


def is_linked(sync: Sync, children: Children, fields: Mapping[str, HostField]) -> bool:
    """Whether children refer to their parent by a link, and not by its key."""
    if len(children.parent) != 1:
        return False
    return fields[children.parent[0]].links_to(sync.target)
