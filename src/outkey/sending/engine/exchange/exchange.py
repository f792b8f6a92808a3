"""Sending: the order in which a request is checked, permitted, authenticated and sent.

Written as flows, so that blocking and asynchronous sending share every decision.

    exchange            an error without a recorded outcome is recorded as a refusal
    └─ redirects        same origin only, three hops at most
       └─ retries       idempotent methods only, within the total time
          └─ attempt    the scheme's flow, anew each time; tokens come from `tokens/`
             └─ transmit   vet addresses, record, send, diagnose, record: `wire/`
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, assert_never

from outkey.foundation.core.errors import (
    Cause,
    OutkeyError,
    RateLimited,
    RedirectBlocked,
    RemoteError,
)
from outkey.foundation.core.fields.choices import RateHeaders
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Refusal
from outkey.sending.core.aws.requests import hash_of_body
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.sending.core.oauth2.responses import MAX_RESPONSE
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.assembly import Call, redirected_request, with_rows
from outkey.sending.core.request.csrf import fetching_request
from outkey.sending.core.request.digest import DigestChallenge, NonceUse
from outkey.sending.core.request.flow import (
    AuthFlow,
    NeedBodyHash,
    NeedCsrfToken,
    NeedNonce,
    NeedProof,
    NeedSignature,
    NeedStep,
    NeedTime,
    NeedToken,
    RunScript,
    Send,
    StoreNonce,
)
from outkey.sending.core.request.message import (
    IDEMPOTENT,
    Header,
    Request,
    Response,
    retry_after,
)
from outkey.sending.core.request.rate_budget import seconds_until_reset
from outkey.sending.core.request.schemes.choice import (
    scheme_of,
    scheme_without_csrf,
)
from outkey.sending.core.request.script import ScriptParts
from outkey.sending.engine.exchange.oauth1_signing import sign_request
from outkey.sending.engine.exchange.scripts import sign
from outkey.sending.engine.tokens.token_source import TokenRequest
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import CallInThread, Steps, Wait
from outkey.sending.engine.wire.transmit import MEBIBYTE, RequestBudget, transmit

if TYPE_CHECKING:
    from outkey.sending.core.backends.values import Reads
    from outkey.sending.engine.tokens.renewal import TokenManager


MAX_HOPS = 3
_RETRIED = frozenset({429, 502, 503, 504})
_BACKOFF_FIRST = 0.25
_BACKOFF_MOST = 8.0
StepResult = (
    Response
    | AccessToken
    | Secret
    | Header
    | NonceUse
    | ScriptParts
    | float
    | str
    | None
)


def exchange(
    context: SendContext, call: Call, *, streams: bool = False, packs: bool = False
) -> Steps[Response]:
    """Send a call and return its diagnosed response; a refusal is recorded.

    If it `streams`, the caller reads the body of a success, as it arrives. If it
    `packs`, a large body of a success is read into Response.packed.
    """
    configuration = call.configuration
    context = context.for_send(configuration)
    current = Exchange(context, call)
    current.budget.streams = streams
    current.budget.packs = packs
    try:
        refuse_unsendable(configuration)
        context.lockout_guard.refuse_paused(configuration)
        current.refuse_subject()
        # Where tokens are fetched, the stores are read then.
        if configuration.uses_stores and not configuration.fetches_token:
            yield from context.read_stores(configuration)
        response = yield from current.follow_redirects()
        if context.reads is not None and _refuses_secrets(response):
            response = yield from current.repeat_if_changed(response)
    except OutkeyError as error:
        if error is not current.budget.concluded:
            yield current.refusal(error)
        raise
    if response.status != 401 or current.refuses_credentials():
        context.lockout_guard.record_status(
            configuration,
            response.status,
            now=context.clock.now(),
            cause=response.cause,
        )
    return response


def _refuses_secrets(response: Response) -> bool:
    """Whether a response is a 401, or a 403 that is about the credentials."""
    if response.status == 403:
        return response.cause in {Cause.INVALID_CREDENTIALS, Cause.TOKEN_EXPIRED}
    return response.status == 401


class Exchange:
    """One call until its deadline."""

    __slots__ = (
        "_call",
        "_configuration",
        "_context",
        "_has_nonce",
        "_heeds_budget",
        "_limits",
        "_renewed",
        "_script_parameters",
        "_waits_for_reset",
        "budget",
    )

    def __init__(self, context: SendContext, call: Call) -> None:
        self._context = context
        self._call = call
        self._configuration = call.configuration
        self._limits = call.configuration.limits
        # Whether the last request carried a token that replaced a refused one.
        self._renewed = False
        self._has_nonce = False  # whether the last request could prove the password
        self._script_parameters: frozenset[str] = frozenset()
        heeding = self._limits.rate_headers
        self._heeds_budget = heeding is RateHeaders.ALL or (
            call.of_run and heeding is RateHeaders.RUNS
        )
        # Before the first request, another process may know; later ones follow a
        # response of this exchange.
        self._waits_for_reset = self._heeds_budget
        self.budget = RequestBudget(
            deadline=context.clock.monotonic() + self._limits.total_timeout,
            response_bytes=self._limits.response_mebibytes * MEBIBYTE,
            line=call.line,
            purpose=call.purpose,
            actor=call.actor,
        )

    def refuse_subject(self) -> None:
        """Refuse a call without the subject that it needs, or with one too many."""
        if self._configuration.needs_subject or self._call.subject is not None:
            self._token_manager()

    def refuses_credentials(self) -> bool:
        """Whether a last response 401 is about the credentials."""
        configuration = self._configuration
        # A refused token that could be renewed says nothing of the credentials; only a
        # refusal of the renewed one counts.
        if configuration.renews_token:
            return self._renewed
        return self._has_nonce if configuration.uses_digest else True

    def refusal(self, error: OutkeyError) -> Refusal:
        """Return the record of a call that was refused before it was sent."""
        return Refusal(
            attempt=self.budget.attempt,
            configuration=self._configuration.name,
            line=self._call.line,
            code=str(error.code),
            actor=self._call.actor,
            connection=self._configuration.connection_id,
        )

    def follow_redirects(self) -> Steps[Response]:
        """Send the request and follow redirects within the same origin."""
        request = self._call.request()
        self.budget.requested_target = request.target
        for _ in range(MAX_HOPS + 1):
            response = yield from self._retry(request)
            next_request = redirected_request(
                request, response, self._configuration, self._script_parameters
            )
            if next_request is None:
                return response
            request = next_request
        raise RedirectBlocked(
            Text("the server redirected more than {limit} times", limit=MAX_HOPS)
        )

    def repeat_if_changed(self, response: Response) -> Steps[Response]:
        """Send once more if an external store has other secrets by now.

        They may have been replaced there while the old ones were in the cache.
        """
        context = self._context
        if context.stores is None or context.reads is None:
            return response
        reread = partial(context.stores().reread, context.reads)
        reads: Reads | None = yield CallInThread(reread)
        if reads is None:
            return response
        self._context = replace(context, reads=reads)
        return (yield from self.follow_redirects())

    def _retry(self, request: Request) -> Steps[Response]:
        retries = self._limits.retries if request.method in IDEMPOTENT else 0
        self.budget.retry = 0
        while True:
            if self._waits_for_reset:
                yield from self._wait_for_reset()
            if wait := self._context.permit(self._configuration, self._time_left()):
                yield from self._wait(wait)
            retry = self.budget.retry
            try:
                response = yield from self._attempt(request)
            except RemoteError as error:
                wait = self._backoff(retry)
                if not error.retryable or retry == retries or wait >= self._time_left():
                    raise
            else:
                is_expired = response.cause is Cause.TOKEN_EXPIRED
                if response.status not in _RETRIED or is_expired:
                    return response  # an expired token was renewed already
                wait = self._requested_wait(response, retry)
                if retry == retries or wait >= self._time_left():
                    return response
            yield from self._wait(wait)
            self.budget.retry += 1
            self._waits_for_reset = self._heeds_budget

    def _wait_for_reset(self) -> Steps[None]:
        """Wait until the API permits requests again, or refuse if that is too long."""
        name = self._configuration.account
        while wait := self._context.permits.budget_wait(name):
            if wait >= self._time_left():
                raise spent_budget(wait, self._context.clock.now() + wait)
            yield from self._wait(wait)
        self._waits_for_reset = False

    def _note_budget(self, response: Response) -> None:
        """Store for all processes when the API permits requests again."""
        context = self._context
        seconds = seconds_until_reset(response, context.clock.now())
        if seconds:
            context.permits.note_spent_budget(self._configuration.account, seconds)
            self._waits_for_reset = True

    def _wait(self, seconds: float) -> Steps[None]:
        yield Wait(seconds)
        self._context.lockout_guard.refuse_paused_meanwhile(self._configuration)

    def _attempt(self, request: Request) -> Steps[Response]:
        """Run the scheme's flow and perform each of its steps.

        The flow is a generator inside this one: what it asks for (`AuthStep`) becomes
        steps of I/O here.
        """
        context = self._context
        configuration = self._configuration
        secret = context.opener(configuration)
        request = with_rows(request, configuration, secret)
        repeats_secret = partial(context.repeats_secret, configuration)
        flow = scheme_of(configuration, secret, repeats_secret).flow(request)
        response = yield from self._run(flow, self.budget)
        if configuration.needs_csrf_token(request.method) and response.status < 400:
            self._csrf_manager().note_accepted()
        return response

    def _fetch_csrf_token(self, deadline: float) -> Steps[Response]:
        """Send the request for a CSRF token, with all credentials."""
        configuration = self._configuration
        secret = self._context.opener(configuration)
        request = with_rows(fetching_request(configuration), configuration, secret)
        budget = RequestBudget(
            min(deadline, self.budget.deadline), MAX_RESPONSE, for_token=True
        )
        repeats_secret = partial(self._context.repeats_secret, configuration)
        scheme = scheme_without_csrf(configuration, secret, repeats_secret)
        return (yield from self._run(scheme.flow(request), budget))

    def _run(self, flow: AuthFlow, budget: RequestBudget) -> Steps[Response]:
        """Perform the steps of a flow and return its response."""
        context = self._context
        configuration = self._configuration
        try:
            step = next(flow)
            result: StepResult
            while True:
                try:
                    if isinstance(step, Send):
                        budget.expects_challenge = step.expects_challenge
                        if self._waits_for_reset:
                            yield from self._wait_for_reset()
                        result = yield from transmit(
                            context, configuration, step.request, budget
                        )
                        if self._heeds_budget:
                            self._note_budget(result)
                        if configuration.fetches_token:
                            self._token_manager().note_response(step.request, result)
                    else:
                        result = yield from self._perform(step)
                except OutkeyError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            response: Response = stop.value
            return response
        finally:
            flow.close()

    def _perform(  # noqa: PLR0911 - one for each step
        self, step: NeedStep
    ) -> Steps[StepResult]:
        """Return what a scheme needs."""
        match step:
            case NeedToken(rejected, token_was_refused):
                token = yield from self._token_manager().get(
                    TokenRequest(rejected, token_was_refused, self.budget.deadline)
                )
                self._renewed = rejected is not None and token.value != rejected.value
                return token
            case NeedCsrfToken(rejected):
                return (yield from self._csrf_token(rejected))
            case NeedProof(request, token):
                return self._token_manager().proof(request, token)
            case NeedSignature(request, credentials):
                return sign_request(
                    self._context, self._configuration, request, credentials
                )
            case RunScript(request):
                parts: ScriptParts = yield CallInThread(
                    partial(
                        sign,
                        self._context,
                        self._configuration,
                        self._call.line,
                        request,
                    )
                )
                self._script_parameters |= {name for name, _ in parts.parameters}
                return parts
            case NeedNonce(challenge):
                return self._next_nonce(challenge)
            case StoreNonce(challenge):
                self._store_nonce(challenge)
                return None
            case NeedTime(origin):
                return self._context.moment(self._configuration, origin)
            case NeedBodyHash(body):
                body_hash: str = yield CallInThread(partial(hash_of_body, body))
                return body_hash
            case _:
                assert_never(step)

    def _next_nonce(self, challenge: DigestChallenge | None) -> NonceUse | None:
        """Return the next use of the nonce that is known, after a new challenge."""
        if challenge is not None:
            self._store_nonce(challenge)
        use = self._context.nonces.next_use(
            self._configuration.account,
            self._configuration.base.origin,
            self._context.signer.fresh,
        )
        self._has_nonce = use is not None
        return use

    def _store_nonce(self, challenge: DigestChallenge) -> None:
        self._context.nonces.store(
            self._configuration.account,
            self._configuration.base.origin,
            challenge,
            self._context.signer.fresh,
        )

    def _token_manager(self) -> TokenManager:
        from outkey.sending.engine.tokens.renewal import token_manager  # noqa: PLC0415

        return token_manager(self._context, self._configuration, self._call.subject)

    def _csrf_token(self, rejected: AccessToken | None) -> Steps[AccessToken]:
        """Return a CSRF token of the session that the request will belong to."""
        if self._configuration.fetches_token:
            yield from self._token_manager().get(
                TokenRequest(deadline=self.budget.deadline)
            )
        request = TokenRequest(rejected, rejected is not None, self.budget.deadline)
        return (yield from self._csrf_manager().get(request))

    def _csrf_manager(self) -> TokenManager:
        from outkey.sending.engine.tokens.csrf_source import csrf_manager  # noqa: PLC0415

        return csrf_manager(
            self._context,
            self._configuration,
            self._fetch_csrf_token,
            self._call.subject,
        )

    def _requested_wait(self, response: Response, retry: int) -> float:
        """Return the seconds until a retry; a 429 holds the whole configuration."""
        permits = self._context.permits
        name = self._configuration.account
        requested = retry_after(response, now=self._context.clock.now()) or 0.0
        if response.status == 429 and requested:
            permits.hold(name, requested)
        if self._waits_for_reset:
            requested = max(requested, permits.budget_wait(name))
        return max(requested, self._backoff(retry))  # zero would be a storm

    def _backoff(self, retry: int) -> float:
        return backoff(retry, self._context.jitter())

    def _time_left(self) -> float:
        return self.budget.deadline - self._context.clock.monotonic()


def spent_budget(seconds: float, until: float) -> RateLimited:
    """Return the error for a request that the API does not permit before then."""
    error = RateLimited(
        Text("the API states that no request is left"),
        hint=Text("Retry after {moment}.", moment=moment_text(until)),
    )
    error.pause = seconds
    return error


def backoff(retry: int, jitter: float) -> float:
    """Return the seconds to wait after try number `retry`.

    Jitter from 0 to 1 spreads callers.
    """
    return min(_BACKOFF_MOST, _BACKOFF_FIRST * 2.0**retry) * (0.5 + jitter / 2)
