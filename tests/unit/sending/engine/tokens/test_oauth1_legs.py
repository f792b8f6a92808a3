"""The three legs of OAuth 1.0a: a user authorizes, and the token is stored."""

import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    ReauthorizationNeeded,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.diagnose import diagnose_error
from outkey.sending.core.oauth1.legs import OUT_OF_BAND, TemporaryToken, leg_failure
from outkey.sending.core.oauth2.token import State, TokenState
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.tokens.actions import TokenAction, TokenActions
from outkey.sending.engine.tokens.consent import Consents, PendingConsent
from outkey.sending.engine.tokens.oauth1_source import OAuth1Source
from outkey.sending.engine.tokens.token_source import TokenRequest
from outkey.testing import configuration, fake_gateway

SHOP = "https://api.acme.example"
LEGS: dict[str, object] = {
    "authentication_type": "oauth1",
    "oauth1.consumer_key": "ck",
    "oauth1.request_url": f"{SHOP}/initiate",
    "oauth1.authorization_url": f"{SHOP}/authorize?app=7",
    "oauth1.access_url": f"{SHOP}/token",
}
SECRETS = {"consumer_secret": "the-consumer-secret"}
REDIRECT = "https://erp.example/callback"


def test_a_request_url_of_another_origin_sees_no_client_certificate() -> None:
    legs = {name: f"{url}".replace("api.", "auth.") for name, url in LEGS.items()}
    made = configuration(**legs, **{"tls.client_certificate": "/etc/outkey/cert.pem"})
    shown = {origin.host: made.tls_for(origin) for origin in made.origins()}
    assert shown["api.acme.example"] == made.tls
    assert shown["auth.acme.example"].client_certificate == ""


def form(text: str, status: int = 200) -> Response:
    return Response(status, body=text.encode())


class Shop:
    """A provider of OAuth 1.0a; what it responds can be replaced by path."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.other: dict[str, Response] = {}
        self.begun = 0

    def __call__(self, request: Request) -> Response:
        header = next(h.value for h in request.headers if h.name == "Authorization")
        assert isinstance(header, Secret)
        pairs = re.findall(r'(\w+)="([^"]*)"', header.reveal())
        used = {name: unquote(value) for name, value in pairs}
        self.sent.append((request.target, used))
        if request.target in self.other:
            return self.other[request.target]
        if request.target == "/initiate":
            self.begun += 1
            return form(
                f"oauth_token=temporary-{self.begun}&oauth_token_secret=temporary-s"
                "&oauth_callback_confirmed=true"
            )
        if request.target == "/token":
            return form("oauth_token=the-token&oauth_token_secret=the-token-secret")
        return Response(200, body=b"{}")


class Session:
    """What a host has for one browser: storage, a user and a clock."""

    def __init__(self, user: str = "7", **values: object) -> None:
        self.shop = Shop()
        made = configuration(**(LEGS | values))  # type: ignore[arg-type]
        self.fake = fake_gateway(made, responses=self.shop, secrets=SECRETS)
        self.pending: dict[str, PendingConsent] = {}
        self.user = user

    @property
    def consents(self) -> Consents:
        return Consents(
            pending=self.pending,
            user=self.user,
            derive=lambda state: (state * 2).encode()[:32],
            now=lambda: 1_800_000_000.0,
        )

    @property
    def stored(self) -> Configuration:
        return self.fake.ports.configurations.get("acme")

    @property
    def actions(self) -> TokenActions:
        return self.fake.sender.token_actions(self.stored)

    def begin(self) -> str:
        """Begin an authorization; return the temporary token that the browser takes."""
        url = self.consents.begin(self.actions, REDIRECT)
        assert self.consents.url(self.actions, REDIRECT) == url
        assert url.startswith(f"{SHOP}/authorize?app=7&oauth_token=temporary-")
        return parse_qs(urlsplit(url).query)["oauth_token"][0]

    def finish(self, **given: str) -> None:
        """Come back from the provider, as a host's callback does."""
        parameters = {name: [text] for name, text in given.items()}
        stored, state = self.consents.accept(
            self.stored.record, parameters, lambda: self.stored
        )
        self.consents.redeem(
            self.fake.sender.token_actions(stored),
            parameters,
            state=state,
            redirect_url=REDIRECT,
        )


def connected() -> Session:
    session = Session()
    session.finish(oauth_token=session.begin(), oauth_verifier="v")
    return session


def test_a_user_authorizes_in_the_browser_and_requests_are_signed() -> None:
    session = connected()
    session.fake.gateway.send("acme", "GET", "/orders")
    (_, first), (_, second), (_, third) = session.shop.sent
    assert first["oauth_callback"] == REDIRECT
    assert "oauth_token" not in first
    assert (second["oauth_token"], second["oauth_verifier"]) == ("temporary-1", "v")
    assert third["oauth_token"] == "the-token"
    status = session.actions.status()
    assert (status.state, status.expires_at) == (State.FRESH, None)
    assert status.last_renewed_at is not None
    assert session.actions.would_lose_consent()


def test_before_that_no_request_is_sent() -> None:
    session = Session()
    with pytest.raises(ReauthorizationNeeded) as caught:
        session.fake.gateway.send("acme", "GET", "/orders")
    assert "token authorize acme" in str(caught.value.hint)
    assert caught.value.reason == "not-connected"
    session.begin()
    with pytest.raises(ReauthorizationNeeded):
        session.fake.gateway.send("acme", "GET", "/orders")
    assert [target for target, _ in session.shop.sent] == ["/initiate"]
    assert session.actions.status().state is State.NONE
    assert not session.actions.would_lose_consent()


def test_a_user_copies_the_verifier_where_there_is_no_browser() -> None:
    session = Session()
    temporary = session.actions.request_legs(OUT_OF_BAND)
    session.actions.authorize(temporary, Secret(" 1234\n"))
    (_, first), (_, second) = session.shop.sent
    assert first["oauth_callback"] == "oob"
    assert second["oauth_verifier"] == "1234"
    assert session.actions.status().state is State.FRESH


def test_the_token_stays_in_use_while_a_user_authorizes_another_one() -> None:
    session = connected()
    session.begin()
    session.fake.gateway.send("acme", "GET", "/orders")
    assert session.shop.sent[-1][1]["oauth_token"] == "the-token"
    assert session.actions.status().state is State.FRESH


def test_a_refused_token_is_not_renewed_and_the_refusals_count() -> None:
    session = connected()
    session.shop.other["/orders"] = Response(401)
    assert session.fake.gateway.send("acme", "GET", "/orders").status == 401
    assert [target for target, _ in session.shop.sent].count("/orders") == 1
    with pytest.raises(ReauthorizationNeeded):
        session.actions.renew()


def test_a_deleted_token_must_be_authorized_again() -> None:
    session = connected()
    session.actions.forget()
    assert session.actions.status().state is State.NONE
    with pytest.raises(ReauthorizationNeeded):
        session.fake.gateway.send("acme", "GET", "/orders")


def test_only_the_actions_that_make_sense_are_offered() -> None:
    session = Session()
    possible = session.actions.possible(session.actions.status())
    assert possible == {TokenAction.CONNECT}
    session = connected()
    possible = session.actions.possible(session.actions.status())
    assert possible == {TokenAction.CONNECT, TokenAction.FORGET}


# ── the way through the browser ───────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"oauth_token": "another", "oauth_verifier": "v"},
        {"state": "x", "oauth_verifier": "v"},
    ],
)
def test_a_response_to_no_authorization_is_refused(given: dict[str, str]) -> None:
    session = Session()
    session.begin()
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(**given)


def test_a_response_is_accepted_once_and_for_its_user_only() -> None:
    session = Session()
    token = session.begin()
    session.user = "8"
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(oauth_token=token, oauth_verifier="v")
    session.user = "7"
    with pytest.raises(ConfigError, match="belongs to no consent"):
        session.finish(oauth_token=token, oauth_verifier="v")


def test_another_user_who_began_later_is_not_answered_by_the_first() -> None:
    session = Session()
    token = session.begin()
    first = dict(session.pending)
    session.begin()
    session.pending.update(first)
    assert session.consents.url(session.actions, REDIRECT) is None
    with pytest.raises(ConfigError, match="in the meantime"):
        session.finish(oauth_token=token, oauth_verifier="v")


@pytest.mark.parametrize("refusal", ["denied", "oauth_problem"])
def test_a_user_may_refuse(refusal: str) -> None:
    session = Session()
    token = session.begin()
    given = {refusal: token, "oauth_token": token}
    with pytest.raises(TokenEndpointFailed, match="did not authorize"):
        session.finish(**given)


def test_twitter_reports_a_refusal_without_the_token() -> None:
    session = Session()
    with pytest.raises(TokenEndpointFailed, match="did not authorize"):
        session.finish(denied=session.begin())


def test_a_response_without_a_verifier_is_refused() -> None:
    session = Session()
    with pytest.raises(ConfigError, match="no verifier"):
        session.finish(oauth_token=session.begin())


def test_an_authorization_that_was_deleted_meanwhile_leads_nowhere() -> None:
    session = Session()
    token = session.begin()
    session.actions.forget()
    assert session.consents.url(session.actions, REDIRECT) is None
    with pytest.raises(ConfigError, match="in the meantime"):
        session.finish(oauth_token=token, oauth_verifier="v")


# ── what providers respond ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("response", "reason", "suspected"),
    [
        (form("oauth_problem=signature_invalid", 401), "oauth1-signature", ""),
        (form("oauth_problem=consumer_key_unknown", 401), "oauth1-consumer", ""),
        (form("oauth_problem=timestamp_refused", 401), "clock-off", ""),
        (form("oauth_problem=parameter_absent", 400), "refused", "unexpected"),
        (form("no", 403), "refused", "unexpected"),
        (form("", 404), "not_found", "token-url-wrong"),
        (form("", 429), "rate_limited", "rate-limited"),
        (form("", 503), "server_error", "server-error"),
        (form("<html>"), "no_token", "token-url-wrong"),
        (form("oauth_token=&oauth_token_secret=s"), "no_token", "token-url-wrong"),
        (form("oauth_token=a%0Ab&oauth_token_secret=s"), "no_token", "token-url-wrong"),
        (form("oauth_token=t"), "no_token", "token-url-wrong"),
    ],
)
def test_a_refusal_of_the_request_url_names_its_reason(
    response: Response, reason: str, suspected: str
) -> None:
    session = Session()
    session.shop.other["/initiate"] = response
    with pytest.raises(TokenEndpointFailed) as caught:
        session.begin()
    error = caught.value
    assert (error.reason, error.field) == (reason, "oauth1.request_url")
    diagnosis = diagnose_error(error, session.stored, now=1_800_000_000.0)
    assert diagnosis.suspicions[0].reason.id == (suspected or reason)


def test_a_clock_that_is_off_explains_a_refused_signature() -> None:
    session = Session()
    headers = ResponseHeaders((("Date", "Fri, 15 Jan 2027 09:00:00 GMT"),))
    session.shop.other["/initiate"] = Response(401, headers, b"Invalid signature")
    with pytest.raises(TokenEndpointFailed) as caught:
        session.begin()
    diagnosis = diagnose_error(caught.value, session.stored, now=1_800_000_000.0)
    assert diagnosis.suspicions[0].reason.id == "clock-off"


def test_the_words_of_the_provider_are_added() -> None:
    session = Session()
    session.shop.other["/initiate"] = form("Only registered callbacks", 401)
    with pytest.raises(TokenEndpointFailed) as caught:
        session.begin()
    assert "Only registered callbacks" in str(caught.value.said)


def test_a_wrong_verifier_is_refused_at_the_access_url() -> None:
    session = Session()
    session.shop.other["/token"] = form("oauth_problem=verifier_invalid", 401)
    with pytest.raises(TokenEndpointFailed) as caught:
        session.finish(oauth_token=session.begin(), oauth_verifier="v")
    assert (caught.value.reason, caught.value.field) == (
        "oauth1-token",
        "oauth1.access_url",
    )
    assert "verifier_invalid" in str(caught.value.said)


def test_a_token_that_repeats_our_secret_is_refused() -> None:
    session = Session()
    session.shop.other["/token"] = form(
        "oauth_token=the-consumer-secret&oauth_token_secret=s"
    )
    with pytest.raises(TokenEndpointFailed) as caught:
        session.finish(oauth_token=session.begin(), oauth_verifier="v")
    assert caught.value.reason == "own_secret"


def test_a_redirect_gets_nothing() -> None:
    session = Session()
    location = ResponseHeaders((("Location", "https://evil.example"),))
    session.shop.other["/initiate"] = Response(302, location)
    with pytest.raises(RedirectBlocked) as caught:
        session.begin()
    assert caught.value.field == "oauth1.request_url"
    assert len(session.shop.sent) == 1


# ── configurations that no user authorizes ────────────────────────────────────────────


def test_a_configuration_of_two_legs_has_no_token() -> None:
    urls = dict.fromkeys(
        ("oauth1.request_url", "oauth1.authorization_url", "oauth1.access_url"), ""
    )
    session = Session(**urls)
    for act in (
        session.actions.status,
        lambda: session.actions.request_legs(OUT_OF_BAND),
        lambda: session.actions.authorize(
            TemporaryToken(Secret("t"), Secret("s")), Secret("v")
        ),
    ):
        with pytest.raises(ConfigError, match="no user has to authorize") as caught:
            act()
        assert caught.value.field == "oauth1.request_url"


def test_a_source_without_renewals_refuses_each() -> None:
    session = Session()
    source = OAuth1Source(session.fake.sender.context, session.stored)
    with pytest.raises(ReauthorizationNeeded):
        source.request_token(TokenState(), TokenRequest())
    assert isinstance(source.final_error("refused"), ReauthorizationNeeded)
    assert source.note_failure("refused") == 0.0
    assert source.state_to_renew(TokenState(serial=3)).serial == 3
    assert isinstance(source.failure("waiting"), OutkeyError)
    assert "another process" in str(leg_failure("waiting"))


def test_temporary_credentials_are_stored_again_after_a_conflict() -> None:
    session = Session()
    tokens = session.fake.ports.tokens
    swap = tokens.swap
    calls: list[int] = []

    def swap_second(
        made: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        calls.append(before.generation)
        return None if len(calls) == 1 else swap(made, before, after)

    tokens.swap = swap_second  # type: ignore[method-assign, assignment]
    session.begin()
    assert len(calls) == 2


def test_temporary_credentials_that_cannot_be_stored_are_an_error() -> None:
    session = Session()

    def refuse(*_: object) -> TokenState | None:
        session.fake.clock.advance(10)
        return None

    session.fake.ports.tokens.swap = refuse  # type: ignore[method-assign, assignment]
    with pytest.raises(TokenEndpointFailed, match="another process"):
        session.begin()


def test_a_token_is_kept_for_its_application_only() -> None:
    session = connected()
    other = configuration(**(LEGS | {"oauth1.consumer_key": "another"}))  # type: ignore[arg-type]
    actions = session.fake.sender.token_actions(other)
    assert actions.status().state is State.NONE


def test_a_request_url_that_repeats_the_consumer_secret_leads_no_browser_there() -> (
    None
):
    shop = Shop()
    shop.other["/initiate"] = form(
        "oauth_token=the-consumer-secret&oauth_token_secret=other"
    )
    fake = fake_gateway(configuration(**LEGS), responses=shop, secrets=SECRETS)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.token("acme").request_legs(OUT_OF_BAND)
    assert (caught.value.reason, caught.value.field) == (
        "own_secret",
        "oauth1.request_url",
    )
    assert "the-consumer-secret" not in str(caught.value)
