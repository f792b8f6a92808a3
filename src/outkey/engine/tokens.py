"""Getting tokens: one renewal per configuration, whoever asks, and none of it lost in a crash.

    get                 fresh → as it is; else one of all processes renews, the others use the old
    └─ _renewed         in this process one; read again, decide again, claim the lease
       └─ _next         the pending mark is written; ask, then keep, then use
          └─ ask        one request to the authorization server, within the lease

The state and its rules are `core/oauth2/token.py`.
"""

from dataclasses import dataclass, replace

from outkey.core.config import Configuration, Grant
from outkey.core.diagnosis import retry_after
from outkey.core.errors import (
    ConnectionFailed,
    HostError,
    OutkeyError,
    ReauthorizationNeeded,
    RedirectBlocked,
    RemoteError,
    TimedOut,
    TokenEndpointFailed,
)
from outkey.core.headers import tidy_value
from outkey.core.message import Header, Request, Response, Source
from outkey.core.oauth2 import grants
from outkey.core.oauth2.answers import MAX_ANSWER, failure, read_document, read_token, reason_of
from outkey.core.oauth2.client_auth import Parameters, prove
from outkey.core.oauth2.token import (
    LEASE_SECONDS,
    MOST_TRIES,
    AccessToken,
    State,
    TokenState,
    basis_of,
)
from outkey.core.secret import Secret
from outkey.engine.carry import Sender, Trip
from outkey.engine.drive import Steps, Wait
from outkey.engine.held_tokens import Held

# Shorter than the lease, so that nobody else asks while an answer may still come.
TOKEN_SECONDS = 12.0
_PATIENCE = 30.0
_POLL = 0.02
_LONGEST_ASKED = 300.0
_KEEP_AGAIN = 0.5
_PUT_TRIES = 10


@dataclass(frozen=True, slots=True)
class TokenKeeper:
    """The token of one configuration."""

    sender: Sender
    configuration: Configuration

    def get(
        self, rejected: AccessToken | None = None, *, impatient: bool = False
    ) -> Steps[AccessToken]:
        """Return a token that is valid, and is not the one that was rejected.

        While one renews, the others get the old one as long as it lives. Whoever is `impatient`, a
        person, has the provider asked even though that has just failed or been of no use.
        """
        clock = self.sender.clock
        ends = clock.monotonic() + _PATIENCE
        while True:
            held = self._look()
            token, now = held.state.access, clock.monotonic()
            usable = token is not None and now < held.ends and token != rejected
            if token is not None and usable and now < held.fresh_until:
                return token
            quarrel = token is not None and token == rejected and not impatient
            if token is not None and quarrel and held.state.was_for_nothing(clock.now()):
                return token
            try:
                renewed = yield from self._renewed(rejected, impatient=impatient)
            except OutkeyError:
                if token is None or not usable:
                    raise
                return token
            if renewed is not None:
                return renewed
            if token is not None and usable:
                return token
            if now > ends:
                raise failure("waiting")
            yield Wait(_POLL * (1 + self.sender.jitter()))

    def state(self) -> tuple[TokenState, State]:
        """Return the token's state as it is kept now, and how it stands."""
        state = self.sender.tokens.read(self.configuration).for_basis(basis_of(self.configuration))
        return state, state.standing(self.configuration, self.sender.clock.now())

    def put(
        self, answer: Response | None, *, at: float = 0.0, proof_key: Secret | None = None
    ) -> None:
        """Take the token of an answer, or forget what there is, whoever was getting another."""
        for _ in range(_PUT_TRIES):
            before = self.sender.tokens.read(self.configuration, opened=False)
            basis = basis_of(self.configuration)
            after = TokenState(before.generation, before.serial + 1, basis=basis)
            if answer is not None:
                empty = replace(after, serial=before.serial)
                after = self._granted(empty, answer, at=at, proof_key=proof_key)
            kept = self.sender.tokens.swap(self.configuration, before, after)
            if kept is not None:
                self._hold(kept)
                return
        raise failure("waiting")

    def proof(self, request: Request, token: AccessToken) -> Secret:
        """Return the proof that we have the token's key, for one request (RFC 9449 §4)."""
        state = self._look().state
        key = state.content.proof_key if state.content else None
        if key is None:
            raise ReauthorizationNeeded("the key that the token is bound to is gone")
        return self._proof(request.method, request, key, token.value)

    def ask(self, url: str, parameters: Parameters, proof_key: Secret | None) -> Steps[Response]:
        """Send one request to the authorization server.

        Once more where the connection broke, or where the server wants a nonce in the proof: for
        a refresh token that is the one repetition that providers allow for.
        """
        sender, configuration = self.sender, self.configuration
        deadline = sender.clock.monotonic() + TOKEN_SECONDS
        for last in (False, True):
            request = self._request(url, parameters, proof_key)
            trip = Trip(deadline, MAX_ANSWER, retry=int(last), for_token=True)
            if sender.clock.monotonic() >= deadline:  # whoever was stopped comes too late
                raise TimedOut
            try:
                response = yield from sender.carry(configuration, request, trip)
            except ConnectionFailed:
                if last:
                    raise
                continue
            self.keep_nonce(request, response)
            if last or proof_key is None or not _wants_nonce(response):
                break
        return response

    def keep_nonce(self, request: Request, response: Response) -> None:
        """Remember the nonce for the next proof, if the server gave one."""
        nonce = response.headers.get("DPoP-Nonce")
        if nonce and nonce.isascii() and nonce.isprintable():
            self.sender.held.put_nonce(self.configuration.name, request.origin, nonce[:1024])

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    def _key(self) -> str:
        return self.configuration.record or self.configuration.name

    def _look(self) -> Held:
        found = self.sender.held.find(
            self._key(), self.configuration, self.sender.clock.monotonic()
        )
        return found or self._hold(self.sender.tokens.read(self.configuration))

    def _hold(self, state: TokenState) -> Held:
        state = state.for_basis(basis_of(self.configuration))
        clock = self.sender.clock
        return self.sender.held.hold(
            self._key(),
            self.configuration,
            state,
            leeway=state.leeway(self.configuration.oauth2.leeway_seconds),
            wall=clock.now(),
            now=clock.monotonic(),
        )

    # ── renewing ─────────────────────────────────────────────────────────────────────────────

    def _renewed(
        self, rejected: AccessToken | None, *, impatient: bool
    ) -> Steps[AccessToken | None]:
        """Renew, unless somebody else does (None) or has done so meanwhile."""
        held, key = self.sender.held, self._key()
        if held.begin(key) is None:
            return None
        try:
            found = self._hold(self.sender.tokens.read(self.configuration))
            state, now = found.state, self.sender.clock.monotonic()
            if state.access and state.access != rejected and now < found.fresh_until:
                return state.access
            claimed = self._claimed(state, impatient=impatient)
            if claimed is None:
                return None
            return (yield from self._next(claimed, refused=rejected is not None and not impatient))
        finally:
            held.end(key)

    def _claimed(self, state: TokenState, *, impatient: bool) -> TokenState | None:
        """Take the lease, with the mark that a request is about to be sent; None if it is taken."""
        tokens = self.sender.tokens
        now = tokens.now()
        if state.is_leased(now):
            return None
        if state.dead:
            raise ReauthorizationNeeded
        if state.is_waiting(now) and not impatient:
            raise failure(state.error)
        if state.tries >= MOST_TRIES and self._has_consent():
            tokens.swap(self.configuration, state, state.ended())
            raise ReauthorizationNeeded
        holder = self.sender.signer.fresh()
        return tokens.swap(self.configuration, state, state.claimed(holder, now))

    def _next(self, claimed: TokenState, *, refused: bool) -> Steps[AccessToken | None]:
        """Get the next token under a lease, keep it, and only then return it."""
        clock, response = self.sender.clock, None
        at, lease_ends = clock.now(), clock.monotonic() + LEASE_SECONDS
        try:
            key = self._proof_key(claimed)
            url = self.configuration.oauth2.token_url
            response = yield from self.ask(url, self._parameters(claimed), key)
            granted = self._granted(claimed, response, at=at, proof_key=key)
        except (RemoteError, RedirectBlocked) as error:
            raise self._failed(claimed, error, response) from None
        except OutkeyError:
            self._put(claimed, claimed.released())  # nothing was sent
            raise
        granted = replace(granted, after_rejection=refused)
        kept = yield from self._kept(claimed, granted, lease_ends)
        if kept is None:
            return None  # somebody took over; theirs is the newer one
        self._hold(kept)
        return kept.access

    def _has_consent(self) -> bool:
        return self.configuration.oauth2.grant is not Grant.CLIENT_CREDENTIALS

    def _parameters(self, claimed: TokenState) -> Parameters:
        if not self._has_consent():
            return grants.client_credentials(self.configuration)
        token = claimed.content.refresh if claimed.content else None
        if token is None and self.configuration.oauth2.grant is Grant.REFRESH_TOKEN:
            token = self.sender.open(self.configuration, "refresh_token").derive(tidy_value)
        if token is None:
            raise ReauthorizationNeeded
        return grants.refresh(self.configuration, token)

    def _granted(
        self, before: TokenState, response: Response, *, at: float, proof_key: Secret | None
    ) -> TokenState:
        opener = self.sender.opener(self.configuration)
        names = ("client_secret", "refresh_token")
        secrets = [opener(n) for n in names if n in self.configuration.needed_secrets()]
        answer = read_token(response, secrets=secrets, now=at)
        lifetime = self.configuration.oauth2.default_lifetime_seconds
        return before.granted(answer, at=at, default_lifetime=lifetime, proof_key=proof_key)

    def _failed(
        self, claimed: TokenState, error: OutkeyError, response: Response | None
    ) -> OutkeyError:
        """Keep a failure for all to see, and return it as it is to be raised."""
        reason, now = reason_of(error), self.sender.tokens.now()
        if reason == "invalid_grant" and self._has_consent():
            self._put(claimed, claimed.ended())
            return ReauthorizationNeeded()
        asked = retry_after(response, now=self.sender.clock.now()) if response else None
        self._put(claimed, claimed.failed(reason, now=now, asked=min(asked or 0, _LONGEST_ASKED)))
        return failure(reason)

    def _put(self, before: TokenState, after: TokenState) -> None:
        """Keep what is only good to know; where storage fails, the lease ends by itself."""
        try:
            kept = self.sender.tokens.swap(self.configuration, before, after)
        except HostError:
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
            except HostError:
                if self.sender.clock.monotonic() + _KEEP_AGAIN >= lease_ends:
                    raise
            yield Wait(_KEEP_AGAIN)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def new_proof_key(self) -> Secret | None:
        """Make a key to bind the next token to, if the configuration wants that."""
        return self.sender.signer.new_key() if self.configuration.oauth2.dpop else None

    def _proof_key(self, state: TokenState) -> Secret | None:
        kept = state.content.proof_key if state.content else None
        return kept or self.new_proof_key()

    def _request(self, url: str, parameters: Parameters, key: Secret | None) -> Request:
        sender, configuration = self.sender, self.configuration
        proof = prove(
            configuration,
            sender.opener(configuration),
            sender.signer.assertion,
            now=sender.clock.now(),
            number=sender.signer.fresh(),
        )
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
            "iat": int(self.sender.clock.now()),
            "jti": self.sender.signer.fresh(),
        }
        if nonce := self.sender.held.nonce(self.configuration.name, request.origin):
            claims["nonce"] = nonce
        return self.sender.signer.proof(claims, key, token)


def _wants_nonce(response: Response) -> bool:
    try:
        read_document(response)
    except TokenEndpointFailed as error:
        return error.reason == "use_dpop_nonce"
    except RedirectBlocked:
        return False
    return False
