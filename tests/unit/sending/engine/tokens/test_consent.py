"""A consent comes back once, to the user and session that began it, and in time."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import ConfigError, OutkeyError, TokenEndpointFailed
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.sending.engine.tokens.consent import (
    CONSENT_SECONDS,
    Consents,
    PendingConsent,
)
from outkey.testing import configuration, fake_gateway
from unit.exchanges import jwt
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, SECRETS, Provider

REDIRECT = "https://erp.example/callback"
CODE: dict[str, object] = {
    "oauth2__grant": "authorization_code",
    "oauth2__authorization_url": "https://auth.acme.example/authorize",
    "oauth2__issuer": "https://auth.acme.example",
}
ISSUER = "https://auth.acme.example"


class Session:
    """What a host has for one browser: storage, a user and a clock."""

    def __init__(self, user: str = "7", **values: object) -> None:
        self.provider = Provider()
        made = configuration(**OAUTH | CODE | values)
        self.fake = fake_gateway(
            made, responses=self.provider, secrets=SECRETS, names=NAMES
        )
        self.pending: dict[str, PendingConsent] = {}
        self.now = 1_800_000_000.0
        self.user = user

    @property
    def consents(self) -> Consents:
        return Consents(
            pending=self.pending,
            user=self.user,
            derive=lambda state: (state * 2).encode()[:32],
            now=lambda: self.now,
        )

    @property
    def stored(self) -> Configuration:
        return self.fake.ports.configurations.get("acme")

    @property
    def actions(self) -> TokenActions:
        return self.fake.sender.token_actions(self.stored)

    def begin(self) -> dict[str, str]:
        """Begin a consent; return the parameters of the URL."""
        url = self.consents.begin(self.actions, REDIRECT)
        assert self.consents.url(self.actions, REDIRECT) == url
        query = parse_qs(urlsplit(url).query)
        return {name: values[0] for name, values in query.items()}

    def finish(
        self, find: Callable[[], Configuration | None] | None = None, **given: str
    ) -> None:
        """Come back from the provider, as a host's callback does."""
        parameters = {name: [text] for name, text in given.items()}
        stored, state = self.consents.accept(
            self.stored.record, parameters, find or (lambda: self.stored)
        )
        self.consents.redeem(
            self.fake.sender.token_actions(stored),
            parameters,
            state=state,
            redirect_url=REDIRECT,
        )


def test_a_code_is_exchanged_with_the_verifier_of_its_challenge() -> None:
    session = Session()
    asked = session.begin()
    assert asked["redirect_uri"] == REDIRECT
    assert asked["code_challenge_method"] == "S256"
    session.finish(state=asked["state"], code="the-code-of-the-consent", iss=ISSUER)
    (sent,) = session.provider.asked
    assert sent["code"] == "the-code-of-the-consent"
    assert sent["redirect_uri"] == REDIRECT
    assert sent["code_verifier"] not in str(session.pending)
    assert session.actions.status().state == "fresh"


def test_the_verifier_is_derived_from_the_state_and_stored_nowhere() -> None:
    session = Session()
    session.begin()
    (pending,) = session.pending.values()
    assert set(pending) == {"state", "version", "began", "user"}


def test_a_consent_is_redeemed_once() -> None:
    session = Session()
    state = session.begin()["state"]
    session.finish(state=state, code="the-code-of-the-consent")
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(state=state, code="the-code-of-the-consent")
    assert len(session.provider.asked) == 1


@pytest.mark.parametrize("state", ["", "another"])
def test_another_state_ends_nothing_and_the_consent_stays(state: str) -> None:
    session = Session()
    session.begin()
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(state=state, code="the-code-of-the-consent")
    assert len(session.pending) == 1


def test_a_repeated_parameter_counts_as_missing() -> None:
    session = Session()
    state = session.begin()["state"]
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.consents.accept(
            session.stored.record, {"state": [state, state]}, lambda: session.stored
        )


def test_another_session_has_not_begun_it() -> None:
    state = Session().begin()["state"]
    with pytest.raises(ConfigError, match="belongs to no consent"):
        Session().finish(state=state, code="the-code-of-the-consent")


def test_another_user_of_the_same_session_ends_it_without_a_token() -> None:
    session = Session()
    state = session.begin()["state"]
    session.user = "8"
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(state=state, code="the-code-of-the-consent")
    assert session.pending == {}
    assert session.provider.asked == []


@pytest.mark.parametrize("passed", [CONSENT_SECONDS + 1, -1])
def test_a_consent_that_took_too_long_is_refused(passed: float) -> None:
    session = Session()
    state = session.begin()["state"]
    session.now += passed
    with pytest.raises(ConfigError, match="ten minutes"):
        session.finish(state=state, code="the-code-of-the-consent")
    assert session.pending == {}


def test_a_consent_is_for_the_version_that_the_user_saw() -> None:
    for found, words in ((None, "deleted"), (configuration(**OAUTH), "changed")):
        session = Session()
        state = session.begin()["state"]
        session.pending[session.stored.record]["version"] += 1
        with pytest.raises(ConfigError, match=words) as raised:
            session.finish(
                find=lambda found=found: found,  # type: ignore[misc]
                state=state,
                code="the-code-of-the-consent",
            )
        assert "Connect again" in raised.value.hint
        assert session.pending == {}


def test_the_url_is_that_of_the_version_that_it_was_begun_for() -> None:
    session = Session()
    assert session.consents.url(session.actions, REDIRECT) is None
    session.begin()
    session.pending[session.stored.record]["version"] += 1
    assert session.consents.url(session.actions, REDIRECT) is None


def test_the_response_of_another_issuer_is_refused_and_ends_the_consent() -> None:
    session = Session()
    state = session.begin()["state"]
    evil = {"state": state, "code": "the-code", "iss": "https://evil.example"}
    with pytest.raises(ConfigError) as raised:
        session.finish(**evil)
    assert raised.value.field == "oauth2.issuer"
    assert session.pending == {}
    assert session.provider.asked == []


@pytest.mark.parametrize(
    ("error", "reason"), [("access_denied", "access_denied"), ("<b>x</b>", "refused")]
)
def test_what_the_provider_reports_is_said_in_our_words(
    error: str, reason: str
) -> None:
    session = Session()
    state = session.begin()["state"]
    with pytest.raises(TokenEndpointFailed) as raised:
        session.finish(state=state, error=error, error_description="<i>theirs</i>")
    assert raised.value.reason == reason
    assert "<" not in str(raised.value)
    assert raised.value.said == ""  # a browser brought it, and not the provider


def test_an_error_instead_of_a_code_is_one_of_the_authorization_url() -> None:
    session = Session()
    state = session.begin()["state"]
    with pytest.raises(TokenEndpointFailed) as raised:
        session.finish(state=state, error="invalid_request")
    assert "authorization request" in raised.value.message
    assert raised.value.field == "oauth2.authorization_url"
    assert session.provider.asked == []


# ── an ID token belongs to the consent that it was requested in ───────────────────────

OPENID: dict[str, object] = {"oauth2__scope": "openid orders"}


def test_a_nonce_is_sent_where_an_id_token_is_requested_and_a_fresh_one() -> None:
    nonces = [Session(**OPENID).begin()["nonce"] for _ in range(2)]
    assert len(set(nonces)) == 2
    assert all(len(nonce) == 43 for nonce in nonces)
    assert "nonce" not in Session().begin()
    assert "nonce" not in Session(oauth2__scope="openid2").begin()


@pytest.mark.parametrize("claims", [{}, {"nonce": "another"}, {"nonce": 7}])
def test_an_id_token_of_another_consent_is_refused(claims: dict[str, object]) -> None:
    session = Session(**OPENID)
    session.provider.extra["id_token"] = jwt(**claims)
    state = session.begin()["state"]
    with pytest.raises(TokenEndpointFailed, match="another consent") as raised:
        session.finish(state=state, code="the-code-of-the-consent")
    assert (raised.value.reason, raised.value.said) == ("other_nonce", "")
    assert session.actions.status().state == "none"


@pytest.mark.parametrize(
    "make",
    [
        lambda nonce: {"id_token": jwt(nonce=nonce)},
        lambda _: {"id_token": "a.b.c.d.e"},  # encrypted
        lambda _: {"id_token": 7},
        lambda _: {},
    ],
)
def test_an_id_token_of_this_consent_or_none_is_accepted(
    make: Callable[[str], dict[str, object]],
) -> None:
    session = Session(**OPENID)
    asked = session.begin()
    session.provider.extra |= make(asked["nonce"])
    session.finish(state=asked["state"], code="the-code-of-the-consent")
    assert session.actions.status().state == "fresh"


def test_an_id_token_that_was_not_requested_is_not_read() -> None:
    session = Session()
    session.provider.extra["id_token"] = "nonsense"
    session.finish(state=session.begin()["state"], code="the-code-of-the-consent")
    assert session.actions.status().state == "fresh"


def test_a_response_without_a_code_is_refused() -> None:
    session = Session()
    state = session.begin()["state"]
    with pytest.raises(ConfigError, match="no code"):
        session.finish(state=state)


def test_one_consent_is_pending_for_each_configuration_and_only_the_newest() -> None:
    session = Session()
    for _ in range(3):
        session.begin()
    assert len(session.pending) == 1
    for number in range(9):
        session.now += 1
        session.pending[f"another-{number}"] = PendingConsent(
            state="s", version=1, began=session.now, user="7"
        )
    session.now += 1
    session.begin()
    assert len(session.pending) == 5
    assert session.stored.record in session.pending
    assert "another-8" in session.pending
    assert "another-4" not in session.pending


def test_what_cannot_be_begun_is_not_pending() -> None:
    session = Session(oauth2__grant="client_credentials")
    with pytest.raises(OutkeyError):
        session.consents.begin(session.actions, REDIRECT)
    assert session.pending == {}
