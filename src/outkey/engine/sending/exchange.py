"""Sending: the order in which a request is checked, permitted, authenticated and carried.

Written as flows, so that the blocking and the asynchronous gateway share every decision.

    exchange            what ends without an outcome is recorded as a refusal
    └─ redirects        same origin only, three hops at most
       └─ retries       idempotent methods only, within the total time
          └─ attempt    the scheme's flow, anew each time; tokens come from `tokens.py`
             └─ carry   vet the address, record, transmit, diagnose, record: `carry.py`
"""

from functools import partial
from typing import assert_never

from outkey.core.audit.events import Refusal
from outkey.core.diagnosis import retry_after
from outkey.core.errors import OutkeyError, RedirectBlocked, RemoteError
from outkey.core.findings.configuration_checks import refuse_unsendable
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.assembly import Call, redirected_request, with_rows
from outkey.core.request.flow import NeedProof, NeedToken, RunScript, Send
from outkey.core.request.message import IDEMPOTENT, Header, Request, Response
from outkey.core.request.schemes import scheme_of
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.engine.sending.scripts import signed
from outkey.engine.tokens.renewal import TokenManager, TokenRequest
from outkey.engine.wire.drive import Steps, Wait
from outkey.engine.wire.transmit import MEBIBYTE, RequestBudget, SendContext

MAX_HOPS = 3
_RETRIED = frozenset({429, 502, 503, 504})
_BACKOFF_FIRST = 0.25
_BACKOFF_MOST = 8.0


def exchange(sender: SendContext, call: Call) -> Steps[Response]:
    """Send a call and return its diagnosed answer; whatever was refused is recorded."""
    exchanged = _Exchange(sender, call)
    try:
        refuse_unsendable(call.configuration)
        sender.brake.refuse_paused(call.configuration)
        response = yield from exchanged.redirects()
    except OutkeyError as error:
        if error is not exchanged.trip.concluded:
            yield exchanged.refusal(error)
        raise
    # A token that could be renewed says nothing; it is the renewed one that must be refused.
    if (
        response.status != 401
        or exchanged.renewed
        or not call.configuration.uses_oauth2
    ):
        sender.brake.learn(call.configuration, response.status, sender.clock.now())
    return response


class _Exchange:
    """One call on its way to its deadline."""

    __slots__ = ("_call", "_configuration", "_limits", "_sender", "renewed", "trip")

    def __init__(self, sender: SendContext, call: Call) -> None:
        self._sender = sender
        self._call = call
        self._configuration = call.configuration
        self._limits = call.configuration.limits
        self.renewed = False  # whether the last request carried a token that replaced a refused one
        self.trip = RequestBudget(
            deadline=sender.clock.monotonic() + self._limits.total_timeout,
            response_bytes=self._limits.response_mebibytes * MEBIBYTE,
            line=call.line,
        )

    @property
    def _keeper(self) -> TokenManager:
        return TokenManager(self._sender, self._configuration)

    def refusal(self, error: OutkeyError) -> Refusal:
        name, line = self._configuration.name, self._call.line
        return Refusal(self.trip.attempt, name, line, str(error.code))

    def redirects(self) -> Steps[Response]:
        request = self._call.request()
        self.trip.requested_target = request.target
        for _ in range(MAX_HOPS + 1):
            response = yield from self._retries(request)
            followed = redirected_request(request, response, self._configuration)
            if followed is None:
                return response
            request = followed
        raise RedirectBlocked(
            Text("the server redirected more than {limit} times", limit=MAX_HOPS)
        )

    def _retries(self, request: Request) -> Steps[Response]:
        retries = self._limits.retries if request.method in IDEMPOTENT else 0
        self.trip.retry = 0
        while True:
            if wait := self._sender.permit(self._configuration, self._time_left()):
                yield from self._waited(wait)
            retry = self.trip.retry
            try:
                response = yield from self._attempt(request)
            except RemoteError as error:
                wait = self._backoff(retry)
                if not error.retryable or retry == retries or wait >= self._time_left():
                    raise
            else:
                if response.status not in _RETRIED:
                    return response
                wait = self._asked_to_wait(response, retry)
                if retry == retries or wait >= self._time_left():
                    return response
            yield from self._waited(wait)
            self.trip.retry += 1

    def _waited(self, seconds: float) -> Steps[None]:
        yield Wait(seconds)
        self._sender.brake.refuse_paused_since(self._configuration)

    def _attempt(self, request: Request) -> Steps[Response]:
        """Run the scheme's flow, doing what each of its steps asks for."""
        secret = self._sender.opener(self._configuration)
        request = with_rows(request, self._configuration, secret)
        repeats_secret = partial(self._sender.repeats_secret, self._configuration)
        flow = scheme_of(self._configuration, secret, repeats_secret).flow(request)
        carry = self._sender.carry
        try:
            step = next(flow)
            answer: Response | AccessToken | Secret | tuple[Header, ...]
            while True:
                try:
                    if isinstance(step, Send):
                        answer = yield from carry(
                            self._configuration, step.request, self.trip
                        )
                        if self._configuration.uses_oauth2:
                            self._keeper.learn(step.request, answer)
                    else:
                        answer = yield from self._performed(step)
                except OutkeyError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as stop:
            response: Response = stop.value
            return response
        finally:
            flow.close()

    def _performed(
        self, step: NeedToken | NeedProof | RunScript
    ) -> Steps[AccessToken | Secret | tuple[Header, ...]]:
        match step:
            case NeedToken(rejected, sure):
                wish = TokenRequest(rejected, sure, self.trip.deadline)
                token = yield from self._keeper.get(wish)
                self.renewed = rejected is not None and token.value != rejected.value
                return token
            case NeedProof(request, token):
                return self._keeper.proof(request, token)
            case RunScript(request):
                return signed(
                    self._sender, self._configuration, self._call.line, request
                )
            case _:
                assert_never(step)

    def _asked_to_wait(self, response: Response, retry: int) -> float:
        """Read how long the server wants us to wait; after a 429 the whole configuration does."""
        asked = retry_after(response, now=self._sender.clock.now())
        if asked is None:
            return self._backoff(retry)
        if response.status == 429:
            self._sender.permits.hold(self._configuration.name, asked)
        return max(asked, self._backoff(retry))  # zero would be a storm

    def _backoff(self, retry: int) -> float:
        return backoff(retry, self._sender.jitter())

    def _time_left(self) -> float:
        return self.trip.deadline - self._sender.clock.monotonic()


def backoff(retry: int, jitter: float) -> float:
    """Return the seconds to wait after try number `retry`; jitter from 0 to 1 spreads callers."""
    return min(_BACKOFF_MOST, _BACKOFF_FIRST * 2.0**retry) * (0.5 + jitter / 2)
