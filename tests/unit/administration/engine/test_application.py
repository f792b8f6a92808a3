"""What pages and commands get from an Application, whatever its host is."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.findings.posture import InstallationFacts
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing import dependents
from outkey.administration.engine.editing.editing import Edit
from outkey.administration.engine.editing.fixes import apply_fix
from outkey.administration.engine.watching.background import DAY
from outkey.administration.engine.watching.monitoring import has_monitored, open_notices
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    Sealed,
    TokenEndpointFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.hosts.cli.main import run
from outkey.hosts.command_host import CommandHost
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.diagnosis.evidence import Fix
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.exchange.scripts import try_script
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.forms.unsaved_lines import DocumentLines, WithLine
from outkey.testing import configuration
from outkey.testing.fakes.sync import MemoryRecords, MemoryRunRows, MemorySync
from unit.application_in_memory import FIELDS, MemoryHost, MemoryKeys, memory_host

SCRIPT = "def compute_auth_header(sync_line):\n    return {}\n"
OPEN = configuration(no_auth_reason="public_api")
LINES = """
[configuration.new]
base_url = "https://new.example"
no_auth_reason = "public_api"
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/contacts"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
[line.closed]
configuration = "new"
direction = "pull"
path = "/invoices"
target = "invoice"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
[line.ping]
configuration = "acme"
path = "/ping"
"""


def test_a_document_is_applied_tested_and_fixed_in_the_name_of_an_actor() -> None:
    host = memory_host(responses=[Response(200)])
    application = host.application
    administration = application.administration("ada")
    text = '[configuration.acme]\nbase_url = "https://api.acme.example"\n'
    document = parse_document(text + 'no_auth_reason = "public_api"')
    assert application.apply(administration, document, dry_run=False).created == (
        "acme",
    )
    assert administration.test(application.sender, "acme").ok
    fix = Fix("Use another path", (("verification.test_path", "/me"),))
    apply_fix(administration, application.sender.context, "acme", fix)
    assert host.registry.get("acme").verification.test_path == "/me"
    actors = {event.actor for event in host.audit.events if isinstance(event, Change)}
    assert actors == {"ada"}


def test_the_field_of_a_pair_is_looked_up_in_the_records_of_the_host() -> None:
    application = memory_host(configuration()).application
    document = parse_document("""
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/contacts"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }, { api = "name", host = "name" }]
[line."send contacts"]
configuration = "acme"
direction = "push"
target = "contact"
fields = [{ host = "name", api = "name" }]
create = { method = "POST", path = "/contacts" }
update = { method = "PATCH", path = "/contacts/{remote_id}" }
[pair.contacts]
pull = "contacts"
push = "send contacts"
conflict = "newest"
host_changed = "edited"
api_changed = "updated_at"
""")
    administration = application.administration("ada")
    with pytest.raises(ConfigError) as refused:
        application.apply(administration, document, dry_run=True)
    assert refused.value.field == "pair.contacts.host_changed"


def test_findings_and_the_doctor_look_at_the_same_configurations() -> None:
    application = memory_host(configuration()).application
    (finding,) = application.findings(application.registry.get("acme"))
    assert finding.id == "E-authentication_required"
    facts = InstallationFacts(application.clock.now(), application.policy())
    examined = application.doctor().examine(application.registry.all(), facts)
    assert "acme" in {name for name, _ in examined}


def test_an_empty_audit_is_clean_and_has_nothing_to_prune() -> None:
    application = memory_host().application
    administration = application.administration("ada")
    assert application.audit_trail.verify().ok
    assert list(application.audit_trail.prune(administration, 0.0)) == []
    assert application.audit_trail.count() == 0


def test_a_form_is_tried_before_it_is_saved() -> None:
    host = memory_host(responses=[Response(200)])
    host.world.scripts.answer = lambda _: {"X-Signed": "abc"}
    application = host.application
    administration = application.administration("ada")
    edit = Edit(None, configuration(no_auth_reason="public_api", script=SCRIPT))
    candidate = edit.candidate(application.secrets)
    shown = application.preview_candidate(administration, candidate)
    assert ("X-Signed", "***") in [header[:2] for header in shown.headers]
    trial = application.run_script(administration, candidate, None)
    assert trial.headers == (("X-Signed", 3),)
    tokens = host.world.ports.tokens
    assert application.begin_test(administration, candidate, tokens).run().ok
    application.save_edit(administration, edit, allowed=lambda _: True)
    stored = host.registry.get("acme")
    assert stored.script == SCRIPT
    assert try_script(application.sender.context, replace(stored, record="")).ok


def test_secrets_that_were_sent_and_the_route_are_known() -> None:
    host = memory_host(OPEN)
    response = Response(200, sent=(Secret("signature"),))
    sender = host.application.sender
    assert sent_secrets(sender.context, OPEN, response) == [Secret("signature")]
    assert sender.route_to(OPEN).addresses == ("93.184.215.14",)


def test_what_a_user_does_with_a_token_is_recorded_first() -> None:
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="erp",
    )
    host = memory_host(made, responses=[Response(404), Response(404)])
    application = host.application
    administration = application.administration("ada")
    administration.token(application.sender, "acme", Tag.TOKEN_FORGOTTEN).forget()
    assert [event.tag for event in host.audit.events if isinstance(event, Change)] == [
        Tag.TOKEN_FORGOTTEN
    ]
    assert application.sender.token_actions(made).status().state == "none"
    with pytest.raises(TokenEndpointFailed, match="no metadata"):
        application.discover("https://api.acme.example", Network.PUBLIC)


def lines_host() -> MemoryHost:
    host = memory_host(OPEN, responses=[Response(200, body=b"[]")])
    document = parse_document(LINES)
    host.registry.put_line(document.lines[0])
    return host


def test_lines_run_now_or_wait_in_the_queue() -> None:
    host = lines_host()
    *_, last = host.application.sync.runner().run("contacts", "ada")
    assert last.state is RunState.DONE
    queued = host.application.sync.planner().request("contacts", "ada")
    assert host.queue.runs == [queued.id]
    nothing_open = MemorySync(host.registry, {}, host.world.clock).records
    with pytest.raises(ConfigError, match="not open"):
        host.application.sync.planner(records=nothing_open).request("contacts", "ada")


class RecordsOfUser(MemoryRecords):
    """Records of a user who has some of the rights on them."""

    rights: tuple[str, ...] = ()

    def demand(self, target: str, *verbs: str) -> None:
        if not set(verbs) <= set(self.rights):
            raise ConfigError(Text("a permission is missing"), field="target")


def test_a_user_requests_a_run_only_with_the_rights_on_its_records() -> None:
    host = lines_host()
    application = host.application
    records = RecordsOfUser(FIELDS, MemoryRunRows(host.registry))
    with pytest.raises(ConfigError, match="permission"):
        application.request_run("contacts", "ada", records)
    records.rights = ("view",)
    with pytest.raises(ConfigError, match="permission"):
        application.request_run("contacts", "ada", records)
    trial = application.request_run("contacts", "ada", records, dry_run=True)
    records.rights = ("view", "add", "change")
    queued = application.request_run("contacts", "ada", records)
    assert host.queue.runs == [trial.id, queued.id]
    assert (trial.dry_run, queued.dry_run, queued.actor) == (True, False, "ada")


def test_a_user_requests_a_retry_only_with_the_rights_on_its_records() -> None:
    host = memory_host(
        OPEN, responses=[Response(200, body=b'[{"id": "1"}, {"id": []}]')]
    )
    host.registry.put_line(parse_document(LINES).lines[0])
    application = host.application
    *_, rejecting = application.sync.runner().run("contacts", "ada")
    assert rejecting.counts.failed == 1
    records = RecordsOfUser(FIELDS, MemoryRunRows(host.registry))
    with pytest.raises(ConfigError, match="permission"):
        application.sync.request_retry(rejecting.id, "ada", records)
    records.rights = ("view", "add", "change")
    queued = application.sync.request_retry(rejecting.id, "ada", records)
    assert host.queue.runs == [queued.id]
    assert (queued.retry_of, queued.actor) == (rejecting.id, "ada")


def test_who_requests_a_run_of_a_busy_line_learns_which_run_is_active() -> None:
    application = lines_host().application
    active = application.runs.begin("contacts", "ada", dry_run=False)
    with pytest.raises(LineBusy) as caught:
        application.sync.planner().request("contacts", "ben")
    assert caught.value.run == active.id
    assert application.runs.open_run_id("contacts", dry_run=True) == ""


def test_a_line_without_records_is_not_run() -> None:
    host = lines_host()
    host.registry.put_line(parse_document(LINES).lines[2])
    records = RecordsOfUser(FIELDS, MemoryRunRows(host.registry))
    with pytest.raises(ConfigError):
        host.application.request_run("ping", "ada", records)
    assert host.queue.runs == []


def test_a_host_learns_when_lines_run_next() -> None:
    host = lines_host()
    line = host.registry.line("contacts")
    assert line.sync is not None
    assert host.application.next_runs(["contacts"]) == {"contacts": None}
    hourly = replace(line.sync, schedule="0 * * * *")
    host.registry.put_line(replace(line, sync=hourly))
    now = host.world.clock.now()
    assert host.application.next_runs(["contacts"]) == {
        "contacts": now + 3600 - now % 3600
    }


def test_the_lines_of_a_document_are_checked_before_it_is_saved() -> None:
    findings = list(lines_host().application.lines.findings(parse_document(LINES)))
    places = [(name, finding.id, finding.field) for name, finding in findings]
    assert places == [("new", "L014", "line.closed.target")]


PULL_AND_PUSH = """
[line.orders]
configuration = "acme"
direction = "pull"
path = "/orders"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
[line."send orders"]
configuration = "acme"
direction = "push"
target = "contact"
remote_id = "id"
fields = [{ host = "name", api = "name" }]
create = { method = "POST", path = "/orders" }
update = { method = "PATCH", path = "/orders/{remote_id}" }
"""
PAIR = """
[pair.orders]
pull = "orders"
push = "send orders"
"""


def test_two_lines_that_write_the_same_file_are_reported() -> None:
    application = lines_host().application
    line = PULL_AND_PUSH.partition("[line.")[2].partition("[line.")[0]
    line = f"[line.{line}".replace('"contact"', '"file:same.csv"')
    document = parse_document(line + line.replace("line.orders", "line.others"))
    found = [finding for _, finding in application.lines.findings(document)]
    shared = [finding for finding in found if finding.id == "L024"]
    assert [finding.field for finding in shared] == [
        "line.orders.target",
        "line.others.target",
    ]
    assert "the line others writes" in str(shared[0].message)


def test_a_push_that_creates_what_a_pull_brought_is_warned_of() -> None:
    application = lines_host().application
    document = parse_document(PULL_AND_PUSH)
    ((name, finding),) = application.lines.findings(document)
    assert (name, finding.id, finding.field) == (
        "acme",
        "L040",
        "line.send orders.create",
    )
    assert "the line contacts brings" in str(finding.message)
    paired = parse_document(PULL_AND_PUSH + PAIR)
    assert list(application.lines.findings(paired)) == []


def test_an_unsaved_line_is_checked_with_the_stored_configuration() -> None:
    host = lines_host()
    records = MemorySync(host.registry, FIELDS, host.world.clock).records
    _, stray, _ = parse_document(LINES).lines
    unsaved = WithLine(host.registry, replace(stray, configuration="acme"))
    with pytest.raises(ConfigError, match="not open"):
        host.application.sync.runner(records, unsaved).check("closed")
    with pytest.raises(UnknownConfiguration):
        host.application.sync.runner(records, WithLine(host.registry, stray)).check(
            "closed"
        )


def test_a_line_of_a_removed_configuration_is_a_finding() -> None:
    document = parse_document(LINES.partition("[line.closed]")[0])
    lines = DocumentLines(memory_host().registry, document)
    with pytest.raises(UnknownConfiguration):
        lines.get("acme")
    with pytest.raises(UnknownConfiguration):
        lines.line("of no document")


def test_a_round_in_the_background_monitors_and_prunes() -> None:
    host = lines_host()
    application = host.application
    for _ in range(2):
        run = application.runs.begin("contacts", "ada", dry_run=False)
        application.runs.finish(replace(run, state=RunState.FAILED))
        host.world.clock.advance(application.policy().retention_days * DAY - 1)
    deleted: list[int] = []
    assert not has_monitored(application.states)
    assert open_notices(application.states) == []
    work = application.background_work(
        application.administration("outkey"),
        [],
        verify_hours=24,
        pause=lambda _seconds: True,
        delete_older_than=deleted.append,
    )
    work.round()
    assert has_monitored(application.states)
    assert deleted == [application.policy().retention_days]
    assert [stored.id for stored in application.runs.newest(9)] == [run.id]


# ── the command line for a host of one's own ──────────────────────────────────────────


def command_host(host: MemoryHost, home: Path) -> CommandHost:
    return CommandHost(
        open_application=lambda: host.application, home_folder=lambda: home
    )


def test_commands_serve_a_host_that_is_not_django(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    memory = memory_host(OPEN, responses=[Response(200), Response(200)])
    host = command_host(memory, tmp_path)
    assert run(["list", "--json"], host=host) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["acme"]
    assert run(["test", "acme"], host=host) == 0
    assert "acme works" in capsys.readouterr().out
    assert run(["preview", "acme", "/orders"], host=host) == 0
    assert "GET https://api.acme.example/orders" in capsys.readouterr().out
    assert run(["run", "list", "--json"], host=host) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["notices"], host=host) == 0
    assert "the background process of the application" in capsys.readouterr().out
    assert run(["doctor", "--json"], host=host) in {0, 2}
    assert json.loads(capsys.readouterr().out)["findings"]


@pytest.mark.parametrize(
    "command", [["serve"], ["worker"], ["people", "prune"], ["people", "export", "ada"]]
)
def test_a_command_that_a_host_does_not_have_is_refused(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(command, host=command_host(memory_host(), tmp_path)) == 2
    error = capsys.readouterr().err
    assert "error[configuration]: this application does not have this command" in error


def test_an_application_without_tables_says_so() -> None:
    host = memory_host()
    with pytest.raises(ConfigError, match="no tables"):
        host.application.sync.tables()
    application = with_tables(host.application)
    assert isinstance(application.sync.tables(), TableStore)


def with_tables(application: Application) -> Application:
    """Return an application that has tables, in other databases only."""
    named = NamedDatabases(dict, ReferencedSecrets().open_reference, SqliteFiles())
    tables = TableStore(MemoryStateRows(), None, named, str)
    ports = replace(application.sync_ports(), tables=tables)
    return replace(application, sync_ports=lambda: ports)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_document_with_a_database_that_outkey_must_not_open_saves_nothing(
    monkeypatch: pytest.MonkeyPatch, *, dry_run: bool
) -> None:
    application = with_tables(memory_host().application)
    monkeypatch.setenv("WAREHOUSE_URL", "mysql://u@h/d?local_infile=1")
    document = parse_document('[database.warehouse]\nurl = "env:WAREHOUSE_URL"')
    with pytest.raises(ConfigError, match="parameters") as refused:
        application.apply(application.administration("ada"), document, dry_run=dry_run)
    assert refused.value.field == "database.warehouse.url"
    assert not application.sync_settings.databases()


class LostKeys(MemoryKeys):
    """A ring that another one has replaced."""

    def ring(self, needed: str = "") -> Keyring:
        raise Sealed


def test_an_application_says_why_its_secrets_cannot_be_opened() -> None:
    application = memory_host().application
    assert application.sealing_error() is None
    lost = replace(application, keys=LostKeys(sealed=True))
    assert isinstance(lost.sealing_error(), Sealed)
    restored = replace(application, keys=MemoryKeys(sealed=True))
    assert restored.sealing_error() is None  # after it was found to be sealed


# ── what depends on what is deleted ─────────────────────────────────────────────────

PUSHED = """
[line.back]
configuration = "acme"
direction = "push"
target = "contact"
fields = [{ api = "id", host = "number" }]
[line.back.update]
method = "PATCH"
path = "/contacts/{remote_id}"
[pair.people]
pull = "contacts"
push = "back"
[webhook.shop]
scheme = "github"
configuration = "acme"
line = "other"
[line.other]
configuration = "acme"
direction = "pull"
path = "/others"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
"""


def test_what_is_deleted_with_a_configuration_or_a_line_is_named() -> None:
    host = memory_host(OPEN)
    application = host.application
    administration = application.administration("ada")
    document = parse_document(LINES + PUSHED)
    application.apply(administration, document, dry_run=False)
    application.runs.request("contacts", "ada")
    found = application.dependents(administration, configuration="acme")
    counts = [(line.name, line.runs) for line in found.lines]
    assert counts == [("back", 0), ("contacts", 1), ("other", 0), ("ping", 0)]
    assert (found.pairs, found.webhooks) == (("people",), ("shop",))
    of_line = application.dependents(administration, line="back")
    assert [line.name for line in of_line.lines] == ["back"]
    assert (of_line.pairs, of_line.webhooks) == (("people",), ())
    other = application.dependents(administration, configuration="new")
    assert (other.pairs, other.webhooks) == ((), ())


def test_runs_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependents, "MOST_COUNTED", 1)
    host = memory_host(OPEN)
    application = host.application
    administration = application.administration("ada")
    application.apply(administration, parse_document(LINES), dry_run=False)
    for _ in range(2):
        run = application.runs.request("contacts", "ada")
        application.runs.cancel(run.id)
    (line,) = application.dependents(administration, line="contacts").lines
    assert (line.runs, line.has_more_runs) == (1, True)


def test_without_webhooks_nothing_depends_on_them() -> None:
    host = memory_host(OPEN)
    administration = replace(
        host.application.administration("ada"), webhooks=lambda: None
    )
    found = host.application.dependents(administration, configuration="acme")
    assert found == dependents.Dependents((), (), ())


def test_a_process_that_stops_ends_what_runs_wait_for_in_other_databases() -> None:
    application = memory_host().application
    interrupted = []
    tables = SimpleNamespace(interrupt=lambda: interrupted.append(True))
    ports = replace(application.sync_ports(), tables=tables)  # type: ignore[arg-type]
    replace(application, sync_ports=lambda: ports).sync.interrupt()
    assert interrupted == [True]
    without = replace(ports, tables=None)
    replace(application, sync_ports=lambda: without).sync.interrupt()
    assert interrupted == [True]


def test_changes_of_tables_are_pruned_where_there_are_tables() -> None:
    application = memory_host().application
    pruned: list[float] = []
    tables = SimpleNamespace(prune_changes=pruned.append)
    ports = replace(application.sync_ports(), tables=tables)  # type: ignore[arg-type]
    replace(application, sync_ports=lambda: ports).sync.prune_changes(7.0)
    without = replace(ports, tables=None)
    replace(application, sync_ports=lambda: without).sync.prune_changes(8.0)
    assert pruned == [7.0]
