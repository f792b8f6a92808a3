"""Old and new values in the audit: choices, numbers and URLs, never a free text."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind
from outkey.sending.core.audit.changed_values import (
    audited_texts,
    configuration_changes,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS
from outkey.sync.core.line.audited_changes import line_changes
from outkey.sync.core.line.fields import EVERY_LINE_FIELD
from outkey.sync.core.line.line import (
    FieldMapping,
    Gone,
    Pagination,
    Paging,
    PushedRecords,
    PushRequest,
    Sync,
    SyncLine,
    Transform,
)
from outkey.testing import configuration

CANARY = "canary-7c1f"


def changes_between(**settings: object) -> list[FieldChange]:
    return list(configuration_changes(configuration(), configuration(**settings)))


@pytest.mark.parametrize(
    ("path", "old", "new", "shown"),
    [
        ("active", True, False, ("on", "off")),
        ("environment", "sandbox", "production", ("sandbox", "production")),
        ("limits.retries", 2, 5, ("2", "5")),
        (
            "base_url",
            "https://a.example",
            "https://b.example/v1",
            ("https://a.example/", "https://b.example/v1"),
        ),
        ("verification.test_path", "/me", "/users/4711", ("/me", "/users/{}")),
    ],
)
def test_choices_numbers_and_urls_are_shown(
    path: str, old: object, new: object, shown: tuple[str, str]
) -> None:
    assert audited_texts(BY_PATH[path].audited, old, new) == shown


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("notes", CANARY),
        ("username", CANARY),
        ("oauth2.client_id", CANARY),
        ("oauth2.extra", {"key": CANARY}),
        ("login.body", CANARY),
        ("script", CANARY),
        ("token", CANARY),
        ("base_url", f"https://a.example/{CANARY}?key={CANARY}"),
        ("oauth2.token_url", f"https://{CANARY}@a.example/"),
        ("verification.test_path", f"/x/{CANARY}?key={CANARY}"),
        ("active", None),
    ],
)
def test_nothing_that_may_be_a_secret_is_shown(path: str, value: object) -> None:
    assert CANARY not in str(audited_texts(BY_PATH[path].audited, "", value))


def test_a_change_of_a_row_or_a_secret_has_the_name_alone() -> None:
    made = changes_between(headers=(CustomHeader("X-Key", CANARY, secret=False),))
    assert made == [FieldChange("headers")]


def line(path: str = "/orders", **settings: object) -> SyncLine:
    sync = Sync(target="table:orders", keys=("id",))
    return SyncLine("orders", "shop", "GET", path, replace(sync, **settings))  # type: ignore[arg-type]


def test_a_line_shows_its_schedule_rules_and_mapping() -> None:
    before = line(
        schedule="0 6 * * *",
        mappings=(
            FieldMapping("id", "id"),
            FieldMapping("born", "born_on", Transform.TEXT),
            FieldMapping("old", "old"),
        ),
    )
    after = line(
        "/orders/4711",
        schedule="0 7 * * *",
        gone=Gone.ARCHIVE,
        keys=("id", "shop"),
        body=CANARY,
        mappings=(
            FieldMapping("id", "id"),
            FieldMapping("born", "born_on", Transform.DATE),
            FieldMapping(f"'{CANARY}'", "name", Transform.TEXT),
        ),
    )
    assert list(line_changes(before, after)) == [
        FieldChange("path", "/orders", "/orders/{}"),
        FieldChange("keys", "id", "id, shop"),
        FieldChange("gone", "keep", "archive"),
        FieldChange("schedule", "0 6 * * *", "0 7 * * *"),
        FieldChange("fields.born_on", "born, text", "born, date"),
        FieldChange("fields.old", "old, as_is", ""),
        FieldChange("fields.name", "", "text"),
        FieldChange("body"),
    ]


def test_nested_settings_have_names_and_only_harmless_values() -> None:
    before = line(pagination=Pagination(Paging.PAGE, size=100), records="items")
    after = line(
        pagination=Pagination(Paging.CURSOR, size=50, cursor=CANARY),
        records="data.rows",
        create=PushRequest("POST", f"/contacts/{CANARY}"),
        recreate=True,
        changes=PushedRecords.ALL,
        script=CANARY,
        query=(("key", CANARY),),
    )
    found = list(line_changes(before, after))
    assert found == [
        FieldChange("changes", "", "all"),
        FieldChange("recreate", "off", "on"),
        FieldChange("records", "items", "data.rows"),
        FieldChange("pagination.kind", "page", "cursor"),
        FieldChange("pagination.size", "100", "50"),
        FieldChange("pagination.cursor"),
        FieldChange("create.method", "", "POST"),
        FieldChange("create.path", "", "/contacts/{}"),
        FieldChange("query"),
        FieldChange("script"),
    ]
    assert CANARY not in str(found)


def test_an_expression_with_a_text_in_it_is_changed_without_its_values() -> None:
    before = line(records="items")
    after = line(records=f"items[?key=='{CANARY}']")
    assert list(line_changes(before, after)) == [FieldChange("records")]


def test_options_of_a_field_are_changed_without_their_values() -> None:
    before = line(mappings=(FieldMapping("id", "id", options={"values": CANARY}),))
    after = line(mappings=(FieldMapping("id", "id"),))
    assert list(line_changes(before, after)) == [FieldChange("fields")]


def test_another_configuration_and_method_are_shown() -> None:
    before = SyncLine("ping", "shop", "GET", "/ping")
    after = SyncLine("ping", "crm", "POST", "/ping")
    assert list(line_changes(before, after)) == [
        FieldChange("configuration", "shop", "crm"),
        FieldChange("method", "GET", "POST"),
    ]


def test_equal_versions_have_no_changes() -> None:
    same: Configuration = configuration()
    assert list(configuration_changes(same, same)) == []
    assert list(line_changes(line(), line())) == []


def paths_with(audited: Audited, fields: Iterable[Field]) -> set[str]:
    return {field.path for field in fields if field.audited is audited}


def test_of_the_free_texts_of_a_configuration_only_names_and_paths_are_shown() -> None:
    texts = [field for field in FIELDS if field.kind in {Kind.TEXT, Kind.LONG_TEXT}]
    shown = {field.path for field in texts if field.audited is not Audited.NAME}
    assert shown == paths_with(Audited.PATH, FIELDS) | {"owner", "connect.account"}
    assert shown == {
        "owner",
        "connect.account",
        "verification.test_path",
        "login.path",
        "login.refresh_path",
        "login.logout_path",
        "csrf.path",
    }


def test_of_the_texts_of_a_line_names_paths_and_expressions_are_shown() -> None:
    texts = [
        field
        for field in EVERY_LINE_FIELD
        if field.kind in {Kind.LONG_TEXT, Kind.LIST, Kind.TEXTS, Kind.NAMES}
    ]
    names = {"target", "keys", "full_every", "schedule", "for_each.line"}
    windows = {"start", "window", "lookback", "format"}
    states = {"job.done", "job.failed", "job.origins"}
    assert paths_with(Audited.VALUE, texts) == {
        *names,
        *states,
        *(f"incremental.{name}" for name in windows),
    }
    assert paths_with(Audited.WHOLE, texts) == {"configuration"}
    expressions = {
        "records",
        "remote_id",
        "results_at",
        "job.id",
        "job.state",
        "job.url",
    }
    assert paths_with(Audited.EXPRESSION, texts) == expressions
    assert paths_with(Audited.PATH, texts) == {
        "path",
        "create.path",
        "update.path",
        "delete.path",
        "find.path",
        "job.order.path",
        "job.poll.path",
        "job.delete.path",
    }


def test_long_values_are_cut_but_not_names() -> None:
    (schedule,) = line_changes(line(), line(schedule="1," * 50))
    assert len(schedule.new) == 80
    before = SyncLine("ping", "shop", "GET", "/ping")
    (name,) = line_changes(before, replace(before, configuration="x" * 90))
    assert name.new == "x" * 90
