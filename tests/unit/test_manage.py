import json

import pytest

from outkey.adapters.keyring import new_keyring
from outkey.adapters.permits_memory import MemoryPermits
from outkey.adapters.registry_memory import MemoryRegistry
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.secrets_stored import StoredSecrets
from outkey.core.audit import Change, Tag
from outkey.core.config import SecretState
from outkey.core.document import parse_document
from outkey.core.errors import (
    AuditUnavailable,
    ConfigError,
    Sealed,
    SecretMissing,
    SecretRebindRequired,
    SecretUnreadable,
)
from outkey.core.reference import parse_reference
from outkey.core.secret import Secret
from outkey.engine.egress import Egress
from outkey.engine.manage import Applied, Desk, apply, check_secret_field
from outkey.engine.send import Sender
from outkey.testing import FakeClock, MemoryAudit

DOCUMENT = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
headers = [{ key = "X-API-Key", value = "env:ACME_KEY" }]
[configuration.other]
base_url = "https://other.example"
no_auth_reason = "public_api"
[line.orders]
configuration = "acme"
path = "/orders"
"""


class Office:
    """A registry with what is needed to manage it."""

    def __init__(self) -> None:
        self.registry, self.clock = MemoryRegistry(), FakeClock()
        self.ring = new_keyring()
        self.secrets = StoredSecrets(
            self.registry, ReferencedSecrets(), lambda: self.ring, self.clock
        )
        self.audit = MemoryAudit()
        self.desk = Desk(self.registry, self.secrets, self.audit, "tester")
        permits = MemoryPermits(self.clock)
        self.sender = Sender(self.secrets, self.clock, permits, Egress(), lambda: 0.5)

    def apply(self, text: str, *, dry_run: bool = False) -> Applied:
        return apply(self.desk, self.sender, parse_document(text), dry_run=dry_run)


def test_a_document_creates_then_changes_nothing_then_updates() -> None:
    office = Office()
    first = office.apply(DOCUMENT)
    assert (first.created, first.updated, first.unchanged) == (("acme", "other"), (), ())
    again = office.apply(DOCUMENT)
    assert (again.created, again.updated, again.unchanged) == ((), (), ("acme", "other"))
    changed = office.apply('[configuration.acme]\nnotes = "new"')
    assert changed.updated == ("acme",)
    kept = office.registry.get("acme")
    assert (kept.notes, kept.version) == ("new", 2)
    assert set(kept.secrets) == {"token", "header:X-API-Key"}
    assert office.registry.line("orders").path == "/orders"


def test_missing_references_are_findings_and_not_errors() -> None:
    findings = Office().apply(DOCUMENT).findings
    assert [(name, f.id, f.field) for name, f in findings] == [
        ("acme", "E-secret_missing", "token"),
        ("acme", "E-secret_missing", "header:X-API-Key"),
    ]


def test_a_dry_run_keeps_nothing() -> None:
    office = Office()
    assert office.apply(DOCUMENT, dry_run=True).created == ("acme", "other")
    assert office.registry.all() == []


def test_nothing_is_kept_of_a_document_that_is_wrong_somewhere() -> None:
    office = Office()
    with pytest.raises(ConfigError, match="configuration bad"):
        office.apply(DOCUMENT + '[configuration.bad]\nbase_url = "nonsense"')
    with pytest.raises(ConfigError) as caught:
        office.apply(DOCUMENT + '[line.stray]\nconfiguration = "nobody"')
    assert caught.value.field == "line.stray.configuration"
    assert office.registry.all() == []


def test_a_line_may_name_a_configuration_that_is_stored() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.apply('[line.more]\nconfiguration = "other"')
    assert office.registry.line("more").configuration == "other"


def test_a_secret_that_was_set_is_kept_through_changes_and_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.secrets.replace(office.registry.get("acme"), "token", Secret("canary"))
    office.apply('[configuration.acme]\nnotes = "new"')
    kept = office.registry.get("acme")
    assert kept.secrets["token"] == SecretState(
        "https://api.acme.example:443", version=2, set_at=1_800_000_000.0
    )
    assert office.secrets.open(kept, "token") == Secret("canary")
    assert "canary" not in json.dumps([repr(kept), repr(vars(office.registry))])
    office.apply('[configuration.acme]\ntoken = "env:OTHER_TOKEN"')
    monkeypatch.setenv("OTHER_TOKEN", "by reference")
    assert office.secrets.open(office.registry.get("acme"), "token") == Secret("by reference")


def test_a_new_address_needs_the_secret_again() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.secrets.replace(office.registry.get("acme"), "token", Secret("canary"))
    findings = office.apply('[configuration.acme]\nbase_url = "https://evil.example"').findings
    assert ("acme", "E-secret_rebind_required") in [(name, f.id) for name, f in findings]
    with pytest.raises(SecretRebindRequired):
        office.sender.open(office.registry.get("acme"), "token")
    office.secrets.replace(office.registry.get("acme"), "token", Secret("new"))
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("new")


def test_two_ciphertexts_that_were_swapped_do_not_open() -> None:
    office = Office()
    office.apply(DOCUMENT)
    for field in ("token", "password"):
        office.secrets.replace(office.registry.get("acme"), field, Secret(field))
    kept = office.registry.get("acme")
    token, password = (office.registry.sealed(kept, f) for f in ("token", "password"))
    office.registry.put_secret("acme", "token", kept.secrets["token"], password)
    office.registry.put_secret("acme", "password", kept.secrets["password"], token)
    for field in ("token", "password"):
        with pytest.raises(SecretUnreadable):
            office.secrets.open(office.registry.get("acme"), field)


def test_a_ring_that_is_not_there_leaves_secrets_closed_and_unchanged() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.secrets.replace(office.registry.get("acme"), "token", Secret("x"))
    right, office.ring = office.ring, new_keyring()
    with pytest.raises(Sealed):
        office.secrets.open(office.registry.get("acme"), "token")
    office.ring = right
    assert office.secrets.open(office.registry.get("acme"), "token") == Secret("x")


def test_a_state_without_its_ciphertext_is_a_missing_secret() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.registry.put_secret("acme", "token", SecretState("https://api.acme.example:443"), None)
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), "token")


def test_a_reference_is_set_for_the_address_of_now() -> None:
    office = Office()
    office.apply(DOCUMENT)
    reference = parse_reference("env:X", field="token")
    office.desk.set_reference("acme", "token", reference)
    state = office.registry.get("acme").secrets["token"]
    assert (state.reference, state.origin) == (reference, "https://api.acme.example:443")


@pytest.mark.parametrize("field", ["token", "password", "client_key", "header:X-API-Key"])
def test_secrets_of_the_table_and_of_rows_can_be_set(field: str) -> None:
    office = Office()
    office.apply(DOCUMENT)
    check_secret_field(office.registry.get("acme"), field)
    with pytest.raises(ConfigError, match="no such secret") as caught:
        check_secret_field(office.registry.get("other"), "header:X-API-Key")
    assert "password" in caught.value.hint


def test_every_change_is_recorded_first_with_names_and_without_values() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.apply('[configuration.acme]\nnotes = "canary"\ntoken = "env:OTHER"\nheaders = []')
    office.desk.set_secret("acme", "password", Secret("canary"))
    office.desk.remove("other")
    assert office.audit.events == [
        Change(Tag.CONFIGURATION_CREATED, "tester", "acme"),
        Change(Tag.CONFIGURATION_CREATED, "tester", "other"),
        Change(Tag.CONFIGURATION_UPDATED, "tester", "acme", ("notes", "headers", "token")),
        Change(Tag.SECRET_SET, "tester", "acme", ("password",)),
        Change(Tag.CONFIGURATION_REMOVED, "tester", "other"),
    ]
    assert "canary" not in repr(office.audit.events)


def test_what_cannot_be_recorded_is_not_done() -> None:
    office = Office()
    office.apply(DOCUMENT)
    before = office.registry.all()
    office.audit.broken = True
    for change in (
        lambda: office.apply('[configuration.acme]\nnotes = "new"'),
        lambda: office.desk.set_secret("acme", "token", Secret("x")),
        lambda: office.desk.set_reference("acme", "token", parse_reference("env:X", field="f")),
        lambda: office.desk.remove("acme"),
    ):
        with pytest.raises(AuditUnavailable):
            change()
    assert office.registry.all() == before
