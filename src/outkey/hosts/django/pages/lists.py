"""Lists: a page of their rows, the links to other pages, and sorting by column.

The template `outkey/list_page.html` draws them; `bulk.py` has actions on selected rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

PAGE_SIZE = 50
MOST_PAGES = 100_000
RowT = TypeVar("RowT")
ModelT = TypeVar("ModelT", bound=Model)


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
class ListFilter:
    """A choice that narrows a list; the value "" shows all rows."""

    name: str
    label: str
    choices: Sequence[tuple[str, object]]
    chosen: str

    @classmethod
    def read(
        cls,
        request: HttpRequest,
        name: str,
        label: str,
        choices: Iterable[tuple[str, object]],
        every: str = "",  # the label of the choice that shows all rows
    ) -> "ListFilter":
        """Return a filter with the choice that the query has."""
        offered = [("", every or _("all")), *choices]
        return cls(name, label, offered, request.GET.get(name, "").strip())


@dataclass(frozen=True)
class PageLink:
    """A link from one page of a list to another."""

    label: str
    query: str
    rel: str = ""  # "prev" or "next"


@dataclass(frozen=True)
class Pager:
    """The links below a list, and the numbers of its rows if they are counted."""

    links: Sequence[PageLink] = ()
    first: int = 0
    last: int = 0
    count: int = 0


def read_page(
    request: HttpRequest, rows: QuerySet[ModelT]
) -> tuple[list[ModelT], Pager]:
    """Return the page of `?page=2` with its pager; the nearest one if it is missing."""
    paginator = Paginator(rows, PAGE_SIZE)
    page = paginator.get_page(page_number(request.GET.get("page", "")))
    pager = Pager(
        _numbered_links(request, page.number, has_next=page.has_next()),
        first=page.start_index(),
        last=page.end_index(),
        count=paginator.count,
    )
    return list(page.object_list), pager


def read_uncounted_page(
    request: HttpRequest, rows: Iterable[RowT], size: int
) -> tuple[list[RowT], Pager]:
    """Return the page of `?page=2` with its pager; reads only the rows up to it."""
    number = page_number(request.GET.get("page", ""))
    first = (number - 1) * size
    found = list(islice(rows, first, first + size + 1))
    links = _numbered_links(request, number, has_next=len(found) > size)
    return found[:size], Pager(links)


def split_page(
    rows: Sequence[RowT], position: Callable[[RowT], object]
) -> tuple[Sequence[RowT], object]:
    """Return the rows of a page, and the position where the next page begins.

    It is "" on the last page: without the one row more that was read for this.
    """
    shown = rows[:PAGE_SIZE]
    return shown, position(shown[-1]) if len(rows) > PAGE_SIZE else ""


def pager_to(request: HttpRequest, label: str, **position: object) -> Pager:
    """Return a pager with a link to the next page, if there is a position for it."""
    if not any(position.values()):
        return Pager()
    return Pager([PageLink(label, query_with(request, **position), rel="next")])


def page_number(text: str) -> int:
    """Return the number of a page; the first for anything else."""
    number = int(text[:9]) if text.isascii() and text.isdecimal() else 1
    return min(max(number, 1), MOST_PAGES)


def _numbered_links(
    request: HttpRequest, number: int, *, has_next: bool
) -> list[PageLink]:
    """Return the links to the pages before and after one."""
    links = []
    if number > 1:
        query = query_with(request, page=number - 1)
        links.append(PageLink(_("Previous"), query, rel="prev"))
    if has_next:
        query = query_with(request, page=number + 1)
        links.append(PageLink(_("Next"), query, rel="next"))
    return links


def query_with(request: HttpRequest, **changed: object) -> str:
    """Return the query of the page with some of it changed."""
    query = request.GET.copy()
    for name, value in changed.items():
        if value:
            query[name] = str(value)
        else:
            query.pop(name, None)
    return query.urlencode()


def read_choices(request: HttpRequest, *names: str) -> dict[str, str]:
    """Return the filters of a list as a user has entered them; "" for no filter."""
    return {name: request.GET.get(name, "").strip() for name in names}
