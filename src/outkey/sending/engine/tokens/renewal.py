"""Renewing tokens: one renewal per configuration, and no token lost in a crash.

    get                    return a fresh token; else one process renews it, and the
    │                      others use the old token until it expires
    └─ _renew              one renewal per process: read the state again, take the lease
       └─ _fetch_token     request a token, store it, and only then return it
          └─ TokenSource   one request for a token: by OAuth 2.0, a login or STS

The state and its rules are `sending/core/oauth2/token.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from outkey.foundation.core import errors
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_values import refuse_control_characters
from outkey.sending.core.oauth1.legs import TemporaryToken
from outkey.sending.core.oauth2.client_auth import Parameters
from outkey.sending.core.oauth2.responses import reason_of, refuse_other_nonce
from outkey.sending.core.oauth2.token import (
    LEASE_SECONDS,
    MAX_TRIES,
    AccessToken,
    State,
    TokenState,
)
from outkey.sending.core.request.cookies import cookie_values
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import (
    Request,
    Response,
    retry_after,
    server_time,
)
from outkey.sending.engine.tokens.aws_role_source import AwsRoleSource
from outkey.sending.engine.tokens.login_source import LoginSource
from outkey.sending.engine.tokens.oauth1_source import OAuth1Source
from outkey.sending.engine.tokens.oauth2_source import OAuth2Source
from outkey.sending.engine.tokens.shared_refresh import SharedRefreshSource
from outkey.sending.engine.tokens.token_cache import CachedToken, cache_key
from outkey.sending.engine.tokens.token_source import (
    TokenRequest,
    TokenResult,
    TokenSource,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps, Wait

# Seconds to wait for the renewal of another thread or process, and between two looks.
_MAX_WAIT = 30.0
_FIRST_POLL = 0.01
_MAX_POLL = 0.16
_MAX_RETRY_AFTER = 300.0
_STORE_RETRY = 0.5  # seconds between two attempts to store a new token

DEFAULT_REQUEST = TokenRequest()


@dataclass(frozen=True, slots=True)
class TokenManager:
    """Gets, renews and replaces the token of one configuration, or of one subject.

    A subject is the token of a request's user, which is exchanged for another one. The
    tokens of `context` are those of the subject then: see `token_manager`.
    """

    context: SendContext
    configuration: Configuration
    other_source: TokenSource | None = None  # of tokens beside that of the type
    subject: Secret | None = None
    subject_mark: str = ""

    @property
    def _source(self) -> TokenSource:
        if self.other_source is not None:
            return self.other_source
        if self.configuration.uses_login:
            return LoginSource(self.context, self.configuration)
        if self.configuration.uses_aws_role:
            return AwsRoleSource(self.context, self.configuration)
        if self.configuration.has_three_legs:
            return self._legs
        stored = self.configuration.stored
        if stored is not None and self.configuration.needs_consent:
            return SharedRefreshSource(self.context, self.configuration, stored)
        return self._oauth2

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on, in four parts."""
        return self._source.basis

    @property
    def _oauth2(self) -> OAuth2Source:
        return OAuth2Source(self.context, self.configuration, self.subject)

    @property
    def _legs(self) -> OAuth1Source:
        return OAuth1Source(self.context, self.configuration)

    @property
    def _cache_key(self) -> str:
        name = cache_key(self.configuration)
        return f"{name}:{self.subject_mark}" if self.subject_mark else name

    def get(self, request: TokenRequest = DEFAULT_REQUEST) -> Steps[AccessToken]:
        """Return a valid token that is not the rejected one.

        While one process renews the token, the others get the old one until it expires.
        """
        clock = self.context.clock
        deadline = min(clock.monotonic() + _MAX_WAIT, request.deadline)
        wait = _FIRST_POLL
        while True:
            cached = self._cached_token()
            now = clock.monotonic()
            token = _usable_token(cached, request, now)
            if token is not None and now < cached.fresh_until:
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
                raise self._source.failure("waiting")
            yield Wait(wait * (1 + self.context.jitter()))
            wait = min(wait * 2, _MAX_POLL)

    def state(self) -> tuple[TokenState, State]:
        """Return the stored state of the token, and whether it is fresh or expired."""
        stored = self.context.tokens.read(self.configuration)
        state = stored.for_basis(self._source.basis)
        return state, state.state_at(self.configuration, self.context.clock.now())

    @property
    def serial(self) -> int:
        """The number of the token, which every new one raises."""
        return self._cached_token().state.serial

    def failure(self, reason: str) -> errors.OutkeyError:
        """Return the error for a stored reason."""
        return self._source.failure(reason)

    def secrets(self) -> list[Secret]:
        """Return the stored tokens, for callers that must mask them in output."""
        state, _ = self.state()
        content = state.content
        if content is None:
            return []
        cookies = content.cookies
        parts = [content.access, content.refresh, cookies]
        parts += cookie_values(cookies) if cookies is not None else []
        return [secret for secret in parts if secret is not None]

    def redeem(self, parameters: Parameters, nonce: str = "") -> Steps[None]:
        """Exchange a user's consent for a token, which replaces any other.

        An ID token that comes with it must have the nonce of the consent.
        """
        at = self.context.clock.now()
        result = yield from self._oauth2.redeem(parameters)
        try:
            refuse_other_nonce(result.response, nonce)
            yield from self._replace_state(lambda empty: result.granted(empty, at))
        except errors.TokenEndpointFailed as error:
            result.explain(error)
            raise
        self.context.note_token(self.configuration, result.response)

    # ── the legs of OAuth 1.0a ──────────────────────────────────────────────────────

    def begin(self, callback: str) -> Steps[TemporaryToken]:
        """Request the temporary credentials of a user's authorization."""
        return (yield from self._legs.begin(callback))

    def store_temporary(self, temporary: TemporaryToken) -> Steps[None]:
        """Store temporary credentials until the user comes back; the token stays."""
        clock = self.context.clock
        deadline = clock.monotonic() + _MAX_WAIT
        while clock.monotonic() < deadline:
            before = self.context.tokens.read(self.configuration)
            state = before.for_basis(self._source.basis).begun(temporary.packed())
            stored = self.context.tokens.swap(self.configuration, before, state)
            if stored is not None:
                self._cache(stored)
                return
            yield Wait(_FIRST_POLL * self.context.jitter())
        raise self._source.failure("waiting")

    def temporary(self) -> TemporaryToken | None:
        """Return the temporary credentials that are stored, if there are any."""
        content = self.state()[0].content
        packed = content.temporary if content else None
        return TemporaryToken.unpacked(packed) if packed else None

    def authorize(self, temporary: TemporaryToken, verifier: Secret) -> Steps[None]:
        """Exchange what a user authorized for a token, which replaces any other."""
        at = self.context.clock.now()
        result = yield from self._legs.redeem(temporary, verifier)
        try:
            yield from self._replace_state(lambda empty: result.granted(empty, at))
        except errors.TokenEndpointFailed as error:
            result.explain(error)
            raise

    def delete(self, *, revoked: bool = False) -> Steps[None]:
        """Delete the token: the next one starts over with what was entered.

        Except with a refresh token that was revoked, or that a request is using right
        now: providers treat a second use as theft.
        """
        is_spent = self.configuration.needs_consent and (revoked or self._is_leased())
        yield from self._replace_state(
            lambda empty: self._source.state_to_renew(
                replace(empty, serial=empty.serial + 1, spent=is_spent)
            )
        )

    def _is_leased(self) -> bool:
        """Whether a process is requesting a token; not if the state is unreadable."""
        tokens = self.context.tokens
        try:
            return tokens.read(self.configuration).is_leased(tokens.now())
        except errors.OutkeyError:
            return False

    def _replace_state(self, make: Callable[[TokenState], TokenState]) -> Steps[None]:
        """Store what `make` returns for an empty state, whatever is stored now."""
        clock = self.context.clock
        tokens = self.context.tokens
        deadline = clock.monotonic() + _MAX_WAIT
        while clock.monotonic() < deadline:
            before = tokens.read(self.configuration, opened=False)
            empty = TokenState(
                before.generation, before.serial, basis=self._source.basis
            )
            stored = tokens.swap(self.configuration, before, make(empty))
            if stored is not None:
                self._cache(stored)
                return
            yield Wait(_FIRST_POLL * self.context.jitter())
        raise self._source.failure("waiting")

    def proof(self, request: Request, token: AccessToken) -> Secret:
        """Return the proof of possession of the token's key (RFC 9449 §4)."""
        content = self._cached_token().state.content
        key = content.proof_key if content else None
        return self._oauth2.proof(request, token, key)

    def note_response(self, request: Request, response: Response) -> None:
        """Use an API's response for the next request: an accepted token, a nonce."""
        if response.status < 400 and response.cause is None:
            self.note_accepted()
        if self.configuration.uses_dpop:
            self._oauth2.store_nonce(request, response)

    def note_accepted(self) -> None:
        """Note that the API accepted the token."""
        self.context.token_cache.note_accepted(self._cache_key)

    # ── reading ─────────────────────────────────────────────────────────────────────

    def _cached_token(self) -> CachedToken:
        """Return the cached token, read from the storage if it is not cached."""
        now = self.context.clock.monotonic()
        cached = self.context.token_cache.find(self._cache_key, self.configuration, now)
        return cached or self._cache(self.context.tokens.read(self.configuration))

    def _cache(self, state: TokenState) -> CachedToken:
        """Cache a stored state, as far as it fits the present settings."""
        clock = self.context.clock
        cache = self.context.token_cache
        token = cache.store(
            self._cache_key,
            self.configuration,
            state.for_basis(self._source.basis),
            wall=clock.now(),
            now=clock.monotonic(),
        )
        cache.forget_later(clock.call_later)
        return token

    def _is_renewal_pointless(self, cached: CachedToken, request: TokenRequest) -> bool:
        """Whether the token was just renewed after a rejection, and rejected again.

        If the API accepted it before and now says that it is invalid, then it may have
        expired, and is renewed a limited number of times.
        """
        if cached.state.access != request.rejected or request.interactive:
            return False
        clock = self.context.clock
        if not cached.state.was_rejected_too(clock.now()):
            return False
        if not request.token_was_refused:
            return True
        return not self.context.token_cache.may_have_expired(
            self._cache_key, cached.state.serial, clock.monotonic()
        )

    # ── renewing ────────────────────────────────────────────────────────────────────

    def _renew(self, request: TokenRequest) -> Steps[AccessToken | None]:
        """Renew the token; None while another thread or process renews it."""
        cache = self.context.token_cache
        clock = self.context.clock
        key = self._cache_key
        if self._cached_token().is_being_renewed(clock.now(), clock.monotonic()):
            return None
        if not cache.begin_renewal(key):
            return None
        try:
            # Read again: another process may have renewed it since.
            current = self._cache(self.context.tokens.read(self.configuration))
            now = clock.monotonic()
            token = _usable_token(current, request, now)
            if token is not None and now < current.fresh_until:
                return token
            self.context.tokens.refuse_renewal()
            yield from self.context.read_stores(self.configuration)
            state = self._source.state_to_renew(current.state)
            leased = self._take_lease(state, request)
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
            raise self._source.failure(state.error)
        self._source.refuse_dead(state, request)  # nothing was written
        if state.tries >= MAX_TRIES and not request.force:
            error = self._source.final_error("interrupted")
            if error is not None:
                tokens.swap(self.configuration, state, state.ended("interrupted"))
                raise error
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
        result: TokenResult | None = None
        try:
            result = yield from self._source.request_token(leased, request)
            granted = result.granted(leased, at)
            self.context.note_token(self.configuration, result.response)
        except (errors.RemoteError, errors.RedirectBlocked) as error:
            response = result.response if result else None
            problem = self._record_failure(leased, error, response)
            if result is not None:
                result.explain(problem)
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

    def _record_failure(
        self, leased: TokenState, error: errors.OutkeyError, response: Response | None
    ) -> errors.OutkeyError:
        """Store a failure for all processes, and return the error to raise."""
        source = self._source
        reason = reason_of(error)
        final_error = source.final_error(reason, response)
        if final_error is not None:
            self._try_to_store(leased, leased.ended("invalid_grant"))
            return final_error
        now = self.context.tokens.now()
        wait = source.note_failure(reason)
        their_time = None
        if response is not None:
            requested = retry_after(response, now=self.context.clock.now()) or 0.0
            wait = max(wait, min(requested, _MAX_RETRY_AFTER))
            their_time = server_time(response)
        self._try_to_store(leased, leased.failed(reason, now=now, retry_after=wait))
        return source.failure(reason, their_time)

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


def token_manager(
    context: SendContext, configuration: Configuration, subject: Secret | None
) -> TokenManager:
    """Return the manager of a configuration's token, or of that of a subject.

    Refuses a request without the subject that its configuration needs, and a subject
    that nothing is exchanged for: the request would not be sent for that user.
    """
    if subject is None:
        if configuration.needs_subject:
            raise missing_subject()
        return TokenManager(context, configuration)
    if not configuration.needs_subject:
        raise errors.ConfigError(
            Text("this configuration takes no subject token of a request"),
            hint=Text(
                "Set the Grant to Token exchange and Subject comes from to each"
                " request, or send it without."
            ),
            field="oauth2.subject_token_from",
        )
    subject = subject.derive(tidy_value)
    if not subject:
        raise missing_subject()
    refuse_control_characters("subject_token", subject)
    return TokenManager(
        replace(context, tokens=context.tokens.of_subject(subject)),
        configuration,
        subject=subject,
        subject_mark=context.tokens.mark(subject, ""),
    )


def missing_subject() -> errors.SecretMissing:
    """Return the error for a request that does not say for whom it is sent."""
    return errors.SecretMissing(
        Text("the request has no subject token"),
        hint=Text(
            "Each request of this configuration is sent for a user: pass that user's"
            " token as subject_token, --subject-token or X-Outkey-Subject-Token."
        ),
        field="subject_token",
    )


def _usable_token(
    cached: CachedToken, request: TokenRequest, now: float
) -> AccessToken | None:
    """Return a token that is alive and not the rejected one."""
    if now >= cached.expires:
        return None
    token = cached.state.access
    rejected = request.rejected
    return None if rejected is not None and token == rejected else token
