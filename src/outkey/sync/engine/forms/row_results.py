"""The effects of a form's rows on a sample: results, rejections, repairs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import (
    INDEX,
    PARENT,
    Direction,
    FieldMapping,
    Transform,
)
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.row_repairs import Repair, repairs_of
from outkey.sync.core.line_form.row_trials import RejectedBySample, RowTrial
from outkey.sync.core.line_form.rows import ChildForm, MappingRow, names_in
from outkey.sync.core.line_form.sample import LineSample
from outkey.sync.core.line_form.unmapped_fields import UnmappedField, unmapped_fields
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.run.reasons import rejection_text, sync_failure
from outkey.sync.engine.forms.errors import fault_of, model_fields
from outkey.sync.engine.pull.record_mapper import NULL, WHOLE_RECORD, is_lookup_key
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.run_in_progress import PREVIEW_SECONDS

MAX_SHOWN = 80
MAX_ELEMENTS = 100  # of the lists in a sample that rows of children are tried with
SCRIPT_NOTE = Text(
    "the script of the line was not run: the fields are those of the API"
)
# Raises ConfigError if the user may not see the records of a target.
DemandView = Callable[[str], None]
WITHOUT_PATH = {Transform.TEMPLATE: WHOLE_RECORD, Transform.CONSTANT: NULL}


def demand_nothing(_target: str) -> None:
    """Let a caller without users see the records of every target."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one row for one record, and how many of the sample it rejects."""

    value: str = ""  # of the API, as users read it
    result: str = ""  # as users read it; empty if it is rejected
    reason: Text | None = None  # of a rejection
    rejected: int = 0  # how many records of the sample this row rejects
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class FormResults:
    """The results of a form for one record of a sample."""

    rows: tuple[RowResult, ...]  # without any result where a row is not filled in
    children: tuple[tuple[RowResult, ...], ...]  # of the first element of each list
    unmapped: tuple[UnmappedField, ...]
    notes: tuple[Text, ...] = ()  # what the results do not show


@dataclass(frozen=True, slots=True)
class RowSet:
    """Some rows of a form, and the records that they are tried with."""

    rows: Sequence[MappingRow]
    records: Sequence[object]
    keys: Collection[str]
    host_fields: Mapping[str, HostField] | None  # None: a table or a file


class FormEvaluator:
    """Tries the rows of a form with a sample; nothing is requested or written."""

    def __init__(
        self, ports: SyncPorts, form: LineForm, demand_view: DemandView = demand_nothing
    ) -> None:
        self._ports = ports
        self._form = form
        self._demand_view = demand_view
        self._ends_at = ports.clock.monotonic() + PREVIEW_SECONDS

    def results(self, sample: LineSample, number: int = 0) -> FormResults:
        """Return the results for one record, by its number in the sample.

        A push has no results: its values come from the host.
        """
        if self._form.direction == Direction.PUSH:
            return FormResults((), (), ())
        number = max(0, min(number, len(sample.records) - 1))
        rows = self._form.rows or ()
        host_fields = model_fields(self._ports, self._form.texts.get("target", ""))
        row_set = RowSet(
            rows=rows,
            records=sample.records,
            keys=self._form.keys,
            host_fields=host_fields,
        )
        record = sample.records[number : number + 1]
        unmapped = unmapped_fields(
            rows, sample.records, [*(host_fields or {}).values()]
        )
        return FormResults(
            rows=self._results(row_set, number),
            children=tuple(
                self._results(self._child_set(child, record), 0)
                for child in self._form.children or ()
            ),
            unmapped=tuple(unmapped),
            notes=(SCRIPT_NOTE,) if self._form.texts.get("script") else (),
        )

    def _child_set(self, child: ChildForm, records: Sequence[object]) -> RowSet:
        """Return the rows of children with the elements of their list."""
        elements: object = []
        with suppress(ConfigError, SyncFailed):
            find = self._ports.finder.compile(child.list, field="list")
            elements = find(records[0]) if records else []
        return RowSet(
            rows=child.rows,
            records=elements[:MAX_ELEMENTS] if isinstance(elements, list) else [],
            keys=names_in(child.keys),
            host_fields=model_fields(self._ports, child.target),
        )

    def _results(self, row_set: RowSet, number: int) -> tuple[RowResult, ...]:
        results = []
        for row in row_set.rows:
            try:
                result = self._result(row, row_set, number)
            except (ConfigError, SyncFailed) as error:
                result = RowResult(reason=error.message)
            results.append(result)
        return tuple(results)

    def _result(self, row: MappingRow, row_set: RowSet, number: int) -> RowResult:
        """Return the result of a row for a record; ConfigError if it cannot work."""
        if row.is_blank:
            return RowResult()
        mapping = row.mapping()
        fault = fault_of(self._ports, mapping, row_set.host_fields)
        values = self._values(mapping, row_set.records)
        value = _shown_api_value(mapping, values, number)
        if fault is not None and not str(fault.field).endswith(".transform"):
            return RowResult(value, reason=fault.message)
        trial = RowTrial(
            mapping=mapping,
            host=(row_set.host_fields or {}).get(mapping.host),
            context=self._context(mapping, values),
            is_key=mapping.host in row_set.keys,
        )
        rejected = sum(bool(trial.reason(part)) for part in values)
        repairs = repairs_of(trial, values) if rejected else ()
        if fault is not None:
            return RowResult(value, "", fault.message, rejected, repairs)
        if number >= len(values):
            return RowResult(value, "", None, rejected, repairs)
        try:
            result = shortened(trial.result(values[number]), MAX_SHOWN)
        except RejectedBySample as reason:
            text = rejection_text(str(reason))
            return RowResult(value, "", text, rejected, repairs)
        return RowResult(value, result, None, rejected, repairs)

    def _values(self, mapping: FieldMapping, records: Sequence[object]) -> list[object]:
        """Return the value at the path of a mapping in each record."""
        path = WITHOUT_PATH.get(mapping.transform, mapping.api)
        if path == INDEX:
            return list(range(1, len(records) + 1))
        if not path or path.startswith(PARENT):  # a sample has no values of parents
            return []
        find = self._ports.finder.compile(path, field="api")
        values = []
        for record in records:
            # Results are asked for by a web page, whose rows may be many and slow.
            if self._ports.clock.monotonic() > self._ends_at:
                raise sync_failure("preview_limit")
            values.append(find(record))
        return values

    def _context(
        self, mapping: FieldMapping, values: Sequence[object]
    ) -> MappingContext:
        """Return the time zones, and the records that a lookup finds."""
        if mapping.transform is not Transform.LOOKUP:
            return MappingContext(self._ports.zones)
        self._demand_view(mapping.options["target"])
        keys = list(dict.fromkeys(filter(is_lookup_key, [mapping.default, *values])))
        ids = self._ports.records.find(
            mapping.options["target"], mapping.options["field"], keys
        )
        table = {str(key): record for key, record in ids.items()}
        return MappingContext(self._ports.zones, {mapping.host: table})


def _shown_api_value(
    mapping: FieldMapping, values: Sequence[object], number: int
) -> str:
    """Return a value of the API as users read it; "" for a constant."""
    if mapping.transform in WITHOUT_PATH or number >= len(values):
        return ""
    return shortened(values[number], MAX_SHOWN)
