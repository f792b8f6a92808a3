"""The requests of a run, one after another or several at a time.

Only the sending is on an event loop. What becomes of the answers is decided and kept outside of
it, where a database may be waited for.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypedDict, TypeVar

from outkey.core.errors import OutkeyError
from outkey.core.request.message import Response
from outkey.core.request.origin import Params
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.engine.sync.run_in_progress import Plan

Answer = Response | BaseException
Sent = TypeVar("Sent")


class LineRequest(TypedDict, total=False):
    """What one request says, beside what all requests of a line do."""

    path: str
    params: Params
    json: object
    headers: Mapping[str, str | Secret]


class RequestBatch:
    """Sends what a line asks for; where it is never more than one, without an event loop."""

    def __init__(self, gateway: Gateway, plan: Plan, parallel: int) -> None:
        self._gateway, self._plan = gateway, plan
        self._most = min(parallel, _permitted(plan))
        self._runner = asyncio.Runner()  # makes its loop when it is used
        self._has_asked = False

    @property
    def width(self) -> int:
        """How many may be sent at once.

        The first goes alone, so that wrong credentials are refused once and not fifty times.
        """
        return self._most if self._has_asked else 1

    def send(self, asked: Sequence[LineRequest]) -> Sequence[Answer]:
        """Send, and return the answers in the same order, or the errors in their places."""
        self._has_asked = True
        if self._most > 1:
            return self._runner.run(self._together(asked))
        return [self._sent(one) for one in asked]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._has_asked and self._most > 1:
            with self._runner:
                self._runner.run(self._gateway.leave_loop())

    def _sent(self, asked: LineRequest) -> Answer:
        try:
            return self._by(self._gateway.send, asked)
        except OutkeyError as error:
            return error

    async def _together(self, asked: Sequence[LineRequest]) -> Sequence[Answer]:
        sends = (self._by(self._gateway.asend, one) for one in asked)
        return await asyncio.gather(*sends, return_exceptions=True)

    def _by(self, send: Callable[..., Sent], asked: LineRequest) -> Sent:
        line, begun_with = self._plan.line, self._plan.configuration
        return send(
            line.configuration,
            line.method,
            line=line.name,
            begun_with=begun_with,
            **asked,
        )


def _permitted(plan: Plan) -> int:
    """Return how many the rate limit lets through in half of the time that each may take.

    More of them would only wait for one another until some give up.
    """
    limits = plan.configuration.limits
    per_minute = limits.requests_per_minute
    if per_minute is None:
        return plan.sync.parallel
    return max(1, int(per_minute * limits.total_timeout / 120))
