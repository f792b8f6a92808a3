"""Operations on tables: their rows, and the changes of these."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import ConfigDict, Field

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_tables import ApiTables
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import granted
from outkey.hosts.django.api.interface import operation
from outkey.hosts.django.api.responses import json_response
from outkey.hosts.table_facts import (
    changes_facts,
    column_facts,
    listed_table_facts,
    table_label,
)
from outkey.sync.core.mapping.row_changes import json_value, row_of

TAG = "tables"
TABLE = "/tables/{segment:name}"
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
COLUMNS = {"id": "text", "total": "decimal"}
ROW = {"outkey_id": 7, "id": "A-1", "total": "19.90"}
CURSOR = "4be0c7d1a2f3-1042"
FILTERS: dict[str, Any] = {
    "parameters": [
        {
            "name": "where",
            "in": "query",
            "style": "form",
            "explode": True,
            "description": (
                "Filters: `COLUMN=TEXT`, such as `status=open`. A text is contained in"
                " the value, in upper or lower case; a number is equal; a date or a"
                " time, in UTC, names the day, minute or second."
            ),
            "schema": {"type": "object", "additionalProperties": {"type": "string"}},
        }
    ]
}


class TableSchema(Schema):
    """A table with its columns and their kinds."""

    table: str = Field(examples=["orders"])
    columns: dict[str, str] = Field(examples=[COLUMNS])
    rows: int | None = Field(
        examples=[1200], description="Null if its database cannot be reached."
    )
    problem: str | None = Field(default=None, examples=[None])


class RowsSchema(Schema):
    """Rows of a table, by outkey_id; decimals, dates and times are texts."""

    table: str = Field(examples=["orders"])
    columns: dict[str, str] = Field(examples=[COLUMNS])
    rows: list[dict[str, Any]] = Field(examples=[[ROW]])
    next: int | None = Field(
        examples=[7], description="`after` of the next rows; null if there are none."
    )
    cursor: str | None = Field(
        examples=[CURSOR],
        description="Where the changes continue; null if none are recorded.",
    )


class ChangeSchema(Schema):
    """A change of a row."""

    model_config = ConfigDict(populate_by_name=True)
    cursor: str = Field(examples=[CURSOR])
    change: str = Field(
        examples=["changed"], description="added, changed, deleted or archived"
    )
    at: str = Field(examples=["2026-03-01T09:30:00.125Z"])
    key: dict[str, Any] = Field(examples=[{"id": "A-1"}])
    row: dict[str, Any] | None = Field(
        examples=[ROW], description="The whole row; null if it was deleted."
    )
    before: dict[str, Any] | None = Field(
        examples=[{"total": "17.90"}],
        description="The earlier values of changed fields; null of an added row.",
    )


class ChangesSchema(Schema):
    """Changes of the rows of a table, in the order of their commits."""

    table: str = Field(examples=["orders"])
    changes: list[ChangeSchema]
    next: str = Field(examples=[CURSOR], description="`after` of the next request.")
    more: bool = Field(description="Whether there are more by now.")


@operation("GET", "/tables", Scope.DATA, returns={200: list[TableSchema]}, tag=TAG)
def list_tables(request: HttpRequest) -> HttpResponse:
    """List the tables that the token may read.

    A token for certain configurations gets the tables that only these fill.
    """
    access = ApiTables(granted(request))
    targets = access.targets()
    return json_response(
        [listed_table_facts(access.tables, target) for target in targets]
    )


@operation(
    "GET",
    f"{TABLE}/rows",
    Scope.DATA,
    returns={200: RowsSchema},
    tag=TAG,
    extra=FILTERS,
)
def list_rows(
    request: HttpRequest, name: str, after: str = "", limit: Limit = 100
) -> HttpResponse:
    """List rows of a table, archived ones too.

    All of them, and the changes after the `cursor` of the first page applied to them,
    are the table exactly.
    """
    filters = {
        column: str(text)
        for column, text in request.GET.items()
        if column not in {"after", "limit"}
    }
    page = ApiTables(granted(request)).rows(name, after, limit, filters)
    rows = [row_of(record) for record in page.rows]
    document = {
        "table": table_label(page.target),
        "columns": column_facts(page.target),
        "rows": rows,
        "next": rows[-1]["outkey_id"] if page.more else None,
        "cursor": str(page.cursor) if page.cursor else None,
    }
    return json_response(document, default=json_value)


@operation(
    "GET",
    f"{TABLE}/changes",
    Scope.DATA,
    returns={
        200: ChangesSchema,
        409: schemas.ErrorBody,
        410: schemas.ErrorBody,
    },
    tag=TAG,
)
def list_changes(
    request: HttpRequest, name: str, after: str = "", limit: Limit = 100
) -> HttpResponse:
    """List the changes of rows after a cursor, oldest first.

    Without a cursor the oldest that are stored. A table without `feed` is a 409
    (no_feed), a cursor whose next changes are not stored any more a 410
    (cursor_expired): then all rows must be read again.
    """
    page = ApiTables(granted(request)).changes(name, after, limit)
    return json_response(changes_facts(name, page))
