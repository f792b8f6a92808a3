import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError, HeaderFormatError
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.oauth2.responses import TokenResponse
from outkey.sending.core.oauth2.token import (
    CIRCUIT_SECONDS,
    LEASE_SECONDS,
    AccessToken,
    State,
    TokenContent,
    TokenState,
    basis_of,
)
from outkey.sending.core.request.flow import NeedProof, NeedToken, Send
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    ResponseHeaders,
    Source,
)
from outkey.sending.core.request.schemes.choice import scheme_of
from outkey.sending.core.request.schemes.fetched import FetchedToken, is_rejected
from unit.sending.core.configuration.test_oauth2_fields import MINIMAL, oauth

NOW = 1_800_000_000.0
CONTENT = TokenContent(Secret("access7"), Secret("refresh"), Secret("proof7"))
HELD = TokenState(
    generation=3,
    serial=2,
    content=CONTENT,
    basis="who:what:how:",
    obtained_at=NOW,
    lifetime=3600.0,
)


# ── how a token stands ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lifetime", "most", "leeway"),
    [
        (3600, 60, 60),
        (600, 60, 60),
        (300, 60, 30),
        (10, 60, 1),
        (3600, 600, 360),
        (3600, 0, 0),
    ],
)
def test_the_leeway_is_a_tenth_of_the_lifetime_at_most(
    lifetime: float, most: float, leeway: float
) -> None:
    assert replace(HELD, lifetime=lifetime).leeway(most) == leeway


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (0, State.FRESH),
        (3539.9, State.FRESH),
        (3540, State.STALE),
        (3599.9, State.STALE),
        (3600, State.EXPIRED),
        (10**9, State.EXPIRED),
        (-5, State.FRESH),
    ],
)
def test_a_token_is_fresh_then_stale_then_expired(after: float, state: State) -> None:
    assert HELD.state_at(oauth(), NOW + after) is state


def test_the_configurations_leeway_counts() -> None:
    assert HELD.state_at(oauth(leeway_seconds=300), NOW + 3300) is State.STALE
    assert HELD.state_at(oauth(leeway_seconds=0), NOW + 3599) is State.FRESH


@pytest.mark.parametrize("after", [-1, 0, 1])
def test_a_token_with_a_lifetime_of_nothing_is_used_once_and_never_again(
    after: float,
) -> None:
    assert replace(HELD, lifetime=0.0).state_at(oauth(), NOW + after) is State.EXPIRED


def test_what_is_not_there_and_what_is_over_are_told_apart() -> None:
    assert TokenState().state_at(oauth(), NOW) is State.NONE
    assert (
        HELD.ended("invalid_grant").state_at(oauth(), NOW)
        is State.REAUTHORIZATION_NEEDED
    )
    assert TokenState(dead=True).state_at(oauth(), NOW) is State.REAUTHORIZATION_NEEDED


def test_the_token_to_send_has_its_kind() -> None:
    assert TokenState().access is None
    assert replace(HELD, kind="DPoP").access == AccessToken(CONTENT.access, "DPoP")


def test_a_token_shows_nothing_of_itself() -> None:
    shown = f"{HELD} {HELD.access} {CONTENT} {CONTENT.packed()}"
    assert not [text for text in ("access7", "proof7") if text in shown]


# ── another configuration ─────────────────────────────────────────────────────────────


def test_the_same_basis_changes_nothing() -> None:
    assert HELD.for_basis("who:what:how:") is HELD


def test_another_client_begins_anew() -> None:
    failed = HELD.claimed("me", NOW).failed("timeout", now=NOW)
    assert failed.for_basis("other:what:how:") == TokenState(
        3, 3, basis="other:what:how:"
    )
    assert HELD.ended("invalid_grant").for_basis("other:what:how:").dead is False


def test_another_secret_keeps_the_consent_and_not_the_token() -> None:
    failed = replace(HELD.failed("invalid_client", now=NOW), dead=True)
    anew = failed.for_basis("who:what:new:")
    assert anew.content is not None
    assert anew.content.refresh == CONTENT.refresh
    assert anew.state_at(oauth(), NOW) is State.EXPIRED
    assert (anew.basis, anew.generation, anew.serial) == ("who:what:new:", 3, 2)
    assert (anew.failures, anew.retry_at, anew.error, anew.dead) == (0, 0.0, "", False)


def test_another_secret_without_a_token_begins_anew() -> None:
    failed = TokenState(3, 2, basis="who:what:how:").failed("invalid_client", now=NOW)
    assert failed.for_basis("who:what:new:") == TokenState(3, 3, basis="who:what:new:")


@pytest.mark.parametrize(
    "changed",
    [
        {"token_url": "https://auth.acme.example/v2/token"},
        {"client_id": "another"},
        {"scope": "read"},
        {"audience": "api"},
        {"resource": "https://api.acme.example"},
        {"extra": {"tenant": "7"}},
        {"dpop": True},
        {"grant": "refresh_token"},
        {"grant": "device_code"},
        {"base_url": "https://other.acme.example"},
    ],
    ids=str,
)
def test_a_token_depends_on_who_asks_for_what(changed: dict[str, object]) -> None:
    before, after = (
        basis_of(oauth("client_secret")),
        basis_of(oauth("client_secret", **changed)),
    )
    assert before.split(":")[:2] != after.split(":")[:2]
    assert HELD.for_basis(before).for_basis(after).content is None


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"leeway_seconds": 5},
        {"default_lifetime_seconds": 5},
        {"token_header": "X-Token"},
        {"revocation_url": "https://auth.acme.example/revoke"},
        {"introspection_url": "https://auth.acme.example/introspect"},
        {"base_url": "https://api.acme.example/v2"},
    ],
    ids=str,
)
def test_a_token_does_not_depend_on_what_is_done_with_it(
    changed: dict[str, object],
) -> None:
    assert basis_of(oauth("client_secret")) == basis_of(
        oauth("client_secret", **changed)
    )


def versioned(configuration: Configuration, secret: str) -> Configuration:
    state = configuration.secrets[secret]
    return replace(
        configuration, secrets={secret: replace(state, version=state.version + 1)}
    )


def test_another_way_or_version_of_the_client_secret_changes_its_part_alone() -> None:
    made = oauth("client_secret")
    before = basis_of(made).split(":")
    for other in (
        versioned(made, "client_secret"),
        oauth("client_secret", client_auth="basic"),
        oauth(),
    ):
        after = basis_of(other).split(":")
        assert [old == new for old, new in zip(before, after, strict=True)] == [
            True,
            True,
            False,
            True,
        ]


def test_a_new_seed_begins_anew() -> None:
    seeded = oauth("refresh_token", grant="refresh_token")
    before, after = basis_of(seeded), basis_of(versioned(seeded, "refresh_token"))
    held = replace(HELD, basis=before, spent=True)
    anew = held.for_basis(after)
    assert (anew.content, anew.spent) == (None, False)


def test_another_wish_keeps_the_successor_of_an_entered_refresh_token() -> None:
    held = replace(HELD, basis="who:what:how:seed")
    wished = held.for_basis("who:else:how:seed")
    assert (wished.content, wished.lifetime) == (CONTENT, 0.0)
    # Where a person agreed to the wish before, a person must agree to this one.
    assert HELD.for_basis("who:else:how:").content is None


def test_an_entered_refresh_token_that_was_used_is_not_begun_with_again() -> None:
    held = replace(HELD, basis="who:what:how:seed")
    assert held.for_basis("other:what:how:seed").spent
    asking = TokenState(1, 1, basis="who:what:how:seed").claimed("me", NOW)
    assert asking.for_basis("other:what:how:seed").spent
    assert (
        not TokenState(1, 1, basis="who:what:how:seed")
        .for_basis("other:what:how:seed")
        .spent
    )


def test_new_settings_do_not_end_the_lease_of_who_is_asking() -> None:
    asking = TokenState(1, 1, basis="who:what:how:").claimed("me", NOW)
    for basis in ("who:what:new:", "other:what:how:"):
        assert asking.for_basis(basis).is_leased(NOW + 1)
        assert asking.for_basis(basis).tries == 1


@pytest.mark.parametrize(
    "fact",
    [
        {"kind": "Bearer x\r\nX-Evil: 1"},
        {"kind": "Basic"},
        {"lifetime": "x"},
        {"basis": None},
        {"obtained_at": None},
        {"obtained_at": float("nan")},
        {"lifetime": 10**400},
        {"new_fact": 1},
        {"dead": "no"},
    ],
    ids=str,
)
def test_facts_that_outkey_did_not_write_are_refused(fact: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(fact))):
        TokenState.from_facts(HELD.facts() | fact, 1, 1, None)


@pytest.mark.parametrize("stored", [None, [], "text", 7])
def test_facts_that_are_not_a_table_are_refused(stored: object) -> None:
    with pytest.raises(ValueError, match="stored"):
        TokenState.from_facts(stored, 1, 1, None)


def test_a_left_over_seed_does_not_matter_to_another_grant() -> None:
    made = oauth("refresh_token")
    assert basis_of(made) == basis_of(versioned(made, "refresh_token"))


def test_a_basis_is_fingerprints_whatever_the_order_of_the_parameters() -> None:
    one, other = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    assert basis_of(oauth(extra=one)) == basis_of(oauth(extra=other))
    assert re.fullmatch(r"([0-9a-f]{32}:){3}", basis_of(oauth("client_secret")))


# ── one renewal at a time ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("after", "leased"),
    [
        (0, True),
        (LEASE_SECONDS - 0.1, True),
        (LEASE_SECONDS, False),
        (10**6, False),
        (-LEASE_SECONDS, True),
        (-LEASE_SECONDS - 0.1, False),  # the clock was set back since
        (-(10**6), False),
    ],
)
def test_a_lease_ends_by_itself(after: float, leased: bool) -> None:  # noqa: FBT001 - a parameter
    assert HELD.claimed("me", NOW).is_leased(NOW + after) is leased


def test_nobody_holds_a_lease_at_first_and_after_its_end() -> None:
    assert not HELD.is_leased(NOW)
    claimed = HELD.claimed("me", NOW)
    for state in (
        claimed.released(),
        claimed.failed("timeout", now=NOW),
        claimed.ended("invalid_grant"),
    ):
        assert (state.holder, state.is_leased(NOW)) == ("", False)


def test_a_try_counts_until_its_end_is_known() -> None:
    crashed = HELD.claimed("me", NOW)
    again = crashed.claimed("you", NOW + 20)
    assert (crashed.tries, again.tries) == (1, 2)
    # nothing was sent, but the first try remains open
    assert again.released().tries == 1
    assert HELD.released().tries == 0
    assert again.failed("timeout", now=NOW).tries == 0


def test_failures_wait_longer_and_longer_and_then_a_minute() -> None:
    state, waits = HELD, []
    for number in range(7):
        state = state.claimed("me", NOW).failed("timeout", now=NOW)
        waits.append(state.retry_at - NOW)
        assert (state.failures, state.error) == (number + 1, "timeout")
    assert waits == [1, 2, 4, 8, CIRCUIT_SECONDS, CIRCUIT_SECONDS, CIRCUIT_SECONDS]


@pytest.mark.parametrize(("asked", "wait"), [(0, 1), (0.5, 1), (30, 30), (300, 300)])
def test_a_provider_may_ask_for_a_longer_wait(asked: float, wait: float) -> None:
    assert (
        HELD.failed("rate_limited", now=NOW, retry_after=asked).retry_at == NOW + wait
    )


@pytest.mark.parametrize(
    ("after", "waiting"),
    [
        (0, True),
        (0.9, True),
        (1, False),
        (-298, True),
        (-299.5, False),
        (-(10**6), False),
    ],
)
def test_a_wait_ends_by_itself(after: float, waiting: bool) -> None:  # noqa: FBT001 - a parameter
    assert HELD.failed("timeout", now=NOW).is_waiting(NOW + after) is waiting


def test_nothing_waits_at_first() -> None:
    assert not HELD.is_waiting(NOW)


def test_what_only_a_person_can_mend_keeps_the_token_itself() -> None:
    ended = HELD.claimed("me", NOW).ended("invalid_grant")
    assert (ended.dead, ended.error, ended.content) == (True, "invalid_grant", CONTENT)


@pytest.mark.parametrize(
    ("after", "vain"), [(0, True), (59.9, True), (60, False), (-1, False)]
)
def test_a_new_token_that_is_refused_at_once_is_not_renewed_again(
    after: float,
    vain: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert replace(HELD, after_rejection=True).was_rejected_too(NOW + after) is vain
    assert not HELD.was_rejected_too(NOW + after)


# ── a new token ───────────────────────────────────────────────────────────────────────

ANSWER = TokenResponse(Secret("access8"), None, "DPoP", 60.0, "read")


def test_a_new_token_replaces_everything_but_the_refresh_token() -> None:
    troubled = replace(HELD.failed("timeout", now=NOW), dead=True).claimed("me", NOW)
    key = Secret("key8")
    granted = troubled.granted(ANSWER, at=NOW + 9, default_lifetime=3300, proof_key=key)
    assert granted == TokenState(
        generation=3,
        serial=3,
        content=TokenContent(Secret("access8"), Secret("refresh"), key),
        basis="who:what:how:",
        kind="DPoP",
        scope="read",
        obtained_at=NOW + 9,
        lifetime=60.0,
    )


def test_a_rotated_refresh_token_takes_the_place_of_the_old_one() -> None:
    rotated = replace(ANSWER, refresh=Secret("rotated"))
    granted = HELD.granted(rotated, at=NOW, default_lifetime=3300, proof_key=None)
    assert granted.content == TokenContent(Secret("access8"), Secret("rotated"))


def test_a_first_token_may_come_without_a_refresh_token() -> None:
    granted = TokenState().granted(
        ANSWER, at=NOW, default_lifetime=3300, proof_key=None
    )
    assert granted.content == TokenContent(Secret("access8"))


@pytest.mark.parametrize(("said", "lifetime"), [(None, 3300), (0.0, 0), (60.0, 60)])
def test_a_lifetime_that_nobody_said_is_the_default(
    said: float | None, lifetime: float
) -> None:
    answer = replace(ANSWER, lifetime=said)
    granted = HELD.granted(answer, at=NOW, default_lifetime=3300, proof_key=None)
    assert (granted.lifetime, granted.expires_at) == (lifetime, NOW + lifetime)


# ── keeping it ────────────────────────────────────────────────────────────────────────

TEXTS = st.text(min_size=1, max_size=50)


@given(access=TEXTS, refresh=st.none() | TEXTS, proof_key=st.none() | TEXTS)
def test_any_content_comes_back_as_it_was(
    access: str, refresh: str | None, proof_key: str | None
) -> None:
    made = TokenContent(
        Secret(access), *(Secret(t) if t else None for t in (refresh, proof_key))
    )
    packed = made.packed()
    assert packed.reveal().isascii()
    assert TokenContent.unpacked(packed) == made


def test_a_key_in_json_is_kept_with_its_quotes() -> None:
    made = TokenContent(Secret("a"), proof_key=Secret('{"kty": "EC", "d": "\\"ü"}'))
    assert TokenContent.unpacked(made.packed()) == made


@pytest.mark.parametrize("packed", ["", "{", "[]", "7", '"access"'])
def test_what_was_never_packed_is_refused_without_being_shown(packed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenContent.unpacked(Secret(packed))
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize(
    "state",
    [
        TokenState(),
        HELD,
        HELD.claimed("me", NOW).failed("timeout", now=NOW).claimed("you", NOW),
        replace(HELD, kind="DPoP", scope="read ä", after_rejection=True).ended(
            "invalid_grant"
        ),
    ],
    ids=["nothing", "token", "in trouble", "at its end"],
)
def test_the_facts_of_a_token_are_plain_json_and_come_back(state: TokenState) -> None:
    text = json.dumps(state.facts())
    assert not [secret for secret in ("access7", "proof7") if secret in text]
    assert "content" not in state.facts()
    loaded = TokenState.from_facts(
        json.loads(text), state.generation, state.serial, state.content
    )
    assert loaded == state


# ── sending with it ───────────────────────────────────────────────────────────────────

REQUEST = Request(
    "POST",
    Origin("https", "api.acme.example", 443),
    "/me",
    (Header("A", "1", Source.DEFAULT),),
    b"body",
)
OLD, NEW = AccessToken(Secret("old")), AccessToken(Secret("new"))
BOUND, REBOUND = AccessToken(Secret("old"), "DPoP"), AccessToken(Secret("new"), "DPoP")


def refused(
    status: int = 401, error: str = "", body: bytes = b"", scheme: str = "Bearer"
) -> Response:
    challenge = f'{scheme} realm="x", error="{error}"' if error else scheme
    return Response(status, ResponseHeaders((("WWW-Authenticate", challenge),)), body)


GOOD = Response(200)
NONCE = refused(error="use_dpop_nonce", scheme="DPoP")


class Run:
    """A flow, driven by hand: responses and tokens in order, and all of them used."""

    def __init__(
        self,
        configuration: Configuration,
        responses: Iterable[Response],
        tokens: Iterable[AccessToken] = (OLD, NEW),
    ) -> None:
        self.sent: list[dict[str, str]] = []
        self.asked: list[AccessToken | None] = []
        self.proven: list[NeedProof] = []
        flow = FetchedToken(configuration).flow(REQUEST)
        answers_left, tokens_left = list(responses), list(tokens)
        step = next(flow)
        try:
            while True:
                step = flow.send(self._answer(step, answers_left, tokens_left))
        except StopIteration as done:
            self.response: Response = done.value
        assert answers_left == []

    def _answer(
        self, step: object, responses: list[Response], tokens: list[AccessToken]
    ) -> Response | AccessToken | Secret:
        match step:
            case Send(request):
                assert request.body == b"body"
                assert request.headers[0] == REQUEST.headers[0]
                self.sent.append({h.name: text_of(h) for h in request.headers[1:]})
                return responses.pop(0)
            case NeedToken(rejected):
                self.asked.append(rejected)
                return tokens.pop(0)
            case NeedProof():
                self.proven.append(step)
                return Secret(f"proof{len(self.proven)}")
        raise AssertionError(step)


def text_of(header: Header) -> str:
    assert isinstance(header.value, Secret)
    assert header.source is Source.AUTHENTICATION
    return header.value.reveal()


def test_a_bearer_configuration_with_oauth2_has_its_scheme() -> None:
    made = oauth("client_secret")

    def opened(name: str) -> Secret:
        # what is sent to the Token URL is not opened for the API
        raise AssertionError(name)

    assert scheme_of(made, opened) == FetchedToken(made)


def test_a_good_token_is_asked_for_once_and_sent_as_bearer() -> None:
    run = Run(oauth(), [GOOD])
    assert run.response is GOOD
    assert run.sent == [{"Authorization": "Bearer old"}]
    assert run.asked == [None]


@pytest.mark.parametrize(
    "answer", [refused(), refused(error="invalid_token"), Response(401)]
)
def test_a_refused_token_is_renewed_and_sent_once_more(answer: Response) -> None:
    run = Run(oauth(), [answer, GOOD])
    assert run.response is GOOD
    assert run.sent == [
        {"Authorization": "Bearer old"},
        {"Authorization": "Bearer new"},
    ]
    assert run.asked == [None, OLD]


def test_there_is_never_a_third_try() -> None:
    last = refused()
    run = Run(oauth(), [refused(), last])
    assert run.response is last
    assert len(run.sent) == len(run.asked) == 2


def test_the_same_token_after_a_renewal_is_not_sent_again() -> None:
    first = refused()
    run = Run(oauth(), [first], [OLD, AccessToken(Secret("old"))])
    assert run.response is first
    assert len(run.sent) == 1


@pytest.mark.parametrize("status", [200, 204, 302, 400, 404, 429, 500, 503])
def test_no_other_status_refuses_a_token(status: int) -> None:
    assert not is_rejected(refused(status, "invalid_token"), oauth())


VERIFIED = {"forbidden_means_expired": True, "expired_marker": "EXPIRED_AUTHENTICATION"}


def judging(*names: str) -> Configuration:
    return build(
        "acme", MINIMAL | {f"verification.{name}": VERIFIED[name] for name in names}
    )


@pytest.mark.parametrize(
    ("response", "switches", "rejected"),
    [
        (refused(403), (), False),
        (refused(403, "invalid_request"), (), False),
        (refused(403, "invalid_token"), (), True),
        (refused(403), ("forbidden_means_expired",), True),
        (
            refused(403, body=b'{"category": "EXPIRED_AUTHENTICATION"}'),
            ("expired_marker",),
            True,
        ),
        (refused(403, body=b'{"category": "EXPIRED_AUTHENTICATION"}'), (), False),
        (refused(403, body=b"something else"), ("expired_marker",), False),
        (refused(403, "insufficient_scope"), (), False),
        (refused(403, "insufficient_scope"), tuple(VERIFIED), False),
        (refused(401, "insufficient_scope"), (), False),
    ],
)
def test_a_403_refuses_what_a_token_may_do_unless_it_says_otherwise(
    response: Response,
    switches: tuple[str, ...],
    rejected: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert is_rejected(response, judging(*switches), lambda _: False) is rejected


def test_a_marker_is_not_looked_for_where_a_secret_is_or_may_be_repeated() -> None:
    response = refused(403, body=b'{"category": "EXPIRED_AUTHENTICATION"}')
    assert not is_rejected(response, judging("expired_marker"), lambda _: True)
    assert not is_rejected(response, judging("expired_marker"))
    assert is_rejected(response, judging(*VERIFIED))


def test_one_challenge_of_several_is_enough() -> None:
    lines = (
        ("www-authenticate", "Basic"),
        ("WWW-Authenticate", 'Bearer error="invalid_token"'),
    )
    assert is_rejected(Response(403, ResponseHeaders(lines)), oauth())


@pytest.mark.parametrize("name", ["X-Shopify-Access-Token", "x-amz-access-token"])
def test_another_header_carries_the_bare_token(name: str) -> None:
    assert Run(oauth(token_header=name), [GOOD]).sent == [{name: "old"}]


def test_authorization_is_itself_in_any_case() -> None:
    run = Run(oauth(token_header="authorization"), [GOOD])
    assert run.sent == [{"authorization": "Bearer old"}]


@pytest.mark.parametrize("token", ["a b", "a\r\nX: 1", "ä", "x" * 8193])
def test_a_token_that_no_header_can_carry_is_not_sent(token: str) -> None:
    flow = FetchedToken(oauth()).flow(REQUEST)
    next(flow)
    with pytest.raises(HeaderFormatError):
        flow.send(AccessToken(Secret(token)))


# ── sending with a proof ──────────────────────────────────────────────────────────────


def test_a_bound_token_is_sent_with_a_proof_for_the_request() -> None:
    run = Run(oauth(dpop=True), [GOOD], [BOUND])
    assert run.sent == [{"Authorization": "DPoP old", "DPoP": "proof1"}]
    assert run.proven == [NeedProof(REQUEST, BOUND)]


def test_a_nonce_is_answered_with_one_more_proof_and_the_same_token() -> None:
    run = Run(oauth(dpop=True), [NONCE, GOOD], [BOUND])
    assert run.response is GOOD
    assert [headers["DPoP"] for headers in run.sent] == ["proof1", "proof2"]
    assert run.asked == [None]


def test_a_token_is_not_renewed_because_a_nonce_is_asked_for_again() -> None:
    run = Run(oauth(dpop=True), [NONCE, NONCE], [BOUND, REBOUND])
    assert run.response is NONCE
    assert run.asked == [None]


def test_a_bound_token_is_renewed_like_any_other() -> None:
    run = Run(
        oauth(dpop=True),
        [refused(error="invalid_token"), NONCE, GOOD],
        [BOUND, REBOUND],
    )
    assert run.asked == [None, BOUND]
    assert [headers["Authorization"] for headers in run.sent] == [
        "DPoP old",
        "DPoP new",
        "DPoP new",
    ]


def test_what_is_no_refusal_asks_for_no_nonce() -> None:
    answer = refused(200, "use_dpop_nonce", scheme="DPoP")
    assert Run(oauth(dpop=True), [answer], [BOUND]).response is answer
