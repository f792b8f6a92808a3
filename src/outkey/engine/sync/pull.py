"""Pulling: pages of an API become records of the host."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from outkey.core.errors import SyncFailed
from outkey.core.request.message import Response
from outkey.core.request.origin import (
    Location,
    build_target,
    parse_url,
    without_parameters,
)
from outkey.core.sync.columns import ColumnMapping, map_columns
from outkey.core.sync.line import Paging, Sync, Transform
from outkey.core.sync.mapping import (
    MappingContext,
    Unmapped,
    fill_body,
    resolve_transform,
)
from outkey.core.sync.paging import (
    NUMBERED,
    Page,
    Position,
    is_past_the_end,
    next_position,
    parameters,
    place_of,
    upcoming_positions,
)
from outkey.core.sync.reasons import sync_failure
from outkey.core.sync.records import WriteOutcome, Written, find_target
from outkey.core.sync.response import (
    MAX_VALUES,
    Record,
    greater_value,
    page_fingerprint,
    read_json,
    records_in,
    size_fault,
)
from outkey.core.sync.run import Run
from outkey.engine.sending.echoed_secrets import EchoDetector, has_masked_value
from outkey.engine.sync.plan import Effect, LinePlan, Note, SyncPorts
from outkey.engine.sync.requests import LineRequest, RequestBatch, ResponseOrError
from outkey.engine.sync.run_in_progress import RunInProgress
from outkey.engine.sync.runs import MAX_KEY_LENGTH

PREVIEW_VALUES = 200_000
WHOLE_RECORD = "@"
NO_VALUE = "`null`"
PLAIN_PATH = re.compile(r'[\w."@*\[\] -]+')
NO_CONTENT = 204
REPEATS_SECRET = Unmapped("", "secret_in_record")

Row = dict[str, object]
Key = tuple[str, ...]


def expressions(sync: Sync) -> dict[str, str]:
    """Return the paths into responses that a line has, by field."""
    by_field = {"records": sync.records}
    if sync.pagination.kind is Paging.CURSOR:
        by_field["pagination.cursor"] = sync.pagination.cursor
    if sync.incremental.field:
        by_field["incremental.field"] = sync.incremental.field
    without_path = {Transform.TEMPLATE: WHOLE_RECORD, Transform.CONSTANT: NO_VALUE}
    return by_field | {
        f"fields[{number}].api": without_path.get(mapping.transform, mapping.api)
        for number, mapping in enumerate(sync.mappings)
    }


def assembles_values(sync: Sync) -> bool:
    """Whether a line may build a value, so that its rows need a search of their own."""
    building = {Transform.TEMPLATE, Transform.CONSTANT}
    paths = [sync.records, *(mapping.api for mapping in sync.mappings if mapping.api)]
    return (
        bool(sync.script)
        or any(mapping.transform in building for mapping in sync.mappings)
        or not all(PLAIN_PATH.fullmatch(path) for path in paths)
    )


class Pull(RunInProgress):
    """A run that brings records of the API into the host."""

    def __init__(
        self, ports: SyncPorts, plan: LinePlan, note: Note | None = None
    ) -> None:
        super().__init__(ports, plan, note)
        finders = {
            field: ports.finder.compile(expression, field=field)
            for field, expression in expressions(plan.sync).items()
        }
        self._find_records = finders.pop("records")
        self._find_cursor = finders.pop("pagination.cursor", None)
        self._find_incremental = finders.pop("incremental.field", None)
        self._find_values = list(finders.values())
        target = find_target(ports.records.targets(), plan.sync.target)
        fields = {field.name: field for field in target.fields}
        self._mappings = [
            resolve_transform(mapping, fields[mapping.host])
            for mapping in plan.sync.mappings
        ]
        self._columns = [
            ColumnMapping(mapping, ports.zones) for mapping in self._mappings
        ]
        self._is_numbered = plan.sync.pagination.kind in NUMBERED
        parallel = plan.sync.parallel if self._is_numbered else 1
        self._batch = RequestBatch(ports.sender, plan, parallel)
        # Responses to requests that were sent ahead, by the place of their page.
        self._responses: dict[str, ResponseOrError] = {}
        self._stride = plan.sync.pagination.size
        self._assembles_values = assembles_values(plan.sync)
        self._is_suspicious = False  # a secret may be in the page
        self._max_values = MAX_VALUES

    def sample(self, limit: int) -> Sequence[Effect]:
        """Request the first page; return what would become of its first records."""
        self._max_values = PREVIEW_VALUES
        with self._batch:
            records, _ = self._fetch_page(self.position())
        self.limit_preview()
        screened = self._reject_secrets(records[:limit])
        return self.guard.mask(self._write(self._run_script(screened)))

    def steps(self) -> Iterator[Run]:
        """Request page after page, and store each with its checkpoint."""
        position = self.position()
        with self._batch:
            while not position.ended:
                self.refuse_more_time()
                records, position = self._fetch_page(position)
                cursor = self._greatest_cursor(records)
                self.guard.refuse_secret(
                    "" if self._is_numbered else position.at, cursor
                )
                screened = self._run_script(self._reject_secrets(records))
                self.refuse_more_records(len(screened))
                # The end of the run waits for the disk. A power failure before that may
                # lose the last pages with their checkpoints: they are pulled again.
                with self.ports.runs.transaction(durable=False):
                    effects = self._write(screened)
                    saved = self.save_page(position, effects, cursor)
                self.run = saved
                self.report(effects)
                yield self.run

    def _fetch_page(self, position: Position) -> tuple[list[Record], Position]:
        """Return the records of a page, and the position after it."""
        response = self._fetch(position)
        if is_past_the_end(self.sync, position, response.status):
            self._refuse_gap(position)
            return [], replace(position, ended=True, doubtful=not position.short)
        response.raise_for_cause()
        is_empty = response.status == NO_CONTENT
        document: object = []
        if not is_empty:
            document = read_json(response.body, most_values=self._max_values)
        # Before anything is masked: a URL of the next page may repeat our parameters.
        cursor = self._find_cursor(document) if self._find_cursor else None
        own_parameters = self.plan.configuration.parameter_names()
        if isinstance(cursor, str):
            cursor = without_parameters(cursor, own_parameters)
        self._is_suspicious = self.guard.look_at(response, document)
        if self._is_suspicious:
            document = self.guard.detector().masked(document)
            cursor = self.guard.detector().masked(cursor)
        self.guard.refuse_echo(cursor)
        records = [] if is_empty else records_in(document, self._find_records)
        page = Page(
            self._location(position), response.headers, records, cursor, own_parameters
        )
        after = next_position(self.sync, position, page)
        self._stride = len(records)
        if after.ended:
            self._refuse_gap(after)
        return records, after

    def _fetch(self, position: Position) -> Response:
        """Return the response for a position; the next ones are requested with it."""
        place = place_of(self.sync, position)
        if place not in self._responses:
            positions = upcoming_positions(
                self.sync, position, self._batch.width, self._stride
            )
            places = [place_of(self.sync, upcoming) for upcoming in positions]
            responses = self._batch.send(
                [self._request_for(upcoming) for upcoming in positions]
            )
            self._responses = dict(zip(places, responses, strict=True))
        response = self._responses.pop(place)
        if isinstance(response, BaseException):
            raise response
        return response

    def _refuse_gap(self, last: Position) -> None:
        """End the run if a later page that was requested ahead has records."""
        for response in self._responses.values():
            if isinstance(response, Response) and response.status == 200:
                records = records_in(read_json(response.body), self._find_records)
                # Some APIs return the last page for every number after it.
                if records and page_fingerprint(records) != last.mark:
                    raise sync_failure("gap")

    def _request_for(self, position: Position) -> LineRequest:
        return LineRequest(
            path=position.at if position.is_address else self.plan.line.path,
            params=parameters(self.sync, position, self.run.since),
            json=self._body(position),
        )

    def _location(self, position: Position) -> Location:
        """Return the URL of the page."""
        if position.is_address:
            return parse_url(position.at)
        base = self.plan.configuration.base
        params = parameters(self.sync, position, self.run.since)
        return Location(base.origin, build_target(base, self.plan.line.path, params))

    def _body(self, position: Position) -> object:
        if not self.sync.body:
            return None
        place: object = place_of(self.sync, position)
        if self._is_numbered:
            place = int(str(place))
        values = {
            "position": place or None,
            "size": self.sync.pagination.size,
            "since": self.run.since or None,
        }
        return fill_body(json.loads(self.sync.body), values)

    def _greatest_cursor(self, records: Sequence[Record]) -> str:
        cursor = self.run.cursor
        if self._find_incremental is not None:
            for record in records:
                value = self._find_incremental(record)
                self.guard.refuse_echo(value)
                cursor = greater_value(cursor, value)
        return cursor

    # ── what becomes of the records of a page ────────────────────────────────────────

    def _reject_secrets(self, records: Sequence[Record]) -> Sequence[Record | Unmapped]:
        """Return the records, with a rejection in the place of each repeated secret.

        Before a script or an expression sees them, which could make anything of it.
        """
        if not self._is_suspicious:
            return records
        detector = self.guard.detector()
        return [screen_record(record, detector) for record in records]

    def _run_script(
        self, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        """Return what the line's script makes of the records."""
        if not self.sync.script:
            return records
        inputs = [record for record in records if not isinstance(record, Unmapped)]
        outputs: Iterator[Record | Unmapped | None] = iter(())
        if inputs:
            scripts = self.ports.sender.context.scripts
            name = self.plan.line.name
            outputs = iter(scripts.transform(name, self.sync.script, inputs))
        results = [
            record if isinstance(record, Unmapped) else next(outputs)
            for record in records
        ]
        return [record for record in results if record is not None]

    def _write(self, records: Sequence[Record | Unmapped]) -> list[Effect]:
        """Write the records of a page, or compare them in a dry run."""
        rows: dict[Key, Row] = {}
        # An effect that is known already, or the key of the row to write.
        pending: list[Effect | Key] = []
        for row in self._map(records):
            if isinstance(row, Unmapped):
                pending.append(refused_effect(self._key_of(row.row), row))
                continue
            key = self._key_of(row)
            if not all(key):
                missing = self.sync.keys[[bool(part) for part in key].index(False)]
                pending.append(refused_effect(key, Unmapped(missing, "key_missing")))
            elif rows.setdefault(key, row) is row:
                pending.append(key)
            elif rows[key] == row:
                pending.append(Effect(WriteOutcome.UNCHANGED, key_text(key), row))
            else:
                # There is no way to know which of the two is right.
                duplicate = Unmapped(self.sync.keys[0], "duplicate_key")
                pending.append(refused_effect(key, duplicate))
        results = iter(self._upsert(list(rows.values())) if rows else ())
        return [
            known
            if isinstance(known, Effect)
            else effect_of(known, rows[known], next(results))
            for known in pending
        ]

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        return self.ports.records.upsert(
            self.sync.target,
            self.sync.keys,
            rows,
            self.run.id,
            dry_run=self.run.dry_run,
        )

    def _key_of(self, values: Mapping[str, object]) -> Key:
        parts = [values.get(name) for name in self.sync.keys]
        return tuple(["" if part is None else str(part) for part in parts])

    def _map(self, records: Sequence[Record | Unmapped]) -> list[Row | Unmapped]:
        """Return the host's values of each record, or why it has none."""
        values = [self._values_in(record) for record in records]
        found = [of_record for of_record in values if isinstance(of_record, list)]
        context = MappingContext(self.ports.zones, self._lookups(found))
        mapped = iter(
            map_columns(self._columns, list(zip(*found, strict=True)), context)
            if found
            else ()
        )
        rows = [
            of_record if isinstance(of_record, Unmapped) else next(mapped)
            for of_record in values
        ]
        return self._reject_assembled_secrets(rows)

    def _reject_assembled_secrets(
        self, rows: list[Row | Unmapped]
    ) -> list[Row | Unmapped]:
        """Reject rows where a secret was put together from harmless parts."""
        if not self._assembles_values:
            return rows
        values = [row for row in rows if not isinstance(row, Unmapped)]
        if not self.guard.may_be_in(values):
            return rows
        return [
            REPEATS_SECRET
            if not isinstance(row, Unmapped) and self.guard.is_in(row)
            else row
            for row in rows
        ]

    def _values_in(self, record: Record | Unmapped) -> list[object] | Unmapped:
        """Return what the expressions find in a record, one value a mapping."""
        if isinstance(record, Unmapped):
            return record
        self.refuse_more_time()
        if reason := size_fault(record):
            return Unmapped("", reason)
        values: list[object] = []
        try:
            for find in self._find_values:
                values.append(find(record))  # noqa: PERF401 - its length tells which failed
        except SyncFailed as failed:
            return Unmapped(self._mappings[len(values)].host, failed.reason)
        return values

    def _lookups(self, values: Sequence[list[object]]) -> dict[str, dict[str, object]]:
        """Query the host once for all values that a page looks up in one field."""
        tables = {}
        for place, mapping in enumerate(self._mappings):
            if mapping.transform is not Transform.LOOKUP:
                continue
            candidates = [mapping.default, *(of_record[place] for of_record in values)]
            keys = list(dict.fromkeys(key for key in candidates if is_lookup_key(key)))
            target = mapping.options["target"]
            ids = self.ports.records.find(target, mapping.options["field"], keys)
            # The API may write a number of the host as text, or the other way round.
            tables[mapping.host] = {str(key): record for key, record in ids.items()}
        return tables


def screen_record(record: Record, detector: EchoDetector) -> Record | Unmapped:
    """Return a record, or a rejection if it repeats a secret or is too big to tell."""
    if reason := size_fault(record):
        return Unmapped("", reason)
    return (
        REPEATS_SECRET if has_masked_value(record) or detector.is_in(record) else record
    )


def is_lookup_key(value: object) -> bool:
    """Whether a value can be looked up."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def effect_of(key: Key, row: Mapping[str, object], written: Written) -> Effect:
    """Return the effect of a row that the host has written or compared."""
    return Effect(
        written.outcome,
        key_text(key),
        row,
        field=written.field,
        reason=written.reason,
        changes=written.changes,
    )


def refused_effect(key: Key, unmapped: Unmapped) -> Effect:
    """Return the effect of a record that could not be mapped."""
    return Effect(
        outcome=WriteOutcome.REFUSED,
        key=key_text(key),
        values=unmapped.row,
        field=unmapped.field,
        reason=unmapped.reason,
    )


def key_text(key: Key) -> str:
    """Return the key of a record as text of bounded length."""
    return ", ".join(key)[:MAX_KEY_LENGTH]
