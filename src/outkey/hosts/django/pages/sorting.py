"""What lists share: sorting by column, and pages with the numbers of their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

PAGE_SIZE = 50


@dataclass(frozen=True)
class Sorting:
    """The column that a list is sorted by, as the query `?sort=-name` names it."""

    columns: Mapping[str, str]  # the lookup of each column
    column: str
    is_descending: bool = False

    @classmethod
    def read(
        cls, request: HttpRequest, columns: Mapping[str, str], default: str
    ) -> "Sorting":
        """Return the chosen sorting; that by the default column for anything else."""
        text = request.GET.get("sort", "")
        column = text.removeprefix("-")
        if column not in columns:
            return cls(columns, default)
        return cls(columns, column, is_descending=text.startswith("-"))

    def apply(self, rows: QuerySet[Any], tie: str) -> QuerySet[Any]:
        """Sort rows; equal ones are in the order of another column."""
        lookup = self.columns[self.column]
        order = f"-{lookup}" if self.is_descending else lookup
        return rows.order_by(order, tie)

    def state_of(self, column: str) -> str:
        """Return how a column is sorted, as `aria-sort` has it."""
        if column != self.column:
            return "none"
        return "descending" if self.is_descending else "ascending"

    def next_of(self, column: str) -> str:
        """Return the query that a click on a column leads to."""
        is_ascending = self.state_of(column) == "ascending"
        return f"-{column}" if is_ascending else column


@dataclass(frozen=True)
class ListPage:
    """One page of a list, with the numbers of its rows."""

    rows: Sequence[Any]
    number: int
    first: int
    last: int
    count: int
    has_previous: bool
    has_next: bool


def read_page(rows: QuerySet[Any], wanted: str, size: int = PAGE_SIZE) -> ListPage:
    """Return a page of rows; the nearest one for a number that there is not."""
    paginator = Paginator(rows, size)
    page = paginator.get_page(wanted if wanted.isdecimal() and wanted.isascii() else 1)
    return ListPage(
        rows=list(page.object_list),
        number=page.number,
        first=page.start_index(),
        last=page.end_index(),
        count=paginator.count,
        has_previous=page.has_previous(),
        has_next=page.has_next(),
    )
