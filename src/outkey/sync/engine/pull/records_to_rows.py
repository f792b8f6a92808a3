"""From the records of a page to rows: they are screened, scripted and mapped."""

from collections.abc import Callable, Mapping, Sequence

from outkey.foundation.core.groups import groups_of
from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import Record
from outkey.sync.engine.pull.pages import PageRows
from outkey.sync.engine.pull.record_mapper import NO_PARENT, RecordMapper, key_of
from outkey.sync.engine.pull.record_screen import most_fields
from outkey.sync.engine.pull.target_writer import TargetWriter
from outkey.sync.engine.runs.run_in_progress import RunInProgress

SCRIPT_BATCH = 64  # records; a script has 250 ms for each, and the lease a minute

# Adds to the rejection of a record that could not be mapped.
DescribeRejection = Callable[[Unmapped, Record], Unmapped]


class RecordsToRows:
    """Makes rows of the records of a page."""

    def __init__(
        self,
        progress: RunInProgress,
        target: TargetWriter,
        describe_rejection: DescribeRejection | None = None,
    ) -> None:
        self._progress = progress
        self._ports = progress.ports
        self._sync = progress.sync
        self._screen = target.screen
        self._children = target.children
        self._describe_rejection = describe_rejection
        self._mapper = RecordMapper(
            progress.ports,
            self._sync.mappings,
            field_of=target.columns.field_for,
            keep_working=progress.keep_working,
            most_fields=most_fields(self._sync),
        )

    def prepare(
        self, records: Sequence[Record | Unmapped], *, is_suspicious: bool
    ) -> Sequence[Record | Unmapped]:
        """Return the records without repeated secrets, as the script changes them."""
        return self._run_script(
            self._screen.reject_records(records, is_suspicious=is_suspicious)
        )

    def map(
        self,
        records: Sequence[Record | Unmapped],
        parent: Mapping[str, object] = NO_PARENT,
    ) -> PageRows:
        """Return the host's values of each record, or why it has none."""
        rows = self._screen.reject_rows(self._mapper.map(records, parent=parent))
        if self._describe_rejection is not None:
            rows = [
                self._describe_rejection(row, record)
                if isinstance(row, Unmapped) and not isinstance(record, Unmapped)
                else row
                for record, row in zip(records, rows, strict=True)
            ]
        return PageRows(records, rows)

    def read(
        self,
        records: Sequence[Record | Unmapped],
        parent: Mapping[str, object] = NO_PARENT,
    ) -> PageRows:
        """Return the rows of a page, with those of the lists in its records.

        Of a retry only those of records that the earlier run rejected.
        """
        page = self.map(records, parent)
        retried = self._progress.run.retry_of
        if retried:
            keys = [key_text(key_of(self._sync.keys, row)) for row in page.rows]
            rejected = self._ports.runs.still_rejected(retried, keys)
            chosen = [place for place, key in enumerate(keys) if key in rejected]
            page = PageRows(
                [page.records[place] for place in chosen],
                [page.rows[place] for place in chosen],
            )
        parents = [kind.read(page.records, page.rows) for kind in self._children]
        return page._replace(parents=parents)

    def _run_script(
        self, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        """Return the records as the line's script changes them."""
        if not self._sync.script:
            return records
        inputs = [record for record in records if not isinstance(record, Unmapped)]
        outputs = iter(self._script_outputs(inputs))
        results = [
            record if isinstance(record, Unmapped) else next(outputs)
            for record in records
        ]
        return [record for record in results if record is not None]

    def _script_outputs(
        self, records: Sequence[Record]
    ) -> list[Record | Unmapped | None]:
        """Return the script's output for each record, some at a time."""
        scripts = self._ports.scripts
        name = self._progress.plan.line.name
        outputs: list[Record | Unmapped | None] = []
        for batch in groups_of(records, SCRIPT_BATCH):
            self._progress.keep_working()
            outputs += scripts.transform(name, self._sync.script, batch)
        return outputs
