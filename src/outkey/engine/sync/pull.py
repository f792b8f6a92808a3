"""Pulling: pages of an API become records of the host."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from outkey.core.errors import SyncFailed
from outkey.core.request.message import Response
from outkey.core.request.origin import Location, build_target, parse_url
from outkey.core.sync.line import Paging, Sync, Transform
from outkey.core.sync.mapping import Means, Unmapped, filled_body, incoming, settled
from outkey.core.sync.paging import (
    NUMBERED,
    Page,
    Position,
    following,
    is_behind_the_end,
    parameters,
    place_of,
    upcoming,
)
from outkey.core.sync.response import (
    MOST_VALUES,
    Record,
    later,
    mark_of,
    oversize,
    read_json,
    records_in,
)
from outkey.core.sync.run import Outcome, Run, Written
from outkey.engine.sending.echoed_secrets import EchoDetector, holds_echo
from outkey.engine.sync.requests import Answer, LineRequest, RequestBatch
from outkey.engine.sync.run_in_progress import (
    Effect,
    Note,
    Plan,
    RunInProgress,
    SyncPorts,
)

_LONGEST_KEY = 200
_PREVIEW_VALUES = 200_000
_WHOLE_RECORD, _NOTHING = "@", "`null`"

_PLAIN_PATH = re.compile(r'[\w."@*\[\] -]+')
_REPEATS_SECRET = Unmapped("", "secret_in_record")

Row = dict[str, object]
Changes = Mapping[str, tuple[object, object]]
Judged = tuple[Written, Changes]
_NO_CHANGES: Changes = {}


def expressions(sync: Sync) -> dict[str, str]:
    """Return the paths into answers that a line has, by field."""
    found = {"records": sync.records}
    if sync.pagination.kind is Paging.CURSOR:
        found["pagination.cursor"] = sync.pagination.cursor
    if sync.incremental.field:
        found["incremental.field"] = sync.incremental.field
    instead = {Transform.TEMPLATE: _WHOLE_RECORD, Transform.CONSTANT: _NOTHING}
    return found | {
        f"fields[{number}].api": instead.get(mapping.transform, mapping.api)
        for number, mapping in enumerate(sync.mappings)
    }


def _assembles(sync: Sync) -> bool:
    """Tell whether a value may be put together here, so that rows need a look of their own."""
    made_here = {Transform.TEMPLATE, Transform.CONSTANT}
    paths = [sync.records, *(mapping.api for mapping in sync.mappings if mapping.api)]
    return (
        bool(sync.script)
        or any(mapping.transform in made_here for mapping in sync.mappings)
        or not all(_PLAIN_PATH.fullmatch(path) for path in paths)
    )


class Pull(RunInProgress):
    """Records of the API on their way into the host."""

    def __init__(self, ports: SyncPorts, plan: Plan, note: Note | None = None) -> None:
        super().__init__(ports, plan, note)
        finds = {
            place: ports.finder.compile(expression, field=place)
            for place, expression in expressions(plan.sync).items()
        }
        self._find_records = finds.pop("records")
        self._find_cursor = finds.pop("pagination.cursor", None)
        self._find_latest = finds.pop("incremental.field", None)
        self._finds = list(finds.values())
        fields = {one.name: one for one in ports.records.describe(plan.sync.target)}
        self._mappings = [settled(m, fields[m.host]) for m in plan.sync.mappings]
        paging = plan.sync.pagination
        self._is_numbered = paging.kind in NUMBERED
        parallel = plan.sync.parallel if self._is_numbered else 1
        self._asking = RequestBatch(ports.sender, plan, parallel)
        self._answers: dict[
            str, Answer
        ] = {}  # of pages that are not read yet, by their places
        self._stride = paging.size
        self._assembles = _assembles(plan.sync)
        self._is_suspicious = False  # a secret may stand in the page
        self._most_values = MOST_VALUES

    def sample(self, limit: int) -> Sequence[Effect]:
        """Ask for the first page, and return what would become of its first records."""
        self._most_values = _PREVIEW_VALUES
        with self._asking:
            records, _ = self._fetched(self._position())
        self._limit_preview()
        return self._masked(
            self._effects(self._scripted(self._harmless(records[:limit])))
        )

    def steps(self) -> Iterator[Run]:
        """Ask for page after page, and keep each with its checkpoint."""
        position = self._position()
        with self._asking:
            while not position.ended:
                self._refuse_more_time()
                records, position = self._fetched(position)
                cursor = self._latest(records)
                self._refuse_secret("" if self._is_numbered else position.at, cursor)
                made = self._scripted(self._harmless(records))
                if len(made) > self._records_left():
                    self._refuse_more_records()
                with self._ports.runs.page():
                    effects = self._effects(made)
                    kept = self._kept(position, effects, cursor)
                self.run = kept  # not before it is committed
                self._tell(effects)
                yield self.run

    def _fetched(self, position: Position) -> tuple[list[Record], Position]:
        """Return the records of a page, and the position behind it."""
        response = self._answer(position)
        if is_behind_the_end(self._sync, position, response.status):
            self._refuse_gap(position)
            return [], replace(position, ended=True, doubtful=not position.short)
        response.raise_for_cause()
        document: object = []
        if response.status != 204:
            document = read_json(response.body, most_values=self._most_values)
        self._heard = document
        self._sent = response.sent
        self._is_suspicious = self._echoes().may_be_in_page(response, document)
        if self._is_suspicious:
            document = self._echoes().masked(document)
        records = (
            [] if response.status == 204 else records_in(document, self._find_records)
        )
        cursor = self._find_cursor(document) if self._find_cursor else None
        self._refuse_echo(cursor)
        page = Page(self._here(position), response.headers, records, cursor)
        after = following(self._sync, position, page)
        self._stride = len(records)
        if after.ended:
            self._refuse_gap(after)
        return records, after

    def _refuse_gap(self, last: Position) -> None:
        """Stop where a later page that was asked for too has records: then this is not the end."""
        for answer in self._answers.values():
            if isinstance(answer, Response) and answer.status == 200:
                records = records_in(read_json(answer.body), self._find_records)
                if (
                    records and mark_of(records) != last.mark
                ):  # some give the last page for ever
                    raise SyncFailed(
                        "a page is empty or missing, and one behind it is not",
                        hint=(
                            "Run it again; if it stays so, ask for one page at a time"
                            " (parallel)."
                        ),
                        reason="gap",
                    )

    def _harmless(self, records: Sequence[Record]) -> Sequence[Record | Unmapped]:
        """Return the records, with a rejection for each that repeats a secret.

        Before a script or an expression sees them, which could make anything of it.
        """
        if not self._is_suspicious:
            return records
        detector = self._echoes()
        return [self._harmless_or_rejected(record, detector) for record in records]

    def _harmless_or_rejected(
        self, record: Record, detector: EchoDetector
    ) -> Record | Unmapped:
        if reason := oversize(record):  # its text may be longer than memory
            return Unmapped("", reason)
        is_echo = holds_echo(record) or detector.is_in(record)
        return _REPEATS_SECRET if is_echo else record

    def _scripted(
        self, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        """Return what the line's script makes of the records."""
        if not self._sync.script:
            return records
        scripts, name = self._ports.sender.context.scripts, self._plan.line.name
        given = [record for record in records if not isinstance(record, Unmapped)]
        made = iter(scripts.transform(name, self._sync.script, given) if given else ())
        results = [one if isinstance(one, Unmapped) else next(made) for one in records]
        return [record for record in results if record is not None]

    def _answer(self, position: Position) -> Response:
        """Return the answer for a position; where there is none yet, ask for the next ones too."""
        place = place_of(self._sync, position)
        if place not in self._answers:
            positions = upcoming(self._sync, position, self._asking.width, self._stride)
            places = [place_of(self._sync, one) for one in positions]
            answers = self._asking.send([self._asked(one) for one in positions])
            self._answers = dict(zip(places, answers, strict=True))
        answer = self._answers.pop(place)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _asked(self, position: Position) -> LineRequest:
        return LineRequest(
            path=position.at if position.is_address else self._plan.line.path,
            params=parameters(self._sync, position, self.run.since),
            json=self._body(position),
        )

    def _here(self, position: Position) -> Location:
        if position.is_address:
            return parse_url(position.at)
        base, params = (
            self._plan.configuration.base,
            parameters(self._sync, position, self.run.since),
        )
        return Location(base.origin, build_target(base, self._plan.line.path, params))

    def _body(self, position: Position) -> object:
        if not self._sync.body:
            return None
        place: object = place_of(self._sync, position)
        if self._sync.pagination.kind in {Paging.PAGE, Paging.OFFSET}:
            place = int(str(place))
        size, since = self._sync.pagination.size, self.run.since
        values = {"position": place or None, "size": size, "since": since or None}
        return filled_body(json.loads(self._sync.body), values)

    def _latest(self, records: Sequence[Record]) -> str:
        latest = self.run.cursor
        if self._find_latest is not None:
            for record in records:
                value = self._find_latest(record)
                self._refuse_echo(value)
                latest = later(latest, value)
        return latest

    # ── what becomes of the records of a page ────────────────────────────────────────────────

    def _effects(self, records: Sequence[Record | Unmapped]) -> list[Effect]:
        """Write the records of a page, or compare them in a dry run."""
        rows: dict[tuple[str, ...], Row] = {}
        planned: list[tuple[tuple[str, ...], Row] | Effect] = []
        for row in self._mapped(records):
            key = self._key(row)
            if isinstance(row, Unmapped):
                planned.append(_refused(key, row))
            elif not all(key):
                missing = self._sync.keys[[bool(part) for part in key].index(False)]
                planned.append(_refused(key, Unmapped(missing, "key_missing")))
            elif rows.setdefault(key, row) is row:
                planned.append((key, row))
            elif rows[key] == row:
                planned.append(Effect(Outcome.UNCHANGED, _shown(key), row))
            else:
                # Which of the two is right nobody here can know.
                planned.append(
                    _refused(key, Unmapped(self._sync.keys[0], "duplicate_key"))
                )
        judged = iter(self._judged(list(rows.values())) if rows else ())
        return [
            one if isinstance(one, Effect) else _effect(*one, *next(judged))
            for one in planned
        ]

    def _judged(self, rows: Sequence[Row]) -> Sequence[Judged]:
        records, target, keys = self._ports.records, self._sync.target, self._sync.keys
        if self.run.dry_run:
            return records.compare(target, keys, rows)
        return [
            (one, _NO_CHANGES)
            for one in records.upsert(target, keys, rows, self.run.id)
        ]

    def _key(self, row: Row | Unmapped) -> tuple[str, ...]:
        known = row.row if isinstance(row, Unmapped) else row
        values = [known.get(name) for name in self._sync.keys]
        return tuple(["" if value is None else str(value) for value in values])

    def _mapped(self, records: Sequence[Record | Unmapped]) -> list[Row | Unmapped]:
        found = [self._values(record) for record in records]
        means = Means(self._ports.zones, self._lookups(found))
        return self._without_assembled_secrets(
            [
                (
                    one
                    if isinstance(one, Unmapped)
                    else incoming(self._mappings, one, means)
                )
                for one in found
            ]
        )

    def _without_assembled_secrets(
        self, rows: list[Row | Unmapped]
    ) -> list[Row | Unmapped]:
        """Reject what has become a secret only here, of parts that were none by themselves."""
        values = [row for row in rows if not isinstance(row, Unmapped)]
        detector = self._detector
        if not self._assembles or not detector.may_be_in(values):
            return rows
        return [
            (
                _REPEATS_SECRET
                if not isinstance(row, Unmapped) and detector.is_in(row)
                else row
            )
            for row in rows
        ]

    def _values(self, record: Record | Unmapped) -> list[object] | Unmapped:
        if isinstance(record, Unmapped):
            return record
        self._refuse_more_time()
        if reason := oversize(record):
            return Unmapped("", reason)
        values: list[object] = []
        try:
            for find in self._finds:
                values.append(find(record))  # noqa: PERF401 - how far it came says which one failed
        except SyncFailed as failed:
            return Unmapped(self._mappings[len(values)].host, failed.reason)
        return values

    def _lookups(
        self, found: Sequence[list[object] | Unmapped]
    ) -> dict[str, dict[str, object]]:
        """Ask the host once for all that the page looks up in one field."""
        tables = {}
        for place, mapping in enumerate(self._mappings):
            if mapping.transform is Transform.LOOKUP:
                asked = [mapping.default] + [
                    v[place] for v in found if isinstance(v, list)
                ]
                keys = list(dict.fromkeys(key for key in asked if _is_key(key)))
                target, field = mapping.options["target"], mapping.options["field"]
                records = self._ports.records.find(target, field, keys)
                # The API may write as text what is a number here, and the other way round.
                tables[mapping.host] = {
                    str(value): found for value, found in records.items()
                }
        return tables


def _is_key(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _effect(
    key: tuple[str, ...], row: Row, written: Written, changes: Changes
) -> Effect:
    return Effect(
        written.outcome, _shown(key), row, written.field, written.reason, changes
    )


def _refused(key: tuple[str, ...], why: Unmapped) -> Effect:
    return Effect(Outcome.REFUSED, _shown(key), why.row, why.field, why.reason)


def _shown(key: tuple[str, ...]) -> str:
    return ", ".join(key)[:_LONGEST_KEY]
