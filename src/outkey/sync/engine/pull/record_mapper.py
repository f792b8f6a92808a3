"""Records of the API become rows, and rows become effects; parents and children."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from outkey.foundation.core.errors import SyncFailed
from outkey.sync.core.line.line import INDEX, PARENT, FieldMapping, Transform
from outkey.sync.core.mapping.columns import Column, ColumnMapping, map_columns
from outkey.sync.core.mapping.excerpt import NO_VALUE, json_kind
from outkey.sync.core.mapping.keys import key_text, key_texts
from outkey.sync.core.mapping.mapping import Unmapped, resolve_transform
from outkey.sync.core.mapping.records import (
    CREATED,
    UNCHANGED,
    HostField,
    WriteOutcome,
    Written,
)
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.paging.response import MAX_FIELDS, are_flat, size_fault
from outkey.sync.core.run.effects import Effect
from outkey.sync.engine.runs.line_plan import SyncPorts

WHOLE_RECORD = "@"
NULL = "`null`"

NO_PARENT: Mapping[str, object] = MappingProxyType({})

Row = dict[str, object]
KeyTexts = tuple[str, ...]  # the values of key fields as texts
Upsert = Callable[[Sequence[Row]], Sequence[Written]]


def mapping_paths(mappings: Sequence[FieldMapping], place: str = "") -> dict[str, str]:
    """Return the paths into records that mappings have, by field of the line."""
    without_path = {Transform.TEMPLATE: WHOLE_RECORD, Transform.CONSTANT: NULL}
    return {
        f"{place}fields[{number}].api": without_path.get(mapping.transform, mapping.api)
        for number, mapping in enumerate(mappings)
    }


def is_in_record(path: str) -> bool:
    """Whether a value is in the record itself: not its place, nor of its parent."""
    return path != INDEX and not path.startswith(PARENT)


def _find_nothing(_record: object) -> None:
    """Return no value: a mapping takes it from elsewhere."""


class RecordMapper:
    """Maps records to the rows of one target, a page at a time."""

    def __init__(
        self,
        ports: SyncPorts,
        mappings: Sequence[FieldMapping],
        *,
        field_of: Callable[[FieldMapping], HostField],
        keep_working: Callable[[], None],
        place: str = "",
        most_fields: int = MAX_FIELDS,
    ) -> None:
        self._ports = ports
        self._keep_working = keep_working
        self._most_fields = most_fields
        paths = mapping_paths(mappings, place)
        self._find_values = [
            ports.finder.compile(path, field=field)
            if is_in_record(path) and path != NULL
            else _find_nothing
            for field, path in paths.items()
        ]
        # The values that are not in the element, but its position in the list.
        self._index_places = [
            number for number, path in enumerate(paths.values()) if path == INDEX
        ]
        # Those of the parent, by the name of its field.
        self._parent_places = {
            number: path.removeprefix(PARENT)
            for number, path in enumerate(paths.values())
            if path.startswith(PARENT)
        }
        self._never_fails = all(
            path in {NULL, WHOLE_RECORD}
            or not is_in_record(path)
            or ports.finder.is_path_of_names(path)
            for path in paths.values()
        )
        self._mappings = [
            resolve_transform(mapping, field_of(mapping)) for mapping in mappings
        ]
        self._columns = [
            ColumnMapping(mapping, ports.zones) for mapping in self._mappings
        ]

    def map(
        self,
        records: Sequence[object],
        indexes: Sequence[int] = (),
        parent: Mapping[str, object] = NO_PARENT,
    ) -> list[Row | Unmapped]:
        """Return the host's values of each record, or why it has none.

        `indexes` are the positions of elements of lists, one for each. `parent` has
        the fields of the parent that all records have.
        """
        faults = {}
        if not are_flat(records, self._most_fields):
            faults = {
                number: fault
                for number, record in enumerate(records)
                if (fault := self._fault_of(record))
            }
        columns = self._columns_in(records, faults)
        for place in self._index_places:
            columns[place] = [
                index for number, index in enumerate(indexes) if number not in faults
            ]
        for place, name in self._parent_places.items():
            columns[place] = [parent.get(name)] * (len(records) - len(faults))
        context = MappingContext(self._ports.zones, self._lookups(columns))
        rows = map_columns(self._columns, columns, context)
        if not faults:
            return rows
        mapped = iter(rows)
        return [
            faults[number] if number in faults else next(mapped)
            for number in range(len(records))
        ]

    def _fault_of(self, record: object) -> Unmapped | None:
        """Return why a record is not even looked into."""
        if isinstance(record, Unmapped):
            return record
        members = record if isinstance(record, dict) else {"": record}
        reason = size_fault(members, self._most_fields)
        return Unmapped("", reason) if reason else None

    def _columns_in(
        self, records: Sequence[object], faults: dict[int, Unmapped]
    ) -> list[Column]:
        """Return what each expression finds in the records without a fault.

        Records that an expression fails on are added to the faults.
        """
        if self._never_fails:
            self._keep_working()
            intact = [
                record for number, record in enumerate(records) if number not in faults
            ]
            return [list(map(find, intact)) for find in self._find_values]
        values = []
        for number, record in enumerate(records):
            if number in faults:
                continue
            self._keep_working()
            found = self._values_in(record)
            if isinstance(found, Unmapped):
                faults[number] = found
            else:
                values.append(found)
        if not values:
            return [[] for _ in self._find_values]
        return list(zip(*values, strict=True))

    def _values_in(self, record: object) -> list[object] | Unmapped:
        """Return the values that the expressions find in a record, one a mapping."""
        values: list[object] = []
        try:
            for find in self._find_values:
                values.append(find(record))  # noqa: PERF401 - its length tells which failed
        except SyncFailed as failed:
            return Unmapped(self._mappings[len(values)].host, failed.reason)
        return values

    def _lookups(self, columns: Sequence[Column]) -> dict[str, dict[str, object]]:
        """Query the host once for all values that a page looks up in one field."""
        tables = {}
        for place, mapping in enumerate(self._mappings):
            if mapping.transform is not Transform.LOOKUP:
                continue
            candidates = [mapping.default, *columns[place]]
            keys = list(dict.fromkeys(key for key in candidates if is_lookup_key(key)))
            target = mapping.options["target"]
            ids = self._ports.records.find(target, mapping.options["field"], keys)
            # The API may write a number of the host as text, or the other way round.
            tables[mapping.host] = {str(key): record for key, record in ids.items()}
        return tables


def is_lookup_key(value: object) -> bool:
    """Whether a value can be looked up."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def write_rows(
    keys: Sequence[str], mapped: Sequence[Row | Unmapped], upsert: Upsert
) -> list[Effect]:
    """Write rows, each key once, and return what became of each."""
    mapped_rows = [row for row in mapped if not isinstance(row, Unmapped)]
    mapped_keys = keys_of(keys, mapped_rows)
    # Nearly every page: all records were mapped, and no key is missing or there twice.
    if len(mapped_rows) == len({*mapped_keys}) == len(mapped) and all(
        map(all, mapped_keys)
    ):
        written = upsert(mapped_rows) if mapped_rows else ()
        texts = key_texts(mapped_keys)
        return [
            effect_of(text, row, result)
            for text, row, result in zip(texts, mapped_rows, written, strict=True)
        ]
    rows: dict[KeyTexts, Row] = {}
    # An effect that is known already, or the key of the row to write.
    pending: list[Effect | KeyTexts] = []
    for row in mapped:
        if isinstance(row, Unmapped):
            pending.append(refused_effect(key_of(keys, row), row))
            continue
        key = key_of(keys, row)
        if not all(key):
            name = keys[[bool(part) for part in key].index(False)]
            missing = Unmapped(name, "key_missing", row, row.get(name))
            pending.append(refused_effect(key, missing))
        elif rows.setdefault(key, row) is row:
            pending.append(key)
        elif rows[key] == row:
            pending.append(Effect(WriteOutcome.UNCHANGED, key_text(key), row))
        else:
            # There is no way to know which of the two is right.
            name = keys[0]
            duplicate = Unmapped(name, "duplicate_key", row, row[name])
            pending.append(refused_effect(key, duplicate))
    results = iter(upsert(list(rows.values())) if rows else ())
    return [
        entry
        if isinstance(entry, Effect)
        else effect_of(key_text(entry), rows[entry], next(results))
        for entry in pending
    ]


def key_of(keys: Sequence[str], row: Mapping[str, object] | Unmapped) -> KeyTexts:
    """Return the values of the key fields as texts; "" for a missing one."""
    values = row.row if isinstance(row, Unmapped) else row
    parts = [values.get(name) for name in keys]
    return tuple(["" if part is None else str(part) for part in parts])


def keys_of(keys: Sequence[str], rows: Sequence[Row]) -> list[KeyTexts]:
    """Return the keys of rows as `key_of` does, in a few steps for all of them."""
    columns = [[row.get(name) for row in rows] for name in keys]
    texts = [
        column
        if set(map(type, column)) == {str}
        else ["" if part is None else str(part) for part in column]
        for column in columns
    ]
    return list(zip(*texts, strict=True))


def effect_of(key: str, row: Mapping[str, object], written: Written) -> Effect:
    """Return the effect of a row that the host has written or compared."""
    if written is CREATED or written is UNCHANGED:  # nearly all
        return Effect(written.outcome, key, row, "", "", written.changes)
    effect = Effect(
        written.outcome,
        key,
        row,
        field=written.field,
        reason=written.reason,
        changes=written.changes,
        changed=written.changed,
    )
    if written.field in row:
        effect.refused = row[written.field]
        effect.kind = json_kind(effect.refused)
    return effect


def refused_effect(key: KeyTexts, unmapped: Unmapped) -> Effect:
    """Return the effect of a record that could not be mapped."""
    return Effect(
        outcome=WriteOutcome.REFUSED,
        key=key_text(key),
        values=unmapped.row,
        field=unmapped.field,
        reason=unmapped.reason,
        kind=json_kind(unmapped.value),
        refused=None if unmapped.value is NO_VALUE else unmapped.value,
    )
