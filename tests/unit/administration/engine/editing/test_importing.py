"""Saving an import: all of it or nothing, secrets sealed, and only what is allowed."""

from collections.abc import Callable

import pytest

from outkey.administration.engine.editing.importing import taken_names
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.permission import Permission
from outkey.hosts.importing import read_import
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.line import SyncLine
from unit.application_in_memory import MemoryHost, memory_host

COMMAND = (
    "curl 'https://api.acme.example/v2/orders?api_key=8s7d6f5g4' -u svc:s3cr3t99"
    " -H 'X-Token: 9s8d7f6g5'"
)
AWS = (
    "curl --aws-sigv4 aws:amz:eu-west-1:s3 -u AK8S:s3cr3t99"
    " https://b.s3.eu-west-1.amazonaws.com/x"
)


def save(
    host: MemoryHost,
    text: str = COMMAND,
    allowed: Callable[[Permission], bool] = lambda _permission: True,
) -> list[str]:
    application = host.application
    return application.save_import(
        application.administration("tester"), read_import(text), allowed=allowed
    )


def test_configuration_secrets_and_lines_are_saved_and_noted() -> None:
    host = memory_host()
    assert save(host) == ["acme"]
    stored = host.registry.get("acme")
    assert sorted(stored.secrets) == ["header:X-Token", "password", "query:api_key"]
    assert all(state.reference is None for state in stored.secrets.values())
    assert host.registry.line("acme orders").path == "/orders"
    notes = [note for note in host.audit.events if isinstance(note, Change)]
    assert notes[0].tag is Tag.CONFIGURATION_CREATED
    assert (notes[-1].tag, notes[-1].fields) == (Tag.LINE_SAVED, ("acme orders",))
    assert "s3cr3t99" not in repr(notes)
    assert taken_names(host.registry) == {"acme"}


def test_what_outkey_sets_itself_is_reported_too() -> None:
    imported = read_import("curl https://api.acme.example/a -H 'X-Api-Key: s3cr3t99'")
    why = {item.item: item.why for item in imported.report}
    assert "Production" in why["environment"]


def test_a_chosen_name_is_that_of_the_configuration_and_begins_that_of_its_line() -> (
    None
):
    imported = read_import("curl http://127.0.0.1:9/orders", name="Acme shop")
    (configuration,) = imported.configurations
    (drafted,) = imported.lines
    assert configuration.draft.name == "Acme shop"
    assert drafted.line.name == "Acme shop orders"


def test_a_name_that_exists_is_refused_and_nothing_saved() -> None:
    host = memory_host()
    save(host)
    with pytest.raises(ConfigError, match="already exists"):
        save(host)
    other = memory_host()
    save(other, "curl https://other.example/x -u a:s3c9")
    other.registry.put_line(SyncLine("acme orders", "other", "GET", "/"))
    with pytest.raises(ConfigError, match="already exists"):
        save(other)
    with pytest.raises(UnknownConfiguration):
        other.registry.get("acme")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (COMMAND, Permission.SET_SECRET),
        (COMMAND, Permission.ADD),
        ("curl http://10.0.0.1/x -u a:s3c9", Permission.USE_INTERNAL_NETWORK),
        (AWS, Permission.SET_SECRET),
    ],
)
def test_what_a_user_may_not_do_is_refused(text: str, missing: Permission) -> None:
    host = memory_host()
    with pytest.raises(ConfigError, match="you may not"):
        save(host, text, lambda permission: permission is not missing)
    assert host.registry.all() == []


def test_lines_are_left_out_where_a_user_may_not_add_any() -> None:
    host = memory_host()
    save(host, COMMAND, lambda permission: permission is not Permission.ADD_LINE)
    assert host.registry.lines() == []


def test_a_signature_is_saved_as_an_authentication_type() -> None:
    host = memory_host()
    save(host, AWS)
    stored = host.registry.get("amazonaws")
    assert stored.signs_for_aws
    assert not stored.is_scripted
    assert list(stored.secrets) == ["secret_access_key"]
