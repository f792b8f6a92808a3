"""Old and new values in the audit: choices, numbers and URLs, never a free text."""

from dataclasses import replace

import pytest

from outkey.sending.core.audit.changed_values import (
    ValueChange,
    configuration_changes,
    shown_value,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sync.core.line.audited_changes import line_changes
from outkey.sync.core.line.line import (
    FieldMapping,
    Gone,
    Pagination,
    Paging,
    PushedRecords,
    PushRequest,
    Sync,
    Transform,
)
from outkey.sync.core.line.sync_line import SyncLine
from outkey.testing import configuration

CANARY = "canary-7c1f"


def changes_between(**settings: object) -> list[ValueChange]:
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
    assert (shown_value(path, old), shown_value(path, new)) == shown


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
        ("no such field", CANARY),
        ("active", None),
    ],
)
def test_nothing_that_may_be_a_secret_is_shown(path: str, value: object) -> None:
    assert CANARY not in shown_value(path, value)


def test_a_change_of_a_row_or_a_secret_has_the_name_alone() -> None:
    made = changes_between(headers=(CustomHeader("X-Key", CANARY, secret=False),))
    assert made == [ValueChange("headers")]


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
        ValueChange("path", "/orders", "/orders/{}"),
        ValueChange("keys", "id", "id, shop"),
        ValueChange("gone", "keep", "archive"),
        ValueChange("schedule", "0 6 * * *", "0 7 * * *"),
        ValueChange("fields.born_on", "born, text", "born, date"),
        ValueChange("fields.old", "old, as_is", ""),
        ValueChange("fields.name", "", "text"),
        ValueChange("body"),
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
        ValueChange("changes", "", "all"),
        ValueChange("recreate", "off", "on"),
        ValueChange("records", "items", "data.rows"),
        ValueChange("pagination.kind", "page", "cursor"),
        ValueChange("pagination.size", "100", "50"),
        ValueChange("pagination.cursor"),
        ValueChange("create.method", "", "POST"),
        ValueChange("create.path", "", "/contacts/{}"),
        ValueChange("query"),
        ValueChange("script"),
    ]
    assert CANARY not in str(found)


def test_an_expression_with_a_text_in_it_is_changed_without_its_values() -> None:
    before = line(records="items")
    after = line(records=f"items[?key=='{CANARY}']")
    assert list(line_changes(before, after)) == [ValueChange("records")]


def test_options_of_a_field_are_changed_without_their_values() -> None:
    before = line(mappings=(FieldMapping("id", "id", options={"values": CANARY}),))
    after = line(mappings=(FieldMapping("id", "id"),))
    assert list(line_changes(before, after)) == [ValueChange("fields")]


def test_another_configuration_and_method_are_shown() -> None:
    before = SyncLine("ping", "shop", "GET", "/ping")
    after = SyncLine("ping", "crm", "POST", "/ping")
    assert list(line_changes(before, after)) == [
        ValueChange("configuration", "shop", "crm"),
        ValueChange("method", "GET", "POST"),
    ]


def test_equal_versions_have_no_changes() -> None:
    same: Configuration = configuration()
    assert list(configuration_changes(same, same)) == []
    assert list(line_changes(line(), line())) == []
