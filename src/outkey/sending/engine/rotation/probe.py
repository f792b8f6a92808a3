"""A probe: exactly one try with the previous credentials, which must be refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    Cause,
    LoginRefused,
    OutkeyError,
    RemoteError,
    TokenEndpointFailed,
)
from outkey.foundation.core.moments import iso_or_none
from outkey.sending.core.audit.events import CHALLENGED, Intent, Outcome, Tag
from outkey.sending.core.request.assembly import call_of_test
from outkey.sending.core.request.message import Response
from outkey.sending.core.rotation.trial_state import Result, verdict_on_response
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

if TYPE_CHECKING:
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.engine.wire.steps import Steps

# An authorization server does not accept the client or its grant (RFC 6749 §5.2).
_OF_CLIENT = frozenset({"invalid_client", "unauthorized_client", "invalid_grant"})


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one try with the previous credentials."""

    configuration: str
    serial: int
    at: float
    refused: bool | None = None  # None: nothing is proved
    status: int | None = None
    cause: Cause | None = None
    error: OutkeyError | None = None

    def facts(self) -> dict[str, object]:
        """Return the result as programs read it."""
        return {
            "configuration": self.configuration,
            "serial": self.serial,
            "refused": self.refused,
            "status": self.status,
            "cause": self.cause,
            "at": iso_or_none(self.at),
        }


def probe(sender: Sender, view: Configuration) -> Probe:
    """Try the credentials of a configuration once, with a token of their own.

    Raises where nothing can be sent with them. A refusal counts nowhere: it is wanted.
    """
    if view.fetches_token:
        sender.token_actions(view).forget()
    view = replace(view, limits=replace(view.limits, retries=0))
    context = replace(sender.context, lockout_guard=LockoutGuard())
    result = Probe(view.name, view.serial, sender.context.clock.now())
    try:
        flow = exchange(context, call_of_test(view))
        response = sender.run_for_user(first_try(flow))
    except RemoteError as error:
        refused = isinstance(error, LoginRefused) or (
            isinstance(error, TokenEndpointFailed) and error.reason in _OF_CLIENT
        )
        return replace(result, refused=refused or None, cause=error.cause, error=error)
    result = replace(result, status=response.status, cause=response.cause)
    verdict = verdict_on_response(response).result
    if verdict is Result.REFUSED:
        return replace(result, refused=True)
    return replace(result, refused=False if verdict is Result.GOOD else None)


def first_try(flow: Steps[Response]) -> Steps[Response]:
    """Perform a flow until the API refuses a request; no token is renewed after that.

    A challenge, such as that of Digest, refuses nothing: nothing was proved yet.
    """
    refusal: Response | None = None
    try:
        step = next(flow)
        while refusal is None or not isinstance(step, Intent):
            if (
                isinstance(step, Outcome)
                and step.tag is Tag.SEND_OUTCOME
                and step.status
                and step.outcome not in {"ok", CHALLENGED}
            ):
                refusal = Response(step.status, cause=Cause(step.outcome))
            try:
                step_result = yield step
            except OutkeyError as error:
                step = flow.throw(error)
            else:
                step = flow.send(step_result)
    except StopIteration as stop:
        response: Response = stop.value
        return response
    finally:
        flow.close()
    return refusal
