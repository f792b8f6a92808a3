"""The requests of a run, one after another or several at a time.

Only the sending is on an event loop. What becomes of the answers is decided and kept outside of
it, where a database may be waited for.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Required, Self, TypedDict

from outkey.core.errors import OutkeyError
from outkey.core.request.assembly import Call
from outkey.core.request.message import Response
from outkey.core.request.origin import Params
from outkey.core.secret import Secret
from outkey.engine.sending.calls import build_call
from outkey.engine.sending.sender import Sender
from outkey.engine.sync.run_in_progress import Plan

Answer = Response | BaseException


class LineRequest(TypedDict, total=False):
    """What one request says, beside what all requests of a line do."""

    path: Required[str]
    params: Params
    json: object
    headers: Mapping[str, str | Secret]


class RequestBatch:
    """Sends what a line asks for; where it is never more than one, without an event loop."""

    def __init__(self, sender: Sender, plan: Plan, parallel: int) -> None:
        self._sender = sender
        self._plan = plan
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
            return self._runner.run(self._send_together(asked))
        return [self._send_one(request) for request in asked]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._has_asked and self._most > 1:
            with self._runner:
                self._runner.run(self._sender.leave_loop())

    def _send_one(self, request: LineRequest) -> Answer:
        try:
            return self._sender.send(self._call(request))
        except OutkeyError as error:
            return error

    async def _send_together(self, requests: Sequence[LineRequest]) -> Sequence[Answer]:
        sends = (
            self._sender.asend(partial(self._call, request)) for request in requests
        )
        return await asyncio.gather(*sends, return_exceptions=True)

    def _call(self, request: LineRequest) -> Call:
        """Return a call with the secrets of now, and the script the run began with."""
        line = self._plan.line
        current = self._sender.configurations.get(line.configuration)
        configuration = current.as_begun_with(self._plan.configuration)
        return build_call(configuration, line.method, line=line.name, **request)


def _permitted(plan: Plan) -> int:
    """Return how many the rate limit lets through in half of the time that each may take.

    More of them would only wait for one another until some give up.
    """
    limits = plan.configuration.limits
    per_minute = limits.requests_per_minute
    if per_minute is None:
        return plan.sync.parallel
    return max(1, int(per_minute * limits.total_timeout / 120))
