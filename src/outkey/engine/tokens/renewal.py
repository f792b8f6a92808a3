"""Renewing tokens: one renewal per configuration, and no token lost in a crash.

    get                    return a fresh token; else one process renews it, and the
    │                      others use the old token until it expires
    └─ _renew              one renewal per process: read the state again, take the lease
       └─ _fetch_token     request a token, store it, and only then return it
          └─ send_form     one request to the authorization server, within the lease

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
    refuse_other_nonce,
)
from outkey.core.oauth2.token import (
    LEASE_SECONDS,
    MAX_TRIES,
    AccessToken,
    State,
    TokenState,
    basis_of,
)
from outkey.core.request.headers import tidy_value
from outkey.core.request.message import (
    Header,
    Request,
    Response,
    Source,
    server_time,
)
from outkey.core.request.origin import parse_url
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.engine.tokens.provider_words import add_words
from outkey.engine.tokens.token_cache import CachedToken
from outkey.engine.wire.steps import Steps, Wait
from outkey.engine.wire.transmit import RequestBudget, SendContext

# Shorter than the lease, so that no other process sends a request while a response may
# still come.
TOKEN_SECONDS = 12.0
# Seconds to wait for the renewal of another thread or process, and between two looks.
_MAX_WAIT = 30.0
_FIRST_POLL = 0.01
_MAX_POLL = 0.16
_MAX_RETRY_AFTER = 300.0
_STORE_RETRY = 0.5  # seconds between two attempts to store a new token
_MAX_NONCE_LENGTH = 1024


class TokenRequest(NamedTuple):
    """Why a token is needed, and what may be tried to get it."""

    rejected: AccessToken | None = None  # the token that the API refused
    token_was_refused: bool = False  # the response named the token as the reason
    deadline: float = inf  # by the monotonic clock
    # A user waits: send a request even if the provider has just failed, to show why.
    interactive: bool = False
    # Send a request even if the last refresh token was refused or used.
    force: bool = False


DEFAULT_REQUEST = TokenRequest()


@dataclass(frozen=True, slots=True)
class TokenManager:
    """Gets, renews and replaces the token of one configuration."""

    context: SendContext
    configuration: Configuration

    def get(self, request: TokenRequest = DEFAULT_REQUEST) -> Steps[AccessToken]:
        """Return a valid token that is not the rejected one.

        While one process renews the token, the others get the old one until it expires.
        """
        clock = self.context.clock
        deadline = min(clock.monotonic() + _MAX_WAIT, request.deadline)
        wait = _FIRST_POLL
        while True:
            cached = self._cached_token()
            token = self._usable_token(cached, request)
            if token is not None and clock.monotonic() < cached.fresh_until:
                return token
            rejected = request.rejected
            if rejected is not None and self._is_renewal_pointless(cached, request):
                return rejected
            try:
                renewed = yield from self._renew(request)
            except errors.OutkeyError:
                if token is None:
                    raise
                return token
            if renewed is not None:
                return renewed
            if token is not None:
                return token
            if clock.monotonic() > deadline:
                raise failure("waiting")
            yield Wait(wait * (1 + self.context.jitter()))
            wait = min(wait * 2, _MAX_POLL)

    def state(self) -> tuple[TokenState, State]:
        """Return the stored state of the token, and whether it is fresh or expired."""
        stored = self.context.tokens.read(self.configuration)
        state = stored.for_basis(basis_of(self.configuration))
        return state, state.state_at(self.configuration, self.context.clock.now())

    def secrets(self) -> list[Secret]:
        """Return the stored tokens, for callers that must mask them in output."""
        state, _ = self.state()
        content = state.content
        stored = (content.access, content.refresh) if content else ()
        return [secret for secret in stored if secret is not None]

    def redeem(self, parameters: Parameters, nonce: str = "") -> Steps[None]:
        """Exchange a user's consent for a token, which replaces any other.

        An ID token that comes with it must have the nonce of the consent.
        """
        proof_key = self._new_proof_key()
        at = self.context.clock.now()
        response = yield from self.send_form(
            self.configuration.oauth2.token_url, parameters, proof_key
        )
        try:
            refuse_other_nonce(response, nonce)
            yield from self._replace_state(
                lambda empty: self._state_from(
                    empty, response, parameters, proof_key, at
                )
            )
        except errors.TokenEndpointFailed as error:
            secrets = self._secrets_at_provider(parameters, response)
            add_words(error, response, secrets)
            raise

    def delete(self) -> Steps[None]:
        """Delete the token.

        An entered refresh token that the provider has replaced must not be used again,
        since providers treat that as theft: the user has to enter a new one.
        """
        is_spent = (
            self.configuration.oauth2.grant is Grant.REFRESH_TOKEN
            and self._is_entered_token_replaced()
        )
        yield from self._replace_state(
            lambda empty: replace(empty, serial=empty.serial + 1, spent=is_spent)
        )

    def _is_entered_token_replaced(self) -> bool:
        """Whether the provider may have replaced the refresh token that was entered."""
        try:
            state = self.context.tokens.read(self.configuration)
            entered = self._entered_secret("refresh_token")
        except errors.OutkeyError:
            return True  # unknown, so it must not be used
        refresh = state.content.refresh if state.content else None
        return bool(state.holder) or state.spent or refresh not in (None, entered)

    def _replace_state(self, make: Callable[[TokenState], TokenState]) -> Steps[None]:
        """Store what `make` returns for an empty state, whatever is stored now."""
        clock = self.context.clock
        tokens = self.context.tokens
        deadline = clock.monotonic() + _MAX_WAIT
        while clock.monotonic() < deadline:
            before = tokens.read(self.configuration, opened=False)
            empty = TokenState(
                before.generation, before.serial, basis=basis_of(self.configuration)
            )
            stored = tokens.swap(self.configuration, before, make(empty))
            if stored is not None:
                self._cache(stored)
                return
            yield Wait(_FIRST_POLL * self.context.jitter())
        raise failure("waiting")

    def proof(self, request: Request, token: AccessToken) -> Secret:
        """Return the proof of possession of the token's key (RFC 9449 §4)."""
        content = self._cached_token().state.content
        key = content.proof_key if content else None
        if key is None:
            raise errors.ReauthorizationNeeded(
                Text("the key that the token is bound to is missing")
            )
        return self._sign_proof(request.method, request, key, token.value)

    def send_form(
        self, url: str, parameters: Parameters, proof_key: Secret | None
    ) -> Steps[Response]:
        """Send a form to the authorization server and return its response.

        The request is retried once after a broken connection, or if the server requires
        a nonce in the proof: providers allow one retry for a refresh token.
        """
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        try:
            response = yield from self._send_once(
                url, parameters, proof_key, deadline, retry=0
            )
        except errors.ConnectionFailed:
            pass
        else:
            if proof_key is None or not wants_nonce(response):
                return response
        return (
            yield from self._send_once(url, parameters, proof_key, deadline, retry=1)
        )

    def note_response(self, request: Request, response: Response) -> None:
        """Use an API's response for the next request: an accepted token, a nonce."""
        if response.status < 400:
            self.note_accepted()
        if self.configuration.oauth2.dpop:
            self._store_nonce(request, response)

    def note_accepted(self) -> None:
        """Note that the API accepted the token."""
        self.context.token_cache.note_accepted(self._cache_key())

    def _store_nonce(self, request: Request, response: Response) -> None:
        """Cache the nonce for the next proof, if the server sent one."""
        nonce = response.headers.get("DPoP-Nonce")
        if nonce and nonce.isascii() and nonce.isprintable():
            self.context.token_cache.put_nonce(
                self._cache_key(), request.origin, nonce[:_MAX_NONCE_LENGTH]
            )

    # ── reading ─────────────────────────────────────────────────────────────────────

    def _cache_key(self) -> str:
        """Return the key of this configuration in the process's cache."""
        return self.configuration.record or self.configuration.name

    def _cached_token(self) -> CachedToken:
        """Return the cached token, read from the storage if it is not cached."""
        now = self.context.clock.monotonic()
        cached = self.context.token_cache.find(
            self._cache_key(), self.configuration, now
        )
        return cached or self._cache(self.context.tokens.read(self.configuration))

    def _cache(self, state: TokenState) -> CachedToken:
        """Cache a stored state, as far as it fits the present settings."""
        clock = self.context.clock
        return self.context.token_cache.store(
            self._cache_key(),
            self.configuration,
            state.for_basis(basis_of(self.configuration)),
            wall=clock.now(),
            now=clock.monotonic(),
        )

    def _usable_token(
        self, cached: CachedToken, request: TokenRequest
    ) -> AccessToken | None:
        token = cached.state.access
        is_alive = self.context.clock.monotonic() < cached.expires
        return token if is_alive and token != request.rejected else None

    def _is_renewal_pointless(self, cached: CachedToken, request: TokenRequest) -> bool:
        """Whether the token was just renewed after a rejection, and rejected again.

        If the API accepted it before and now says that it is invalid, then it may have
        expired, and is renewed a limited number of times.
        """
        if cached.state.access != request.rejected or request.interactive:
            return False
        clock = self.context.clock
        if not cached.state.was_for_nothing(clock.now()):
            return False
        if not request.token_was_refused:
            return True
        return not self.context.token_cache.may_have_expired(
            self._cache_key(), cached.state.serial, clock.monotonic()
        )

    # ── renewing ────────────────────────────────────────────────────────────────────

    def _renew(self, request: TokenRequest) -> Steps[AccessToken | None]:
        """Renew the token; None while another thread or process renews it."""
        cache = self.context.token_cache
        clock = self.context.clock
        key = self._cache_key()
        if self._cached_token().is_being_renewed(clock.now(), clock.monotonic()):
            return None
        if not cache.begin_renewal(key):
            return None
        try:
            # Read again: another process may have renewed it since.
            current = self._cache(self.context.tokens.read(self.configuration))
            token = self._usable_token(current, request)
            if token is not None and clock.monotonic() < current.fresh_until:
                return token
            leased = self._take_lease(current.state, request)
            if leased is None:
                return None
            return (yield from self._fetch_token(leased, request))
        finally:
            cache.end_renewal(key)

    def _take_lease(
        self, state: TokenState, request: TokenRequest
    ) -> TokenState | None:
        """Take the lease and mark a request as pending; None if the lease is taken."""
        tokens = self.context.tokens
        now = tokens.now()
        if state.is_leased(now):
            return None
        if state.is_waiting(now) and not request.interactive and not state.dead:
            raise failure(state.error)
        if not self._can_request(state, request):
            raise self._consent_error()  # nothing was written
        if (
            state.tries >= MAX_TRIES
            and self.configuration.oauth2.needs_consent
            and not request.force
        ):
            tokens.swap(self.configuration, state, state.ended("interrupted"))
            raise self._consent_error()
        leased = state.claimed(self.context.signer.fresh(), now)
        try:
            return tokens.swap(self.configuration, state, leased)
        except errors.StorageUnavailable:
            # Many processes take the lease at the same time, and one of them gets it.
            current = tokens.read(self.configuration, opened=False)
            if current.generation == state.generation:
                raise
            return None

    def _fetch_token(
        self, leased: TokenState, request: TokenRequest
    ) -> Steps[AccessToken | None]:
        """Request a token under the lease, store it, and only then return it."""
        clock = self.context.clock
        at = clock.now()
        lease_ends = clock.monotonic() + LEASE_SECONDS
        response = None
        try:
            proof_key = leased.content.proof_key if leased.content else None
            proof_key = proof_key or self._new_proof_key()
            parameters = self._parameters(leased, request)
            response = yield from self.send_form(
                self.configuration.oauth2.token_url, parameters, proof_key
            )
            granted = self._state_from(leased, response, parameters, proof_key, at)
        except (errors.RemoteError, errors.RedirectBlocked) as error:
            problem = self._record_failure(leased, error, response)
            if response is not None:
                secrets = self._secrets_at_provider(parameters, response)
                add_words(problem, response, secrets)
        except errors.OutkeyError:
            self._try_to_store(leased, leased.released())  # nothing was sent
            raise
        else:
            after_rejection = bool(request.rejected) and not request.interactive
            granted = replace(granted, after_rejection=after_rejection)
            stored = yield from self._store_while_leased(leased, granted, lease_ends)
            if stored is None:
                return None  # another process took over; its token is the newer one
            return self._cache(stored).state.access
        raise errors.without_traceback(problem)

    def _consent_error(self) -> errors.ReauthorizationNeeded:
        """Return the error for a missing authorization, with the grant's remedy."""
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

    def _can_request(self, state: TokenState, request: TokenRequest) -> bool:
        """Whether there are credentials for a token request that were not refused."""
        if not self.configuration.oauth2.needs_consent:
            return True
        if state.dead and not request.force:
            return False
        has_refresh = state.content is not None and state.content.refresh is not None
        return has_refresh or self._may_use_entered(state, request)

    def _may_use_entered(self, state: TokenState, request: TokenRequest) -> bool:
        """Whether the refresh token that was entered may be sent."""
        is_entered = self.configuration.oauth2.grant is Grant.REFRESH_TOKEN
        return is_entered and (request.force or not state.spent)

    def _parameters(self, leased: TokenState, request: TokenRequest) -> Parameters:
        """Return the parameters of the token request."""
        if not self.configuration.oauth2.needs_consent:
            return grants.client_credentials(self.configuration)
        token = leased.content.refresh if leased.content else None
        # With force: the user may have replaced the refused token by another one.
        use_entered = leased.dead and self._may_use_entered(leased, request)
        if token is None or use_entered:
            token = self._entered_secret("refresh_token")
        return grants.refresh(self.configuration, token)

    def _state_from(
        self,
        before: TokenState,
        response: Response,
        sent: Parameters,
        proof_key: Secret | None,
        at: float,
    ) -> TokenState:
        """Return the state with the token of a response, or raise its failure."""
        oauth2 = self.configuration.oauth2
        token_response = read_token(
            response,
            secrets=self._secrets_at_provider(sent, response),
            now=at,
            requested_scope=oauth2.scope,
        )
        if (token_response.kind == "DPoP") != oauth2.dpop:
            raise failure("token_type")
        return before.granted(
            token_response,
            at=at,
            default_lifetime=oauth2.default_lifetime_seconds,
            proof_key=proof_key,
        )

    def _secrets_at_provider(
        self, sent: Parameters, response: Response
    ) -> list[Secret]:
        """Return the secrets that the response to a token request may repeat."""
        secrets = [value for _, value in sent if isinstance(value, Secret)]
        secrets += credentials_in(response.sent)
        return secrets + self._openable_secrets()

    def _openable_secrets(self) -> list[Secret]:
        """Return the secrets of the Token URL that can be opened.

        A response must not repeat them.
        """
        secrets = []
        for name in SENT_TO_TOKEN_URL:
            with suppress(errors.OutkeyError):
                secrets.append(self._entered_secret(name))
        return secrets

    def _entered_secret(self, name: str) -> Secret:
        return self.context.open(self.configuration, name).derive(tidy_value)

    def _record_failure(
        self, leased: TokenState, error: errors.OutkeyError, response: Response | None
    ) -> errors.OutkeyError:
        """Store a failure for all processes, and return the error to raise."""
        reason = reason_of(error)
        # glewlwyd responds to a dead refresh token with an empty body.
        is_empty = response is not None and response.status == 400 and not response.body
        if self.configuration.oauth2.needs_consent and (
            reason == "invalid_grant" or is_empty
        ):
            self._try_to_store(leased, leased.ended("invalid_grant"))
            return self._consent_error()
        now = self.context.tokens.now()
        wait = 0.0
        their_time = None
        if response is not None:
            wait = retry_after(response, now=self.context.clock.now()) or 0.0
            their_time = server_time(response)
        wait = min(wait, _MAX_RETRY_AFTER)
        self._try_to_store(leased, leased.failed(reason, now=now, retry_after=wait))
        return failure(reason, their_time)

    def _try_to_store(self, before: TokenState, after: TokenState) -> None:
        """Store a state if possible; if not, the lease just expires."""
        try:
            stored = self.context.tokens.swap(self.configuration, before, after)
        except errors.HostError:
            return
        if stored is not None:
            self._cache(stored)

    def _store_while_leased(
        self, leased: TokenState, granted: TokenState, lease_ends: float
    ) -> Steps[TokenState | None]:
        """Store a new token; retry while the lease lasts if the storage fails.

        The previous refresh token may be invalid now, so the new one must not be lost.
        """
        while True:
            try:
                return self.context.tokens.swap(self.configuration, leased, granted)
            except errors.HostError:
                if self.context.clock.monotonic() + _STORE_RETRY >= lease_ends:
                    raise
            yield Wait(_STORE_RETRY)

    # ── requests ────────────────────────────────────────────────────────────────────

    def _new_proof_key(self) -> Secret | None:
        """Return a new key to bind the next token to, if DPoP is used."""
        return self.context.signer.new_key() if self.configuration.oauth2.dpop else None

    def _send_once(
        self,
        url: str,
        parameters: Parameters,
        proof_key: Secret | None,
        deadline: float,
        *,
        retry: int,
    ) -> Steps[Response]:
        request = self._request(url, parameters, proof_key)
        # A process that was suspended may resume after its lease has ended.
        if self.context.clock.monotonic() >= deadline:
            raise errors.TimedOut
        budget = RequestBudget(deadline, MAX_RESPONSE, retry=retry, for_token=True)
        response = yield from self.context.transmit(self.configuration, request, budget)
        self._store_nonce(request, response)
        return response

    def _request(
        self, url: str, parameters: Parameters, proof_key: Secret | None
    ) -> Request:
        context = self.context
        configuration = self.configuration
        client_proof = prove(
            configuration,
            context.opener(configuration),
            context.signer.assertion,
            now=context.moment(configuration, parse_url(url).origin),
            number=context.signer.fresh(),
        )
        request = grants.post(configuration, url, parameters, client_proof)
        if proof_key is None:
            return request
        proof = self._sign_proof("POST", request, proof_key)
        header = Header("DPoP", proof, Source.AUTHENTICATION)
        return request.with_headers((*request.headers, header))

    def _sign_proof(
        self, method: str, request: Request, key: Secret, token: Secret | None = None
    ) -> Secret:
        context = self.context
        claims: dict[str, object] = {
            "htm": method,
            "htu": request.url.partition("?")[0],
            "iat": int(context.moment(self.configuration, request.origin)),
            "jti": context.signer.fresh(),
        }
        if nonce := context.token_cache.nonce(self._cache_key(), request.origin):
            claims["nonce"] = nonce
        return context.signer.proof(claims, key, token)


def wants_nonce(response: Response) -> bool:
    """Whether an authorization server requires a nonce in the proof (RFC 9449 §8)."""
    try:
        read_document(response)
    except errors.OutkeyError as error:
        return reason_of(error) == "use_dpop_nonce"
    return False
