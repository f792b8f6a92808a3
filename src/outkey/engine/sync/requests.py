"""The requests of a run, one after another or several at a time.

Only sending is on an event loop. What becomes of the responses is decided and stored
outside of it, where a database may block.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypedDict, TypeVar

from outkey.core.errors import OutkeyError
from outkey.core.request.message import Response
from outkey.core.request.origin import Params
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.engine.sync.plan import LinePlan

ResponseOrError = Response | BaseException
Result = TypeVar("Result")


class LineRequest(TypedDict, total=False):
    """What one request has besides what all requests of a line have in common."""

    path: str
    params: Params
    json: object
    headers: Mapping[str, str | Secret]


class RequestBatch:
    """Sends requests of a line; without an event loop if only one at a time."""

    def __init__(self, gateway: Gateway, plan: LinePlan, parallel: int) -> None:
        self._gateway = gateway
        self._plan = plan
        self._limit = min(parallel, limit_by_rate(plan))
        self._runner = asyncio.Runner()  # creates its loop at the first use
        self._has_sent = False

    @property
    def width(self) -> int:
        """How many requests may be sent at once.

        The first is sent alone: wrong credentials are refused once, not fifty times.
        """
        return self._limit if self._has_sent else 1

    def send(self, requests: Sequence[LineRequest]) -> Sequence[ResponseOrError]:
        """Send requests; return the response or the error of each, in their order."""
        self._has_sent = True
        if self._limit > 1:
            return self._runner.run(self._send_together(requests))
        return [self._send_one(request) for request in requests]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._has_sent and self._limit > 1:
            with self._runner:
                self._runner.run(self._gateway.leave_loop())

    def _send_one(self, request: LineRequest) -> ResponseOrError:
        try:
            return self._call(self._gateway.send, request)
        except OutkeyError as error:
            return error

    async def _send_together(
        self, requests: Sequence[LineRequest]
    ) -> Sequence[ResponseOrError]:
        sends = (self._call(self._gateway.asend, request) for request in requests)
        return await asyncio.gather(*sends, return_exceptions=True)

    def _call(self, send: Callable[..., Result], request: LineRequest) -> Result:
        line = self._plan.line
        return send(
            line.configuration,
            line.method,
            line=line.name,
            begun_with=self._plan.configuration,
            **request,
        )


def limit_by_rate(plan: LinePlan) -> int:
    """Return how many requests the rate limit permits in half of a total timeout.

    More at once would only wait for each other until some time out.
    """
    limits = plan.configuration.limits
    per_minute = limits.requests_per_minute
    if per_minute is None:
        return plan.sync.parallel
    return max(1, int(per_minute * limits.total_timeout / 120))
