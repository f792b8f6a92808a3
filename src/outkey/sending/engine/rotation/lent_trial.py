"""Trials of credentials that are lent to another HTTP client.

The other client sends, so that it also repeats: after a refusal `settle` returns that
another loan is worth a retry, and that loan has the credentials in use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.sending.core.request.message import Response
from outkey.sending.core.rotation.trial_state import (
    NOTHING,
    Result,
    verdict_on_error,
    verdict_on_response,
)
from outkey.sending.engine.exchange.lend import settle
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.oauth2.token import AccessToken
    from outkey.sending.engine.exchange.lend import Loan
    from outkey.sending.engine.rotation.trial import Trials, Turn
    from outkey.sending.engine.wire.context import SendContext
    from outkey.sending.engine.wire.steps import Steps


def lend_in_trial(
    trials: Trials,
    context: SendContext,
    seen: Configuration,
    rejected: Loan | None,
    lend_to: Callable[[SendContext, Configuration, AccessToken | None], Steps[Loan]],
    *,
    repeatable: bool,
) -> Steps[Loan]:
    """Return the credentials for a request; in a trial, perhaps the next ones.

    A token of the next credentials has its one renewal before they count as refused.
    A request that is not `repeatable` gets the credentials in use.
    """
    turn: Turn | None = None
    if rejected is None:
        turn = trials.take_turn(context, seen) if repeatable else None
    elif rejected.token is not None and not rejected.renewed:
        turn = rejected.turn
    token = rejected.token if rejected else None
    if turn is not None:
        apart = replace(context, lockout_guard=LockoutGuard())
        try:
            loan = yield from lend_to(apart, turn.configuration, token)
        except OutkeyError as error:
            verdict = verdict_on_error(error, turn.next_set)
            trials.count(turn, verdict)
            if verdict.result is not Result.REFUSED:
                raise
        else:
            return replace(loan, turn=turn)
    is_other = rejected is not None and rejected.turn is not None
    return (yield from lend_to(context, seen, None if is_other else token))


def settle_in_trial(
    trials: Trials,
    context: SendContext,
    loan: Loan,
    turn: Turn,
    status: int,
    headers: Iterable[tuple[str, str]],
) -> Steps[bool]:
    """Record how a request with lent next credentials ended, and count it.

    Returns whether another loan is worth a retry.
    """
    apart = replace(context, lockout_guard=LockoutGuard())
    is_rejected = yield from settle(
        apart, lambda: turn.configuration, loan, status, headers
    )
    if is_rejected and not loan.renewed:
        return True
    response = Response(status, cause=Cause.TOKEN_EXPIRED if is_rejected else None)
    verdict = verdict_on_response(response) if status else NOTHING
    trials.count(turn, verdict)
    return verdict.result is Result.REFUSED
