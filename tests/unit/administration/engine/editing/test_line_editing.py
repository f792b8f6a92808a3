"""A form of a sync line: what it needs, what it saves, and what its user may not do."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.line_editing import (
    LineEdit,
    entered_line_values,
    line_values,
    request_errors,
    restored_line,
)
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.permission import Permission
from outkey.sync.core.line.line import (
    Children,
    FieldMapping,
    ForEach,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.line.permissions import (
    RecordAccess,
    line_requirements,
    record_accesses,
)
from outkey.sync.core.line.section import parse_sync, render_sync
from outkey.sync.engine.forms.unsaved_lines import WithLine
from outkey.sync.engine.record_rights import refuse_forbidden, refuse_hidden_parents
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.testing import configuration
from outkey.testing.fakes.storage import memory_registry, memory_storage
from unit.administration.engine.editing.test_changes import Office
from unit.sync.engine.pull.test_sync_run import PULL, PUSH, fake_sync

EVERYTHING = frozenset(Permission)
SCRIPTED = replace(PULL, script="def transform(record):\n    return record\n")
LINE = SyncLine("people", "acme", "GET", "/people", PULL)
LOOKUP = FieldMapping("owner", "owner", Transform.LOOKUP, options={"target": "person"})


class Rights:
    """A user who may do these things with records, such as "view contact"."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed

    def demand(self, target: str, *verbs: str) -> None:
        for verb in verbs:
            if f"{verb} {target}" not in self._allowed:
                raise ConfigError("a permission is missing", field="target")


ALL_RIGHTS = Rights("view contact", "add contact", "change contact", "view person")


class Lines:
    """An installation with one configuration, where lines are edited."""

    def __init__(self, *lines: SyncLine) -> None:
        self.office = Office(configuration())
        for line in lines:
            self.office.registry.put_line(line)
        self.administration: Administration = self.office.administration

    def save(
        self,
        values: dict[str, str],
        stored: SyncLine | None = None,
        *,
        allowed: Collection[Permission] = EVERYTHING,
        rights: Rights = ALL_RIGHTS,
    ) -> SyncLine:
        entered = entered_line_values(values, stored)
        edit = LineEdit.read(entered, stored, self.office.registry)
        ports = fake_sync().ports
        override = WithLine(self.office.registry, edit.line)
        runner = SyncRunner(replace(ports, configurations=override))
        edit.save(
            self.administration,
            allowed=allowed.__contains__,
            runner=runner,
            rights=rights,
        )
        return self.office.registry.line(edit.line.name)


@pytest.mark.parametrize(
    "sync",
    [
        PULL,
        PUSH,
        SCRIPTED,
        replace(
            PULL,
            mappings=(*PULL.mappings, LOOKUP),
            pagination=Pagination(Paging.CURSOR, 50, "n", "c", cursor="next"),
            incremental=Incremental("since", "changed"),
            query=(("a", "1"), ("b", "two")),
            schedule="0 3 * * *",
        ),
    ],
)
def test_what_is_written_for_a_form_is_read_as_the_same(sync: Sync) -> None:
    text = render_sync(sync)
    assert parse_sync(text) == sync


def test_a_line_that_synchronizes_nothing_has_no_text() -> None:
    assert line_values(replace(LINE, sync=None))["sync"] == ""


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('name = "people"\ndirection = "pull"', "TOML"),
        ('method = "GET"', "TOML"),
        ('target = "contact"', "direction"),
        ("not TOML", "TOML"),
    ],
)
def test_an_error_of_the_text_names_its_place(text: str, field: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_sync(text)
    assert raised.value.field == field


def test_the_form_of_a_line_shows_what_is_stored_and_keeps_its_name() -> None:
    assert line_values(None)["method"] == "GET"
    values = line_values(LINE)
    assert values["path"] == "/people"
    assert parse_sync(values["sync"]) == PULL
    entered = entered_line_values({"name": "other", "path": " /all "}, LINE)
    assert (entered["name"], entered["path"]) == ("people", "/all")
    assert entered["sync"] == values["sync"]


def test_a_line_is_created_and_changed() -> None:
    lines = Lines()
    values = line_values(LINE)
    stored = lines.save(values)
    assert stored == LINE
    changed = lines.save(values | {"path": "/all"}, stored)
    assert changed.path == "/all"
    plain = lines.save(values | {"sync": ""}, changed, rights=Rights())
    assert plain.sync is None


def test_a_new_line_does_not_take_the_place_of_another() -> None:
    lines = Lines(LINE)
    with pytest.raises(ConfigError, match="already") as raised:
        lines.save(line_values(LINE) | {"path": "/mine"})
    assert raised.value.field == "name"
    assert lines.office.registry.line("people") == LINE


def test_every_empty_input_of_a_request_is_an_error_not_only_the_first() -> None:
    registry = Lines(LINE).office.registry
    assert [*request_errors(line_values(None), None, registry)] == [
        "name",
        "configuration",
    ]
    values = line_values(LINE) | {"method": "no method", "configuration": ""}
    assert {*request_errors(values, None, registry)} == {
        "name",
        "method",
        "configuration",
    }
    assert request_errors(line_values(LINE), LINE, registry) == {}


def test_the_name_of_a_line_that_cannot_be_read_is_taken_too() -> None:
    storage = memory_storage()
    registry = memory_registry([configuration()], [LINE], storage=storage)
    rows = storage.lines.rows
    rows["people"] = replace(rows["people"], sync={"target": 1})
    with pytest.raises(ConfigError, match="already"):
        LineEdit.read(line_values(LINE), None, registry)


def test_adding_is_not_changing_and_a_script_needs_its_permission() -> None:
    scripted = replace(LINE, sync=SCRIPTED)
    plain = replace(LINE, sync=None)
    for stored, line, expected in (
        (None, LINE, {Permission.ADD_LINE}),
        (LINE, replace(LINE, path="/all"), {Permission.CHANGE_LINE}),
        (LINE, scripted, {Permission.CHANGE_LINE, Permission.EDIT_SCRIPT}),
        (scripted, plain, {Permission.CHANGE_LINE, Permission.EDIT_SCRIPT}),
        (scripted, replace(scripted, path="/all"), {Permission.CHANGE_LINE}),
        (None, scripted, {Permission.ADD_LINE, Permission.EDIT_SCRIPT}),
    ):
        for network in Network:
            needs = line_requirements(stored, line, network)
            assert {need.permission for need in needs} == expected


def test_files_at_other_origins_of_the_internal_network_need_its_permission() -> None:
    reported = [
        replace(LINE, sync=replace(PULL, job=replace(PULL.job, origins=origins)))
        for origins in (("http://10.0.0.7",), ("http://10.0.0.7", "http://10.0.0.8"))
    ]
    fewer, more = reported
    elsewhere = replace(fewer, configuration="shop")
    for stored, line, is_needed in (
        (None, fewer, True),
        (LINE, fewer, True),
        (fewer, more, True),
        (elsewhere, fewer, True),
        (more, fewer, False),
        (fewer, replace(fewer, path="/all"), False),
        (fewer, LINE, False),
    ):
        needs = {
            network: Permission.USE_INTERNAL_NETWORK
            in {need.permission for need in line_requirements(stored, line, network)}
            for network in Network
        }
        assert needs == {Network.INTERNAL: is_needed, Network.PUBLIC: False}


@pytest.mark.parametrize("lacking", [Permission.CHANGE_LINE, Permission.EDIT_SCRIPT])
def test_a_line_is_not_saved_without_each_permission(lacking: Permission) -> None:
    lines = Lines(LINE)
    values = line_values(replace(LINE, sync=SCRIPTED))
    with pytest.raises(ConfigError, match="you may not"):
        lines.save(values, LINE, allowed=EVERYTHING - {lacking})
    assert lines.office.registry.line("people") == LINE


def test_a_sample_runs_no_script_of_a_user_who_may_not_write_it() -> None:
    edit = LineEdit(LINE, replace(LINE, sync=SCRIPTED))
    with pytest.raises(ConfigError) as raised:
        edit.refuse_script({Permission.CHANGE_LINE}.__contains__)
    assert raised.value.field == "script"
    edit.refuse_script({Permission.EDIT_SCRIPT}.__contains__)
    LineEdit(LINE, LINE).refuse_script(frozenset().__contains__)


def test_a_line_does_to_records_what_its_direction_says() -> None:
    lookup = replace(PULL, mappings=(*PULL.mappings, LOOKUP))
    assert list(record_accesses(lookup)) == [
        RecordAccess("contact", ("view", "add", "change")),
        RecordAccess("person", ("view",), "fields[2].options.target"),
    ]
    assert list(record_accesses(PULL, dry_run=True)) == [
        RecordAccess("contact", ("view",))
    ]
    assert list(record_accesses(PUSH)) == [RecordAccess("contact", ("view",))]
    deleting = replace(PULL, gone=Gone.DELETE)
    assert list(record_accesses(deleting)) == [
        RecordAccess("contact", ("view", "add", "change", "delete"))
    ]


def test_a_line_with_children_needs_rights_on_them_too() -> None:
    children = Children("items", "item", ("order",), ("order",), (LOOKUP,))
    sync = replace(PULL, children=(children,))
    assert list(record_accesses(sync))[1:] == [
        RecordAccess("item", ("view", "add", "change", "delete"), "children[0].target"),
        RecordAccess("person", ("view",), "children[0].fields[0].options.target"),
    ]
    assert list(record_accesses(sync, dry_run=True))[1] == RecordAccess(
        "item", ("view",), "children[0].target"
    )


def test_a_line_needs_the_right_to_see_its_parents() -> None:
    lines = Lines(replace(LINE, name="people"))
    items = replace(PULL, target="item", for_each=ForEach("people"))
    rights = Rights("view item", "add item", "change item")
    registry = lines.office.registry
    with pytest.raises(ConfigError) as raised:
        refuse_forbidden(rights, items, registry)
    assert raised.value.field == "for_each.line"
    refuse_forbidden(rights, replace(items, for_each=ForEach("unknown")), registry)


def test_a_sample_needs_the_right_to_see_the_parents_and_no_target_yet() -> None:
    registry = Lines(replace(LINE, name="people")).office.registry
    items = replace(PULL, target="", for_each=ForEach("people"))
    with pytest.raises(ConfigError) as raised:
        refuse_hidden_parents(Rights("view item"), items, registry)
    assert raised.value.field == "for_each.line"
    target = registry.line("people").sync.target
    refuse_hidden_parents(Rights(f"view {target}"), items, registry)
    refuse_hidden_parents(
        Rights(), replace(items, for_each=ForEach("unknown")), registry
    )
    refuse_hidden_parents(Rights(), replace(items, for_each=ForEach()), registry)


def test_a_line_is_not_saved_for_records_that_its_user_may_not_write() -> None:
    lines = Lines()
    with pytest.raises(ConfigError) as raised:
        lines.save(line_values(LINE), rights=Rights("view contact"))
    assert raised.value.field == "target"
    with pytest.raises(UnknownConfiguration):
        lines.office.registry.line("people")


def test_the_target_of_a_lookup_is_refused_at_its_place() -> None:
    lookup = replace(PULL, mappings=(*PULL.mappings, LOOKUP))
    rights = Rights("view contact", "add contact", "change contact")
    with pytest.raises(ConfigError) as raised:
        refuse_forbidden(rights, lookup, Lines().office.registry)
    assert raised.value.field == "fields[2].options.target"
    refuse_forbidden(
        Rights("view contact"), PULL, Lines().office.registry, dry_run=True
    )


def test_a_line_that_could_never_run_is_not_saved() -> None:
    lines = Lines()
    unknown = FieldMapping("city", "city_that_the_host_has_not")
    wrong = replace(LINE, sync=replace(PULL, mappings=(*PULL.mappings, unknown)))
    with pytest.raises(ConfigError, match="field"):
        lines.save(line_values(wrong))
    with pytest.raises(UnknownConfiguration):
        lines.office.registry.line("people")


def test_a_line_on_a_form_is_found_and_everything_else_as_it_is_stored() -> None:
    other = replace(LINE, name="other")
    registry = memory_registry([configuration()], [LINE, other])
    draft = replace(LINE, path="/draft")
    override = WithLine(registry, draft)
    assert override.line("people") == draft
    assert override.line("other") == other
    assert override.get("acme") == registry.get("acme")


def test_a_restored_line_keeps_its_configuration_after_a_rename() -> None:
    office = Office(configuration(), configuration("other"))
    office.administration.save_line(LINE)
    (version,) = office.registry.line_versions("people")
    office.administration.rename("acme", "crm", at=version.at + 1)
    changed = replace(LINE, configuration="crm", path="/all")
    office.administration.save_line(changed)
    kept = replace(LINE, configuration="crm")
    assert restored_line(version, changed, office.registry) == kept
    # The old name may be that of another configuration by now.
    office.administration.rename("other", "acme", at=version.at + 2)
    assert restored_line(version, changed, office.registry) == kept


def test_a_restored_line_has_the_configuration_of_then_if_that_is_there() -> None:
    office = Office(configuration(), configuration("other"))
    office.administration.save_line(LINE)
    (version,) = office.registry.line_versions("people")
    moved = replace(LINE, configuration="other")
    office.administration.save_line(moved)
    assert restored_line(version, moved, office.registry) == LINE
    office.administration.remove("acme", office.settings)
    assert restored_line(version, moved, office.registry) == moved
