"""What a limited user or token sees of an installation, and what it changes there."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.findings.monitoring import LineRun, Notice
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.administration.engine.access.limited_application import (
    LimitedLineRuns,
    limited,
)
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    ScopeMissing,
    SecretUnreadable,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.owners import EVERYTHING, Reach
from outkey.sync.core.line.line import ForEach, SyncLine
from outkey.sync.core.pairs.section import Pair
from outkey.sync.core.run.run import RejectedRecord, RunState
from outkey.sync.ports.sync import RunOrder, RunQuery
from outkey.testing import configuration
from outkey.testing.fakes.monitoring import MemoryLineRuns
from outkey.webhooks.core.settings.settings import Webhook
from unit.application_in_memory import MemoryHost, memory_host
from unit.sync.engine.pull.test_sync_run import PULL

OWNERS = ("north", "south", "")
NORTH = Reach(owners=frozenset({"north"}))
TABLE = replace(PULL, target="table:contacts")


def name_of(owner: str) -> str:
    return f"books of {owner or 'all'}"


def prepared() -> MemoryHost:
    """Return a host with a configuration, line and webhook of each owner."""
    made = [
        configuration(name_of(owner), no_auth_reason="public_api", owner=owner)
        for owner in OWNERS
    ]
    host = memory_host(*made)
    application = host.application
    for owner in OWNERS:
        name = name_of(owner)
        host.registry.put_line(SyncLine(f"line of {owner}", name, "GET", "/", PULL))
        application.webhooks.inbox().settings.put([hook(f"hook of {owner}", owner)])
        application.states.put(
            StateKind.NOTICE,
            {owner: Notice(Condition("S-volume", name), opened_at=1.0).state()},
        )
    return host


def seen_by(host: MemoryHost, *owners: str) -> Application:
    return limited(host.application, Reach(owners=frozenset(owners)))


def hook(name: str, owner: str) -> Webhook:
    line = f"line of {owner}"
    return Webhook(name, "github", configuration=name_of(owner), line=line)


def names(found: Iterable[object]) -> list[str]:
    return [getattr(each, "name", str(each)) for each in found]


# ── configurations ──────────────────────────────────────────────────────────────────


def test_without_a_limit_it_is_the_same_application() -> None:
    application = prepared().application
    assert limited(application, EVERYTHING) is application


def test_only_configurations_of_the_owners_are_found() -> None:
    registry = seen_by(prepared(), "north").registry
    own, other, shared = map(name_of, OWNERS)
    assert names(registry.summaries()) == [own]
    assert names(registry.all()) == [own]
    assert [*registry.find([own, other, shared])] == [own]
    assert registry.get(own).owner == "north"
    for name in (other, shared, "none"):
        with pytest.raises(UnknownConfiguration) as caught:
            registry.get(name)
        assert "south" not in str(caught.value.hint)


def test_a_token_for_certain_configurations_finds_these() -> None:
    host = prepared()
    record = host.registry.get("books of south").record
    reach = Reach(records=frozenset({record}))
    registry = limited(host.application, reach).registry
    assert names(registry.summaries()) == ["books of south"]
    assert registry.names_of([record]) == {record: "books of south"}


def test_an_owner_that_is_no_text_is_the_owner_of_nobody() -> None:
    host = prepared()
    rows = host.registry.line_rows
    assert len(rows.find()) == 3
    storage = host.registry._storage.configurations
    (row,) = storage.find(names=["books of north"])
    odd = replace(row, settings={**row.settings, "owner": ["north"]})
    storage.swap(row, odd)
    assert seen_by(host, "north").registry.all() == []


def test_what_is_created_gets_the_owner() -> None:
    host = prepared()
    administration = seen_by(host, "north").administration("ann")
    made = configuration("new", no_auth_reason="public_api")
    administration.save(ConfigurationChange(None, made))
    assert host.registry.get("new").owner == "north"


@pytest.mark.parametrize("owner", ["south", "other"])
def test_nothing_is_created_or_moved_to_another_owner(owner: str) -> None:
    host = prepared()
    application = seen_by(host, "north")
    administration = application.administration("ann")
    made = configuration("new", no_auth_reason="public_api", owner=owner)
    stored = application.registry.get("books of north")
    moved = replace(stored, owner=owner)
    for change in (
        ConfigurationChange(None, made),
        ConfigurationChange(stored, moved),
    ):
        with pytest.raises(ScopeMissing):
            administration.save(change)
    # Nor past the administration.
    with pytest.raises(ScopeMissing):
        application.registry.add(made)
    with pytest.raises(ScopeMissing):
        application.registry.put_settings(moved)
    assert host.registry.get("books of north").owner == "north"
    assert "new" not in host.registry.find(["new"])


def test_the_name_of_anothers_configuration_is_taken() -> None:
    host = prepared()
    administration = seen_by(host, "north").administration("ann")
    made = configuration("books of south", no_auth_reason="public_api")
    with pytest.raises(ConfigError, match="already exists"):
        administration.save(ConfigurationChange(None, made))
    assert host.registry.get("books of south").owner == "south"


# ── lines and runs ──────────────────────────────────────────────────────────────────


def test_only_lines_of_the_owners_are_found() -> None:
    host = prepared()
    registry = seen_by(host, "north").registry
    assert names(registry.lines()) == ["line of north"]
    assert names(registry.timetable()) == ["line of north"]
    assert len(registry.line_versions("line of north")) == 1
    assert registry.line_versions("line of south") == []
    with pytest.raises(UnknownConfiguration):
        registry.line("line of south")


def test_many_lines_are_found_by_all_names_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sync.engine.limited_rows.FEW_NAMES", 1)
    registry = seen_by(prepared(), "north").registry
    assert names(registry.lines()) == ["line of north"]


def test_no_line_of_another_configuration_is_saved() -> None:
    host = prepared()
    application = seen_by(host, "north")
    stored = host.registry.line("line of south")
    taken = replace(TABLE_LINE, name="line of south")
    for line in (replace(stored, path="/x"), taken):
        with pytest.raises(ConfigError):
            application.administration("ann").save_line(line)
    rows = application.registry.line_rows
    (row,) = host.registry.line_rows.find(["line of south"])
    with pytest.raises(ScopeMissing):
        rows.swap(row, None)
    (version,) = host.registry.line_versions("line of south")
    assert not rows.add_version(version, oldest=1)
    assert host.registry.line("line of south") == stored


TABLE_LINE = SyncLine("mine", "books of north", "GET", "/", TABLE)


def test_a_line_uses_tables_that_no_other_owner_has() -> None:
    host = prepared()
    application = seen_by(host, "north")
    administration = application.administration("ann")
    administration.save_line(TABLE_LINE)
    host.registry.put_line(
        replace(
            TABLE_LINE,
            name="theirs",
            configuration="books of south",
            sync=replace(TABLE, target="table:Theirs"),
        )
    )
    for target in ("table:theirs", "contact", "table:other.contacts"):
        line = replace(TABLE_LINE, sync=replace(TABLE, target=target))
        with pytest.raises(BlockedByPolicy):
            administration.save_line(line)
        with pytest.raises(BlockedByPolicy):
            application.lines.preview(line, "ann", application.sync.runner())
        with pytest.raises(BlockedByPolicy):
            application.lines.sample(line, "ann", application.sync.runner())
        with pytest.raises(BlockedByPolicy):
            application.lines.suggest(line, "ann")


def test_no_other_owners_records_are_parents() -> None:
    host = prepared()
    parents = replace(TABLE, for_each=ForEach(line="line of south"))
    administration = seen_by(host, "north").administration("ann")
    with pytest.raises(UnknownConfiguration, match="no sync line"):
        administration.save_line(replace(TABLE_LINE, sync=parents))


def test_a_line_without_records_uses_none() -> None:
    host = prepared()
    call = replace(TABLE_LINE, sync=None)
    seen_by(host, "north").administration("ann").save_line(call)
    assert host.registry.line("mine").sync is None


def runs_of_all(host: MemoryHost) -> dict[str, str]:
    """Return the id of a run of each owner's line, which has rejected a record."""
    application = host.application
    ids = {}
    for owner in OWNERS:
        run = application.request_run(f"line of {owner}", "ann")
        application.runs._rows.put_rejected(
            run.id, 1, [RejectedRecord(1, "key", "", ConfigError().message)]
        )
        ids[owner] = run.id
    return ids


def test_only_runs_of_the_owners_are_found() -> None:
    host = prepared()
    ids = runs_of_all(host)
    runs = seen_by(host, "north").runs
    assert [run.id for run in runs.newest(10)] == [ids["north"]]
    assert [run.id for run in runs.newest(10, "line of north")] == [ids["north"]]
    assert [*runs.newest(10, "line of south")] == []
    assert runs.get(ids["north"]).line == "line of north"
    assert len(runs.rejected(ids["north"], 5)) == 1
    for number in (ids["south"], "", "77"):
        with pytest.raises(ConfigError, match="no such run"):
            runs.get(number)


def test_runs_are_in_the_order_of_the_query() -> None:
    host = prepared()
    ids = runs_of_all(host)
    rows = seen_by(host, "north", "south").runs._rows
    wanted = [ids["north"], ids["south"]]
    found = {
        order: [run.id for run in rows.find(RunQuery(order=order))]
        for order in RunOrder
    }
    assert found[RunOrder.OLDEST] == found[RunOrder.DUE] == wanted
    assert found[RunOrder.NEWEST] == wanted[::-1]
    assert [run.id for run in rows.find(RunQuery(limit=1))] == [ids["south"]]


def test_no_run_of_another_owner_is_changed() -> None:
    host = prepared()
    ids = runs_of_all(host)
    runs = seen_by(host, "north").runs
    with pytest.raises(ConfigError, match="no such run"):
        runs.cancel(ids["south"])
    foreign = host.application.runs.get(ids["south"])
    with pytest.raises(ScopeMissing):
        runs._rows.swap(foreign, None)
    for number in (ids["south"], ""):
        with pytest.raises(ConfigError, match="no such run"):
            runs._rows.put_rejected(number, 1, ())
        with pytest.raises(ConfigError, match="no such run"):
            runs._rows.rejected(number, 1)
    assert runs.cancel(ids["north"]).state is RunState.CANCELLED
    runs._rows.put_rejected(ids["north"], 1, ())
    assert [*runs.rejected(ids["north"], 5)] == []


def test_the_last_runs_are_those_of_the_owners() -> None:
    host = prepared()
    ids = runs_of_all(host)
    latest = MemoryLineRuns()
    latest.runs = [
        LineRun(name_of(owner), host.application.runs.get(ids[owner]))
        for owner in OWNERS
    ]
    registry = seen_by(host, "north").registry
    (only,) = LimitedLineRuns(latest, registry).latest()
    assert only.configuration == "books of north"


# ── shared states ───────────────────────────────────────────────────────────────────


def test_webhooks_and_notices_of_others_are_not_there() -> None:
    application = seen_by(prepared(), "north")
    assert [*application.webhooks.stored()] == ["hook of north"]
    assert names(shown.stored for shown in application.webhooks.overviews()) == [
        "hook of north"
    ]
    (notice,) = open_notices(application.states)
    assert notice.condition.configuration == "books of north"
    with pytest.raises(UnknownConfiguration):
        application.webhooks.inbox().newest("hook of south")
    assert application.webhooks.refused("hook of south") == {}


def test_webhooks_are_made_changed_and_deleted() -> None:
    host = prepared()
    application = seen_by(host, "north")
    changes = application.webhooks.administration(application.administration("ann"))
    webhook = hook("new", "north")
    changes.save_seen(None, webhook, names_references=False)
    application.webhooks.inbox().settings.set_paused("new", is_paused=True)
    assert host.application.webhooks.stored()["new"].is_paused
    changes.remove("new")
    assert "new" not in host.application.webhooks.stored()


@pytest.mark.parametrize("name", ["hook of south", "hook of ", "new"])
@pytest.mark.parametrize("owner", ["north", "south", ""])
def test_no_webhook_of_another_owner_is_made_or_replaced(name: str, owner: str) -> None:
    if (name, owner) == ("new", "north"):
        return  # its own
    host = prepared()
    before = host.application.webhooks.stored()
    settings = seen_by(host, "north").webhooks.inbox().settings
    webhook = hook(name, owner)
    with pytest.raises((ScopeMissing, ConfigError)):
        settings.put_seen(None, webhook, names_references=False)
    with pytest.raises((ScopeMissing, ConfigError)):
        settings.put([webhook])
    with pytest.raises((ScopeMissing, ConfigError)):
        settings.put([Webhook("of nobody", "github", line="line of north")])
    assert host.application.webhooks.stored() == before


def test_pairs_belong_to_the_owner_of_both_lines() -> None:
    host = prepared()
    settings = host.application.sync_settings
    host.registry.put_line(replace(TABLE_LINE, name="second"))
    settings.put((), [Pair("mine", "line of north", "second")])
    settings.put((), [Pair("mixed", "line of north", "line of south")])
    application = seen_by(host, "north")
    assert [*application.sync_settings.pairs()] == ["mine"]
    with pytest.raises(ScopeMissing):
        application.sync_settings.remove_pairs(["mixed"])
    with pytest.raises(ScopeMissing):
        application.sync_settings.put((), [Pair("x", "line of north", "line of south")])
    application.sync_settings.remove_pairs(["mine"])
    assert [*settings.pairs()] == ["mixed"]


def test_lines_are_paused_by_their_owners() -> None:
    host = prepared()
    application = seen_by(host, "north")
    states = host.application.states
    states.put(StateKind.PAUSED_LINE, {"line of south": {"at": 1.0}})
    application.runs.pause_line("line of north")
    assert application.runs.paused_lines() == {"line of north"}
    for foreign in ("line of south", "line of "):
        with pytest.raises(ScopeMissing):
            application.runs.resume_lines(foreign)
        with pytest.raises(ScopeMissing):
            application.runs.pause_line(foreign)
    assert [*states.read(StateKind.PAUSED_LINE)] == ["line of south", "line of north"]


def test_a_line_is_deleted_with_its_states() -> None:
    host = prepared()
    application = seen_by(host, "north")
    administration = application.administration("ann")
    administration.save_line(TABLE_LINE)
    application.runs.pause_line("mine")
    application.lines.remove(administration, "mine")
    assert host.application.states.read(StateKind.PAUSED_LINE) == {}


def test_what_another_owner_uses_is_neither_renamed_nor_deleted() -> None:
    host = prepared()
    whole = host.application
    application = seen_by(host, "north")
    administration = application.administration("ann")
    administration.save_line(TABLE_LINE)
    settings = application.sync_settings
    users = [
        lambda: whole.webhooks.inbox().settings.put(
            [Webhook("global", "github", line="mine")]
        ),
        lambda: whole.sync_settings.put((), [Pair("mixed", "mine", "line of south")]),
        lambda: host.registry.put_line(
            replace(
                host.registry.line("line of south"),
                sync=replace(PULL, for_each=ForEach(line="mine")),
            )
        ),
    ]
    undo = [
        lambda: whole.webhooks.inbox().settings.remove("global"),
        lambda: whole.sync_settings.remove_pairs(["mixed"]),
        lambda: host.registry.remove_line("line of south"),
    ]
    for use, end in zip(users, undo, strict=True):
        use()
        with pytest.raises(ConfigError, match="another owner uses it"):
            administration.remove_line("mine", settings)
        with pytest.raises(ConfigError, match="another owner uses it"):
            administration.rename_line("mine", "other", settings, lambda: None)
        end()
    administration.rename("books of north", "books", 1.0)
    administration.rename_line("mine", "other", settings, lambda: None)
    administration.remove_line("other", settings)


def test_what_belongs_to_the_whole_installation_is_not_there() -> None:
    host = prepared()
    states = host.application.states
    states.put(StateKind.MARK, {"verification": {"at": 1.0, "ok": True}})
    states.put(StateKind.HOLD, {"hold": {}})
    seen = seen_by(host, "north")
    assert seen.states.read(StateKind.MARK) == {}
    assert seen.is_on_hold()
    with pytest.raises(ScopeMissing):
        seen.states.put(StateKind.HOLD, {"hold": None})
    with pytest.raises(ScopeMissing):
        seen.states.swap(StateKind.TABLE, "table:x", 0, {})


class ChangedStates:
    """States of which those that are read by name were changed outside."""

    def __init__(self, states: object) -> None:
        self._states = states

    def read(
        self, kind: StateKind, keys: Iterable[str] | None = None
    ) -> dict[str, SharedState]:
        listed = self._states.read(kind)  # type: ignore[attr-defined]
        if keys is not None and kind is StateKind.WEBHOOK:
            raise SecretUnreadable
        return {
            key: state._replace(error=SecretUnreadable())
            for key, state in listed.items()
        }


def test_an_error_of_a_state_shows_nothing_of_what_others_have() -> None:
    host = prepared()
    application = seen_by(host, "north")
    changed = ChangedStates(host.application.states)
    application.states._states = changed  # type: ignore[attr-defined]
    with pytest.raises(SecretUnreadable):
        application.states.read(StateKind.WEBHOOK, ["hook of north"])
    assert application.states.read(StateKind.WEBHOOK, ["hook of south"]) == {}
    assert [*application.states.read(StateKind.WEBHOOK)] == ["hook of north"]


def test_each_kind_of_state_is_seen_by_its_owner() -> None:
    host = prepared()
    states = host.application.states
    webhooks = host.application.webhooks.stored()
    for owner in OWNERS:
        endpoint = webhooks[f"hook of {owner}"].endpoint
        facts: dict[StateKind, tuple[str, dict[str, object]]] = {
            StateKind.BASELINE: (name_of(owner), {}),
            StateKind.LINE_START: (f"line of {owner}", {"since": ""}),
            StateKind.HOOK_ACTIVITY: (endpoint, {}),
            StateKind.HOOK_REFUSALS: (f"hook of {owner}", {}),
            StateKind.HOOK_SAMPLE: (f"sample of {owner}", {"endpoint": endpoint}),
        }
        for kind, (key, value) in facts.items():
            states.put(kind, {key: value})
    seen = seen_by(host, "north").states
    for kind in (*facts, StateKind.HOOK_ENDPOINT):
        assert len(states.read(kind)) == 3
        assert len(seen.read(kind)) == 1, kind
    states.put(StateKind.WEBHOOK, {"odd": {"settings": "odd"}})
    assert [*seen.read(StateKind.WEBHOOK)] == ["hook of north"]


# ── tokens ──────────────────────────────────────────────────────────────────────────


def wish(name: str, **facts: object) -> TokenWish:
    made = TokenWish(name=name, scopes=frozenset({Scope.READ}))
    return replace(made, **facts)  # type: ignore[arg-type]


def test_a_limited_user_creates_sees_and_revokes_tokens_that_see_no_more() -> None:
    host = prepared()
    whole = host.application
    for name, owners in (("all", ()), ("south", ("south",)), ("north", ("north",))):
        whole.api_tokens.create(whole.administration("root"), wish(name, owners=owners))
    seen = seen_by(host, "north")
    administration = seen.administration("ann")
    own = seen.api_tokens.create(administration, wish("own")).token
    assert own.owners == {"north"}
    assert names(seen.api_tokens.all()) == ["north", "own"]
    assert seen.api_tokens.unreadable() == []
    for owners in (("south",), ("north", "south")):
        with pytest.raises(ScopeMissing):
            seen.api_tokens.create(administration, wish("more", owners=owners))
    with pytest.raises(ConfigError, match="already exists"):
        seen.api_tokens.create(administration, wish("south"))
    with pytest.raises(ConfigError, match="no API token"):
        seen.api_tokens.revoke(administration, "south")
    wanted = wish("more", configurations=("books of south",))
    with pytest.raises(UnknownConfiguration):
        seen.api_tokens.create(administration, wanted)
    seen.api_tokens.revoke(administration, "own")


# ── audit ───────────────────────────────────────────────────────────────────────────


def test_the_audit_as_a_whole_is_for_the_unlimited() -> None:
    rows = seen_by(prepared(), "north").audit_trail.rows
    for read in (
        lambda: rows.append([]),
        rows.read,
        rows.streams,
        lambda: rows.beginnings(1),
        lambda: rows.prune(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(ScopeMissing):
            read()


def test_a_change_is_recorded_under_the_limited_user() -> None:
    host = prepared()
    seen_by(host, "north").administration("ann").note(Tag.CONFIGURATION_TESTED, "x")
    assert host.audit.events[-1].actor == "ann"
