"""Getting tokens: one renewal per configuration, whoever asks, and none of it lost in a crash.

    get                 fresh → as it is; else one of all processes renews, the others use the old
    └─ _renewed         in this process one; read again, decide again, claim the lease
       └─ _next         the pending mark is written; ask, then keep, then use
          └─ ask        one request to the authorization server, within the lease

The state and its rules are `core/oauth2/token.py`.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from outkey.core import errors
from outkey.core.config.choices import Grant
from outkey.core.config.configuration import Configuration
from outkey.core.config.fields import SENT_TO_TOKEN_URL
from outkey.core.diagnosis import retry_after
from outkey.core.echo.sent_secrets import credentials_in
from outkey.core.oauth2 import grants
from outkey.core.oauth2.client_auth import Parameters, prove
from outkey.core.oauth2.responses import (
    MAX_RESPONSE,
    failure,
    read_document,
    read_token,
    reason_of,
)
from outkey.core.oauth2.token import (
    LEASE_SECONDS,
    MOST_TRIES,
    AccessToken,
    State,
    TokenState,
    basis_of,
)
from outkey.core.request.headers import tidy_value
from outkey.core.request.message import Header, Request, Response, Source
from outkey.core.request.origin import parse_url
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.engine.tokens.token_cache import CachedToken
from outkey.engine.wire.clock_offsets import moment_of
from outkey.engine.wire.drive import Steps, Wait
from outkey.engine.wire.transmit import RequestBudget, SendContext

# Shorter than the lease, so that nobody else asks while an answer may still come.
TOKEN_SECONDS = 12.0
_PATIENCE = 30.0
_POLL = 0.01
_LONGEST_POLL = 0.16
_LONGEST_ASKED = 300.0
_KEEP_AGAIN = 0.5


class TokenRequest(NamedTuple):
    """What somebody who needs a token has to say about it."""

    rejected: AccessToken | None = None  # the one that the API refused
    sure: bool = False  # and it was the token that it refused
    deadline: float = inf  # by the monotonic clock
    person: bool = False  # who is told why not, although the provider has just failed
    insisting: bool = False  # and who has it tried although somebody must agree again


@dataclass(frozen=True, slots=True)
class TokenManager:
    """The token of one configuration."""

    sender: SendContext
    configuration: Configuration

    def get(self, wish: TokenRequest = TokenRequest()) -> Steps[AccessToken]:  # noqa: B008 - a constant
        """Return a token that is valid, and is not the one that was rejected.

        While one renews, the others get the old one as long as it lives.
        """
        clock = self.sender.clock
        ends, wait = min(clock.monotonic() + _PATIENCE, wish.deadline), _POLL
        while True:
            held = self._look()
            token = self._usable(held, wish)
            if token is not None and clock.monotonic() < held.fresh_until:
                return token
            if wish.rejected is not None and self._is_vain(held, wish):
                return wish.rejected
            try:
                renewed = yield from self._renewed(wish)
            except errors.OutkeyError:
                if token is None:
                    raise
                return token
            if renewed is not None:
                return renewed
            if token is not None:
                return token
            if clock.monotonic() > ends:
                raise failure("waiting")
            yield Wait(wait * (1 + self.sender.jitter()))
            wait = min(wait * 2, _LONGEST_POLL)

    def state(self) -> tuple[TokenState, State]:
        """Return the token's state as it is kept now, and how it stands."""
        state = self.sender.tokens.read(self.configuration).for_basis(
            basis_of(self.configuration)
        )
        return state, state.standing(self.configuration, self.sender.clock.now())

    def secrets(self) -> list[Secret]:
        """Return the stored tokens, for callers that must keep them out of an output."""
        state, _ = self.state()
        content = state.content
        stored = (content.access, content.refresh) if content else ()
        return [secret for secret in stored if secret is not None]

    def redeem(self, parameters: Parameters) -> Steps[None]:
        """Exchange what a person's consent gave for a token, whoever was getting another."""
        key, at = self._new_key(), self.sender.clock.now()
        url = self.configuration.oauth2.token_url
        answer = yield from self.ask(url, parameters, key)
        yield from self._replace(
            lambda empty: self._granted(empty, answer, parameters, key, at)
        )

    def forget(self) -> Steps[None]:
        """Forget the token.

        An entered refresh token that was replaced since must not be used again: a provider takes
        that for theft. So a new one is needed then.
        """
        used = (
            self.configuration.oauth2.grant is Grant.REFRESH_TOKEN
            and self._is_replaced()
        )
        yield from self._replace(
            lambda empty: replace(empty, serial=empty.serial + 1, spent=used)
        )

    def _is_replaced(self) -> bool:
        try:
            state = self.sender.tokens.read(self.configuration)
            entered = self._entered("refresh_token")
        except errors.OutkeyError:
            return True  # whoever cannot tell must not try
        refresh = state.content.refresh if state.content else None
        return bool(state.holder) or state.spent or refresh not in (None, entered)

    def _replace(self, step: Callable[[TokenState], TokenState]) -> Steps[None]:
        ends = self.sender.clock.monotonic() + _PATIENCE
        while self.sender.clock.monotonic() < ends:
            before = self.sender.tokens.read(self.configuration, opened=False)
            empty = TokenState(
                before.generation, before.serial, basis=basis_of(self.configuration)
            )
            kept = self.sender.tokens.swap(self.configuration, before, step(empty))
            if kept is not None:
                self._hold(kept)
                return
            yield Wait(_POLL * self.sender.jitter())
        raise failure("waiting")

    def proof(self, request: Request, token: AccessToken) -> Secret:
        """Return the proof that we have the token's key, for one request (RFC 9449 §4)."""
        state = self._look().state
        key = state.content.proof_key if state.content else None
        if key is None:
            raise errors.ReauthorizationNeeded(
                Text("the key that the token is bound to is missing")
            )
        return self._proof(request.method, request, key, token.value)

    def ask(
        self, url: str, parameters: Parameters, proof_key: Secret | None
    ) -> Steps[Response]:
        """Send one request to the authorization server.

        Once more where the connection broke, or where the server wants a nonce in the proof: for
        a refresh token that is the one repetition that providers allow for.
        """
        deadline = self.sender.clock.monotonic() + TOKEN_SECONDS
        try:
            response = yield from self._carried(
                url, parameters, proof_key, deadline, retry=0
            )
        except errors.ConnectionFailed:
            pass
        else:
            if proof_key is None or not _wants_nonce(response):
                return response
        return (yield from self._carried(url, parameters, proof_key, deadline, retry=1))

    def learn(self, request: Request, response: Response) -> None:
        """Take from an API's answer what the next request needs to know."""
        if response.status < 400:
            self.accepted()
        if self.configuration.oauth2.dpop:
            self._keep_nonce(request, response)

    def accepted(self) -> None:
        """Note that the API took the token."""
        self.sender.held.accept(self._key())

    def _keep_nonce(self, request: Request, response: Response) -> None:
        """Remember the nonce for the next proof, if the server gave one."""
        nonce = response.headers.get("DPoP-Nonce")
        if nonce and nonce.isascii() and nonce.isprintable():
            self.sender.held.put_nonce(self._key(), request.origin, nonce[:1024])

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    def _key(self) -> str:
        return self.configuration.record or self.configuration.name

    def _look(self) -> CachedToken:
        now = self.sender.clock.monotonic()
        found = self.sender.held.find(self._key(), self.configuration, now)
        return found or self._hold(self.sender.tokens.read(self.configuration))

    def _hold(self, state: TokenState) -> CachedToken:
        state = state.for_basis(basis_of(self.configuration))
        clock = self.sender.clock
        wall, now, key = clock.now(), clock.monotonic(), self._key()
        return self.sender.held.hold(key, self.configuration, state, wall=wall, now=now)

    def _usable(self, held: CachedToken, wish: TokenRequest) -> AccessToken | None:
        token = held.state.access
        lives = self.sender.clock.monotonic() < held.ends
        return token if lives and token != wish.rejected else None

    def _is_vain(self, held: CachedToken, wish: TokenRequest) -> bool:
        """Tell whether a renewal for such a refusal has just been made, and was of no use.

        A token that the API took before has come to its end, if that is what the API says; but
        not over and over.
        """
        if held.state.access != wish.rejected or wish.person:
            return False
        clock = self.sender.clock
        if not held.state.was_for_nothing(clock.now()):
            return False
        key, serial = self._key(), held.state.serial
        return not (
            wish.sure and self.sender.held.may_end(key, serial, clock.monotonic())
        )

    # ── renewing ─────────────────────────────────────────────────────────────────────────────

    def _renewed(self, wish: TokenRequest) -> Steps[AccessToken | None]:
        """Renew, unless somebody else does (None) or has done so meanwhile."""
        held, key, clock = self.sender.held, self._key(), self.sender.clock
        if self._look().is_being_renewed(
            clock.now(), clock.monotonic()
        ) or not held.begin(key):
            return None
        try:
            found = self._hold(self.sender.tokens.read(self.configuration))
            token = self._usable(found, wish)
            if token is not None and clock.monotonic() < found.fresh_until:
                return token
            claimed = self._claimed(found.state, wish)
            if claimed is None:
                return None
            return (yield from self._next(claimed, wish))
        finally:
            held.end(key)

    def _claimed(self, state: TokenState, wish: TokenRequest) -> TokenState | None:
        """Take the lease, with the mark that a request is about to be sent; None if it is taken."""
        tokens = self.sender.tokens
        now = tokens.now()
        if state.is_leased(now):
            return None
        if state.is_waiting(now) and not wish.person and not state.dead:
            raise failure(state.error)
        if not self._can_ask(state, wish):
            raise self._needs_person()  # before anything is written: nothing is to be asked
        if state.tries >= MOST_TRIES and self._has_consent() and not wish.insisting:
            tokens.swap(self.configuration, state, state.ended("interrupted"))
            raise self._needs_person()
        claimed = state.claimed(self.sender.signer.fresh(), now)
        try:
            return tokens.swap(self.configuration, state, claimed)
        except errors.StorageUnavailable:
            # Many who claim at once make each other wait; one of them has it.
            if (
                tokens.read(self.configuration, opened=False).generation
                == state.generation
            ):
                raise
            return None

    def _next(
        self, claimed: TokenState, wish: TokenRequest
    ) -> Steps[AccessToken | None]:
        """Get the next token under a lease, keep it, and only then return it."""
        clock, response = self.sender.clock, None
        at, lease_ends = clock.now(), clock.monotonic() + LEASE_SECONDS
        try:
            key, parameters = self._proof_key(claimed), self._parameters(claimed, wish)
            url = self.configuration.oauth2.token_url
            response = yield from self.ask(url, parameters, key)
            granted = self._granted(claimed, response, parameters, key, at)
        except (errors.RemoteError, errors.RedirectBlocked) as error:
            problem = self._failed(claimed, error, response)
        except errors.OutkeyError:
            self._put(claimed, claimed.released())  # nothing was sent
            raise
        else:
            granted = replace(
                granted, after_rejection=bool(wish.rejected) and not wish.person
            )
            kept = yield from self._kept(claimed, granted, lease_ends)
            if kept is None:
                return None  # somebody took over; theirs is the newer one
            return self._hold(kept).state.access
        raise errors.bare(problem)

    def _has_consent(self) -> bool:
        return self.configuration.oauth2.grant is not Grant.CLIENT_CREDENTIALS

    def _needs_person(self) -> errors.ReauthorizationNeeded:
        name = self.configuration.name
        hints = {
            Grant.REFRESH_TOKEN: Text(
                "Enter a new one: outkey secret set {name} refresh_token.", name=name
            ),
            Grant.AUTHORIZATION_CODE: Text(
                "Press Connect on the configuration's page."
            ),
            Grant.DEVICE_CODE: Text(
                "Have a user authorize it: outkey token authorize {name}.", name=name
            ),
        }
        return errors.ReauthorizationNeeded(
            hint=hints.get(self.configuration.oauth2.grant)
        )

    def _can_ask(self, state: TokenState, wish: TokenRequest) -> bool:
        """Tell whether there is something to ask with that has not been refused."""
        if not self._has_consent():
            return True
        if state.dead and not wish.insisting:
            return False
        kept = state.content is not None and state.content.refresh is not None
        return kept or self._may_begin(state, wish)

    def _may_begin(self, state: TokenState, wish: TokenRequest) -> bool:
        entered = self.configuration.oauth2.grant is Grant.REFRESH_TOKEN
        return entered and (wish.insisting or not state.spent)

    def _parameters(self, claimed: TokenState, wish: TokenRequest) -> Parameters:
        if not self._has_consent():
            return grants.client_credentials(self.configuration)
        token = claimed.content.refresh if claimed.content else None
        # Who insists may have put another one where the refused one was entered.
        if token is None or (claimed.dead and self._may_begin(claimed, wish)):
            token = self._entered("refresh_token")
        return grants.refresh(self.configuration, token)

    def _granted(
        self,
        before: TokenState,
        response: Response,
        sent: Parameters,
        proof_key: Secret | None,
        at: float,
    ) -> TokenState:
        known = [value for _, value in sent if isinstance(value, Secret)]
        known += [*credentials_in(response.sent), *self._known()]
        answer = read_token(
            response,
            secrets=known,
            now=at,
            requested_scope=self.configuration.oauth2.scope,
        )
        if (answer.kind == "DPoP") != self.configuration.oauth2.dpop:
            raise failure("token_type")
        lifetime = self.configuration.oauth2.default_lifetime_seconds
        return before.granted(
            answer, at=at, default_lifetime=lifetime, proof_key=proof_key
        )

    def _known(self) -> list[Secret]:
        """Return what an answer must not repeat; an answer is not lost for want of one of them."""
        known = []
        for name in SENT_TO_TOKEN_URL:
            with suppress(errors.OutkeyError):
                known.append(self._entered(name))
        return known

    def _entered(self, name: str) -> Secret:
        return self.sender.open(self.configuration, name).derive(tidy_value)

    def _failed(
        self, claimed: TokenState, error: errors.OutkeyError, response: Response | None
    ) -> errors.OutkeyError:
        """Keep a failure for all to see, and return it as it is to be raised."""
        reason, now = reason_of(error), self.sender.tokens.now()
        # glewlwyd has not a word to say to a refresh token that is dead.
        wordless = response is not None and response.status == 400 and not response.body
        if self._has_consent() and (reason == "invalid_grant" or wordless):
            self._put(claimed, claimed.ended("invalid_grant"))
            return self._needs_person()
        asked = retry_after(response, now=self.sender.clock.now()) if response else None
        self._put(
            claimed,
            claimed.failed(reason, now=now, asked=min(asked or 0, _LONGEST_ASKED)),
        )
        return failure(reason, moment_of(response) if response else None)

    def _put(self, before: TokenState, after: TokenState) -> None:
        """Keep what is only good to know; where storage fails, the lease ends by itself."""
        try:
            kept = self.sender.tokens.swap(self.configuration, before, after)
        except errors.HostError:
            return
        if kept is not None:
            self._hold(kept)

    def _kept(
        self, claimed: TokenState, granted: TokenState, lease_ends: float
    ) -> Steps[TokenState | None]:
        """Keep a new token; as long as the lease lasts, storage gets another chance.

        The refresh token before it may be used up, so that this one must not be lost.
        """
        while True:
            try:
                return self.sender.tokens.swap(self.configuration, claimed, granted)
            except errors.HostError:
                if self.sender.clock.monotonic() + _KEEP_AGAIN >= lease_ends:
                    raise
            yield Wait(_KEEP_AGAIN)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def _new_key(self) -> Secret | None:
        """Make a key to bind the next token to, if the configuration wants that."""
        return self.sender.signer.new_key() if self.configuration.oauth2.dpop else None

    def _proof_key(self, state: TokenState) -> Secret | None:
        kept = state.content.proof_key if state.content else None
        return kept or self._new_key()

    def _carried(
        self,
        url: str,
        parameters: Parameters,
        key: Secret | None,
        deadline: float,
        *,
        retry: int,
    ) -> Steps[Response]:
        request = self._request(url, parameters, key)
        if (
            self.sender.clock.monotonic() >= deadline
        ):  # whoever was stopped comes too late
            raise errors.TimedOut
        trip = RequestBudget(deadline, MAX_RESPONSE, retry=retry, for_token=True)
        response = yield from self.sender.carry(self.configuration, request, trip)
        self._keep_nonce(request, response)
        return response

    def _request(self, url: str, parameters: Parameters, key: Secret | None) -> Request:
        sender, configuration = self.sender, self.configuration
        now, number = (
            sender.moment(configuration, parse_url(url).origin),
            sender.signer.fresh(),
        )
        secret, sign = sender.opener(configuration), sender.signer.assertion
        proof = prove(configuration, secret, sign, now=now, number=number)
        request = grants.post(configuration, url, parameters, proof)
        if key is None:
            return request
        shown = Header("DPoP", self._proof("POST", request, key), Source.AUTHENTICATION)
        return request.with_headers((*request.headers, shown))

    def _proof(
        self, method: str, request: Request, key: Secret, token: Secret | None = None
    ) -> Secret:
        claims: dict[str, object] = {
            "htm": method,
            "htu": request.url.partition("?")[0],
            "iat": int(self.sender.moment(self.configuration, request.origin)),
            "jti": self.sender.signer.fresh(),
        }
        if nonce := self.sender.held.nonce(self._key(), request.origin):
            claims["nonce"] = nonce
        return self.sender.signer.proof(claims, key, token)


def _wants_nonce(response: Response) -> bool:
    try:
        read_document(response)
    except errors.OutkeyError as error:
        return reason_of(error) == "use_dpop_nonce"
    return False
