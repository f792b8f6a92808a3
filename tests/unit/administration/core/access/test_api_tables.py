"""Tables that a program reads with its token."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.engine.access.api_access import ApiAccess
from outkey.administration.engine.access.api_tables import ApiTables, written_targets
from outkey.foundation.core.errors import (
    ConfigError,
    CursorExpired,
    NoFeed,
    ScopeMissing,
    UnknownConfiguration,
)
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.line import (
    Children,
    Direction,
    FieldMapping,
    Sync,
    SyncLine,
)
from outkey.sync.core.mapping.filters import Equal, Wanted
from outkey.sync.core.mapping.records import FieldKind, HostField, HostRecord, Target
from outkey.sync.core.mapping.row_changes import ChangesPage, Cursor
from unit.administration.core.access.test_api_access import access, prepared

CURSOR = Cursor("0f", 7)


class Tables:
    """Tables with some rows, which note what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def targets(self) -> list[Target]:
        fields = (
            HostField("id", "id", FieldKind.TEXT),
            HostField("total", "total", FieldKind.DECIMAL),
        )
        return [Target(f"table:{name}", name, fields) for name in ("items", "other")]

    def cursor(self, target: str) -> Cursor:
        self.asked.append(("cursor", target))
        return CURSOR

    def rows(
        self, target: str, after: str, limit: int, wanted: Mapping[str, Wanted]
    ) -> list[HostRecord]:
        self.asked.append(("rows", target, after, limit, wanted))
        return [HostRecord(str(number), {}) for number in range(1, 4)][:limit]

    def changes(self, target: str, after: Cursor | None, limit: int) -> ChangesPage:
        self.asked.append(("changes", target, after, limit))
        return ChangesPage((), CURSOR, more=False)


def granted(*scopes: Scope, **wishes: object) -> tuple[ApiAccess, Tables]:
    """Return the access of a token, and tables of which acme fills `items`."""
    host = prepared()
    tables = Tables()
    for name, configuration, target in (
        ("one", "acme", "table:Items"),
        ("two", "acme", "table:other"),
        ("three", "other", "table:other"),
    ):
        sync = Sync(target=target, keys=("id",), mappings=(FieldMapping("id", "id"),))
        host.registry.put_line(SyncLine(name, configuration, "GET", "/", sync))
    opened = access(host, *(scopes or (Scope.DATA,)), **wishes)
    ports = replace(opened.application.sync_ports(), tables=tables)  # type: ignore[arg-type]
    application = replace(opened.application, sync_ports=lambda: ports)
    return replace(opened, application=application), tables


def test_rows_come_with_the_cursor_from_before_they_were_read() -> None:
    opened, tables = granted()
    page = ApiTables(opened).rows("items", "", 2, {"total": "1.50", "id": "A"})
    assert ([row.id for row in page.rows], page.more) == (["1", "2"], True)
    assert page.cursor == CURSOR
    wanted = {"total": Equal(Decimal("1.5")), "id": "A"}
    assert tables.asked == [
        ("cursor", "table:items"),
        ("rows", "table:items", "", 3, wanted),
    ]
    assert not ApiTables(opened).rows("items", "", 3, {}).more


def test_a_program_that_begins_to_read_a_table_is_in_the_audit() -> None:
    host = prepared()
    opened = access(host, Scope.DATA)
    ports = replace(opened.application.sync_ports(), tables=Tables())  # type: ignore[arg-type]
    opened = replace(
        opened, application=replace(opened.application, sync_ports=lambda: ports)
    )
    tables = ApiTables(opened)
    tables.rows("items", "", 2, {})
    tables.rows("items", "2", 2, {})
    tables.changes("items", "", 2)
    (event,) = host.audit.events
    assert isinstance(event, Change)
    assert (event.tag, event.actor) == (Tag.DATA_EXPORTED, "token:ci")


def test_changes_are_those_after_a_cursor() -> None:
    opened, tables = granted()
    assert ApiTables(opened).changes("items", "", 5).next == CURSOR
    ApiTables(opened).changes("items", "0f-7", 5)
    assert [asked[2] for asked in tables.asked] == [None, CURSOR]
    with pytest.raises(ConfigError):
        ApiTables(opened).changes("items", "7", 5)


def test_a_column_that_is_not_there_cannot_be_filtered() -> None:
    opened, _ = granted()
    with pytest.raises(ConfigError) as refused:
        ApiTables(opened).rows("items", "", 5, {"color": "red"})
    assert refused.value.field == "color"


def test_a_limited_token_reads_tables_that_only_its_configurations_fill() -> None:
    opened, _ = granted()
    assert [target.label for target in ApiTables(opened).targets()] == [
        "items",
        "other",
    ]
    opened, _ = granted(configurations=["acme"])
    tables = ApiTables(opened)
    assert [target.label for target in tables.targets()] == ["items"]
    for name in ("other", "nothing"):
        with pytest.raises(UnknownConfiguration) as unknown:
            tables.changes(name, "", 5)
        assert "other" not in unknown.value.hint


def test_only_the_scope_data_reads_tables() -> None:
    opened, _ = granted(Scope.READ, Scope.MANAGE, Scope.RUN)
    for read in (
        lambda tables: tables.targets(),
        lambda tables: tables.rows("items", "", 5, {}),
        lambda tables: tables.changes("items", "", 5),
    ):
        with pytest.raises(ScopeMissing):
            read(ApiTables(opened))


def test_a_line_writes_its_target_and_those_of_its_children() -> None:
    sync = Sync(target="table:a", children=(Children(target="table:b"),))
    line = SyncLine("l", "acme", "GET", "/", sync)
    assert written_targets(line) == ["table:a", "table:b"]
    push = replace(line, sync=replace(sync, direction=Direction.PUSH))
    assert written_targets(push) == []
    assert written_targets(replace(line, sync=None)) == []


def test_what_cannot_be_continued_has_statuses_of_its_own() -> None:
    assert status_of(NoFeed()) == 409
    assert status_of(CursorExpired()) == 410
