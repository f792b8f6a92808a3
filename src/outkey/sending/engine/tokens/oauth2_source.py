"""Tokens of OAuth 2.0: requests to the authorization server, and proofs (DPoP)."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from outkey.foundation.core import errors
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import PRIVATE_KEY, Configuration
from outkey.sending.core.configuration.fields import SENT_TO_TOKEN_URL
from outkey.sending.core.diagnosis.assertion_problems import hint_of_refusal
from outkey.sending.core.oauth2 import grants
from outkey.sending.core.oauth2.assertions import bearer_assertion
from outkey.sending.core.oauth2.client_auth import Parameters, prove
from outkey.sending.core.oauth2.responses import (
    exchange_failure,
    failure,
    read_document,
    read_token,
    reason_of,
)
from outkey.sending.core.oauth2.token import AccessToken, TokenState, basis_of
from outkey.sending.core.request.assembly import with_header_rows
from outkey.sending.core.request.headers import tidy_value, with_composed_headers
from outkey.sending.core.request.message import Header, Request, Response, Source
from outkey.sending.core.request.sent_secrets import credentials_in
from outkey.sending.engine.tokens.shown_refusal import add_words
from outkey.sending.engine.tokens.token_cache import cache_key
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    TokenSource,
    not_connected,
    send_for_token,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps

_MAX_NONCE_LENGTH = 1024
_REFRESHING = ("grant_type", "refresh_token")


@dataclass(frozen=True, slots=True)
class OAuth2Source(TokenSource):
    """The authorization server of one configuration."""

    context: SendContext
    configuration: Configuration
    subject: Secret | None = None  # the token of a request's user, to be exchanged

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return basis_of(self.configuration)

    # ── credentials ─────────────────────────────────────────────────────────────────

    def state_to_renew(self, state: TokenState) -> TokenState:
        """Return the state to renew; with another refresh token entered, a new one.

        The value of a reference changes without a trace in the configuration, so that
        a mark of the last one is stored.
        """
        if self.configuration.oauth2.grant is not Grant.REFRESH_TOKEN:
            return state
        try:
            entered = self._entered_secret("refresh_token")
            mark = self.context.tokens.mark(entered, state.entered)
        except errors.OutkeyError:
            return state  # reported where the secret is needed
        return state.with_entered(mark)

    def refuse_dead(self, state: TokenState, request: TokenRequest) -> None:
        """Raise unless there is a refresh token that was not refused yet."""
        if not self.configuration.needs_consent:
            return
        has_refresh = state.content is not None and state.content.refresh is not None
        is_dead = state.dead and not request.force
        if is_dead or not (has_refresh or self._may_use_entered(state, request)):
            was_connected = is_dead or state.spent or state.content is not None
            raise self._consent_error(was_connected=was_connected)

    def final_error(
        self, reason: str, response: Response | None = None
    ) -> errors.OutkeyError | None:
        """Return the error for a refresh token that cannot be used any more."""
        is_final = reason == "interrupted" or _is_final(reason, response)
        needs_consent = self.configuration.needs_consent
        return self._consent_error() if is_final and needs_consent else None

    def _consent_error(
        self, *, was_connected: bool = True
    ) -> errors.ReauthorizationNeeded:
        """Return the error for a missing authorization, with the grant's remedy."""
        name = self.configuration.command_name
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
        hint = hints.get(self.configuration.oauth2.grant)
        if was_connected:
            return errors.ReauthorizationNeeded(hint=hint)
        return not_connected(hint)

    def _may_use_entered(self, state: TokenState, request: TokenRequest) -> bool:
        """Whether the refresh token that was entered may be sent."""
        is_entered = self.configuration.oauth2.grant is Grant.REFRESH_TOKEN
        return is_entered and (request.force or not state.spent)

    def _parameters(self, leased: TokenState, request: TokenRequest) -> Parameters:
        """Return the parameters of the token request."""
        if not self.configuration.oauth2.refreshes:
            return self._first_parameters()
        token = leased.content.refresh if leased.content else None
        if token is None and self.configuration.uses_password_grant:
            return self._first_parameters()
        # With force: the user may have replaced the refused token by another one.
        use_entered = leased.dead and self._may_use_entered(leased, request)
        if token is None or use_entered:
            token = self._entered_secret("refresh_token")
        return grants.refresh(self.configuration, token)

    def _first_parameters(self) -> Parameters:
        """Return the parameters of a request that needs no refresh token."""
        match self.configuration.oauth2.grant:
            case Grant.JWT_BEARER:
                return grants.jwt_bearer(self.configuration)
            case Grant.PASSWORD:
                password = self.context.open(self.configuration, "password")
                return grants.password(self.configuration, password)
            case Grant.TOKEN_EXCHANGE:
                return self._exchange_parameters()
            case _:
                return grants.client_credentials(self.configuration)

    def _exchange_parameters(self) -> Parameters:
        """Return the parameters of a token exchange; what is entered is read anew."""
        subject = self.subject or self._entered_secret("subject_token")
        actor = None
        if "actor_token" in self.configuration.needed_secrets():
            actor = self._entered_secret("actor_token")
        return grants.token_exchange(self.configuration, subject, actor)

    def _entered_secret(self, name: str) -> Secret:
        return self.context.open(self.configuration, name).derive(tidy_value)

    # ── requests ────────────────────────────────────────────────────────────────────

    def request_token(
        self, leased: TokenState, request: TokenRequest
    ) -> Steps[TokenResult]:
        """Request a token with the credentials that the grant has."""
        proof_key = leased.content.proof_key if leased.content else None
        proof_key = proof_key or self._new_proof_key()
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        parameters = self._parameters(leased, request)
        result = yield from self._request_with(parameters, proof_key, deadline)
        has_password = self.configuration.uses_password_grant
        if has_password and _refuses_refresh_token(parameters, result.response):
            parameters = self._first_parameters()
            result = yield from self._request_with(parameters, proof_key, deadline)
        return result

    def redeem(self, parameters: Parameters) -> Steps[TokenResult]:
        """Request a token with a user's consent."""
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        key = self._new_proof_key()
        return (yield from self._request_with(parameters, key, deadline))

    def _request_with(
        self, parameters: Parameters, proof_key: Secret | None, deadline: float
    ) -> Steps[TokenResult]:
        url = self.configuration.oauth2.token_url
        if _REFRESHING in parameters:
            url = self.configuration.oauth2.refresh_endpoint
        response = yield from self.send_form(
            url, parameters, proof_key, deadline=deadline
        )
        granted = partial(
            self.state_from, response=response, sent=parameters, proof_key=proof_key
        )

        def explain(error: errors.OutkeyError) -> None:
            secrets = self._secrets_at_provider(parameters, response)
            add_words(self._explained(error), response, secrets)

        return TokenResult(response, granted, explain)

    def send_form(
        self,
        url: str,
        parameters: Parameters,
        proof_key: Secret | None,
        *,
        deadline: float | None = None,
    ) -> Steps[Response]:
        """Send a form to the authorization server and return its response.

        The request is retried once after a broken connection, or if the server requires
        a nonce in the proof: providers allow one retry for a refresh token.
        """
        if deadline is None:
            deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        build = partial(self._request, url, parameters, proof_key)
        try:
            response = yield from self._send_once(build, deadline, retry=0)
        except errors.ConnectionFailed:
            pass
        else:
            if proof_key is None or not _wants_nonce(response):
                return response
        return (yield from self._send_once(build, deadline, retry=1))

    def _send_once(
        self, build: Callable[[], Request], deadline: float, *, retry: int
    ) -> Steps[Response]:
        request = build()
        response = yield from send_for_token(
            self.context, self.configuration, request, deadline, retry=retry
        )
        self.store_nonce(request, response)
        return response

    def _request(
        self, url: str, parameters: Parameters, proof_key: Secret | None
    ) -> Request:
        context = self.context
        configuration = self.configuration
        now = context.moment(configuration, parse_url(url).origin)
        if ("grant_type", grants.JWT_BEARER) in parameters:
            assertion = bearer_assertion(
                configuration.oauth2,
                context.open(configuration, PRIVATE_KEY),
                now=now,
                number=context.signer.fresh(),
            )
            signed = context.signer.assertion(assertion)
            parameters = [*parameters, ("assertion", signed)]
        client_proof = prove(
            configuration,
            context.opener(configuration),
            context.signer.assertion,
            now=now,
            number=context.signer.fresh(),
        )
        request = grants.post(configuration, url, parameters, client_proof)
        oauth2 = configuration.oauth2
        if url in {oauth2.token_url, oauth2.refresh_endpoint}:
            rows = oauth2.token_headers
            request = with_header_rows(request, rows, context.opener(configuration))
            request = with_composed_headers(request)
        if proof_key is None:
            return request
        proof = self._sign_proof("POST", request, proof_key)
        header = Header("DPoP", proof, Source.AUTHENTICATION)
        return request.with_headers((*request.headers, header))

    # ── responses ───────────────────────────────────────────────────────────────────

    def state_from(
        self,
        before: TokenState,
        at: float,
        *,
        response: Response,
        sent: Parameters,
        proof_key: Secret | None,
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
        if _REFRESHING not in sent and self.configuration.uses_password_grant:
            before = replace(before, content=None)  # its refresh token is of no use
        # A refresh without a scope is for the one that was granted (RFC 6749 §6).
        has_scope = any(name == "scope" for name, _ in sent)
        scope = oauth2.scope if has_scope else before.scope or oauth2.scope
        return before.granted(
            token_response,
            at=at,
            default_lifetime=oauth2.default_lifetime_seconds,
            proof_key=proof_key,
            requested_scope=scope,
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

    def failure(
        self, reason: str, their_time: float | None = None
    ) -> errors.OutkeyError:
        """Return the error for a reason, also from a stored one."""
        if self.configuration.exchanges_token:
            return exchange_failure(reason, their_time)
        return self._explained(failure(reason, their_time))

    def _explained(self, error: errors.OutkeyError) -> errors.OutkeyError:
        """Return an error with the hint of the grant, where no user has agreed."""
        if error.reason == "invalid_grant":
            error.hint = hint_of_refusal(self.configuration) or error.hint
        return error

    # ── proofs of possession (RFC 9449) ─────────────────────────────────────────────

    def proof(self, request: Request, token: AccessToken, key: Secret | None) -> Secret:
        """Return the proof of possession of the token's key (RFC 9449 §4)."""
        if key is None:
            raise errors.ReauthorizationNeeded(
                Text("the key that the token is bound to is missing")
            )
        return self._sign_proof(request.method, request, key, token.value)

    def _new_proof_key(self) -> Secret | None:
        """Return a new key to bind the next token to, if DPoP is used."""
        return self.context.signer.new_key() if self.configuration.oauth2.dpop else None

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
        name = cache_key(self.configuration)
        if nonce := context.token_cache.nonce(name, request.origin):
            claims["nonce"] = nonce
        return context.signer.proof(claims, key, token)

    def store_nonce(self, request: Request, response: Response) -> None:
        """Cache the nonce for the next proof, if the server sent one."""
        nonce = response.headers.get("DPoP-Nonce")
        if nonce and nonce.isascii() and nonce.isprintable():
            self.context.token_cache.put_nonce(
                cache_key(self.configuration),
                request.origin,
                nonce[:_MAX_NONCE_LENGTH],
            )


def _wants_nonce(response: Response) -> bool:
    """Whether an authorization server requires a nonce in the proof (RFC 9449 §8)."""
    return _refusal_of(response) == "use_dpop_nonce"


def _refuses_refresh_token(sent: Parameters, response: Response) -> bool:
    """Whether a refresh token was sent, and cannot be used any more."""
    return _REFRESHING in sent and _is_final(_refusal_of(response), response)


def _is_final(reason: str, response: Response | None) -> bool:
    """Whether a refresh token was refused for ever."""
    # glewlwyd responds to a dead refresh token with an empty body.
    is_empty = response is not None and response.status == 400 and not response.body
    return is_empty or reason == "invalid_grant"


def _refusal_of(response: Response) -> str:
    """Return the reason that a response gives for having no token, else ""."""
    try:
        read_document(response)
    except errors.OutkeyError as error:
        return reason_of(error)
    return ""
