"""Records and rows that repeat a secret are rejected before they are shown."""

import re
from collections.abc import Sequence

from outkey.sending.engine.exchange.echoed_secrets import EchoDetector, has_masked_value
from outkey.sync.core.line.line import Sync, Transform
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import (
    MAX_FIELDS,
    MAX_FIELDS_WITH_CHILDREN,
    Record,
    size_fault,
)
from outkey.sync.engine.pull.record_mapper import Row, is_in_record
from outkey.sync.engine.runs.run_in_progress import RunInProgress

PLAIN_PATH = re.compile(r'[\w."@*\[\] -]+')
REPEATS_SECRET = Unmapped("", "secret_in_record")


class RecordScreen:
    """Rejects what repeats a secret of the configuration."""

    def __init__(self, progress: RunInProgress) -> None:
        self._guard = progress.guard
        self._keep_working = progress.keep_working
        self._most_fields = most_fields(progress.sync)
        self._assembles_values = assembles_values(progress.sync)

    def reject_records(
        self, records: Sequence[Record | Unmapped], *, is_suspicious: bool
    ) -> Sequence[Record | Unmapped]:
        """Return the records, with a rejection in the place of each repeated secret.

        Before a script or an expression sees them, which could make anything of it.
        """
        if not is_suspicious:
            return records
        detector = self._guard.detector()
        screened: list[Record | Unmapped] = []
        for record in records:
            self._keep_working()
            if isinstance(record, Unmapped):
                screened.append(record)
            else:
                screened.append(_screen_record(record, detector, self._most_fields))
        return screened

    def reject_rows(self, rows: list[Row | Unmapped]) -> list[Row | Unmapped]:
        """Reject rows where a secret was put together from harmless parts."""
        if not self._assembles_values:
            return rows
        values = [row for row in rows if not isinstance(row, Unmapped)]
        if not self._guard.may_be_in(values):
            return rows
        return [
            REPEATS_SECRET
            if not isinstance(row, Unmapped) and self._guard.is_in(row)
            else row
            for row in rows
        ]


def most_fields(sync: Sync) -> int:
    """Return how many fields a record of a line may have."""
    return MAX_FIELDS_WITH_CHILDREN if sync.children else MAX_FIELDS


def assembles_values(sync: Sync) -> bool:
    """Whether a line may build a value, so that its rows need a search of their own."""
    building = {Transform.TEMPLATE, Transform.CONSTANT}
    mappings = [
        *sync.mappings,
        *(mapping for children in sync.children for mapping in children.mappings),
    ]
    paths = [
        sync.records,
        *(children.list for children in sync.children),
        *(
            mapping.api
            for mapping in mappings
            if mapping.api and is_in_record(mapping.api)
        ),
    ]
    return (
        bool(sync.script)
        or any(mapping.transform in building for mapping in mappings)
        or not all(PLAIN_PATH.fullmatch(path) for path in paths)
    )


def _screen_record(
    record: Record, detector: EchoDetector, most_fields: int
) -> Record | Unmapped:
    """Return a record, or a rejection if it repeats a secret or is too big to tell."""
    if reason := size_fault(record, most_fields):
        return Unmapped("", reason)
    return (
        REPEATS_SECRET if has_masked_value(record) or detector.is_in(record) else record
    )
