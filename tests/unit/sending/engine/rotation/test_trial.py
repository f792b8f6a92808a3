"""A share of the requests is sent with the next credentials, and what that leads to."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
import requests

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    BackendUnavailable,
    BlockedByPolicy,
    ConfigError,
    ConnectionFailed,
    EditConflict,
    EgressDenied,
    LoginRefused,
    OutkeyError,
    StorageUnavailable,
    TlsFailed,
    TokenEndpointFailed,
    UnknownConfiguration,
    secret_missing,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import Odd
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.rotation.credential_sets import (
    CredentialSet,
    CredentialSets,
    CredentialTrial,
    Tally,
)
from outkey.sending.core.rotation.trial_state import is_chosen
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.gateway import Gateway
from outkey.sending.engine.rotation.trial import Trials
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeResponse

BASE = "https://api.acme.example"
ORIGIN = f"{BASE}:443"
NOW = 1_800_000_000.0


class SecretsOfSets:
    """The token says which set of credentials it belongs to."""

    def __init__(self) -> None:
        self.error: OutkeyError | None = None

    def open(self, seen: Configuration, field: str) -> Secret:
        if seen.other_set is None:
            return Secret("current")
        if self.error is not None:
            raise self.error
        return Secret("next")

    def refuse_changed_settings(self, seen: Configuration) -> None:
        """Nothing is stored."""


class Steps:
    """The rotation of one configuration, with the steps that outkey took by itself."""

    def __init__(self, seen: Configuration, clock: Any) -> None:  # noqa: ANN401
        self.seen = seen
        self.clock = clock
        self.steps: list[tuple[str, Tally]] = []
        self.error: OutkeyError | None = None

    def current(self, name: str) -> Configuration:
        assert name == self.seen.name
        return self.seen

    def reject(self, seen: Configuration, tally: Tally, cause: str) -> None:
        self._end(f"rejected: {cause}", tally)

    def promote(self, seen: Configuration, tally: Tally, by: str) -> int:
        assert by == ""
        self._end("promoted", tally)
        return 2

    def _end(self, step: str, tally: Tally) -> None:
        if self.error is not None:
            raise self.error
        self.steps.append((step, tally))
        self.seen = replace(self.seen, sets=CredentialSets(newest=2))


def on_trial(share: int = 100, after: int = 3, **values: object) -> Configuration:
    made = CredentialSet(2, {"token": SecretState(ORIGIN, version=2)}, set_at=NOW)
    sets = CredentialSets(newest=2, next=made, trial=CredentialTrial(share, after, NOW))
    state = SecretState(str(values.pop("origin", ORIGIN)))
    made = replace(made, secrets={"token": replace(state, version=2)})
    settings = {"authentication_type": "bearer", "limits__retries": 0}
    built = configuration(**(settings | values))
    return replace(
        built,
        record="0" * 32,
        secrets={"token": SecretState(ORIGIN)},
        sets=replace(sets, next=made),
    )


class World:
    """A gateway whose configuration has a trial."""

    def __init__(
        self,
        respond: Callable[[str], FakeResponse],
        seen: Configuration | None = None,
    ) -> None:
        self.sent: list[str] = []
        self.respond = respond
        seen = seen or on_trial()
        fake = fake_gateway(seen, responses=self._respond)
        self.clock = fake.clock
        self.audit = fake.audit
        self.secrets = SecretsOfSets()
        self.states = MemoryStateRows()
        self.steps = Steps(seen, self.clock)
        self.trials = Trials(self.steps, self.states, self.clock.now, self.times)  # type: ignore[arg-type]
        ports = replace(fake.ports, secrets=self.secrets)
        self.sender = Sender(ports, self.trials)
        self.seen = seen

    def times(self, settings: object, key: Secret) -> tuple[float, float]:
        assert key == Secret("next")
        return NOW, NOW + 100

    def _respond(self, request: Request) -> FakeResponse:
        values = {h.name: h.value for h in request.headers}
        token = values["Authorization"]
        assert isinstance(token, Secret)
        used = token.reveal().removeprefix("Bearer ")
        self.sent.append(used)
        return self.respond(used)

    def send(self, method: str = "GET", body: Any = b"") -> int:  # noqa: ANN401
        call = Call(self.steps.seen, method, "/orders", body=body)
        return self.sender.send(call).status

    @property
    def tally(self) -> Tally:
        return self.trials.tally(self.seen)


def accepting(**statuses: int) -> Callable[[str], FakeResponse]:
    return lambda used: Response(statuses.get(used, 200))


def test_enough_successes_promote_without_a_server() -> None:
    world = World(accepting())
    assert [world.send() for _ in range(4)] == [200] * 4
    assert world.sent == ["next"] * 3 + ["current"], "the fake configuration stays"
    assert world.steps.steps == [("promoted", Tally(good=3))]


def test_about_the_share_of_the_requests_tries_the_next_credentials() -> None:
    chosen = sum(is_chosen(str(number), 2, 10) for number in range(10_000))
    assert 900 < chosen < 1100
    assert all(is_chosen(str(number), 2, 100) for number in range(1000))


def test_what_is_not_chosen_reads_and_writes_no_state() -> None:
    world = World(accepting(), on_trial(share=0))
    world.trials = replace(world.trials, states=None)  # type: ignore[type-var]
    world.sender.trials = world.trials
    assert [world.send() for _ in range(20)] == [200] * 20
    assert set(world.sent) == {"current"}


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_refused_request_is_made_once_more_with_the_current_credentials(
    method: str,
) -> None:
    world = World(accepting(next=401))
    assert world.send(method, b"{}" if method == "POST" else b"") == 200
    assert world.sent == ["next", "current"]
    assert world.steps.steps == [
        ("rejected: invalid_credentials", Tally(refused=1)),
    ]
    world.send()
    assert world.sent == ["next", "current", "current"]


def test_no_configuration_that_was_read_before_tries_a_rejected_set() -> None:
    world = World(accepting(next=401))
    world.send()
    world.sender.send(Call(world.seen, "GET", "/orders"))
    assert world.sent == ["next", "current", "current"]
    assert len(world.steps.steps) == 1


def test_a_set_that_is_refused_after_successes_is_rejected() -> None:
    world = World(accepting())
    world.send()
    world.respond = accepting(next=401)
    assert world.send() == 200
    assert world.steps.steps[0][1] == Tally(good=1, refused=1)


@pytest.mark.parametrize(
    ("status", "body", "settings", "verdict"),
    [
        (204, b"", {}, Tally(good=1)),
        (302, b"", {}, Tally(good=1)),
        (200, b'{"error": "x"}', {}, Tally(good=1)),
        (403, b"", {}, Tally(denied=1)),
        (429, b"", {}, Tally()),
        (503, b"", {}, Tally()),
        (404, b"", {}, Tally()),
    ],
)
def test_a_response_counts_by_what_it_says_of_the_credentials(
    status: int, body: bytes, settings: dict[str, object], verdict: Tally
) -> None:
    world = World(lambda _: Response(status, body=body), on_trial(**settings))
    assert world.send() == status
    assert world.tally == verdict
    assert world.steps.steps == []
    assert world.sent == ["next"]


@pytest.mark.parametrize(
    ("response", "settings", "cause"),
    [
        (
            Response(403),
            {"verification__forbidden_means_expired": True},
            "token_expired",
        ),
        (
            Response(200, body=b"session over"),
            {"verification__expired_marker": "session over"},
            "token_expired",
        ),
    ],
)
def test_what_the_configuration_calls_a_refusal_is_one(
    response: Response, settings: dict[str, object], cause: str
) -> None:
    world = World(
        lambda used: response if used == "next" else Response(200),
        on_trial(**settings),
    )
    assert world.send() == 200
    assert world.steps.steps == [(f"rejected: {cause}", Tally(refused=1))]


def test_a_denied_request_keeps_outkey_from_promoting() -> None:
    world = World(accepting(next=403), on_trial(after=1))
    world.send()
    world.respond = accepting()
    world.send()
    world.clock.advance(4000)
    world.send()
    assert world.tally == Tally(good=2, denied=1)
    assert world.steps.steps == []


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (secret_missing("token"), "secret_missing"),
        (BlockedByPolicy(field="token"), "configuration"),
        (TokenEndpointFailed(), "token_endpoint"),
        (LoginRefused(), "invalid_credentials"),
        (BackendUnavailable(field="token"), "backend_unavailable"),
        (EgressDenied(field="token"), "egress_denied"),
    ],
)
def test_a_set_that_cannot_be_used_is_refused(error: OutkeyError, cause: str) -> None:
    world = World(accepting())
    world.secrets.error = error
    assert world.send() == 200
    assert world.sent == ["current"]
    assert world.steps.steps == [(f"rejected: {cause}", Tally(refused=1))]


def test_a_store_that_has_other_secrets_of_a_configuration_refuses_no_set() -> None:
    world = World(accepting())
    world.secrets.error = BackendUnavailable(field="password")
    with pytest.raises(BackendUnavailable):
        world.send()
    assert world.tally == Tally()


def test_a_handshake_says_something_only_of_a_certificate() -> None:
    failing = World(lambda used: TlsFailed() if used == "next" else Response(200))
    with pytest.raises(TlsFailed):
        failing.send()
    assert failing.tally == Tally()
    made = on_trial()
    assert made.sets.next is not None
    states = {**made.sets.next.secrets, "client_key": SecretState(ORIGIN)}
    made = replace(
        made, sets=replace(made.sets, next=replace(made.sets.next, secrets=states))
    )
    world = World(failing.respond, made)
    assert world.send() == 200
    assert world.steps.steps == [("rejected: tls", Tally(refused=1))]


def test_a_broken_connection_counts_nothing_and_gives_the_turn_back() -> None:
    world = World(lambda _: ConnectionFailed())
    with pytest.raises(ConnectionFailed):
        world.send("POST")
    world.respond = accepting()
    world.send()
    assert world.sent == ["next", "next"]
    assert world.tally == Tally(good=1)


def test_before_the_first_success_one_request_is_under_way() -> None:
    world = World(accepting())

    def respond(used: str) -> FakeResponse:
        if used == "next" and len(world.sent) == 1:
            assert world.send() == 200, "meanwhile"
        return Response(200)

    world.respond = respond
    world.send()
    assert world.sent == ["next", "current"]
    world.send()
    assert world.sent[2:] == ["next"]


def test_a_sender_that_died_gives_its_turn_back_after_its_timeout() -> None:
    world = World(accepting())
    turn = world.trials.take_turn(world.sender.context, world.seen)
    assert turn is not None
    world.send()
    world.clock.advance(world.seen.limits.total_timeout + 1)
    world.send()
    assert world.sent == ["current", "next"]


def test_a_clock_that_is_set_back_does_not_extend_a_turn() -> None:
    world = World(accepting())
    assert world.trials.take_turn(world.sender.context, world.seen) is not None
    world.clock.advance(-5000)
    world.send()
    assert world.sent == ["next"]


def test_an_hour_with_one_success_promotes_with_the_next_request() -> None:
    world = World(accepting(), on_trial(after=1000))
    world.send()
    world.clock.advance(3601)
    world.send()
    assert world.steps.steps == [("promoted", Tally(good=1))]


def test_without_automatic_only_a_user_promotes() -> None:
    world = World(accepting(), on_trial(after=1, rotation__automatic=False))
    world.send()
    world.clock.advance(4000)
    world.send()
    assert world.tally == Tally(good=2)
    assert world.steps.steps == []


def test_a_paused_configuration_and_one_elsewhere_use_the_current_credentials() -> None:
    world = World(accepting())
    context = world.sender.context
    paused = replace(world.seen, paused_at=NOW)
    assert world.trials.take_turn(context, paused) is None
    assert world.trials.take_turn(context, replace(world.seen, record="")) is None


def test_a_set_that_was_entered_for_another_origin_is_not_tried() -> None:
    world = World(accepting(), on_trial(origin="https://other.example"))
    assert world.send() == 200
    assert world.sent == ["current"]
    assert world.steps.steps == []


def test_an_interrupted_end_is_made_up_for_by_the_next_request() -> None:
    world = World(accepting(next=401))
    world.steps.error = StorageUnavailable()
    world.send()
    assert world.steps.steps == []
    world.steps.error = None
    world.send()
    assert world.steps.steps == [], "the end is left to who began it, for a moment"
    world.clock.advance(6)
    world.send()
    assert world.sent == ["next", "current", "current", "current"]
    assert world.steps.steps == [
        ("rejected: invalid_credentials", Tally(refused=1)),
    ]


def test_another_step_may_come_first() -> None:
    world = World(accepting(), on_trial(after=1))
    world.steps.error = EditConflict()
    assert world.send() == 200
    world.steps.seen = replace(world.seen, sets=CredentialSets(newest=2))
    world.clock.advance(6)
    world.sender.send(Call(world.seen, "GET", "/orders"))
    assert world.steps.steps == []


def test_a_trial_that_has_ended_is_not_begun_by_who_read_it_before() -> None:
    world = World(accepting())
    earlier = world.seen
    world.steps.seen = replace(earlier, sets=CredentialSets(newest=2))
    world.sender.send(Call(earlier, "GET", "/orders"))
    assert world.sent == ["current"]
    assert world.states.read(StateKind.TRIAL) == {}


def test_a_configuration_that_is_renamed_meanwhile_uses_the_current_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Configuration:
        raise UnknownConfiguration(field=name)

    world = World(accepting())
    monkeypatch.setattr(world.steps, "current", fail)
    assert world.send() == 200
    assert world.sent == ["current"]


def test_a_new_trial_of_the_same_set_counts_anew() -> None:
    world = World(accepting())
    world.send()
    trial = CredentialTrial(100, 3, NOW + 60)
    again = replace(world.seen, sets=replace(world.seen.sets, trial=trial))
    world.steps.seen = again
    world.send()
    assert world.trials.tally(again) == Tally(good=1)
    assert len(world.states.read(StateKind.TRIAL)) == 1


def test_without_its_state_a_trial_does_not_go_on() -> None:
    world = World(accepting())

    class Broken(MemoryStateRows):
        def read(self, *_: Any) -> dict[str, SharedState]:  # noqa: ANN401
            raise StorageUnavailable

    world.sender.trials = replace(world.trials, states=Broken())
    world.send()
    world.send()
    assert world.sent == ["current", "current"]


def test_a_state_that_cannot_be_read_ends_no_request() -> None:
    world = World(accepting())

    class Unreadable(MemoryStateRows):
        def read(self, *_: Any) -> dict[str, SharedState]:  # noqa: ANN401
            key = f"{'0' * 32}:2:{NOW}"
            return {key: SharedState(1, Odd())}  # type: ignore[arg-type]

    world.sender.trials = replace(world.trials, states=Unreadable())
    world.send()
    assert world.sent == ["current"]
    assert world.sender.trials.tally(world.seen) == Tally()


def test_trials_touch_neither_the_pause_nor_the_count_of_refusals() -> None:
    world = World(accepting(next=401))
    counted: list[object] = []
    store = world.sender.configurations
    store.note_refused = lambda *facts: counted.append(facts) or 1  # type: ignore[method-assign, func-returns-value]
    world.send()
    assert counted == []


def test_requests_of_an_event_loop_have_their_turn() -> None:
    world = World(accepting(next=401))
    call = Call(world.seen, "GET", "/orders")
    response = asyncio.run(world.sender.asend(lambda: call))
    assert response.status == 200
    assert world.sent == ["next", "current"]


def test_a_request_that_is_sent_ahead_is_repeated_when_it_is_waited_for() -> None:
    world = World(accepting(next=401))
    started = world.sender.start(Call(world.seen, "GET", "/orders"))
    assert started.result().status == 200
    assert world.sent == ["next", "current"]


def test_an_echo_is_looked_for_in_the_values_of_all_sets() -> None:
    world = World(accepting())
    assert world.seen.sets.next is not None
    tried = world.seen.with_set(world.seen.sets.next)
    for view, known in (
        (world.seen, ["current", "next"]),
        (tried, ["next", "current"]),
        (replace(world.seen, record=""), ["current"]),
    ):
        found = sent_secrets(world.sender.context, view)
        assert [secret.reveal() for secret in found] == known


def test_the_audit_names_the_set_of_each_request() -> None:
    world = World(accepting(next=401))
    world.send()
    intents = [event for event in world.audit.events if isinstance(event, Intent)]
    assert [intent.serial for intent in intents] == [2, 1]


def test_a_client_certificate_must_be_valid_now() -> None:
    seen = on_trial(tls__client_certificate="/etc/ssl/client.pem")
    assert seen.sets.next is not None
    world = World(accepting(), seen)
    view = seen.with_set(seen.sets.next)
    context = world.sender.context
    world.trials.refuse_certificate(context, view)
    for seconds in (-1, 101):
        world.clock.advance(seconds)
        with pytest.raises(ConfigError, match="is valid from"):
            world.trials.refuse_certificate(context, view)


class LentWorld(World):
    """Another client sends, with one of two libraries."""

    def client(self, library: str, method: str = "GET") -> int:
        gateway = Gateway(self.sender)
        if library == "httpx":
            transport = httpx.MockTransport(self.answer_httpx)
            auth = HttpxAuth(gateway, "acme")
            with httpx.Client(auth=auth, transport=transport) as client:
                return client.request(method, f"{BASE}/orders").status_code
        with requests.Session() as session:
            session.mount("https://", AnsweringAdapter(self))
            auth = RequestsAuth(gateway, "acme")
            return session.request(method, f"{BASE}/orders", auth=auth).status_code

    def answer_httpx(self, request: httpx.Request) -> httpx.Response:
        sent = dict(request.headers.raw)[b"Authorization"]
        return httpx.Response(self.answer(sent.decode()))

    def answer(self, header: str) -> int:
        used = header.removeprefix("Bearer ")
        self.sent.append(used)
        response = self.respond(used)
        assert isinstance(response, Response)
        return response.status


class AnsweringAdapter(requests.adapters.BaseAdapter):
    def __init__(self, world: LentWorld) -> None:
        super().__init__()
        self.world = world

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:  # noqa: ANN401
        response = requests.Response()
        response.status_code = self.world.answer(request.headers["Authorization"])
        response.request = request
        response.url = str(request.url)
        response.raw = io.BytesIO(b"")
        response.connection = self  # type: ignore[attr-defined]
        return response

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_lent_credentials_of_a_trial_cost_no_request(library: str) -> None:
    world = LentWorld(accepting(next=401))
    assert world.client(library, "POST") == 200
    assert world.sent == ["next", "current"]
    assert world.steps.steps == [("rejected: invalid_credentials", Tally(refused=1))]


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_lent_credentials_promote(library: str) -> None:
    world = LentWorld(accepting(), on_trial(after=2))
    assert [world.client(library), world.client(library)] == [200, 200]
    assert world.steps.steps == [("promoted", Tally(good=2))]


def test_lent_credentials_that_cannot_be_used_are_refused() -> None:
    world = LentWorld(accepting())
    world.secrets.error = secret_missing("token")
    assert world.client("httpx") == 200
    assert world.sent == ["current"]
    assert world.steps.steps == [("rejected: secret_missing", Tally(refused=1))]


def test_a_lent_request_without_a_response_gives_its_turn_back() -> None:
    world = LentWorld(accepting())
    gateway = Gateway(world.sender)
    loan = gateway.lend("acme", "GET", f"{BASE}/orders", [])
    assert loan.turn is not None
    assert gateway.lend("acme", "GET", f"{BASE}/orders", []).turn is None
    assert gateway.settle(loan, 0) is False
    assert gateway.lend("acme", "GET", f"{BASE}/orders", []).turn is not None
    assert gateway.lend("acme", "PUT", f"{BASE}/orders", [], body=None).turn is None


def test_what_no_loan_can_have_is_refused_in_a_trial_too() -> None:
    world = LentWorld(accepting())
    with pytest.raises(EgressDenied):
        Gateway(world.sender).lend("acme", "GET", "https://other.example/", [])
    assert world.tally == Tally()
