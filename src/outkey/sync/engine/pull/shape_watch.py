"""Compares the records of a pull with the recorded shape, before they are written."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.drift.drift import (
    ALL,
    LIST,
    MISSING_SHARE,
    NEXT_PAGE,
    OTHER_PAGES,
    PAGINATION,
    RECORDS,
    Drift,
    ExpectedField,
    LineShape,
    NeededFields,
    PageStyle,
    changed_fields,
    expected_fields,
    merged_drift,
    merged_fields,
    missing_fields,
)
from outkey.sync.core.drift.shape import FieldShape, RecordShapes
from outkey.sync.core.line.line import DriftRule, RecordFormat
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.run.line_digest import source_digest
from outkey.sync.core.run.reasons import SHAPE_CHANGED, sync_failure
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.pull.pages import SourcePage
from outkey.sync.engine.runs.run_in_progress import RunInProgress

MOST_RECORDS = 10**9  # that are counted
NO_LIST = frozenset({"not_a_list", "not_objects"})


class ShapeWatch:
    """Watches the pages of one run; a retry is not watched."""

    def __init__(self, progress: RunInProgress) -> None:
        self._progress = progress
        self._line = progress.plan.line.name
        self._rule = progress.sync.drift
        self._shapes = progress.ports.runs.shapes
        self._read = LineShape()  # as it is in the database
        self._stored = LineShape()
        self._known = LineShape()  # the stored one, if it is good enough to compare
        self._needed = NeededFields(progress.sync)
        # One element of XML is an object or a text, and two of them are a list.
        self._has_kinds = progress.sync.response.format is not RecordFormat.XML
        # The pages of a parent or window say nothing about those of the next.
        sync = progress.sync
        self._has_pages = not (sync.for_each or sync.incremental.window)
        self._expected: list[ExpectedField] = []
        self._seen = RecordShapes()
        self._pages = PageStyle()
        self._drift: dict[tuple[str, str], Drift] = {}  # that this process has seen
        self._begins_at_first = False
        self._is_active = False

    @contextmanager
    def following(self) -> Iterator[None]:
        """Watch a run; report if it ends since there is no list of records any more."""
        self._begin()
        try:
            yield
        except SyncFailed as error:
            if self._is_active and self._known.fields and error.reason in NO_LIST:
                self._report([Drift(OTHER_PAGES.id, RECORDS, LIST, None)])
            raise

    def compare(self, page: SourcePage) -> None:
        """Compare the records of a page; with the rule `stop` a change ends the run."""
        if not self._is_active:
            return
        drift: list[Drift] = []
        if self._has_pages and page.position.pages == 1:
            self._pages = PageStyle(len(page.records), not page.position.ended)
            drift += self._missing_next_page()
        records = [
            record for record in page.records if not isinstance(record, Unmapped)
        ]
        is_new = self._seen.add(records)
        drift += missing_fields(self._expected, records)
        if is_new and self._known.fields:
            seen = self._seen.fields
            drift += changed_fields(
                self._known.fields, seen, self._needed, has_kinds=self._has_kinds
            )
        self._report(drift)

    def compare_total(self) -> None:
        """Compare, after the last page, how many records there are with the total."""
        run = self._progress.run
        expected = self._progress.expected
        if not self._is_active or not self._has_pages or not run.is_full:
            return
        count = run.counts.seen
        self._pages = replace(self._pages, has_total=0 < count == expected)
        if self._known.pages.has_total and count < MISSING_SHARE * expected:
            now = f"{count} of {expected}"
            self._report([Drift(OTHER_PAGES.id, PAGINATION, ALL, now)])

    def record(self, run: Run) -> None:
        """Record the shape after a complete run; what has drifted must be accepted."""
        is_complete = run.state is RunState.DONE and not run.dry_run
        if not self._is_active or not is_complete or not self._seen.fields:
            return
        is_whole = run.is_full and self._begins_at_first
        if self._drift or self._stored.drift:
            self._put(self._drifted(is_whole=is_whole))
        else:
            self._put(self._learnt(is_whole=is_whole))

    def _begin(self) -> None:
        progress = self._progress
        run = progress.run
        self._is_active = self._rule is not DriftRule.OFF and not run.retry_of
        if not self._is_active:
            return
        self._begins_at_first = not run.position and not run.counts.total
        source = source_digest(progress.plan.line, progress.plan.configuration)
        self._read = stored = self._shapes.get(self._line)
        # The shape of another request says nothing.
        self._stored = stored if stored.source == source else LineShape(source)
        if self._stored.is_settled:
            self._known = self._stored
            self._expected = expected_fields(self._known.fields, self._needed)

    def _missing_next_page(self) -> Iterator[Drift]:
        """Yield that a first page as full as ever is the only one now."""
        known = self._known.pages
        pages = self._pages
        if known.continues and not pages.continues and pages.size >= known.size:
            yield Drift(OTHER_PAGES.id, PAGINATION, NEXT_PAGE, None)

    def _report(self, drift: Sequence[Drift]) -> None:
        """Report what this run has not reported yet, and end it if that is wanted."""
        progress = self._progress
        new = [
            each
            for each in drift
            if (each.id, each.field) not in self._drift
            and not self._is_secret(each.field)
        ]
        if not new:
            return
        self._drift |= {(each.id, each.field): each for each in new}
        progress.drift = merged_drift(progress.drift, new)
        if not progress.run.dry_run:
            # At once: the run may end before it is complete.
            self._put(self._drifted())
        serious = [each for each in new if not each.is_harmless]
        if serious and self._rule is DriftRule.STOP:
            raise sync_failure(
                SHAPE_CHANGED,
                Text(
                    "the API has changed the shape of its records: {change}",
                    change=serious[0].message,
                ),
            )

    def _is_secret(self, names: object) -> bool:
        """Whether a secret may be in the name of a field: it is not even stored."""
        return reveals_secret(self._progress.guard.secrets(), names)

    def _seen_fields(self) -> dict[str, FieldShape]:
        """Return the fields of this run whose names may be stored."""
        seen = self._seen.fields
        if not self._is_secret([*seen]):
            return seen
        return {
            path: shape for path, shape in seen.items() if not self._is_secret(path)
        }

    def _drifted(self, *, is_whole: bool = False) -> LineShape:
        """Return the stored shape with the differences of this run."""
        stored = self._stored
        drift = merged_drift(stored.drift, [*self._drift.values()])
        seen = self._seen_fields()
        before = stored.next_fields or stored.fields
        return replace(
            stored,
            drift=drift,
            next_fields=seen if is_whole else merged_fields(before, seen, drift),
            next_pages=self._pages if self._pages.size else stored.pages,
        )

    def _learnt(self, *, is_whole: bool) -> LineShape:
        """Return the shape after a complete run without a difference."""
        stored = self._stored
        is_first = not stored.fields
        fields = merged_fields(stored.fields, self._seen_fields(), is_whole=is_whole)
        pages = self._pages if is_whole or is_first else stored.pages
        if (fields, pages) == (stored.fields, stored.pages) and stored.is_settled:
            return stored
        return replace(
            stored,
            fields=fields,
            pages=pages,
            records=min(stored.records + self._seen.records, MOST_RECORDS),
            is_full=stored.is_full or is_whole,
            recorded_at=self._progress.ports.runs.now(),
        )

    def _put(self, shape: LineShape) -> None:
        """Store a shape, unless a user has accepted another one meanwhile."""
        if shape != self._stored and self._shapes.get(self._line) == self._read:
            self._shapes.put(self._line, shape)
            self._read = shape
