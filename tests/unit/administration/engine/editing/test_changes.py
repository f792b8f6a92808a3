import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.administration.core.policy.parsing import parse_policy
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.applying import Applied, apply, warnings_error
from outkey.administration.engine.editing.changes import (
    ConfigurationChange,
    check_secret_field,
    destinations_of,
)
from outkey.administration.engine.watching.audit_trail import (
    AuditTrail,
    ChainCheck,
    ExpiredRows,
    last_chain_check,
    note_chain_check,
)
from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    AuditUnavailable,
    AuthenticationRequired,
    BackendUnavailable,
    BlockedByPolicy,
    ChainBroken,
    ConfigError,
    EgressDenied,
    HeaderConflict,
    OutkeyError,
    Sealed,
    SecretMissing,
    SecretRebindRequired,
    SecretUnreadable,
    UnknownConfiguration,
)
from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.audit.audit_chained import ChainedAudit
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.audit.chain import (
    AuditStream,
    ChainRow,
    ChainVerdict,
    Label,
    verify,
)
from outkey.sending.core.audit.changed_values import configuration_changes
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import QueryParameter
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.configuration.reference import (
    Reference,
    Store,
    parse_reference,
)
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.core.vault import voucher
from outkey.sending.core.vault.versions import SecretLabel, SecretVersion
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.egress import Egress
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import LineRow
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.testing import (
    FakeClock,
    FixedRing,
    MemoryAudit,
    MemoryAuditRows,
    MemoryCheckpoints,
    configuration,
    fake_gateway,
)
from outkey.testing.fakes.basic import FakeScripts
from outkey.testing.fakes.storage import (
    MemoryLineRows,
    MemorySecretRows,
    MemoryStorage,
    memory_registry,
    memory_storage,
)

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
LINES_OF_PAIR = """
direction = "pull"
target = "contact"
keys = ["number"]
fields = [{ api = "number", host = "number" }]
[line."send orders"]
configuration = "acme"
direction = "push"
target = "contact"
update = { method = "PATCH", path = "/orders/{remote_id}" }
fields = [{ api = "number", host = "number" }]
"""


class Office:
    """A registry with what is needed to manage it."""

    def __init__(
        self, *configurations: Configuration, storage: MemoryStorage | None = None
    ) -> None:
        self.clock = FakeClock()
        self.storage = storage or memory_storage()
        self.registry = memory_registry(configurations, storage=self.storage)
        self.keys = FixedRing(new_keyring())
        self.secrets = StoredSecrets(
            self.storage, ReferencedSecrets(), self.keys, self.clock
        )
        self.audit = MemoryAudit()
        self.administration = Administration(
            self.registry, self.secrets, self.audit, "tester"
        )
        self.settings = SyncSettings(MemoryStateRows())
        permits = LeasedPermits(MemoryStateRows(), self.clock.monotonic)
        self.sender = SendContext(
            self.secrets,
            self.clock,
            permits,
            Egress(),
            lambda: 0.5,
            MemoryTokens(self.clock.now),
            JoseSigner(),
            FakeScripts(),
            PathsOnDemand(),
        )

    def apply(
        self, text: str, *, dry_run: bool = False, replaces: bool = False
    ) -> Applied:
        return apply(
            self.administration,
            self.sender,
            parse_document(text),
            settings=self.settings,
            dry_run=dry_run,
            replaces=replaces,
        )


def sealed_secrets(office: Office) -> list[SecretVersion]:
    rows = office.storage.secrets.sealed_by_others("", 10)
    return [row for row in rows if row.place.field != voucher.VOUCHER_FIELD]


def test_a_document_creates_then_changes_nothing_then_updates() -> None:
    office = Office()
    first = office.apply(DOCUMENT)
    assert (first.created, first.updated, first.unchanged) == (
        ("acme", "other"),
        (),
        (),
    )
    again = office.apply(DOCUMENT)
    assert (again.created, again.updated, again.unchanged) == (
        (),
        (),
        ("acme", "other"),
    )
    changed = office.apply('[configuration.acme]\nnotes = "new"')
    assert changed.updated == ("acme",)
    kept = office.registry.get("acme")
    assert (kept.notes, kept.version) == ("new", 2)
    assert set(kept.secrets) == {"token", "header:X-API-Key"}
    assert office.registry.line("orders").path == "/orders"


def test_a_line_that_is_applied_is_recorded_and_one_that_stays_is_not() -> None:
    office = Office()
    for _ in range(2):
        office.apply(DOCUMENT)
    kept = [
        e
        for e in office.audit.events
        if isinstance(e, Change) and e.tag is Tag.LINE_SAVED
    ]
    assert [(change.configuration, change.fields) for change in kept] == [
        ("acme", ("orders",))
    ]


def test_missing_references_are_findings_and_not_errors() -> None:
    findings = Office().apply(DOCUMENT).findings
    assert [(name, f.id, f.field) for name, f in findings] == [
        ("acme", "E-secret_missing", "token"),
        ("acme", "E-secret_missing", "header:X-API-Key"),
    ]


def test_a_line_whose_script_cannot_work_is_not_applied() -> None:
    office = Office()
    line = """
[line.pulled]
configuration = "acme"
path = "/"
direction = "pull"
target = "t"
keys = ["k"]
fields = [{ api = "a", host = "k" }]
"""
    with pytest.raises(ConfigError, match="line 1"):
        office.apply(DOCUMENT + line + 'script = "def transform(record: return record"')
    assert office.registry.lines() == []
    script = "def transform(record): return record"
    office.apply(DOCUMENT + line + f'script = "{script}"')
    kept = office.registry.line("pulled").sync
    assert kept is not None
    assert kept.script == script


ROW = 'headers = [{ key = "Authorization" }]'
UNSAVABLE = [
    ('base_url = "http://bad.example"\nauthentication_type = "bearer"', EgressDenied),
    (
        'base_url = "https://[::ffff:169.254.169.254]"\nauthentication_type = "bearer"',
        EgressDenied,
    ),
    ('base_url = "https://bad.example"', AuthenticationRequired),
    (
        f'base_url = "https://bad.example"\nauthentication_type = "bearer"\n{ROW}',
        HeaderConflict,
    ),
]


@pytest.mark.parametrize(("text", "error"), UNSAVABLE)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_can_never_be_sent_refuses_the_whole_document(
    text: str, error: type[OutkeyError], *, dry_run: bool
) -> None:
    office = Office()
    with pytest.raises(error, match="configuration bad: ") as caught:
        office.apply(f"{DOCUMENT}[configuration.bad]\n{text}", dry_run=dry_run)
    assert caught.value.field
    assert office.registry.all() == office.registry.lines() == office.audit.events == []


def test_a_desk_saves_nothing_that_can_never_be_sent() -> None:
    office = Office(configuration(base_url="http://api.acme.example"))
    stored = office.registry.get("acme")
    with pytest.raises(AuthenticationRequired):
        office.administration.save(
            ConfigurationChange(stored, replace(stored, notes="changed"))
        )
    assert (office.registry.get("acme").notes, office.audit.events) == ("", [])


def test_what_was_saved_before_can_be_corrected_given_a_secret_and_deleted() -> None:
    before = configuration(
        authentication_type="bearer", base_url="http://api.acme.example"
    )
    office = Office(before, replace(before, name="shop"))
    office.administration.set_secret("acme", "token", Secret("t"))
    corrected = office.apply(
        '[configuration.acme]\nbase_url = "https://api.acme.example"'
    )
    assert corrected.updated == ("acme",)
    office.administration.remove("shop", office.settings)
    assert [made.name for made in office.registry.all()] == ["acme"]


def test_a_missing_secret_is_a_warning_of_apply() -> None:
    findings = Office().apply(DOCUMENT).findings
    assert {finding.level for _, finding in findings} == {Level.WARNING}
    error = warnings_error(findings)
    assert error is not None
    assert error.message == "nothing was saved because of 2 warnings"


def test_a_notice_and_a_configuration_that_is_off_are_no_warnings() -> None:
    off = (
        '[configuration.a]\nbase_url = "https://a.example"\nno_auth_reason ='
        ' "public_api"\n'
    )
    findings = Office().apply(off + "active = false").findings
    assert [finding.id for _, finding in findings] == ["E-inactive"]
    notice = Finding("N001", Level.NOTICE, "something was removed")
    assert warnings_error([*findings, ("a", notice)]) is None
    one = warnings_error([("a", replace(notice, level=Level.WARNING))])
    assert one is not None
    assert one.message == "nothing was saved because of a warning"


def test_a_dry_run_keeps_nothing() -> None:
    office = Office()
    planned = office.apply(DOCUMENT, dry_run=True)
    assert (planned.created, planned.lines["created"]) == (
        ("acme", "other"),
        ("orders",),
    )
    assert (office.registry.all(), office.registry.lines()) == ([], [])


def test_lines_are_told_apart_and_only_what_changed_is_kept() -> None:
    class WrittenLines(MemoryLineRows):
        def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
            written.append(after.name if after else "")
            return super().swap(before, after)

    written: list[str] = []
    lines = WrittenLines()
    office = Office(storage=memory_storage(lines=lines))
    first = office.apply(DOCUMENT).lines
    assert first == {"created": ("orders",), "updated": (), "unchanged": ()}
    more = DOCUMENT + '[line.more]\nconfiguration = "other"'
    again = office.apply(more).lines
    assert again == {"created": ("more",), "updated": (), "unchanged": ("orders",)}
    assert office.apply(more.replace('"/orders"', '"/new"')).lines["updated"] == (
        "orders",
    )
    unreadable = replace(lines.rows["more"], sync={"target": 1})
    lines.rows["more"] = unreadable
    assert office.apply(more).lines["updated"] == ("orders", "more")
    assert written == ["orders", "more", "orders", "orders", "more"]


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
    office.administration.set_secret("acme", "token", Secret("canary"))
    office.apply('[configuration.acme]\nnotes = "new"')
    kept = office.registry.get("acme")
    assert kept.secrets["token"] == SecretState(
        "https://api.acme.example:443",
        version=2,
        set_at=1_800_000_000.0,
        set_by="tester",
    )
    assert office.secrets.open(kept, "token") == Secret("canary")
    assert "canary" not in json.dumps(
        [repr(kept), repr(vars(office.registry)), repr(office.storage.secrets.rows)]
    )
    monkeypatch.setenv("OTHER_TOKEN", "by reference")
    office.apply('[configuration.acme]\ntoken = "env:OTHER_TOKEN"')
    assert office.secrets.open(office.registry.get("acme"), "token") == Secret(
        "by reference"
    )


def test_a_new_address_needs_the_secret_again() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("canary"))
    findings = office.apply(
        '[configuration.acme]\nbase_url = "https://evil.example"'
    ).findings
    assert ("acme", "E-secret_rebind_required") in [
        (name, f.id) for name, f in findings
    ]
    with pytest.raises(SecretRebindRequired):
        office.sender.open(office.registry.get("acme"), "token")
    office.administration.set_secret("acme", "token", Secret("new"))
    assert office.sender.open(office.registry.get("acme"), "token") == Secret("new")


def test_two_ciphertexts_that_were_swapped_do_not_open() -> None:
    office = Office()
    office.apply(DOCUMENT)
    for field in ("token", "password"):
        office.administration.set_secret("acme", field, Secret(field))
    one, two = sealed_secrets(office)
    office.storage.secrets.swap(one, replace(one, sealed=two.sealed))
    office.storage.secrets.swap(two, replace(two, sealed=one.sealed))
    for field in ("token", "password"):
        with pytest.raises(SecretUnreadable):
            office.secrets.open(office.registry.get("acme"), field)


def test_a_ring_that_is_not_there_leaves_secrets_closed_and_unchanged() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("x"))
    right, office.keys.kept = office.keys.kept, new_keyring()
    with pytest.raises(Sealed):
        office.secrets.open(office.registry.get("acme"), "token")
    office.keys.kept = right
    assert office.secrets.open(office.registry.get("acme"), "token") == Secret("x")


def test_a_state_without_its_ciphertext_is_a_missing_secret() -> None:
    office = Office()
    office.apply(DOCUMENT)
    state = SecretState("https://api.acme.example:443", version=2)
    office.registry.put_reference(office.registry.get("acme"), "token", state)
    office.registry.note_secrets_changed("acme")
    office.secrets.vouch(office.registry.get("acme"), {"token"})
    office.registry.note_vouched("acme")
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), "token")


def test_a_reference_is_set_for_the_address_of_now() -> None:
    office = Office()
    office.apply(DOCUMENT)
    reference = parse_reference("env:X", field="token")
    office.administration.set_reference("acme", "token", reference)
    state = office.registry.get("acme").secrets["token"]
    assert (state.reference, state.origin) == (
        reference,
        "https://api.acme.example:443",
    )


def test_a_reference_that_the_policy_blocks_is_refused_and_the_old_one_stays() -> None:
    office = Office()
    office.apply(DOCUMENT)
    policy = parse_policy('[production]\nblocking = ["P-key-as-reference"]')
    administration = Administration(
        office.registry, office.secrets, office.audit, "tester", lambda: policy
    )
    noted = len(office.audit.events)
    with pytest.raises(BlockedByPolicy):
        administration.set_reference(
            "acme", "token", parse_reference("env:sk_live_51H8abc", field="token")
        )
    assert office.registry.get("acme").secrets["token"].reference == Reference(
        Store.ENV, "ACME_TOKEN"
    )
    assert len(office.audit.events) == noted


@pytest.mark.parametrize(
    "field", ["token", "password", "client_key", "header:X-API-Key"]
)
def test_secrets_of_the_table_and_of_rows_can_be_set(field: str) -> None:
    office = Office()
    office.apply(DOCUMENT)
    check_secret_field(office.registry.get("acme"), field)
    with pytest.raises(ConfigError, match="no such secret") as caught:
        check_secret_field(office.registry.get("other"), "header:X-API-Key")
    assert str(caught.value.hint).count(" private_key,") == 1


@pytest.mark.parametrize("mask", ["***", " *** ", "Bearer ***", "••••••", "*"])
def test_a_mask_is_never_stored_as_a_secret(mask: str) -> None:
    office = Office()
    office.apply(DOCUMENT)
    before = office.registry.get("acme").secrets
    with pytest.raises(ConfigError, match="a mask"):
        office.administration.set_secret("acme", "token", Secret(mask))
    assert office.registry.get("acme").secrets == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("token", ""),
        ("password", "x" * 70_000),
        ("token", "a\nb"),
        ("token", "t\u00f6k"),
        ("header:X-API-Key", "a\nb"),
    ],
)
def test_a_value_that_could_never_be_sent_does_not_replace_one_that_can(
    field: str, value: str
) -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", field, Secret("good"))
    with pytest.raises(ConfigError):
        office.administration.set_secret("acme", field, Secret(value))
    assert office.secrets.open(office.registry.get("acme"), field) == Secret("good")


def test_a_change_of_the_query_is_recorded_by_its_name() -> None:
    before = configuration()
    after = configuration(query=(QueryParameter("a", "1", secret=False),))
    assert list(configuration_changes(before, after)) == [FieldChange("query")]


def test_the_password_of_a_proxy_is_entered_for_the_proxy() -> None:
    assert destinations_of("proxy_password") == {"proxy.url"}


def test_a_reference_that_cannot_be_read_does_not_replace_an_entered_value() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("entered"))
    applied = office.apply(DOCUMENT)
    found = [(name, f.id, f.field) for name, f in applied.findings]
    assert ("acme", "W010", "token") in found
    assert applied.unchanged == ("acme", "other")
    stored = office.registry.get("acme")
    assert office.secrets.open(stored, "token") == Secret("entered")


def test_a_store_that_does_not_respond_does_not_replace_an_entered_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_nothing(*_arguments: object) -> Secret:
        raise BackendUnavailable

    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("entered"))
    monkeypatch.setattr(ReferencedSecrets, "open", open_nothing)
    applied = office.apply(DOCUMENT)
    assert ("acme", "W010", "token") in {
        (name, finding.id, finding.field) for name, finding in applied.findings
    }
    stored = office.registry.get("acme")
    assert office.secrets.open(stored, "token") == Secret("entered")


def test_a_reference_that_replaces_an_entered_value_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "by reference")
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("entered"))
    found = [
        (name, f.id, f.field)
        for name, f in office.apply(DOCUMENT, dry_run=True).findings
    ]
    assert ("acme", "W006", "token") in found
    assert ("acme", "W006", "header:X-API-Key") not in found


def test_a_value_that_cannot_be_read_back_never_takes_the_place_of_one_that_can() -> (
    None
):
    class ForgetfulRows(MemorySecretRows):
        """Rows that lose a pending version, or its ciphertext."""

        loses: Callable[[SecretVersion], list[SecretVersion]] = staticmethod(
            lambda version: [version]
        )

        def read(
            self, records: Collection[str], field: str = ""
        ) -> list[SecretVersion]:
            return [
                row
                for version in super().read(records, field)
                for row in (
                    self.loses(version)
                    if version.label == SecretLabel.PENDING
                    else [version]
                )
            ]

    secrets = ForgetfulRows()
    office = Office(storage=memory_storage(secrets=secrets))
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("good"))
    for loses in (lambda _: [], lambda version: [replace(version, sealed=None)]):
        secrets.loses = loses
        with pytest.raises(SecretUnreadable):
            office.administration.set_secret("acme", "token", Secret("lost"))
    assert office.secrets.open(office.registry.get("acme"), "token") == Secret("good")


def test_many_changes_are_kept_some_at_a_time_and_counted(
    pytestconfig: pytest.Config,
) -> None:
    office, steps = Office(), list[int]()
    expected = [100, 100, 50] if pytestconfig.getoption("--full") else [100, 20]
    text = "\n".join(
        f'[configuration.c{n}]\nbase_url = "https://a.example"\nno_auth_reason ='
        ' "public_api"'
        for n in range(sum(expected))
    )
    done = apply(
        office.administration,
        office.sender,
        parse_document(text),
        settings=office.settings,
        dry_run=False,
        progress=steps.append,
    )
    assert len(done.created) == sum(expected)
    assert steps == expected


def test_old_records_are_pruned_under_a_tombstone_that_the_verifier_accepts() -> None:
    clock, rows, checkpoints = FakeClock(), MemoryAuditRows(), MemoryCheckpoints()
    audit = ChainedAudit(rows, checkpoints, clock, key_id="k", key=b"k" * 32)
    office = Office()
    administration = Administration(office.registry, office.secrets, audit, "tester")
    administration.note(Tag.KEY_ADDED)
    audit.close()
    clock.advance(1000)
    trail = AuditTrail(rows, checkpoints, lambda _: b"k" * 32)
    pruned = sum(trail.prune(administration, clock.now() - 500))
    audit.close()
    assert pruned == 1
    (left,) = rows.read()
    assert b"audit:records:pruned" in left.body
    marks = {"checkpoints": checkpoints.read(), "tombstones": rows.tombstones.values()}
    assert verify(rows.read(), lambda _: b"k" * 32, **marks).ok  # type: ignore[arg-type]
    assert not verify(
        rows.read(), lambda _: b"k" * 32, checkpoints=checkpoints.read(), tombstones=()
    ).ok


def test_a_machine_notes_the_streams_of_others_once_and_misses_them_later() -> None:
    clock, rows, elsewhere = FakeClock(), MemoryAuditRows(), MemoryCheckpoints()
    keys = {"k": b"k" * 32}
    for _ in range(2):
        audit = ChainedAudit(rows, elsewhere, clock, key_id="k", key=keys["k"])
        audit.note(Change(Tag.KEY_ADDED, "tester"))
        audit.close()
    lost = ChainedAudit(rows, elsewhere, clock, key_id="lost", key=b"l" * 32)
    lost.note(Change(Tag.KEY_ADDED, "tester"))
    here = MemoryCheckpoints()
    trail = AuditTrail(rows, here, keys.get)
    AuditTrail(MemoryAuditRows(), here, keys.get).note_streams()
    assert here.marks == [], "there is no stream yet"
    trail.note_streams()
    trail.note_streams()
    assert len(here.marks) == 2, "a stream whose key is unknown cannot be verified"
    del rows.rows[2]
    assert trail.verify().without_checkpoint == ()
    del rows.rows[1]
    assert "is missing" in str(trail.verify().first_bad)


def test_a_verification_names_a_stream_without_a_checkpoint_once() -> None:
    clock, rows, elsewhere = FakeClock(), MemoryAuditRows(), MemoryCheckpoints()
    audit = ChainedAudit(rows, elsewhere, clock, key_id="k", key=b"k" * 32)
    audit.note(Change(Tag.KEY_ADDED, "tester"))
    here = MemoryCheckpoints()
    trail = AuditTrail(rows, here, lambda _: b"k" * 32)
    here.broken = True
    trail.note_verified(trail.verify())
    here.broken = False
    verdict = trail.verify()
    assert len(verdict.without_checkpoint) == 1
    trail.note_verified(replace(verdict, ok=False))
    assert here.marks == []
    trail.note_verified(verdict)
    assert trail.verify().without_checkpoint == ()
    trail.note_verified(trail.verify())
    assert len(here.marks) == 1


def test_a_broken_chain_is_not_pruned_away() -> None:
    clock, rows, checkpoints = FakeClock(), MemoryAuditRows(), MemoryCheckpoints()
    audit = ChainedAudit(rows, checkpoints, clock, key_id="k", key=b"k" * 32)
    office = Office()
    administration = Administration(office.registry, office.secrets, audit, "tester")
    administration.note(Tag.KEY_ADDED)
    audit.close()
    rows.rows[0] = rows.rows[0]._replace(number=10**6)
    trail = AuditTrail(rows, checkpoints, lambda _: b"k" * 32)
    pruning = trail.prune(administration, clock.now() + 500)
    with pytest.raises(ChainBroken):
        next(pruning)
    assert len(rows.rows) == 1


def test_a_stream_is_expired_up_to_its_first_record_that_is_not() -> None:
    rows = [
        ChainRow(stream, number, json.dumps({"at": at}).encode(), b"", Label())
        for stream, moments in {
            "k.a": (1, 2, 30, 4),
            "k.b": (1, 2, 3),
            "k.c": (1, 2, 3, 4),
            "k.d": (50,),
        }.items()
        for number, at in enumerate(moments, start=1)
    ]
    expired = ExpiredRows(10, 2)
    assert list(expired(rows)) == rows
    last_rows = [(row.stream, row.number, row.body) for row in expired.last_rows()]
    assert last_rows == [
        ("k.a", 2, b""),
        ("k.b", 2, b""),
        ("k.b", 3, b""),
        ("k.c", 2, b""),
        ("k.c", 4, b""),
    ]


def test_a_table_with_changed_times_prunes_no_younger_record() -> None:
    class Changed(MemoryAuditRows):
        """A table whose times were set back."""

        def streams(self) -> Iterator[AuditStream]:
            return (replace(stream, oldest_at=0) for stream in super().streams())

    clock, rows, checkpoints = FakeClock(), Changed(), MemoryCheckpoints()
    audit = ChainedAudit(rows, checkpoints, clock, key_id="k", key=b"k" * 32)
    administration = replace(Office().administration, audit=audit)
    administration.note(Tag.AUDIT_EXPORTED)

    def prune() -> int:
        trail = AuditTrail(rows, checkpoints, lambda _: b"k" * 32)
        return trail.prune_expired(administration, clock.now() - 500)

    assert prune() == 0
    assert len(rows.rows) == 2, "the record that was there, and that of the pruning"
    clock.advance(1000)
    assert prune() == 2
    assert len(rows.rows) == 1, "that of the second pruning, which was not verified"


def test_a_pause_is_ended_with_a_record_and_only_where_there_is_one() -> None:
    office = Office(configuration())
    assert not office.administration.resume("acme")
    assert office.audit.events == []
    office.registry.note_refused("acme", office.registry.get("acme").revision)
    office.registry.pause("acme", 1.0)
    assert office.administration.resume("acme")
    assert not office.registry.get("acme").paused
    assert office.audit.events == [
        Change(Tag.CONFIGURATION_UPDATED, "tester", "acme", ("paused_at",))
    ]
    with pytest.raises(UnknownConfiguration):
        office.administration.resume("nobody")


def test_a_saved_line_has_its_old_and_new_values() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.save_line(SyncLine("more", "acme", "GET", "/more"))
    office.administration.save_line(SyncLine("more", "acme", "POST", "/other"))
    changes = (("method", "GET", "POST"), ("path", "/more", "/other"))
    assert office.audit.events[-1] == Change(
        Tag.LINE_SAVED, "tester", "acme", ("more",), changes=changes
    )


def test_a_secret_that_had_a_value_is_replaced() -> None:
    office = Office()
    office.apply(DOCUMENT)
    for _ in range(2):
        office.administration.set_secret("acme", "password", Secret("canary"))
    effects = [event.effect for event in office.audit.events[-2:]]  # type: ignore[union-attr]
    assert effects == ["created", "replaced"]


FOR_USERS = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.acme.oauth2]
grant = "token_exchange"
token_url = "https://id.acme.example/token"
client_id = "erp"
subject_token_from = "caller"
"""
LINE = '[line.orders]\nconfiguration = "acme"\npath = "/orders"\n'


def test_a_configuration_for_users_gets_no_line() -> None:
    office = Office()
    with pytest.raises(ConfigError, match="sent for users") as caught:
        office.apply(FOR_USERS + LINE)
    assert caught.value.field == "line.orders.configuration"
    office.apply(FOR_USERS)
    line = SyncLine("orders", "acme", "GET", "/orders")
    with pytest.raises(ConfigError, match="sent for users"):
        office.administration.save_line(line)
    with pytest.raises(ConfigError, match="sent for users"):
        office.administration.save_lines([line])
    assert office.registry.timetable() == []


def test_a_configuration_with_lines_cannot_be_turned_into_one_for_users() -> None:
    office = Office()
    office.apply(DOCUMENT)
    with pytest.raises(ConfigError, match="sent for users") as caught:
        office.apply(FOR_USERS)
    assert caught.value.field == "line.orders.configuration"
    assert not office.registry.get("acme").needs_subject
    office.apply(FOR_USERS.replace("acme", "users"))  # another one has no line


def test_a_line_is_kept_and_removed_with_a_record() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.save_line(SyncLine("more", "acme", "GET", "/more"))
    office.administration.remove_line("more", office.settings)
    with pytest.raises(UnknownConfiguration):
        office.administration.save_line(SyncLine("stray", "nobody", "GET", "/"))
    assert office.audit.events[-2:] == [
        Change(Tag.LINE_SAVED, "tester", "acme", ("more",), effect="created"),
        Change(Tag.LINE_REMOVED, "tester", "acme", ("more",)),
    ]


def test_a_cleared_secret_is_missing_until_another_is_set() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.administration.set_secret("acme", "token", Secret("x"))
    office.administration.clear_secret("acme", "token")
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), "token")
    assert office.audit.events[-1] == Change(
        Tag.SECRET_CLEARED, "tester", "acme", ("token",)
    )


def test_a_ciphertext_that_does_not_open_is_named_and_stops_no_rotation() -> None:
    office = Office()
    office.apply(DOCUMENT)
    for field in ("token", "password"):
        office.administration.set_secret("acme", field, Secret(field))
    kept = office.registry.get("acme")
    row, _ = sealed_secrets(office)
    assert row.sealed
    spoilt = row.sealed[:30] + b"spoilt" + row.sealed[36:]
    office.storage.secrets.swap(row, replace(row, sealed=spoilt))
    ring, key = office.keys.kept.add()
    office.keys.kept = ring.promote(key.name)
    steps = office.secrets.rewrap()
    assert next(steps) == 1, "the other secret; vouchers are not counted"
    with pytest.raises(
        SecretUnreadable, match=f"1 secret .* {row.place.field} of {kept.record}"
    ):
        next(steps)
    assert office.storage.secrets.key_uses(vouchers=True)[key.name] == 3
    assert office.storage.secrets.key_uses()[key.name] == 1


def test_a_test_is_recorded_and_its_end_kept() -> None:
    made = configuration(no_auth_reason="public_api", authentication_type="none")
    status = [200]
    registry = memory_registry([made])
    world = fake_gateway(
        responses=lambda _: Response(status[0], ResponseHeaders(), b""),
        registry=registry,
    )
    administration = Administration(registry, Office().secrets, world.audit, "tester")
    assert administration.test(world.sender, "acme").ok
    seen = {"tls": "TLSv1.3", "certificate_ends": None, "clock_offset": 0}
    assert registry.summaries()[0].health == Health(
        1_800_000_000.0, 1_800_000_000.0, current=True, seen=seen
    )
    status[0] = 503
    assert administration.test(world.sender, "acme").cause == "server_error"
    assert registry.summaries()[0].health.cause == "server_error"
    assert world.audit.events[0] == Change(Tag.CONFIGURATION_TESTED, "tester", "acme")


def test_every_change_is_recorded_first_with_names_and_without_values() -> None:
    office = Office()
    office.apply(DOCUMENT)
    office.apply(
        '[configuration.acme]\nnotes = "canary"\ntoken = "env:OTHER"\nheaders = []'
    )
    office.administration.set_secret("acme", "password", Secret("canary"))
    office.administration.remove("other", office.settings)
    assert office.audit.events == [
        Change(Tag.CONFIGURATION_CREATED, "tester", "acme"),
        Change(Tag.CONFIGURATION_CREATED, "tester", "other"),
        Change(Tag.LINE_SAVED, "tester", "acme", ("orders",), effect="created"),
        Change(
            Tag.CONFIGURATION_UPDATED,
            "tester",
            "acme",
            fields=("notes", "headers", "token"),
            changes=(("notes", "", ""), ("headers", "", ""), ("token", "", "")),
        ),
        Change(Tag.SECRET_SET, "tester", "acme", ("password",), effect="created"),
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
        lambda: office.administration.set_secret("acme", "token", Secret("x")),
        lambda: office.administration.set_reference(
            "acme", "token", parse_reference("env:X", field="f")
        ),
        lambda: office.administration.remove("acme", office.settings),
    ):
        with pytest.raises(AuditUnavailable):
            change()
    assert office.registry.all() == before


@pytest.mark.parametrize(
    ("count", "hint"),
    [(0, "Known: none."), (2, "Known: a00, a01."), (12, "a08, a09 and 2 more.")],
)
def test_an_unknown_name_is_told_some_that_are_known(count: int, hint: str) -> None:
    names = [f"a{number:02}" for number in range(count)]
    with pytest.raises(UnknownConfiguration) as refused:
        memory_registry([configuration(name) for name in names]).get("nobody")
    assert refused.value.hint.endswith(hint)


def test_databases_and_pairs_of_a_document_are_saved_and_audited_once() -> None:
    office = Office()
    text = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
[pair.orders]
pull = "orders"
push = "send orders"
"""
    office.apply(DOCUMENT + LINES_OF_PAIR)
    office.audit.events.clear()
    dry = office.apply(text, dry_run=True)
    assert (dry.databases["created"], dry.pairs["created"]) == (
        ("warehouse",),
        ("orders",),
    )
    assert (office.settings.databases(), office.settings.pairs()) == ({}, {})
    office.apply(text)
    changed = office.apply(text.replace("WAREHOUSE_URL", "OTHER_URL"))
    assert changed.databases["updated"] == ("warehouse",)
    assert changed.pairs["unchanged"] == ("orders",)
    assert office.settings.databases()["warehouse"].url == "env:OTHER_URL"
    tags = [event.tag for event in office.audit.events if isinstance(event, Change)]
    assert tags == [Tag.DATABASE_SAVED, Tag.PAIR_SAVED, Tag.DATABASE_SAVED]
    settings = office.settings
    written = render([], [], settings.databases().values(), settings.pairs().values())
    again = office.apply(written)
    assert again.databases["unchanged"] == ("warehouse",)
    assert again.pairs["unchanged"] == ("orders",)


def test_the_last_check_of_the_chain_is_remembered_for_those_who_look_later() -> None:
    states = MemoryStateRows()
    assert last_chain_check(states) is None
    verdict = ChainVerdict(ok=True, rows=1, first_bad=None, unprotected_tail=0)
    note_chain_check(states, verdict, 5.0)
    assert last_chain_check(states) == ChainCheck(5.0, ok=True)


WHOLE_LINE = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "basic"
username = "user"
[line.orders]
configuration = "acme"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""
BARE_LINE = """
[line.orders]
configuration = "acme"
path = "/orders"
"""


def warned(applied: Applied) -> list[str]:
    return [f.message for _, f in applied.findings if f.id == "W011"]


def test_a_line_whose_keys_a_document_does_not_name_is_not_changed() -> None:
    office = Office()
    assert warned(office.apply(WHOLE_LINE)) == []
    before = office.registry.line("orders")
    with pytest.raises(ConfigError) as refused:
        office.apply(BARE_LINE)
    assert refused.value.field == "line.orders"
    assert refused.value.message == (
        "the document names [line.orders] without direction, target, keys, fields:"
        " applying it would remove them"
    )
    assert "--replace" in refused.value.hint
    assert office.registry.line("orders") == before


def test_a_dry_run_lists_what_a_document_would_remove() -> None:
    office = Office()
    office.apply(WHOLE_LINE)
    applied = office.apply(BARE_LINE, dry_run=True)
    (message,) = warned(applied)
    assert "[line.orders] without direction, target, keys, fields" in message
    assert warnings_error(applied.findings) is not None


def test_a_document_that_replaces_removes_what_it_does_not_name() -> None:
    office = Office()
    office.apply(WHOLE_LINE)
    assert warned(office.apply(BARE_LINE, replaces=True)) == []
    assert office.registry.line("orders").sync is None


@pytest.mark.parametrize(
    ("old", "new", "removed"),
    [
        ('schedule = "@daily"\n', "", "schedule"),
        ('schedule = "@daily"\n', 'schedule = ""\n', ""),
        ('path = "/orders"', "", "path"),
        ('path = "/orders"', 'path = "/"', ""),
        ('path = "/orders"', 'path = "/all"', ""),
        ('method = "POST"\n', "", "method"),
        ('fields = [{ api = "id"', 'fields = [{ api = "other"', ""),
    ],
)
def test_a_key_that_a_document_names_replaces_what_is_stored(
    old: str, new: str, removed: str
) -> None:
    line = WHOLE_LINE + 'schedule = "@daily"\nmethod = "POST"\n'
    office = Office()
    office.apply(line)
    assert old in line
    changed = line.replace(old, new)
    if not removed:
        office.apply(changed)
        return
    with pytest.raises(ConfigError, match=rf"without {removed}: applying"):
        office.apply(changed)


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ('[database.store]\nurl = "env:STORE_URL"', 'adopt = ["orders"]'),
        ('[pair.both]\npull = "orders"\npush = "back"', 'conflict = "host"'),
    ],
)
def test_what_a_document_removes_of_other_sections_is_a_warning(
    section: str, key: str
) -> None:
    push = """
[line.back]
configuration = "acme"
direction = "push"
target = "table:orders"
fields = [{ api = "id", host = "id" }]
[line.back.create]
method = "POST"
path = "/orders"
[line.back.update]
method = "PATCH"
path = "/orders/{remote_id}"
"""
    office = Office()
    office.apply(f"{WHOLE_LINE}{push}{section}\n{key}\n")
    assert warned(office.apply(push)) == []
    place = section.partition("]")[0][1:]
    message = f"the document names [{place}] without {key.split(maxsplit=1)[0]}, and"
    for dry_run in (True, False):
        (warning,) = warned(office.apply(section, dry_run=dry_run))
        assert warning.startswith(message)
    assert warned(office.apply(section)) == []
    office.apply(f"{section}\n{key}\n")
    assert warned(office.apply(section, replaces=True)) == []


def test_a_line_that_was_only_a_request_may_stay_one() -> None:
    office = Office()
    office.apply(WHOLE_LINE.partition("[line")[0] + BARE_LINE)
    findings = office.apply(BARE_LINE.replace("/orders", "/all")).findings
    assert "W011" not in [f.id for _, f in findings]
