"""A configuration that is renamed stays the same one; and what a preset creates."""

import pytest

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.watching.activity import Activity, ActivityFilter
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.chain import CHANGE, ChainRow, Label
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import line_row
from outkey.testing import configuration
from unit.application_in_memory import MemoryHost, memory_host

OPEN = configuration(no_auth_reason="public_api")
OTHER = configuration("other", no_auth_reason="public_api")


def renamed(host: MemoryHost, new_name: str = "crm", at: float = 7.0) -> None:
    host.application.administration("ada").rename("acme", new_name, at)


def record_changes(host: MemoryHost, *changes: tuple[str, int]) -> None:
    """Record changes of these configurations at these times in ms."""
    for number, (name, at) in enumerate(changes, start=1):
        label = Label(at=at, configuration=name, kind=CHANGE)
        body = f'{{"at":{at},"tag":"api:configuration:updated"}}'.encode()
        host.application.audit_trail.rows.append(
            [ChainRow("s", number, body, b"", label)]
        )


def history_of(host: MemoryHost, name: str, limit: int = 10) -> list[object]:
    """Return when the listed changes of a configuration were recorded."""
    chosen = ActivityFilter(
        configuration=name, former_names=host.registry.get(name).former_names
    )
    activity = Activity(host.application.audit_trail.rows)
    page = activity.records(CHANGE, chosen, limit)
    return [record["at"] for record in page.records]


def test_a_renamed_configuration_keeps_its_record_secrets_and_lines() -> None:
    host = memory_host()
    administration = host.application.administration("ada")
    made = configuration(authentication_type="bearer")
    administration.save(ConfigurationChange(None, made))
    administration.set_secret("acme", "token", Secret("abc"))
    administration.save_lines([SyncLine("orders", "acme", "GET", "/orders")])
    before = host.registry.get("acme")
    renamed(host)
    after = host.registry.get("crm")
    assert after.record == before.record
    assert after.secrets.keys() == {"token"}
    assert after.former_names == (("acme", 7.0),)
    assert host.registry.line("orders").configuration == "crm"
    with pytest.raises(UnknownConfiguration):
        host.registry.get("acme")
    opened = host.application.secrets.open(after, "token")
    assert opened == Secret("abc")


def test_both_names_are_recorded() -> None:
    host = memory_host(OPEN)
    renamed(host)
    assert host.audit.events == [
        Change(
            Tag.CONFIGURATION_RENAMED,
            "ada",
            name,
            ("name",),
            changes=(("name", "acme", "crm"),),
        )
        for name in ("acme", "crm")
    ]


def test_a_later_edit_keeps_the_former_names() -> None:
    host = memory_host(OPEN)
    renamed(host)
    row = host.registry._row("crm")
    edited = row.after_edit(configuration("crm", notes="x"))
    assert edited.configuration({}).former_names == (("acme", 7.0),)


@pytest.mark.parametrize("name", ["", "other", "x" * 201])
def test_a_name_that_is_taken_or_invalid_is_refused(name: str) -> None:
    host = memory_host(OPEN, OTHER)
    with pytest.raises(ConfigError):
        renamed(host, name)
    assert host.registry.get("acme").former_names == ()


def test_what_does_not_exist_cannot_be_renamed() -> None:
    with pytest.raises(UnknownConfiguration):
        renamed(memory_host())


def test_the_history_follows_the_configuration_and_not_the_name() -> None:
    host = memory_host(OPEN)
    renamed(host, at=2.0)
    record_changes(host, ("acme", 1000), ("crm", 3000), ("acme", 4000))
    assert history_of(host, "crm") == [3000, 1000]
    assert history_of(host, "crm", limit=1) == [3000]


def test_the_history_is_not_that_of_another_one_that_had_the_name_before() -> None:
    host = memory_host(OPEN)
    renamed(host, at=2.0)
    record_changes(host, ("crm", 1000), ("crm", 2000), ("crm", 3000))
    assert history_of(host, "crm") == [3000, 2000]


def test_a_record_that_was_tampered_with_does_not_end_the_history() -> None:
    host = memory_host(OPEN)
    label = Label(at=1000, configuration="acme", kind=CHANGE)
    row = ChainRow("s", 1, b'{"at":"x","tag":"y"}', b"", label)
    host.application.audit_trail.rows.append([row])
    assert history_of(host, "acme") == ["x"]


def test_a_preset_creates_a_configuration_whose_secrets_follow() -> None:
    host = memory_host()
    preset = host.application.presets.get("stripe")
    administration = host.application.administration("ada")
    made = host.application.create_from_preset(
        administration, "billing", preset, preset.method(), {}
    )
    assert (made.name, made.preset) == ("billing", "stripe")
    with pytest.raises(ConfigError):
        host.application.create_from_preset(
            administration, "billing", preset, preset.method(), {}
        )
    assert line_row(SyncLine("a", "billing", "GET", "/")).configuration == "billing"


def test_the_same_name_changes_nothing() -> None:
    host = memory_host(OPEN)
    renamed(host, "acme")
    assert host.registry.get("acme").former_names == ()
    assert host.audit.events == []
