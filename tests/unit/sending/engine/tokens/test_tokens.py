"""The token manager with fakes: who renews when, and the state after a failure."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from frames import places_showing, product_frames
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import (
    AuditUnavailable,
    ConfigError,
    ConnectionFailed,
    EgressDenied,
    OutkeyError,
    ReauthorizationNeeded,
    RedirectBlocked,
    SecretMissing,
    SecretUnreadable,
    StorageUnavailable,
    TimedOut,
    TokenEndpointFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.secret import Secret
from outkey.hosts.file.loading import from_text
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.grants import consent_for
from outkey.sending.core.oauth2.token import LEASE_SECONDS, State, TokenState, basis_of
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.connection_test_setup import DraftCredentials, prepare_test
from outkey.sending.engine.tokens.actions import TokenStatus
from outkey.sending.engine.tokens.discovery import discover
from outkey.sending.engine.tokens.oauth2_source import OAuth2Source
from outkey.sending.engine.tokens.renewal import TokenManager
from outkey.sending.engine.tokens.token_cache import CACHED_SECONDS
from outkey.sending.engine.wire.drive import drive
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeClock, FakeWorld, MemorySecrets
from outkey.testing.fakes.storage import memory_registry

OAUTH = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": "https://auth.acme.example/token",
    "oauth2__client_id": "erp",
}
NAMES = {
    "api.acme.example": ("93.184.215.14",),
    "auth.acme.example": ("93.184.215.15",),
}
SECRETS = {"client_secret": "client-secret-1", "refresh_token": "first-refresh-token"}


class Provider:
    """An API and its authorization server, played by a function."""

    def __init__(self, **extra: object) -> None:
        self.extra: dict[str, object] = {"expires_in": 3600} | extra
        self.asked: list[dict[str, str]] = []
        self.seen: list[str] = []
        self.live: set[str] = set()
        self.token_answers: list[Response | OutkeyError | Callable[[], Response]] = []
        self.api_answers: list[Response] = []

    def __call__(self, request: Request) -> Response | OutkeyError:
        if request.origin.host.startswith("auth."):
            return self._token(request)
        header = next(
            (h.value for h in request.headers if h.name == "Authorization"), Secret("")
        )
        assert isinstance(header, Secret)
        token = header.reveal().rpartition(" ")[2]
        self.seen.append(token)
        if self.api_answers:
            return self.api_answers.pop(0)
        return Response(200) if token in self.live else Response(401)

    def _token(self, request: Request) -> Response | OutkeyError:
        assert isinstance(request.body, Secret)
        form = parse_qs(request.body.reveal())
        self.asked.append({name: values[0] for name, values in form.items()})
        if self.token_answers:
            answer = self.token_answers.pop(0)
            return answer() if callable(answer) else answer
        return self.granted()

    def granted(self, **changed: object) -> Response:
        token = f"access-token-{len(self.asked)}"
        self.live.add(token)
        document = (
            {"access_token": token, "token_type": "Bearer"} | self.extra | changed
        )
        return Response(200, body=json.dumps(document).encode())

    def refuse(self, error: str, status: int = 400, *headers: tuple[str, str]) -> None:
        body = json.dumps({"error": error}).encode()
        self.token_answers.append(Response(status, ResponseHeaders(headers), body))


def world(provider: Provider, **values: object) -> FakeWorld:
    made = configuration(**(OAUTH | values))
    return fake_gateway(made, responses=provider, secrets=SECRETS, names=NAMES)


def send(fake: FakeWorld) -> Response:
    return fake.gateway.send("acme", "GET", "/")


def discovered(fake: FakeWorld, issuer: str) -> dict[str, str]:
    return fake.sender.run(discover(fake.sender.context, issuer, Network.PUBLIC, ""))


def token_manager(fake: FakeWorld) -> TokenManager:
    return TokenManager(fake.sender.context, fake.ports.configurations.get("acme"))


def state_from(fake: FakeWorld, before: TokenState, body: bytes) -> TokenState:
    """Return the state that a token response leads to."""
    made = fake.ports.configurations.get("acme")
    return OAuth2Source(fake.sender.context, made).state_from(
        before,
        fake.clock.now(),
        response=Response(200, body=body),
        sent=[],
        proof_key=None,
    )


def kept(fake: FakeWorld) -> TokenState:
    return fake.ports.tokens.read(fake.ports.configurations.get("acme"))


def put(fake: FakeWorld, **changed: object) -> TokenState:
    """Put a state in the place of the kept one, as another process would."""
    made, before = fake.ports.configurations.get("acme"), kept(fake)
    state = replace(before, basis=basis_of(made), **changed)  # type: ignore[arg-type]
    after = fake.ports.tokens.swap(made, before, state)
    assert after is not None
    fake.sender.context.token_cache.__init__()  # type: ignore[misc]  # nothing at hand, as in another process
    return after


# ── one token for many sends ──────────────────────────────────────────────────────────


def test_the_first_send_gets_a_token_and_the_next_ones_use_it() -> None:
    provider = Provider()
    fake = world(provider)
    assert [send(fake).status for _ in range(5)] == [200] * 5
    assert provider.asked == [
        {
            "grant_type": "client_credentials",
            "client_id": "erp",
            "client_secret": "client-secret-1",
        }
    ]
    assert set(provider.seen) == {"access-token-1"}


def test_getting_a_token_is_recorded_before_and_after_without_a_value() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    tags = [event.tag for event in fake.audit.events]
    assert tags == [
        Tag.TOKEN_INTENT,
        Tag.TOKEN_OUTCOME,
        Tag.SEND_INTENT,
        Tag.SEND_OUTCOME,
    ]
    intent = fake.audit.events[0]
    assert isinstance(intent, Intent)
    assert (intent.origin, intent.path) == ("https://auth.acme.example", "/token")


def test_a_token_is_renewed_before_it_ends_and_never_sent_after() -> None:
    provider = Provider(expires_in=100)
    fake = world(provider)
    send(fake)
    fake.clock.advance(89)
    send(fake)
    assert len(provider.asked) == 1
    fake.clock.advance(2)  # a tenth of its life is left
    send(fake)
    assert len(provider.asked) == 2
    fake.clock.advance(1000)
    send(fake)
    assert provider.seen[-1] == "access-token-3"


def test_its_life_is_counted_from_before_the_request() -> None:
    provider = Provider(expires_in=100)
    fake = world(provider)
    fake.transport.delay = 5.0
    send(fake)
    state = kept(fake)
    assert fake.clock.now() - state.obtained_at == 10  # the token's delay and the API's


def test_a_token_that_is_good_for_nothing_is_used_once() -> None:
    provider = Provider(expires_in=0)
    fake = world(provider)
    send(fake)
    send(fake)
    assert provider.seen == ["access-token-1", "access-token-2"]


def test_an_unknown_lifetime_gets_the_configured_default() -> None:
    provider = Provider(expires_in="soon")
    fake = world(provider, oauth2__default_lifetime_seconds=200)
    send(fake)
    assert kept(fake).lifetime == 200


def test_preview_gets_no_token() -> None:
    provider = Provider()
    fake = world(provider)
    shown = {
        header.name: header.value for header in fake.gateway.preview("acme").headers
    }
    assert shown["Authorization"] == "Bearer ***"
    assert provider.asked == []


# ── who renews ────────────────────────────────────────────────────────────────────────


def test_while_one_renews_the_others_use_the_token_that_still_lives() -> None:
    provider = Provider(expires_in=100)
    fake = world(provider)
    send(fake)
    fake.clock.advance(95)
    put(fake, holder="somebody", leased_until=fake.clock.now() + LEASE_SECONDS)
    assert send(fake).status == 200
    assert provider.seen[-1] == "access-token-1"
    assert len(provider.asked) == 1


def test_whoever_needs_a_token_waits_for_the_one_who_gets_it() -> None:
    provider = Provider()
    fake = world(provider)
    other = put(fake, holder="somebody", leased_until=fake.clock.now() + LEASE_SECONDS)
    made = fake.ports.configurations.get("acme")
    passed: list[float] = []

    def others_turn(seconds: float) -> None:
        passed.append(seconds)
        fake.clock.advance(seconds)
        if len(passed) == 3:
            provider.live.add("theirs-token")
            body = json.dumps(
                {"access_token": "theirs-token", "expires_in": 60}
            ).encode()
            granted = state_from(fake, other, body)
            assert fake.ports.tokens.swap(made, other, granted)

    fake.clock.sleep = others_turn  # type: ignore[method-assign]
    assert send(fake).status == 200
    assert provider.seen == ["theirs-token"]
    assert provider.asked == []


def test_a_lease_that_ended_is_taken_over_and_the_late_answer_discarded() -> None:
    provider = Provider()
    fake = world(provider)
    made = fake.ports.configurations.get("acme")

    def overtaken() -> Response:
        # While this one is stopped, its lease ends and another process gets a token.
        provider.live.add("theirs-token")
        put(fake, content=None)
        claimed = kept(fake)
        body = json.dumps({"access_token": "theirs-token", "expires_in": 900}).encode()
        granted = state_from(fake, claimed, body)
        assert fake.ports.tokens.swap(made, claimed, granted)
        return provider.granted()

    provider.token_answers.append(overtaken)
    assert send(fake).status == 200
    assert provider.seen == ["theirs-token"]
    assert len(provider.asked) == 1


def test_waiting_for_another_process_has_an_end() -> None:
    provider = Provider()
    fake = world(provider)
    made = fake.ports.configurations.get("acme")

    class Busy(MemoryTokens):
        def swap(
            self, configuration: Configuration, before: TokenState, after: TokenState
        ) -> TokenState | None:
            return None

    sender = replace(fake.sender.context, tokens=Busy(fake.clock.now))
    with pytest.raises(TokenEndpointFailed) as caught:
        drive(TokenManager(sender, made).get(), fake.sender.runtime)
    assert caught.value.reason == "waiting"
    with pytest.raises(TokenEndpointFailed):
        drive(TokenManager(sender, made).delete(), fake.sender.runtime)


def test_a_lease_of_a_clock_that_was_set_back_binds_nobody() -> None:
    provider = Provider()
    fake = world(provider)
    put(fake, holder="somebody", leased_until=fake.clock.now() + 7200)
    assert send(fake).status == 200


def test_threads_of_one_process_get_one_token() -> None:
    provider = Provider()
    fake = world(provider)
    fake.clock.sleep = lambda _: time.sleep(0.001)  # type: ignore[method-assign]  # else all of them wind the clock
    started = threading.Barrier(20)
    statuses: list[int] = []

    def one() -> None:
        started.wait(10)
        statuses.append(send(fake).status)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert statuses == [200] * 20
    assert len(provider.asked) == 1


def test_a_process_that_sends_nothing_any_more_forgets_its_tokens() -> None:
    provider = Provider(refresh_token="another")
    fake = world(provider)
    for _ in range(3):
        assert send(fake).status == 200
        (cached,) = fake.sender.context.token_cache._tokens.values()
        assert cached.state.content is not None
        fake.clock.advance(CACHED_SECONDS)
        (cached,) = fake.sender.context.token_cache._tokens.values()
        assert cached.state.content is None
    assert len(provider.asked) == 1


def test_what_is_not_held_any_more_is_not_counted_as_taken() -> None:
    cache = world(Provider()).sender.context.token_cache
    cache.note_accepted("unknown")
    assert not cache.may_have_expired("unknown", 0, 0.0)


def test_a_fork_in_the_middle_of_a_renewal_leaves_nobody_waiting() -> None:
    provider = Provider()
    fake = world(provider)
    cache = fake.sender.context.token_cache
    # By a thread of the process that this one was forked from.
    cache._renewals["acme"] = (-1, object())
    assert send(fake).status == 200


def test_many_configurations_do_not_fill_the_memory() -> None:
    provider = Provider()
    fake = world(provider)
    cache = fake.sender.context.token_cache
    made = fake.ports.configurations.get("acme")
    for number in range(2001):
        cache.store(str(number), made, TokenState(), wall=0, now=0)
    assert len(cache._tokens) < 2001


# ── the clock ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_does_not_cause_a_storm(hours: int) -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    fake.clock._started_at += hours * 3600
    for _ in range(20):
        fake.clock.advance(10)
        assert send(fake).status == 200
    assert len(provider.asked) <= 2


def test_a_provider_whose_clock_is_ahead_gives_tokens_that_live() -> None:
    provider = Provider(expires_in=None, expires_at=0)
    fake = world(provider)
    theirs = fake.clock.now() - 7200
    provider.extra["expires_at"] = theirs + 600
    date = "Fri, 15 Jan 2027 06:00:00 GMT"
    assert theirs == 1_799_992_800

    def dated() -> Response:
        answer = provider.granted()
        return replace(answer, headers=ResponseHeaders((("Date", date),)))

    provider.token_answers.append(dated)
    send(fake)
    assert kept(fake).lifetime == 600


# ── refused by the API ────────────────────────────────────────────────────────────────


def test_a_refused_token_is_renewed_once_and_the_request_sent_once_more() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    provider.live.clear()
    assert fake.gateway.send("acme", "POST", "/", data=b"body").status == 200
    assert provider.seen == ["access-token-1", "access-token-1", "access-token-2"]


def test_a_token_that_somebody_renewed_meanwhile_is_used_and_none_is_asked_for() -> (
    None
):
    provider = Provider()
    fake = world(provider)
    send(fake)
    provider.live = {"newer-token"}
    body = json.dumps({"access_token": "newer-token", "expires_in": 900}).encode()
    state, made = kept(fake), fake.ports.configurations.get("acme")
    granted = state_from(fake, state, body)
    fake.ports.tokens.swap(made, state, granted)
    assert send(fake).status == 200
    assert len(provider.asked) == 1


def test_an_api_that_refuses_every_token_does_not_cause_a_storm_at_the_provider() -> (
    None
):
    provider = Provider()
    fake = world(provider)
    send(fake)
    provider.api_answers = [Response(401)] * 11
    for _ in range(10):
        assert send(fake).status == 401
    assert len(provider.seen) == 12
    assert (len(provider.asked), provider.api_answers) == (2, [])
    fake.clock.advance(61)
    provider.live.clear()
    assert send(fake).status == 200


def test_where_the_renewal_after_a_refusal_fails_that_is_what_is_said() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    provider.live.clear()
    provider.refuse("invalid_client", 401)
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.reason == "invalid_client"


def test_a_second_refusal_names_the_settings_that_may_be_wrong() -> None:
    provider = Provider()
    fake = world(provider)
    challenge = ResponseHeaders((("WWW-Authenticate", 'Bearer error="invalid_token"'),))
    provider.api_answers = [Response(401, challenge), Response(401, challenge)]
    response = send(fake)
    assert response.status == 401
    assert "Audience" in (response.remedy or "")


# ── failures of the Token URL ─────────────────────────────────────────────────────────


def failing(reason: str, **values: object) -> tuple[Provider, FakeWorld]:
    provider = Provider()
    fake = world(provider, **values)
    provider.refuse(reason)
    with pytest.raises(TokenEndpointFailed):
        send(fake)
    return provider, fake


def test_nothing_is_sent_to_the_api_when_there_is_no_token() -> None:
    provider, fake = failing("invalid_client")
    assert provider.seen == []
    refusal = fake.audit.events[-1]
    assert isinstance(refusal, Refusal)
    assert refusal.code == "token_endpoint"


def test_waits_grow_with_failures_and_end_in_an_open_circuit() -> None:
    provider, fake = failing("server_error")
    waits = []
    for _ in range(6):
        state = kept(fake)
        waits.append(state.retry_at - fake.clock.now())
        with pytest.raises(TokenEndpointFailed):
            send(fake)  # at once: nobody is asked
        asked = len(provider.asked)
        fake.clock.advance(waits[-1] + 0.001)
        provider.refuse("server_error", 500)
        with pytest.raises(TokenEndpointFailed):
            send(fake)
        assert len(provider.asked) == asked + 1
    assert [round(wait) for wait in waits] == [1, 2, 4, 8, 60, 60]


def test_after_the_wait_it_works_again_and_the_failures_are_forgotten() -> None:
    _, fake = failing("server_error")
    fake.clock.advance(1.1)
    assert send(fake).status == 200
    assert kept(fake).failures == 0


def test_the_provider_s_own_wish_to_wait_is_kept_up_to_five_minutes() -> None:
    provider = Provider()
    fake = world(provider)
    provider.refuse("slow_down", 429, ("Retry-After", "9999"))
    with pytest.raises(TokenEndpointFailed):
        send(fake)
    assert kept(fake).retry_at - fake.clock.now() == 300


def test_a_token_that_still_lives_is_used_while_the_provider_fails() -> None:
    provider = Provider(expires_in=100)
    fake = world(provider)
    send(fake)
    fake.clock.advance(95)
    provider.refuse("server_error", 500)
    assert send(fake).status == 200
    assert send(fake).status == 200
    assert provider.seen == ["access-token-1"] * 3
    assert len(provider.asked) == 2


def test_a_person_s_test_asks_the_provider_although_it_has_just_failed() -> None:
    _, fake = failing("server_error")
    report = fake.gateway.test("acme")
    assert report.ok
    assert [step.step for step in report.steps] == [
        "configuration",
        "secrets",
        "token",
        "connect",
        "request",
    ]


def test_a_test_names_the_token_endpoint_as_the_cause() -> None:
    provider = Provider()
    fake = world(provider)
    provider.refuse("invalid_scope")
    report = fake.gateway.test("acme")
    assert (report.ok, report.cause) == (False, "token_endpoint")
    assert report.steps[-1].step == "token"
    assert "Scope" in (report.remedy or "")


def test_a_broken_connection_is_tried_once_more_with_the_same_refresh_token() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    provider.token_answers.append(ConnectionFailed())
    assert send(fake).status == 200
    assert [form["refresh_token"] for form in provider.asked] == [
        "first-refresh-token"
    ] * 2


def test_a_connection_that_stays_broken_is_a_failure_of_the_token_endpoint() -> None:
    provider = Provider()
    fake = world(provider)
    provider.token_answers += [ConnectionFailed(), ConnectionFailed()]
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.reason == "connection"
    assert len(provider.asked) == 2


def test_a_provider_that_hangs_ends_in_time_and_the_lease_is_free() -> None:
    provider = Provider()
    fake = world(provider)
    provider.token_answers.append(TimedOut())
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.reason == "timeout"
    assert kept(fake).holder == ""


def test_a_token_endpoint_that_redirects_is_refused_also_to_those_who_come_later() -> (
    None
):
    provider = Provider()
    fake = world(provider)
    headers = ResponseHeaders((("Location", "https://evil.example/token"),))
    provider.token_answers.append(Response(307, headers))
    for _ in range(2):
        with pytest.raises(RedirectBlocked):
            send(fake)
    assert len(provider.asked) == 1


def test_who_was_stopped_before_asking_does_not_ask_when_it_is_too_late() -> None:
    provider = Provider()
    fake = world(provider)
    signer = fake.sender.context.signer

    class Stopped:
        def __getattr__(self, name: str) -> object:
            return getattr(signer, name)

        def fresh(self) -> str:
            fake.clock.advance(LEASE_SECONDS + 1)
            return signer.fresh()

    sender = replace(fake.sender.context, signer=Stopped())  # type: ignore[arg-type]
    made = fake.ports.configurations.get("acme")
    with pytest.raises(TokenEndpointFailed):
        drive(TokenManager(sender, made).get(), fake.sender.runtime)
    assert provider.asked == []


# ── what is ours ──────────────────────────────────────────────────────────────────────


def test_where_the_record_cannot_be_written_the_provider_is_not_asked() -> None:
    provider = Provider()
    fake = world(provider)
    fake.audit.broken = True
    with pytest.raises(AuditUnavailable):
        send(fake)
    assert provider.asked == []
    assert kept(fake).holder == ""
    fake.audit.broken = False
    assert send(fake).status == 200


def test_a_missing_client_secret_is_said_and_nothing_is_asked() -> None:
    provider = Provider()
    fake = world(provider)
    del fake.secrets.values["client_secret"]
    with pytest.raises(SecretMissing):
        send(fake)
    assert provider.asked == []


def test_a_token_url_inside_the_network_is_refused_for_a_public_configuration() -> None:
    provider = Provider()
    fake = world(provider)
    fake.resolver.names["auth.acme.example"] = ("10.0.0.1",)
    with pytest.raises(EgressDenied):
        send(fake)
    assert provider.asked == []


def test_a_token_url_without_https_is_refused_on_the_public_internet() -> None:
    provider = Provider()
    fake = world(provider, oauth2__token_url="http://auth.acme.example/token")
    with pytest.raises(EgressDenied) as caught:
        send(fake)
    assert caught.value.field == "oauth2.token_url"


class FailingTokens(MemoryTokens):
    """Storage that fails so many times when a token is to be kept."""

    def __init__(
        self, clock: FakeClock, failures: int, *, always: bool = False
    ) -> None:
        super().__init__(clock.now)
        self.failures, self.always = failures, always

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        if self.failures and (self.always or after.serial != before.serial):
            self.failures -= 1
            raise StorageUnavailable
        return super().swap(configuration, before, after)


def with_storage(fake: FakeWorld, tokens: MemoryTokens) -> TokenManager:
    sender = replace(fake.sender.context, tokens=tokens)
    return TokenManager(sender, fake.ports.configurations.get("acme"))


def test_a_new_token_is_kept_when_storage_comes_back_and_only_then_used() -> None:
    provider = Provider()
    fake = world(provider)
    tokens = FailingTokens(fake.clock, 3)
    token = drive(with_storage(fake, tokens).get(), fake.sender.runtime)
    assert token.value == Secret("access-token-1")
    assert tokens.read(fake.ports.configurations.get("acme")).content is not None


def test_a_token_that_cannot_be_kept_is_not_used() -> None:
    provider = Provider()
    fake = world(provider)
    keeping = with_storage(fake, FailingTokens(fake.clock, 1000))
    with pytest.raises(StorageUnavailable):
        drive(keeping.get(), fake.sender.runtime)
    assert fake.clock.monotonic() < LEASE_SECONDS


def test_a_failure_that_cannot_be_kept_is_still_said() -> None:
    provider = Provider()
    fake = world(provider)
    tokens = FailingTokens(fake.clock, 0, always=True)

    def broken_from_now_on() -> Response:
        tokens.failures = 1000
        return Response(500)

    provider.token_answers.append(broken_from_now_on)
    with pytest.raises(TokenEndpointFailed):
        drive(with_storage(fake, tokens).get(), fake.sender.runtime)


# ── refresh tokens ────────────────────────────────────────────────────────────────────


def test_a_rotated_refresh_token_is_used_the_next_time() -> None:
    provider = Provider(refresh_token="second-refresh-token", expires_in=10)
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    fake.clock.advance(20)
    del provider.extra["refresh_token"]  # this one is not replaced, so it stays
    send(fake)
    fake.clock.advance(20)
    send(fake)
    used = [form["refresh_token"] for form in provider.asked]
    assert used == [
        "first-refresh-token",
        "second-refresh-token",
        "second-refresh-token",
    ]


def test_a_dead_refresh_token_ends_in_one_call_and_a_person_is_asked() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    provider.refuse("invalid_grant")
    for _ in range(5):
        with pytest.raises(ReauthorizationNeeded) as caught:
            send(fake)
        assert caught.value.reason == ""
        fake.clock.advance(100)
    assert len(provider.asked) == 1
    assert fake.token("acme").status().state is State.REAUTHORIZATION_NEEDED


def test_a_crash_during_a_renewal_is_recovered_by_one_more_try() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    put(fake, holder="crashed", leased_until=fake.clock.now() - 1, tries=1)
    assert send(fake).status == 200
    assert kept(fake).tries == 0


def test_a_second_crash_needs_a_person_and_asks_nobody() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    put(fake, holder="crashed", leased_until=fake.clock.now() - 1, tries=2)
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    assert provider.asked == []
    assert kept(fake).dead


def test_crashes_of_client_credentials_are_no_reason_to_give_up() -> None:
    provider = Provider()
    fake = world(provider)
    put(fake, holder="crashed", leased_until=fake.clock.now() - 1, tries=7)
    assert send(fake).status == 200


def test_a_token_that_a_person_must_agree_to_is_asked_for_by_nobody_else() -> None:
    provider = Provider()
    fake = world(
        provider,
        oauth2__grant="authorization_code",
        oauth2__authorization_url="https://auth.acme.example/authorize",
    )
    with pytest.raises(ReauthorizationNeeded) as caught:
        send(fake)
    assert (caught.value.reason, provider.asked) == ("not-connected", [])
    assert kept(fake).tries == 0


def test_new_settings_drop_the_token() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    other = configuration(**(OAUTH | {"oauth2__scope": "orders:read"}))
    registry = fake.ports.configurations
    registry.configurations["acme"] = other  # type: ignore[attr-defined]
    assert fake.token("acme").status().state is State.NONE
    send(fake)
    assert provider.asked[-1]["scope"] == "orders:read"
    assert provider.seen == ["access-token-1", "access-token-2"]


# ── what people do ────────────────────────────────────────────────────────────────────


def test_the_status_says_how_a_token_stands() -> None:
    provider = Provider(scope="orders:read", expires_in=100)
    fake = world(provider)
    actions = fake.token("acme")
    assert actions.status().state is State.NONE
    send(fake)
    status = actions.status()
    assert (status.state, status.expires_in, status.scope) == (
        State.FRESH,
        100,
        "orders:read",
    )
    fake.clock.advance(95)
    assert actions.status().state is State.STALE
    fake.clock.advance(10)
    assert (actions.status().state, actions.status().expires_in) == (State.EXPIRED, 0)


@pytest.mark.parametrize(
    ("grant", "state", "expected"),
    [
        ("client_credentials", State.NONE, {"renew"}),
        ("client_credentials", State.FRESH, {"renew", "forget", "revoke"}),
        ("refresh_token", State.REAUTHORIZATION_NEEDED, {"renew", "forget", "revoke"}),
        ("authorization_code", State.NONE, {"connect"}),
        (
            "authorization_code",
            State.REAUTHORIZATION_NEEDED,
            {"connect", "forget", "revoke"},
        ),
        ("device_code", State.EXPIRED, {"renew", "forget", "revoke"}),
    ],
)
def test_grant_and_status_decide_what_can_be_done_with_a_token(
    grant: str, state: State, expected: set[str]
) -> None:
    url = "https://auth.acme.example/any"
    values = {
        "oauth2__grant": grant,
        "oauth2__authorization_url": url,
        "oauth2__device_url": url,
    }
    fake = world(Provider(), **values, oauth2__revocation_url=url)
    assert fake.token("acme").possible(TokenStatus(state)) == expected
    without_url = world(Provider(), **values).token("acme")
    assert without_url.possible(TokenStatus(state)) == expected - {"revoke"}


def test_renewing_asks_also_while_the_token_is_fresh() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    assert fake.token("acme").renew().state is State.FRESH
    send(fake)
    assert provider.seen == ["access-token-1", "access-token-2"]


def test_forgetting_a_token_asks_nobody_and_the_next_send_gets_another() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    actions = fake.token("acme")
    actions.forget()
    assert actions.status().state is State.NONE
    send(fake)
    assert len(provider.asked) == 2


REVOKING = {"oauth2__revocation_url": "https://auth.acme.example/revoke"}


def test_revoking_gives_back_both_tokens_and_forgets_them() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, oauth2__grant="refresh_token", **REVOKING)
    send(fake)
    provider.token_answers += [Response(200), Response(200, body=b"{}")]
    fake.token("acme").revoke()
    assert [form.get("token_type_hint") for form in provider.asked[1:]] == [
        "refresh_token",
        "access_token",
    ]
    assert fake.token("acme").status().state is State.NONE
    # The entered one was replaced, and using it again would be taken for theft.
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    assert len(provider.asked) == 3


def test_a_provider_that_revokes_refresh_tokens_only_is_enough() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, oauth2__grant="refresh_token", **REVOKING)
    send(fake)
    provider.token_answers.append(Response(200))
    provider.refuse("unsupported_token_type")
    fake.token("acme").revoke()
    assert fake.token("acme").status().state is State.NONE


def test_a_revocation_that_fails_keeps_the_token() -> None:
    provider = Provider()
    fake = world(provider, **REVOKING)
    send(fake)
    provider.refuse("unsupported_token_type")
    with pytest.raises(TokenEndpointFailed):
        fake.token("acme").revoke()
    assert fake.token("acme").status().state is State.FRESH


def test_revoking_needs_a_token_and_an_address() -> None:
    provider = Provider()
    with pytest.raises(ReauthorizationNeeded):
        world(provider, **REVOKING).token("acme").revoke()
    with pytest.raises(ConfigError) as caught:
        world(provider).token("acme").revoke()
    assert caught.value.field == "oauth2.revocation_url"


def test_the_provider_is_asked_what_it_thinks_of_the_token() -> None:
    provider = Provider()
    fake = world(
        provider, oauth2__introspection_url="https://auth.acme.example/introspect"
    )
    send(fake)
    provider.token_answers += [
        Response(200, body=b'{"active": true}'),
        Response(200, body=b'{"active": false}'),
    ]
    actions = fake.token("acme")
    assert [actions.introspect(), actions.introspect()] == [True, False]


CODE = {
    "oauth2__grant": "authorization_code",
    "oauth2__authorization_url": "https://auth.acme.example/authorize?tenant=7",
}


def test_a_code_is_exchanged_for_tokens_that_are_kept() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, **CODE)
    consent = consent_for("a-state", "v" * 43, "https://erp.example/callback")
    actions = fake.token("acme")
    assert actions.consent_url(consent).startswith(
        "https://auth.acme.example/authorize?tenant=7&"
    )
    actions.redeem(Secret("the-code-of-the-consent"), consent)
    assert send(fake).status == 200
    assert provider.asked[0] == {
        "grant_type": "authorization_code",
        "code": "the-code-of-the-consent",
        "redirect_uri": "https://erp.example/callback",
        "code_verifier": "v" * 43,
        "client_id": "erp",
    }


def test_consent_is_only_for_the_grants_that_need_it() -> None:
    fake = world(Provider())
    consent = consent_for("a-state", "v" * 43, "https://erp.example/callback")
    for act in (
        lambda actions: actions.consent_url(consent),
        lambda actions: actions.redeem(Secret("the-code-of-the-consent"), consent),
        lambda actions: actions.device_code(),
    ):
        with pytest.raises(ConfigError) as caught:
            act(fake.token("acme"))
        assert caught.value.field == "oauth2.grant"


def test_a_configuration_without_oauth_has_no_token_to_look_after() -> None:
    fake = fake_gateway(configuration(authentication_type="basic"))
    with pytest.raises(ConfigError) as caught:
        fake.token("acme").status()
    assert caught.value.field == "token_source"


DEVICE = {
    "oauth2__grant": "device_code",
    "oauth2__device_url": "https://auth.acme.example/device",
}
DEVICE_ANSWER = Response(
    200,
    body=json.dumps(
        {
            "device_code": "the-device-code",
            "user_code": "ABCD-EFGH",
            "verification_uri": "https://auth.acme.example/activate",
            "interval": 2,
            "expires_in": 60,
        }
    ).encode(),
)


def device_world(*responses: str) -> tuple[Provider, FakeWorld]:
    provider = Provider()
    fake = world(provider, **DEVICE)
    provider.token_answers.append(DEVICE_ANSWER)
    for answer in responses:
        provider.refuse(answer)
    return provider, fake


def test_a_device_code_is_waited_for_as_slowly_as_the_provider_wants() -> None:
    provider, fake = device_world("authorization_pending", "slow_down")
    actions = fake.token("acme")
    device = actions.device_code()
    passed: list[float] = []
    actions.wait_for(device, passed.append)
    assert (device.user_code, passed) == ("ABCD-EFGH", [2, 2, 7])
    assert send(fake).status == 200
    assert len(provider.asked) == 4


@pytest.mark.parametrize("reason", ["access_denied", "expired_token"])
def test_a_person_who_refuses_or_is_late_ends_the_waiting(reason: str) -> None:
    _, fake = device_world(reason)
    actions = fake.token("acme")
    with pytest.raises(TokenEndpointFailed) as caught:
        actions.wait_for(actions.device_code(), lambda _: None)
    assert caught.value.reason == reason


def test_waiting_for_a_person_has_an_end() -> None:
    _, fake = device_world(*["authorization_pending"] * 100)
    actions = fake.token("acme")
    with pytest.raises(TokenEndpointFailed) as caught:
        actions.wait_for(actions.device_code(), lambda _: None)
    assert caught.value.reason == "expired_token"
    assert fake.clock.monotonic() <= 62


def test_a_draft_is_tested_without_touching_what_is_kept() -> None:
    provider = Provider()
    fake = world(provider)
    draft = DraftCredentials(MemorySecrets(SECRETS), MemoryTokens(fake.clock.now))
    made = fake.ports.configurations.get("acme")
    assert prepare_test(fake.sender, made, draft).run().ok
    assert kept(fake).content is None


def test_a_draft_with_a_refresh_token_does_not_use_it_up() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    draft = DraftCredentials(MemorySecrets(SECRETS), MemoryTokens(fake.clock.now))
    report = prepare_test(
        fake.sender, fake.ports.configurations.get("acme"), draft
    ).run()
    assert (report.ok, report.cause) == (False, "configuration")
    assert provider.asked == []


# ── DPoP ──────────────────────────────────────────────────────────────────────────────


def test_a_proof_goes_with_token_and_api_requests_and_a_nonce_is_taken_up() -> None:
    provider = Provider(token_type="DPoP")
    fake = world(provider, oauth2__dpop=True)
    nonce = ("DPoP-Nonce", "nonce-of-the-provider")
    provider.refuse("use_dpop_nonce", 400, nonce)
    wanted = ("WWW-Authenticate", 'DPoP error="use_dpop_nonce"')
    provider.api_answers = [
        Response(401, ResponseHeaders((wanted, ("DPoP-Nonce", "nonce-of-the-api")))),
        Response(200),
    ]
    assert send(fake).status == 200
    assert len(provider.asked) == 2
    proofs = [
        h
        for request, _ in fake.transport.sent
        for h in request.headers
        if h.name == "DPoP"
    ]
    assert len(proofs) == 4


def test_a_proof_without_its_key_is_refused() -> None:
    provider = Provider(token_type="DPoP")
    fake = world(provider, oauth2__dpop=True)
    send(fake)
    content = kept(fake).content
    assert content is not None
    put(fake, content=replace(content, proof_key=None))
    with pytest.raises(ReauthorizationNeeded):
        send(fake)


@pytest.mark.parametrize(("asked", "given"), [(True, "Bearer"), (False, "DPoP")])
def test_a_token_of_another_type_than_was_asked_for_is_not_used(
    *,
    asked: bool,
    given: str,
) -> None:
    provider = Provider(token_type=given)
    fake = world(provider, oauth2__dpop=asked)
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.reason == "token_type"


# ── discovery ─────────────────────────────────────────────────────────────────────────


def metadata(request: Request) -> Response:
    assert request.method == "GET"
    if "openid" not in request.target:
        return Response(404)
    names = {
        "issuer": "https://auth.acme.example/tenant",
        "token_endpoint": "https://auth.acme.example/tenant/token",
        "jwks_uri": "https://auth.acme.example/keys",
    }
    return Response(200, body=json.dumps(names).encode())


def test_discovery_asks_at_both_places_and_returns_addresses_by_field() -> None:
    fake = fake_gateway(responses=metadata, names=NAMES)
    found = fake.sender.run(
        discover(
            fake.sender.context, "https://auth.acme.example/tenant", Network.PUBLIC, ""
        )
    )
    assert found == {
        "issuer": "https://auth.acme.example/tenant",
        "token_url": "https://auth.acme.example/tenant/token",
    }
    assert [request.target for request, _ in fake.transport.sent] == [
        "/.well-known/oauth-authorization-server/tenant",
        "/tenant/.well-known/openid-configuration",
    ]


def test_a_server_without_metadata_says_so() -> None:
    fake = fake_gateway(responses=lambda _: Response(404), names=NAMES)
    with pytest.raises(TokenEndpointFailed):
        fake.sender.run(
            discover(
                fake.sender.context, "https://auth.acme.example", Network.PUBLIC, ""
            )
        )


# ── lending ───────────────────────────────────────────────────────────────────────────


def test_a_loan_carries_the_token_and_another_after_it_was_refused() -> None:
    provider = Provider()
    fake = world(provider)
    url = "https://api.acme.example/orders"
    loan = fake.gateway.lend("acme", "GET", url, [])
    again = fake.gateway.lend("acme", "GET", url, [])
    assert loan.token == again.token
    other = fake.gateway.lend("acme", "GET", url, [], rejected=loan)
    assert other.token != loan.token
    assert len(provider.asked) == 2
    assert isinstance(fake.audit.events[-1], Intent | Outcome)


def test_only_a_refusal_of_the_token_is_worth_another_loan() -> None:
    fake = world(Provider())
    loan = fake.gateway.lend("acme", "GET", "https://api.acme.example/", [])
    assert fake.gateway.settle(loan, 401)
    assert not fake.gateway.settle(loan, 403)
    assert not fake.gateway.settle(loan, 0)
    assert not fake.gateway.settle(replace(loan, token=None), 401)
    other = fake.gateway.lend(
        "acme", "GET", "https://api.acme.example/", [], rejected=loan
    )
    fake.gateway.settle(other, 200)
    assert (
        fake.gateway.lend(
            "acme", "GET", "https://api.acme.example/", [], rejected=other
        )
        != other
    )


def test_the_tokens_themselves_are_known_to_who_must_mask_them() -> None:
    fake = world(Provider(refresh_token="second-refresh-token"))
    token_manager = TokenManager(fake.sender.context, fake.token("acme").configuration)
    assert token_manager.secrets() == []
    send(fake)
    assert len(token_manager.secrets()) == 2


def test_what_people_do_with_a_token_is_recorded_first() -> None:
    fake = world(Provider(), **REVOKING)
    registry = memory_registry([fake.sender.configurations.get("acme")])
    administration = Administration(registry, fake.secrets, fake.audit, "tester")  # type: ignore[arg-type]
    administration.token(fake.sender, "acme", Tag.TOKEN_RENEWED).renew()
    assert (
        administration.token(fake.sender, "acme", Tag.TOKEN_REVOKED).status().state
        is State.FRESH
    )
    with pytest.raises(UnknownConfiguration):
        administration.token(fake.sender, "unknown", Tag.TOKEN_AUTHORIZED)
    tags = [event.tag for event in fake.audit.events if isinstance(event, Change)]
    assert tags == [Tag.TOKEN_RENEWED, Tag.TOKEN_REVOKED]


def test_a_failure_that_came_too_late_is_not_kept() -> None:
    provider = Provider()
    fake = world(provider)

    def overtaken() -> Response:
        put(fake, holder="somebody else", leased_until=fake.clock.now() + 1)
        return Response(500)

    provider.token_answers.append(overtaken)
    with pytest.raises(TokenEndpointFailed):
        send(fake)
    assert kept(fake).holder == "somebody else"


def test_a_document_without_storage_refuses_tokens_that_may_be_replaced() -> None:
    text = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.acme.oauth2]
token_url = "https://auth.acme.example/token"
client_id = "erp"
grant = "refresh_token"
"""
    with pytest.raises(ConfigError) as caught:
        from_text(text)
    assert caught.value.field == "oauth2.grant"
    from_text(text, tokens=MemoryTokens(FakeClock().now)).close()
    from_text(text.replace("refresh_token", "client_credentials")).close()


def test_a_token_that_was_taken_before_is_renewed_again_when_it_is_refused() -> None:
    provider = Provider()
    fake = world(provider)
    for _ in range(
        3
    ):  # somebody revokes it behind our back, three times within a minute
        assert send(fake).status == 200
        provider.live.clear()
    assert send(fake).status == 200
    assert len(provider.asked) == 4


def test_a_forbidden_call_between_others_does_not_cost_a_token_each() -> None:
    provider = Provider()
    fake = world(provider, verification__forbidden_means_expired=True)
    for _ in range(5):
        provider.api_answers = [Response(403), Response(403), Response(200)]
        send(fake)
        provider.api_answers = []
        send(fake)
    assert len(provider.asked) == 2


def test_a_wordless_400_is_the_end_of_a_refresh_token() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    provider.token_answers.append(Response(400))
    with pytest.raises(ReauthorizationNeeded):
        send(fake)


def test_an_entered_refresh_token_that_was_not_replaced_is_good_after_forgetting() -> (
    None
):
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    fake.token("acme").forget()
    assert send(fake).status == 200


def test_forgetting_starts_over_with_the_entered_refresh_token() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    provider.live.clear()
    provider.refuse("invalid_grant")
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    fake.token("acme").forget()
    assert send(fake).status == 200
    used = [form["refresh_token"] for form in provider.asked]
    assert used == [
        "first-refresh-token",
        "second-refresh-token",
        "first-refresh-token",
    ]


def test_a_refresh_token_that_changed_behind_its_reference_is_noticed() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    provider.refuse("invalid_grant")
    for _ in range(3):
        with pytest.raises(ReauthorizationNeeded):
            send(fake)
    assert len(provider.asked) == 1
    fake.secrets.values["refresh_token"] = "another-refresh-token"
    assert send(fake).status == 200
    used = [form["refresh_token"] for form in provider.asked]
    assert used == ["first-refresh-token", "another-refresh-token"]


def test_a_changed_refresh_token_replaces_the_stored_one_at_the_next_renewal() -> None:
    provider = Provider(refresh_token="second-refresh-token", expires_in=100)
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    fake.secrets.values["refresh_token"] = "another-refresh-token"
    send(fake)
    assert len(provider.asked) == 1  # its token lives
    fake.clock.advance(200)
    send(fake)
    fake.clock.advance(200)
    send(fake)
    used = [form["refresh_token"] for form in provider.asked]
    assert used == [
        "first-refresh-token",
        "another-refresh-token",
        "second-refresh-token",
    ]


def test_the_stored_state_has_no_refresh_token_but_a_keyed_mark() -> None:
    fake = world(Provider(), oauth2__grant="refresh_token")
    send(fake)
    other = world(Provider(), oauth2__grant="refresh_token")
    send(other)
    assert re.fullmatch("[0-9a-f]{64}", kept(fake).entered)
    assert kept(fake).entered != kept(other).entered  # each has a key of its own


def test_a_token_whose_reference_is_missing_is_used_until_it_ends() -> None:
    provider = Provider(refresh_token="second-refresh-token", expires_in=100)
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    del fake.secrets.values["refresh_token"]
    fake.clock.advance(200)
    assert send(fake).status == 200
    assert provider.asked[-1]["refresh_token"] == "second-refresh-token"


def test_an_unreadable_state_can_be_forgotten() -> None:
    fake = world(Provider(), oauth2__grant="refresh_token")
    send(fake)
    tokens = fake.ports.tokens

    class Unreadable:
        def __getattr__(self, name: str) -> object:
            return getattr(tokens, name)

        def read(self, made: Configuration, *, opened: bool = True) -> TokenState:
            if opened:
                raise SecretUnreadable
            return tokens.read(made, opened=False)

    context = replace(fake.sender.context, tokens=Unreadable())  # type: ignore[arg-type]
    made = fake.ports.configurations.get("acme")
    drive(TokenManager(context, made).delete(), fake.sender.runtime)
    assert kept(fake).content is None


@pytest.mark.parametrize(
    ("named", "shown"),
    [({}, "orders:read"), ({"scope": "orders:list"}, "orders:list")],
)
def test_the_requested_scope_is_shown_where_the_response_names_none(
    named: dict[str, object], shown: str
) -> None:
    fake = world(Provider(**named), oauth2__scope="orders:read")
    send(fake)
    assert fake.token("acme").status().scope == shown


def test_a_refresh_without_a_scope_is_for_the_granted_one() -> None:
    provider = Provider(refresh_token="second-refresh-token", scope="orders:list")
    fake = world(provider, **CODE, oauth2__scope="orders:read")
    consent = consent_for("a-state", "v" * 43, "https://erp.example/callback")
    fake.token("acme").redeem(Secret("the-code-of-the-consent"), consent)
    del provider.extra["scope"]
    assert fake.token("acme").renew().scope == "orders:list"


def test_a_loan_of_a_bound_token_carries_its_proof() -> None:
    fake = world(Provider(token_type="DPoP"), oauth2__dpop=True)
    loan = fake.gateway.lend("acme", "GET", "https://api.acme.example/orders", [])
    assert [header.name for header in loan.headers] == ["Authorization", "DPoP"]


def test_a_redirected_token_request_wants_no_nonce() -> None:
    provider = Provider()
    fake = world(provider, oauth2__dpop=True)
    provider.token_answers.append(Response(307))
    with pytest.raises(RedirectBlocked):
        send(fake)
    assert len(provider.asked) == 1


def test_a_claim_that_storage_had_no_time_for_waits_for_the_one_that_got_through() -> (
    None
):
    provider = Provider()
    fake = world(provider)
    made = fake.ports.configurations.get("acme")

    class Crowded(MemoryTokens):
        crowd = 1

        def swap(
            self, configuration: Configuration, before: TokenState, after: TokenState
        ) -> TokenState | None:
            if self.crowd:
                self.crowd -= 1
                super().swap(configuration, before, replace(before, failures=0))
                raise StorageUnavailable
            return super().swap(configuration, before, after)

    sender = replace(fake.sender.context, tokens=Crowded(fake.clock.now))
    token = drive(TokenManager(sender, made).get(), fake.sender.runtime)
    assert token.value == Secret("access-token-1")


def test_storage_that_fails_for_everybody_is_said() -> None:
    fake = world(Provider())
    keeping = with_storage(fake, FailingTokens(fake.clock, 1000, always=True))
    with pytest.raises(StorageUnavailable):
        drive(keeping.get(), fake.sender.runtime)


# ── what an attacker tried ────────────────────────────────────────────────────────────


def changed_meanwhile(fake: FakeWorld, **values: object) -> None:
    """Save other settings, as an editor would while requests are on their way."""
    other = configuration(**(OAUTH | values))
    fake.ports.configurations.configurations["acme"] = other  # type: ignore[attr-defined]


def test_other_wishes_do_not_use_an_entered_refresh_token_twice() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    changed_meanwhile(fake, oauth2__grant="refresh_token", oauth2__audience="other")
    assert send(fake).status == 200
    used = [form["refresh_token"] for form in provider.asked]
    assert used == ["first-refresh-token", "second-refresh-token"]


def test_forgetting_during_the_first_renewal_does_not_use_the_token_twice() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, oauth2__grant="refresh_token")

    def forgotten() -> Response:
        fake.token("acme").forget()
        return provider.granted()

    provider.token_answers.append(forgotten)
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    assert len(provider.asked) == 1


def test_a_send_that_began_before_does_not_wipe_a_consent_given_since() -> None:
    provider = Provider(refresh_token="second-refresh-token")
    fake = world(provider, **CODE)
    old = token_manager(fake)
    changed_meanwhile(fake, **CODE, oauth2__scope="other")
    consent = consent_for("a-state", "v" * 43, "https://erp.example/callback")
    fake.token("acme").redeem(Secret("the-code-of-the-consent"), consent)
    with pytest.raises(ReauthorizationNeeded):
        drive(old.get(), fake.sender.runtime)
    assert fake.token("acme").status().state is State.FRESH


@pytest.mark.parametrize("echoed", ["second-refresh-token", "first-refresh-token"])
def test_a_refresh_token_that_comes_back_as_a_scope_is_not_kept_in_plain(
    echoed: str,
) -> None:
    provider = Provider(refresh_token="second-refresh-token", expires_in=10)
    fake = world(provider, oauth2__grant="refresh_token")
    send(fake)
    del provider.extra["refresh_token"]
    provider.extra["scope"] = f"read rt={echoed}"
    fake.clock.advance(20)
    send(fake)
    assert kept(fake).scope == ""


def test_an_api_that_takes_and_refuses_in_turn_does_not_cause_a_storm() -> None:
    provider = Provider()
    fake = world(provider)
    for _ in range(50):
        provider.api_answers = [Response(200), Response(401), Response(401)]
        send(fake)
        send(fake)
    assert len(provider.asked) <= 6


def test_plain_http_is_refused_also_for_what_people_do() -> None:
    provider = Provider()
    plain = {
        "oauth2__token_url": "http://auth.acme.example/token",
        "oauth2__revocation_url": "http://auth.acme.example/revoke",
        "oauth2__introspection_url": "http://auth.acme.example/introspect",
    }
    fake = world(provider, **CODE, **plain)
    consent = consent_for("a-state", "v" * 43, "https://erp.example/callback")
    for act in (
        lambda actions: actions.redeem(Secret("the-code-of-the-consent"), consent),
        lambda _: fake.sender.run(
            discover(
                fake.sender.context, "http://auth.acme.example", Network.PUBLIC, ""
            )
        ),
    ):
        with pytest.raises(EgressDenied):
            act(fake.token("acme"))
    assert provider.asked == []


def test_a_private_key_is_not_sent_because_another_way_was_chosen() -> None:
    for way in ("body", "basic", "basic_raw", "client_secret_jwt"):
        provider = Provider()
        fake = world(provider, oauth2__client_auth=way)
        fake.secrets.values["client_secret"] = "-----BEGIN PRIVATE KEY-----\nAAAA"
        with pytest.raises(ConfigError) as caught:
            send(fake)
        assert (caught.value.field, provider.asked) == ("client_secret", [])


def test_recording_that_takes_long_does_not_outlive_the_lease() -> None:
    provider = Provider()
    fake = world(provider)
    recorded = fake.audit.intend

    def slow(intent: Intent) -> str:
        fake.clock.advance(5)
        return recorded(intent)

    fake.audit.intend = slow  # type: ignore[method-assign]
    send(fake)
    route = fake.transport.sent[0][1]
    assert route.time_left <= 7


def test_waiting_for_a_token_ends_with_the_request_s_own_time() -> None:
    provider = Provider()
    fake = world(provider, limits__total_timeout=1)
    put(fake, holder="somebody", leased_until=fake.clock.now() + LEASE_SECONDS)
    with pytest.raises(TokenEndpointFailed):
        send(fake)
    assert fake.clock.monotonic() < 2


def test_a_person_who_insists_has_a_refused_refresh_token_tried_again() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    provider.refuse("invalid_grant")
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    assert fake.token("acme").renew().state is State.FRESH
    assert [form["refresh_token"] for form in provider.asked] == [
        "first-refresh-token"
    ] * 2


def test_a_renewal_that_was_broken_off_twice_is_tried_again_by_who_insists() -> None:
    provider = Provider()
    fake = world(provider, oauth2__grant="refresh_token")
    put(fake, holder="crashed", leased_until=fake.clock.now() - 1, tries=2)
    with pytest.raises(ReauthorizationNeeded):
        send(fake)
    assert fake.token("acme").status().error == "interrupted"
    assert fake.token("acme").renew().state is State.FRESH


def test_a_device_code_outlives_a_hiccup_of_the_provider() -> None:
    provider, fake = device_world()
    provider.token_answers += [
        ConnectionFailed(),
        ConnectionFailed(),
        TimedOut(),
        Response(503),
    ]
    actions = fake.token("acme")
    actions.wait_for(actions.device_code(), lambda _: None)
    assert actions.status().state is State.FRESH


def test_no_frame_of_a_failed_answer_holds_it() -> None:
    provider = Provider()
    fake = world(provider)
    provider.token_answers.append(provider.granted(token_type="mac"))
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.__context__ is None
    frames = product_frames(caught.value)
    assert frames
    assert places_showing("access-token-", caught.value, frames) == []


def test_what_fails_at_another_address_is_said_of_that_one() -> None:
    provider = Provider()
    fake = world(provider, **DEVICE, **REVOKING)
    provider.token_answers.append(Response(404))
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.token("acme").device_code()
    assert caught.value.field == "oauth2.device_url"
    assert "Device URL" in caught.value.message


@pytest.mark.parametrize(
    ("grant", "hint"),
    [
        ({"oauth2__grant": "refresh_token"}, "outkey secret set acme refresh_token"),
        (CODE, "Connect"),
        (DEVICE, "outkey token authorize acme"),
    ],
)
def test_who_is_needed_and_for_what_is_said_by_the_grant(
    grant: dict[str, object], hint: str
) -> None:
    provider = Provider()
    fake = world(provider, **grant)
    provider.refuse("invalid_grant")
    with pytest.raises(ReauthorizationNeeded) as caught:
        send(fake)
    assert hint in caught.value.hint


def test_forgetting_may_mean_that_a_person_must_agree_again() -> None:
    fake = world(
        Provider(refresh_token="second-refresh-token"), oauth2__grant="refresh_token"
    )
    actions = fake.token("acme")
    assert not actions.would_lose_consent()
    send(fake)
    assert actions.would_lose_consent()


# ── what the provider says ────────────────────────────────────────────────────────────


def refusing(**document: object) -> FakeWorld:
    provider = Provider()
    body = json.dumps(document).encode()
    provider.token_answers.append(Response(401, body=body))
    return world(provider)


def test_the_description_of_a_refusal_is_quoted_with_its_status() -> None:
    fake = refusing(
        error="invalid_client",
        error_description="AADSTS7000215: Invalid\u0007 client secret\nprovided.",
    )
    report = fake.gateway.test("acme")
    assert report.steps[-1].detail == (
        "the provider does not know the client, or the client secret is wrong; the"
        " provider says: invalid_client: AADSTS7000215: Invalid client secret"
        " provided. (status 401)"
    )
    assert report.error is not None
    assert report.error.facts()["said"].startswith("invalid_client: AADSTS7000215")


@pytest.mark.parametrize(
    "words",
    [
        f"wrong secret {SECRETS['client_secret']}",
        f"see /login?key=c2VjcmV0{SECRETS['client_secret']}",
    ],
)
def test_a_description_that_repeats_a_secret_is_not_quoted(words: str) -> None:
    fake = refusing(error="invalid_client", error_description=words)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).renew()
    assert caught.value.said == ""
    assert SECRETS["client_secret"] not in repr(caught.value.__dict__)


def test_long_words_of_a_description_are_not_quoted() -> None:
    fake = refusing(error="invalid_client", error_description="see " + "x" * 30)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).renew()
    assert caught.value.said == "invalid_client: see … (status 401)"


def test_the_text_of_a_page_is_quoted_by_its_title() -> None:
    provider = Provider()
    page = b"<html><title>502 Bad Gateway</title></html>"
    provider.token_answers.append(Response(502, body=page))
    fake = world(provider)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).renew()
    assert caught.value.said == "502 Bad Gateway (status 502)"


def test_a_response_with_a_token_is_never_quoted() -> None:
    provider = Provider(token_type="mac", error_description="see here")
    fake = world(provider)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).renew()
    assert caught.value.said == ""


def test_a_dead_refresh_token_is_told_with_the_words_of_the_provider() -> None:
    provider = Provider()
    body = b'{"error": "invalid_grant", "error_description": "Token was revoked"}'
    provider.token_answers.append(Response(400, body=body))
    fake = world(provider, oauth2__grant="refresh_token")
    with pytest.raises(ReauthorizationNeeded) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).renew()
    assert caught.value.said == "invalid_grant: Token was revoked (status 400)"


@pytest.mark.parametrize(
    ("error", "words", "first"),
    [
        (
            "invalid_client",
            "cannot authenticate with methods [client_secret_basic]",
            "client-authentication-style",
        ),
        (
            "invalid_client",
            "AADSTS700016: Application with identifier 'x' was not found",
            "client-secret-wrong",
        ),
        ("invalid_request", "grant_type not allowed", "grant-not-allowed"),
        ("invalid_request", "The audience is not known", "token-other-audience"),
        ("unauthorized_client", "scope not allowed", "scope-not-allowed"),
        ("invalid_request", "Realm does not exist", "token-url-wrong"),
        ("invalid_grant", "DPoP proof missing", "dpop-required"),
        ("invalid_client", "no idea", "client-secret-wrong"),
    ],
)
def test_the_description_of_a_refusal_decides_its_reason(
    error: str, words: str, first: str
) -> None:
    report = refusing(error=error, error_description=words).gateway.test("acme")
    suspicion = report.suspicions[0]
    assert suspicion.reason.id == first
    has_fix = first in {"client-authentication-style", "dpop-required"}
    assert (suspicion.fix is not None) == has_fix


def test_a_draft_quotes_nothing_of_the_provider() -> None:
    fake = refusing(error="invalid_client", error_description="Who are you?")
    draft = DraftCredentials(MemorySecrets(SECRETS), MemoryTokens(fake.clock.now))
    made = fake.ports.configurations.get("acme")
    report = prepare_test(fake.sender, made, draft).run()
    assert "Who" not in repr(report.steps)


def test_a_refused_revocation_is_told_in_the_words_of_the_provider() -> None:
    provider = Provider()
    revocation = {"oauth2__revocation_url": "https://auth.acme.example/revoke"}
    fake = world(provider, **revocation)
    send(fake)
    body = b'{"error": "invalid_client", "error_description": "Not your token"}'
    provider.token_answers.append(Response(401, body=body))
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.sender.token_actions(fake.ports.configurations.get("acme")).revoke()
    assert caught.value.field == "oauth2.revocation_url"
    assert caught.value.said == "invalid_client: Not your token (status 401)"
