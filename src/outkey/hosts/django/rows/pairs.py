"""Agreements of pairs, in a table beside the ledger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from django.db.models import Count, QuerySet

from outkey.foundation.core.errors import RowUnreadable, unknown_line
from outkey.foundation.core.groups import groups_of
from outkey.hosts.django.models import Agreement, SyncLine
from outkey.hosts.django.rows.raw_sql import wrap_errors_of_methods

if TYPE_CHECKING:
    from outkey.sync.core.pairs.pairs import PairAgreement
    from outkey.sync.ports.sync import PairQuery

GROUP = 500  # rows of one statement
COLUMNS = ("record", "key", "api", "host", "is_pushed", "conflict")


@wrap_errors_of_methods
class DjangoPairRows:
    """One row for each record of a push line; they belong to the line."""

    def find(self, query: PairQuery) -> list[PairAgreement]:
        from outkey.sync.core.pairs.pairs import stored_agreement

        rows = of_line(query.line).filter(record__gt=query.after)
        if query.has_conflict:
            rows = rows.exclude(conflict="null")
        parts = [rows.order_by("record")[: query.limit]]
        if query.records is not None:
            groups = groups_of(query.records, GROUP)
            parts = [rows.filter(record__in=ids) for ids in groups]
        elif query.keys is not None:
            groups = groups_of(query.keys, GROUP)
            parts = [rows.filter(key__in=keys) for keys in groups]
        agreements: list[PairAgreement] = []
        for part in parts:
            for row in part.values(*COLUMNS):
                try:
                    agreements.append(stored_agreement(row))
                except RowUnreadable:
                    # A list of conflicts shows the others; a run must not guess.
                    if not query.has_conflict:
                        raise
        return agreements

    def put(self, line: str, agreements: Sequence[PairAgreement]) -> None:
        if not agreements:
            return
        number = SyncLine.objects.filter(name=line).values_list("pk", flat=True).first()
        if number is None:
            raise unknown_line()
        rows = [Agreement(line_id=number, **known.as_columns()) for known in agreements]
        Agreement.objects.bulk_create(
            rows,
            batch_size=GROUP,
            update_conflicts=True,
            unique_fields=["line", "record"],
            update_fields=COLUMNS[1:],
        )

    def delete(self, line: str, records: Collection[str]) -> None:
        for group in groups_of(records, GROUP):
            of_line(line).filter(record__in=group).delete()


def count_open_conflicts(lines: Collection[str]) -> dict[str, int]:
    """Return how many conflicts of these push lines wait for a user, by line."""
    from outkey.sync.core.pairs.pairs import OPEN_END

    if not lines:
        return {}
    rows = Agreement.objects.filter(line__name__in=lines).exclude(conflict="null")
    counts = (
        rows.filter(conflict__endswith=OPEN_END)
        .order_by()
        .values_list("line__name")
        .annotate(count=Count("pk"))
    )
    return dict(counts)


def of_line(line: str) -> QuerySet[Agreement]:
    """Return the agreements of a line."""
    return Agreement.objects.filter(line__name=line)
