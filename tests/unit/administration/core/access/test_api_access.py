"""What a program may do with its token: every rule of the HTTP interface."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.core.access.relay import RelayedRequest
from outkey.administration.engine.access.api_access import (
    ApiAccess,
    ApiSubject,
    open_access,
)
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    EditConflict,
    EgressDenied,
    InvalidRequest,
    RateLimited,
    RemoteError,
    ResponseTooLarge,
    ScopeMissing,
    TokenRefused,
    UnknownConfiguration,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.chain import ChainRow, Label, canonical, label_of
from outkey.sending.core.audit.encoding import encode_event, encode_intent
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.facts import configuration_facts, written_table
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.run import RunState
from outkey.testing import configuration
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery
from outkey.webhooks.core.settings.facts import delivery_facts, webhook_facts
from outkey.webhooks.core.settings.settings import Webhook
from unit.administration.core.access.test_api_tokens import create
from unit.application_in_memory import MemoryHost, memory_host
from unit.sending.engine.exchange.test_send import SIGNED
from unit.sync.engine.pull.test_sync_run import PULL

OPEN = configuration(no_auth_reason="public_api")
OTHER = configuration("other", no_auth_reason="public_api")
BEARER = configuration("crm", authentication_type="bearer")
LINES = (
    SyncLine("contacts", "acme", "GET", "/contacts", PULL),
    SyncLine("orders", "other", "GET", "/orders", PULL),
)
WEBHOOKS = (
    Webhook("contacts", "github", configuration="acme", line="contacts"),
    Webhook("deploys", "github", handler="shop.hooks.deploy"),
    Webhook("orders", "github", configuration="other", run="orders"),
)
EVERYTHING = tuple(Scope)
REQUEST = RelayedRequest("POST", "a%2Fb", "x=1", (("X-Trace", "1"),), b"body")


def prepared(
    *more: Configuration, responses: list[Response] | None = None
) -> MemoryHost:
    host = memory_host(OPEN, OTHER, *more, responses=list(responses or []))
    for line in LINES:
        host.registry.put_line(line)
    ports = host.application.hook_ports
    assert ports is not None
    ports().settings.put(WEBHOOKS)
    return host


def access(
    host: MemoryHost,
    *scopes: Scope,
    name: str = "ci",
    references: tuple[str, ...] = (),
    **wishes: object,
) -> ApiAccess:
    made = create(host, name, *(scopes or EVERYTHING), **wishes)
    offered = [parse_reference(text, field="token") for text in references]
    host.audit.events.clear()
    return open_access(host.application, made.text, offered)


# ── who may ─────────────────────────────────────────────────────────────────────────

ACTIONS: dict[str, tuple[set[Scope], Callable[[ApiAccess], object]]] = {
    "summaries": ({Scope.READ, Scope.MANAGE}, lambda a: a.summaries()),
    "show": ({Scope.READ, Scope.MANAGE}, lambda a: a.show("acme")),
    "save": ({Scope.MANAGE}, lambda a: a.save("acme", {"notes": "x"}, whole=False)),
    "remove": ({Scope.MANAGE}, lambda a: remove_without_webhooks(a, "acme")),
    "set secret": (
        {Scope.MANAGE},
        lambda a: put_value(a, "acme", "password", "x"),
    ),
    "set reference": (
        {Scope.MANAGE},
        lambda a: put_reference(a, "acme", "password", "env:ACME"),
    ),
    "clear secret": ({Scope.MANAGE}, lambda a: a.clear_secret("acme", "password")),
    "test": ({Scope.SEND}, lambda a: a.test("acme")),
    "preview": (
        {Scope.READ, Scope.MANAGE},
        lambda a: a.preview("acme", "GET", None, {}),
    ),
    "limits": ({Scope.SEND}, lambda a: a.limits("acme")),
    "send": ({Scope.SEND}, lambda a: a.send("acme", REQUEST)),
    "presets": ({Scope.READ, Scope.MANAGE}, lambda a: a.presets()),
    "lines": ({Scope.READ, Scope.MANAGE}, lambda a: a.lines()),
    "line": ({Scope.READ, Scope.MANAGE}, lambda a: a.line("contacts")),
    "start run": ({Scope.RUN}, lambda a: a.start_run("contacts", dry_run=False)),
    "runs": ({Scope.READ, Scope.MANAGE, Scope.RUN}, lambda a: a.runs(10)),
    "run": ({Scope.READ, Scope.MANAGE, Scope.RUN}, lambda a: a.run(run_of(a))),
    "cancel run": ({Scope.RUN}, lambda a: a.cancel_run(run_of(a))),
    "webhooks": ({Scope.READ, Scope.MANAGE}, lambda a: a.webhooks()),
    "webhook": ({Scope.READ, Scope.MANAGE}, lambda a: a.webhook("contacts")),
    "deliveries": ({Scope.READ, Scope.MANAGE}, lambda a: a.deliveries("contacts", 10)),
    "audit": ({Scope.AUDIT}, lambda a: a.audit(10)),
}


def remove_without_webhooks(granted: ApiAccess, name: str) -> None:
    """Delete a configuration that no webhook needs any more."""
    states = granted.application.states
    states.put(StateKind.WEBHOOK, dict.fromkeys(states.read(StateKind.WEBHOOK)))
    granted.remove(name)


def put_value(granted: ApiAccess, name: str, field: str, value: str) -> None:
    granted.set_secret(name, field, value=Secret(value), reference=None)


def put_reference(granted: ApiAccess, name: str, field: str, text: str) -> None:
    granted.set_secret(name, field, value=None, reference=text)


def run_of(granted: ApiAccess) -> str:
    """Return the id of a run of the line contacts."""
    application = granted.application
    open_run = application.runs.open_run_id("contacts", dry_run=False)
    return open_run or application.sync.planner().request("contacts", "ada").id


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_needs_its_scope(action: str, scope: Scope) -> None:
    needed, act = ACTIONS[action]
    host = prepared(responses=[Response(200)] * 3)
    granted = access(host, scope, references=("env:ACME",))
    if scope in needed:
        act(granted)
    else:
        with pytest.raises(ScopeMissing):
            act(granted)


@pytest.mark.parametrize(
    "action", [name for name in ACTIONS if name not in {"summaries", "presets"}]
)
def test_another_configuration_looks_as_if_it_did_not_exist(action: str) -> None:
    host = prepared()
    granted = access(host, configurations=("other",), references=("env:ACME",))
    if action in {"lines", "runs", "webhooks", "audit"}:
        run_of(access(host, name="all"))
        assert "contacts" not in str(ACTIONS[action][1](granted))
        return
    with pytest.raises(UnknownConfiguration) as caught:
        ACTIONS[action][1](granted)
    assert "acme" not in f"{caught.value} {caught.value.hint}"


OF_NORTH = configuration("north", no_auth_reason="public_api", owner="north")


@pytest.mark.parametrize(
    "action", [name for name in ACTIONS if name not in {"summaries", "presets"}]
)
def test_a_configuration_of_another_owner_looks_as_if_it_did_not_exist(
    action: str,
) -> None:
    host = prepared(OF_NORTH)
    granted = access(host, owners=("north",), references=("env:ACME",))
    if action in {"lines", "runs", "webhooks", "audit"}:
        run_of(access(host, name="all"))
        assert "contacts" not in str(ACTIONS[action][1](granted))
        return
    with pytest.raises(UnknownConfiguration) as caught:
        ACTIONS[action][1](granted)
    assert "acme" not in f"{caught.value} {caught.value.hint}"


def test_a_token_of_an_owner_creates_and_changes_configurations_of_the_owner() -> None:
    host = prepared(OF_NORTH)
    granted = access(host, owners=("north",))
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    assert granted.save("new", facts, whole=True).created
    assert host.registry.get("new").owner == "north"
    granted.save("new", {**facts, "notes": "x"}, whole=True)
    assert (host.registry.get("new").owner, host.registry.get("new").notes) == (
        "north",
        "x",
    )
    assert [summary.name for summary, _ in granted.summaries()] == ["new", "north"]
    for name, owner in (("newer", "south"), ("new", "south")):
        with pytest.raises(ScopeMissing) as caught:
            granted.save(name, {**facts, "owner": owner}, whole=True)
        assert status_of(caught.value) == 403
    with pytest.raises(UnknownConfiguration):
        granted.save("acme", facts, whole=True)
    with pytest.raises(ScopeMissing):
        granted.metrics()


def test_a_token_of_several_owners_says_whose_a_new_configuration_is() -> None:
    host = prepared(OF_NORTH)
    granted = access(host, owners=("north", "south"))
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    with pytest.raises(ConfigError) as caught:
        granted.save("new", facts, whole=True)
    assert caught.value.field == "owner"
    granted.save("new", {**facts, "owner": "south"}, whole=True)
    assert host.registry.get("new").owner == "south"


def test_a_limited_token_sees_its_own() -> None:
    host = prepared()
    granted = access(host, configurations=("acme",))
    run = granted.start_run("contacts", dry_run=True)
    assert [summary.name for summary, _ in granted.summaries()] == ["acme"]
    assert [line.name for line in granted.lines()] == ["contacts"]
    assert granted.runs(5) == [run]
    assert granted.runs(5, "contacts") == [run]
    assert granted.runs(5, "contacts", "done") == []
    with pytest.raises(UnknownConfiguration):
        granted.runs(5, "orders")
    assert granted.preview("acme", "GET", "/x", {}).url.endswith("/x")


def test_an_invalid_token_opens_nothing() -> None:
    with pytest.raises(TokenRefused):
        open_access(prepared().application, "ok_" + "a" * 43)


def test_a_token_makes_as_many_requests_as_it_may() -> None:
    host = prepared()
    made = create(host, per_minute=2)
    open_access(host.application, made.text)
    with pytest.raises(RateLimited) as caught:
        open_access(host.application, made.text)
    assert caught.value.pause == 30.0
    host.world.clock.advance(60)
    open_access(host.application, made.text)


# ── configurations ──────────────────────────────────────────────────────────────────


def test_a_configuration_is_created_replaced_and_changed() -> None:
    host = prepared()
    granted = access(host)
    facts = {
        "base_url": "https://new.example",
        "authentication_type": "bearer",
        "limits": {"requests_per_minute": 5},
        "headers": [{"key": "X-Tenant", "value": "7"}],
    }
    made = granted.save("new", facts, whole=True)
    assert made.created
    assert made.configuration.limits.requests_per_minute == 5
    put_value(granted, "new", "token", "t")
    changed = granted.save("new", {"notes": "hello"}, whole=False)
    assert not changed.created
    assert changed.configuration.limits.requests_per_minute == 5
    assert changed.configuration.headers == (
        CustomHeader("X-Tenant", "7", secret=False),
    )
    whole = {"base_url": "https://new.example", "authentication_type": "bearer"}
    replaced = granted.save("new", whole, whole=True).configuration
    assert replaced.limits.requests_per_minute is None
    assert replaced.headers == ()
    assert replaced.notes == ""
    assert replaced.secrets.keys() == {"token"}, "no body can have its value"
    granted.clear_secret("new", "token")
    assert host.registry.get("new").secrets == {}
    granted.remove("new")
    with pytest.raises(UnknownConfiguration):
        granted.save("new", {"notes": "x"}, whole=False)
    events = [event for event in host.audit.events if isinstance(event, Change)]
    assert {event.actor for event in events} == {"token:ci"}
    assert [event.tag for event in events] == [
        Tag.CONFIGURATION_CREATED,
        Tag.SECRET_SET,
        Tag.CONFIGURATION_UPDATED,
        Tag.CONFIGURATION_UPDATED,
        Tag.SECRET_CLEARED,
        Tag.CONFIGURATION_REMOVED,
    ]


def test_a_limited_token_creates_nothing() -> None:
    granted = access(prepared(), configurations=("acme",))
    with pytest.raises(UnknownConfiguration):
        granted.save("new", {"base_url": "https://new.example"}, whole=True)


def test_the_internal_network_needs_a_token_that_may() -> None:
    host = prepared()
    internal = {"network": "internal"}
    with pytest.raises(EgressDenied, match="internal network"):
        access(host).save("acme", internal, whole=False)
    granted = access(host, name="more", allow_internal=True)
    assert granted.save("acme", internal, whole=False).configuration.network == (
        "internal"
    )
    # Another address in it needs the right again; anything else does not.
    limited = access(host, name="less")
    limited.save("acme", {"notes": "x"}, whole=False)
    with pytest.raises(EgressDenied):
        limited.save("acme", {"base_url": "http://10.0.0.1"}, whole=False)


def test_only_offered_references_can_be_set() -> None:
    host = prepared(BEARER)
    granted = access(host, references=("env:CRM_TOKEN",))
    with pytest.raises(BlockedByPolicy, match="operator"):
        put_reference(granted, "crm", "token", "file:/etc/passwd")
    with pytest.raises(BlockedByPolicy, match="operator"):
        granted.save("crm", {"token": "env:HOME"}, whole=False)
    put_reference(granted, "crm", "token", "env:CRM_TOKEN")
    state = host.registry.get("crm").secrets["token"]
    assert str(state.reference) == "env:CRM_TOKEN"
    granted.save("crm", {"token": "env:CRM_TOKEN"}, whole=False)
    # One that an operator has set stays, whoever changes something else.
    bare = access(host, name="bare")
    bare.save("crm", {"notes": "x"}, whole=False)
    assert host.registry.get("crm").secrets["token"] == state


@pytest.mark.parametrize(
    ("value", "reference"), [(None, None), (Secret("t"), "env:CRM_TOKEN")]
)
def test_a_secret_is_a_value_or_a_reference(
    value: Secret | None, reference: str | None
) -> None:
    granted = access(prepared(BEARER), references=("env:CRM_TOKEN",))
    with pytest.raises(InvalidRequest, match="either value or reference"):
        granted.set_secret("crm", "token", value=value, reference=reference)


def test_what_is_shown_can_be_written_back() -> None:
    row = CustomHeader("X-Key", "Key {secret}", secret=True)
    shown = configuration(
        "crm",
        headers=(row, CustomHeader("X-Tenant", "7", secret=False)),
        authentication_type="bearer",
        limits__requests_per_minute=5,
    )
    host = prepared()
    administration = host.application.administration("ada")
    secrets = {"token": Secret("t"), "header:X-Key": Secret("k")}
    administration.save(ConfigurationChange(None, shown, secrets=secrets))
    before = host.registry.get("crm")
    facts = configuration_facts(before) | {"proxy_in_use": None, "findings": []}
    after = access(host).save("crm", facts, whole=True).configuration
    assert replace(after, version=0, revision=0, voucher=before.voucher) == replace(
        before, version=0, revision=0
    )


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"name": "other"}, InvalidRequest),
        ({"headers": ["x"]}, ConfigError),
        ({"unknown": 1}, ConfigError),
        ({"limits": 5}, ConfigError),
    ],
)
def test_a_wrong_body_is_refused(
    facts: dict[str, object], error: type[ConfigError]
) -> None:
    with pytest.raises(error):
        access(prepared()).save("acme", facts, whole=False)


@pytest.mark.parametrize("word", ["", "-"])
def test_no_word_before_the_token_is_an_empty_text_or_a_hyphen(word: str) -> None:
    manager = access(prepared())
    saved = manager.save("acme", {"token_prefix": word}, whole=False)
    assert saved.configuration.token_prefix == ""
    assert configuration_facts(saved.configuration)["token_prefix"] == ""


@pytest.mark.parametrize("whole", [True, False])
def test_null_unsets_a_setting_that_has_no_default(
    *,
    whole: bool,
) -> None:
    manager = access(prepared())
    settings = {"token_prefix": "Token", "limits": {"requests_per_minute": 7}}
    manager.save("acme", settings, whole=False)
    facts = configuration_facts(manager.show("acme")) | {"token_prefix": None}
    limits = facts["limits"]
    assert isinstance(limits, dict)
    limits["requests_per_minute"] = None
    saved = manager.save("acme", facts, whole=whole).configuration
    assert (saved.token_prefix, saved.limits.requests_per_minute) == (None, None)


def test_null_says_nothing_of_any_other_setting() -> None:
    row = {"key": "X", "value": None, "secret": True}
    facts = {"name": "acme", "notes": None, "query": [row], "limits": {"retries": None}}
    assert written_table("acme", facts) == {
        "query": [{"key": "X", "secret": True}],
        "limits": {},
    }


# ── sending ─────────────────────────────────────────────────────────────────────────


def test_a_request_is_sent_as_it_came_and_recorded_under_the_token() -> None:
    host = prepared(responses=[Response(201, body=b"made")])
    answer = access(host).send("acme", REQUEST)
    assert (answer.status, answer.body) == (201, b"made")
    (request, _route) = host.world.transport.sent[0]
    assert (request.method, request.target) == ("POST", "/a%2Fb?x=1")
    assert request.body == b"body"
    assert ("X-Trace", "1") in [(h.name, h.value) for h in request.headers]
    (intent,) = [e for e in host.world.audit.events if isinstance(e, Intent)]
    assert intent.actor == "token:ci"


def test_a_refused_request_is_recorded_under_the_token() -> None:
    host = prepared(BEARER)
    with pytest.raises(ConfigError):
        access(host).send("crm", replace_body(b""))
    (refusal,) = [e for e in host.world.audit.events if isinstance(e, Refusal)]
    assert refusal.actor == "token:ci"


def replace_body(body: bytes) -> RelayedRequest:
    return REQUEST._replace(body=body)


def test_the_limit_of_a_body_is_the_configurations() -> None:
    large = configuration(
        "large", no_auth_reason="public_api", limits__response_mebibytes=64
    )
    granted = access(prepared(large))
    assert granted.limits("acme").response_mebibytes == 32
    assert granted.limits("large").response_mebibytes == 64


class Source:
    """A body that comes from a file."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __len__(self) -> int:
        return len(self.body)

    def parts(self) -> Iterator[bytes]:
        yield self.body[:2]
        yield self.body[2:]


class Arriving:
    """The body of a response that arrives in parts, and may break."""

    size = None

    def __init__(self, *parts: bytes | RemoteError) -> None:
        self.parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, RemoteError):
                raise part
            yield part

    def close(self) -> None:
        self.is_closed = True


def outcomes(host: MemoryHost) -> list[str]:
    return [e.outcome for e in host.world.audit.events if isinstance(e, Outcome)]


def test_a_body_from_a_file_is_passed_on_as_it_is() -> None:
    host = prepared(responses=[Response(200)])
    body = Source(b"from a file")
    access(host).send("acme", REQUEST._replace(body=body))
    (request, route) = host.world.transport.sent[0]
    assert request.body is body
    headers = {header.name: header.value for header in request.headers}
    assert headers["Content-Length"] == "11"
    assert headers["Content-Type"] == "application/octet-stream"
    assert route.streams


def test_a_redirect_gets_the_body_from_its_file_again() -> None:
    moved = Response(307, ResponseHeaders((("Location", "/moved"),)))
    host = prepared(responses=[moved, Response(200)])
    body = Source(b"from a file")
    access(host).send("acme", REQUEST._replace(body=body))
    targets = [
        (request.target, request.body) for request, _ in host.world.transport.sent
    ]
    assert targets == [("/a%2Fb?x=1", body), ("/moved", body)]


def test_a_script_gets_the_bytes_that_it_signs() -> None:
    scripted = configuration(
        "signed", no_auth_reason="public_api", script=SIGNED, script_enabled=True
    )
    host = prepared(scripted, responses=[Response(200)])
    context = host.world.sender.context
    context.vouched_scripts.add(context.secrets, host.registry.get("signed"))
    access(host).send("signed", REQUEST._replace(body=Source(b"pay 100")))
    (call,) = host.world.scripts.calls
    assert call.body == b"pay 100"


def test_the_audit_gets_the_outcome_after_the_last_part() -> None:
    host = prepared(responses=[Response(200, stream=Arriving(b"a", b"b"))])
    stream = access(host).send("acme", REQUEST).stream
    assert stream is not None
    parts = iter(stream)
    assert next(parts) == b"a"
    assert outcomes(host) == []
    assert list(parts) == [b"b"]
    stream.close()
    assert outcomes(host) == ["ok"]


def test_a_body_that_breaks_is_recorded_as_broken() -> None:
    answer = Response(200, stream=Arriving(b"a", ResponseTooLarge()))
    host = prepared(responses=[answer])
    stream = access(host).send("acme", REQUEST).stream
    assert stream is not None
    with pytest.raises(ResponseTooLarge):
        list(stream)
    stream.close()
    assert outcomes(host) == ["response_too_large"]


def test_a_caller_that_goes_away_is_recorded_as_cancelled() -> None:
    arriving = Arriving(b"a", b"b")
    host = prepared(responses=[Response(200, stream=arriving)])
    stream = access(host).send("acme", REQUEST).stream
    assert stream is not None
    assert next(iter(stream)) == b"a"
    stream.close()
    assert arriving.is_closed
    assert outcomes(host) == ["cancelled"]


@pytest.mark.parametrize("actor", ["", "token:ci"])
def test_the_label_of_a_request_agrees_with_its_record(actor: str) -> None:
    intent = Intent(
        configuration="acme",
        line="",
        authentication_type="none",
        method="GET",
        origin="https://api.acme.example",
        path="/",
        header_names=(),
        retry=0,
        actor=actor,
    )
    refusal = Refusal("", "acme", "", "secret_missing", actor=actor)
    for record in (encode_intent(intent, "a1", 5), encode_event(refusal, 5)):
        row = ChainRow("s", 1, record.body, b"", record.label)
        assert record.label.actor == actor
        assert (b'"actor"' in row.body) == bool(actor)


# ── runs and the audit ──────────────────────────────────────────────────────────────


def test_a_run_is_started_watched_and_cancelled_under_the_token() -> None:
    host = prepared()
    granted = access(host)
    run = granted.start_run("contacts", dry_run=False)
    assert run.actor == "token:ci"
    assert host.queue.runs == [run.id]
    assert granted.run(run.id) == run
    assert granted.runs(5) == [run]
    assert granted.cancel_run(run.id).state is RunState.CANCELLED
    assert host.audit.events == [
        Change(Tag.RUN_REQUESTED, "token:ci", "acme", ("contacts",)),
        Change(Tag.RUN_CANCELLED, "token:ci", "acme", ("contacts", run.id)),
    ]


def test_an_unknown_run_or_line_is_unknown() -> None:
    granted = access(prepared())
    with pytest.raises(UnknownConfiguration, match="no such run"):
        granted.run("99")
    with pytest.raises(UnknownConfiguration, match="no sync line"):
        granted.line("nothing")


def test_a_limited_token_reads_the_records_of_its_configurations() -> None:
    host = prepared()
    rows = host.application.audit_trail.rows
    for number, name in enumerate(("acme", "other", "", "acme"), start=1):
        facts = {"at": number, "configuration": name, "tag": "api:x:y", "actor": "ada"}
        body = canonical(facts)
        rows.append([ChainRow("s", number, body, b"", label_of(facts))])
    granted = access(host)
    assert [record["id"] for record in granted.audit(3)] == [4, 3, 2]
    assert [record["id"] for record in granted.audit(3, before=3)] == [2, 1]
    assert [record["id"] for record in granted.audit(3, 0, "acme")] == [4, 1]
    limited = access(host, name="limited", configurations=("acme", "other"))
    assert [record["id"] for record in limited.audit(2)] == [4, 2]
    with pytest.raises(UnknownConfiguration):
        limited.audit(3, 0, "crm")
    assert Label(1, "acme").actor == ""


CREATED = Tag.CONFIGURATION_CREATED
RENAMED = Tag.CONFIGURATION_RENAMED
REMOVED = Tag.CONFIGURATION_REMOVED


def renamed(old: str, new: str) -> list[tuple[str, str, object]]:
    """Return the two records of a rename."""
    return [(name, RENAMED, [["name", old, new]]) for name in (old, new)]


def created(name: str) -> list[tuple[str, str, object]]:
    return [(name, CREATED, None)]


def removed(name: str) -> list[tuple[str, str, object]]:
    return [(name, REMOVED, None)]


def sent(name: str) -> list[tuple[str, str, object]]:
    return [(name, Tag.SEND_OUTCOME, None)]


@pytest.mark.parametrize(
    ("records", "seen"),
    [
        # the name of a deleted one, for a new one
        ([*created("acme"), *sent("acme"), *removed("acme"), *created("acme")], [4]),
        # or for one that is renamed, whose records before are its own
        (
            [
                *[*created("acme"), *sent("acme"), *removed("acme")],
                *[*created("b"), *sent("b"), *renamed("b", "acme"), *sent("acme")],
            ],
            [8, 7, 6, 5, 4],
        ),
        # a name that was used before by one that is renamed
        (
            [
                *[*created("b"), *sent("b"), *removed("b"), *created("b")],
                *[*renamed("b", "acme"), *sent("acme")],
                *[*created("b"), *sent("b")],
            ],
            [7, 6, 5, 4],
        ),
        # there and back
        (
            [
                *[*created("acme"), *renamed("acme", "b"), *sent("b")],
                *[*renamed("b", "acme"), *sent("acme")],
            ],
            [7, 6, 5, 4, 3, 2, 1],
        ),
        # another one has taken the name, and given it up
        ([*sent("acme"), *renamed("acme", "z"), *sent("acme")], [4]),
        ([*sent("acme"), *removed("acme"), *sent("acme")], [3]),
        # the beginning was pruned
        ([*sent("acme"), *sent("b"), *sent("acme")], [3, 1]),
        # records that were manipulated, or are of an earlier version
        ([*sent("acme"), ("acme", RENAMED, "x"), *sent("acme")], [3]),
        ([*sent("acme"), ("acme", RENAMED, [["name", 1, "acme"]])], []),
        # more changes than are read at once
        (
            [*created("acme"), *sent("acme"), *removed("acme"), *created("acme")]
            + [("acme", Tag.CONFIGURATION_UPDATED, None)] * 150,
            [*range(154, 4, -1), 4],
        ),
        # a loop that could not have happened
        ([*renamed("acme", "acme")] * 30, [*range(60, 40, -1)]),
    ],
)
def test_a_limited_token_reads_no_records_of_another_configuration_with_the_name(
    records: list[tuple[str, str, object]], seen: list[int]
) -> None:
    host = prepared()
    for number, (name, tag, changes) in enumerate(records, start=1):
        facts = {"at": number, "configuration": name, "tag": tag, "changes": changes}
        row = ChainRow("s", number, canonical(facts), b"", label_of(facts))
        host.application.audit_trail.rows.append([row])
    limited = access(host, name="limited", configurations=("acme",))
    assert [record["id"] for record in limited.audit(1000)] == seen
    assert [record["id"] for record in limited.audit(1000, 0, "acme")] == seen
    first = [record["id"] for record in limited.audit(2)]
    assert first == seen[:2]
    if first:
        rest = limited.audit(1000, before=int(str(first[-1])))
        assert [record["id"] for record in rest] == seen[2:]


# ── what an operation is about ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("subject", "own", "other"),
    [
        (ApiSubject.CONFIGURATION, "acme", "other"),
        (ApiSubject.NEW_CONFIGURATION, "acme", "other"),
        (ApiSubject.LINE, "contacts", "orders"),
        (ApiSubject.WEBHOOK, "contacts", "orders"),
        (ApiSubject.WEBHOOK, "contacts", "deploys"),
        (ApiSubject.RUN, "", "99"),
    ],
)
def test_a_token_is_admitted_to_what_it_is_for(
    subject: ApiSubject, own: str, other: str
) -> None:
    limited = access(prepared(), configurations=("acme",))
    limited.admit([Scope.READ], subject, own or run_of(limited))
    for name in (other, "nothing"):
        with pytest.raises(UnknownConfiguration):
            limited.admit([Scope.READ], subject, name)


def test_a_token_for_all_is_admitted_to_a_new_configuration() -> None:
    granted = access(prepared())
    granted.admit([Scope.MANAGE], ApiSubject.NEW_CONFIGURATION, "new")
    granted.admit([Scope.MANAGE], None, "")
    with pytest.raises(UnknownConfiguration):
        granted.admit([Scope.MANAGE], ApiSubject.CONFIGURATION, "new")


def test_a_missing_scope_is_refused_before_an_unknown_name() -> None:
    granted = access(prepared(), Scope.RUN)
    with pytest.raises(ScopeMissing):
        granted.admit([Scope.MANAGE], ApiSubject.CONFIGURATION, "nothing")


def test_a_save_names_the_version_that_it_changes() -> None:
    granted = access(prepared())
    before = granted.show("acme")
    seen = f'"{before.version}"'
    changed = granted.save("acme", {"notes": "x"}, whole=False, version=seen)
    assert changed.configuration.notes == "x"
    with pytest.raises(EditConflict) as caught:
        granted.save("acme", {"notes": "y"}, whole=False, version=seen)
    assert status_of(caught.value) == 412
    with pytest.raises(EditConflict):
        granted.remove("acme", seen)
    granted.save("acme", {"notes": "z"}, whole=False, version='"9", *')
    facts = {"base_url": "https://new.example", "authentication_type": "bearer"}
    with pytest.raises(EditConflict):
        granted.save("new", facts, whole=True, version="*")


# ── webhooks ────────────────────────────────────────────────────────────────────────


def test_a_limited_token_sees_the_webhooks_of_its_configurations() -> None:
    host = prepared()
    everything = access(host).webhooks()
    assert [shown.stored.name for shown in everything] == [
        "contacts",
        "deploys",
        "orders",
    ]
    limited = access(host, name="less", configurations=("acme",))
    (own,) = limited.webhooks()
    facts = webhook_facts(own)
    assert facts["webhook"] == "contacts"
    assert facts["secrets"] == {
        "secret": None,
        "previous_secret": None,
        "verify_token": None,
    }
    assert str(facts["endpoint"]).startswith("/hooks/")
    assert facts["state"] == "active"


def test_a_paused_webhook_says_so() -> None:
    host = prepared()
    host.application.webhooks.inbox().settings.set_paused("contacts", is_paused=True)
    assert webhook_facts(access(host).webhook("contacts"))["state"] == "paused"


def test_deliveries_are_listed_by_state_and_without_bodies() -> None:
    host = prepared()
    granted = access(host)
    endpoint = granted.webhook("contacts").stored.endpoint
    for number, state in enumerate((DeliveryState.FAILED, DeliveryState.PROCESSED)):
        delivery = InboxDelivery(
            "", endpoint, f"k{number}", received_at=number, state=state, body=b"sealed"
        )
        host.deliveries.swap(None, delivery)
    newest, _ = granted.deliveries("contacts", 10)
    assert newest.body == b""
    assert delivery_facts(newest) == {
        "id": newest.id,
        "event_id": "",
        "type": "",
        "received_at": "1970-01-01T00:00:01Z",
        "state": "processed",
        "attempts": 0,
        "reason": "",
        "records": None,
        "tested_by": None,
    }
    (failed,) = granted.deliveries("contacts", 10, "failed")
    assert failed.state is DeliveryState.FAILED
    assert len(granted.deliveries("contacts", 1)) == 1
