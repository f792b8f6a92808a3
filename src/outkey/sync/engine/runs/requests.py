"""The requests of a run, one after another or several at a time.

Only sending is on an event loop. What becomes of the responses is decided and stored
outside of it, where a database may block.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Required, Self, TypedDict

from outkey.foundation.core.errors import EditConflict, OutkeyError, RateLimited
from outkey.foundation.core.origin import Params, parse_url
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.anonymous import without_credentials_at
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.calls import build_call
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.wire.started_send import StartedSend
from outkey.sync.engine.runs.line_plan import LinePlan

ResponseOrError = Response | BaseException


class LineRequest(TypedDict, total=False):
    """The parts of one request that other requests of the line do not have."""

    path: Required[str]
    method: str  # the line's own without one
    params: Params
    json: object
    headers: Mapping[str, str | Secret]
    is_elsewhere: bool  # `path` is a URL at another origin, which gets no credentials


class RequestBatch:
    """Sends requests of a line; without an event loop if only one at a time.

    If it `packs`, a body may be in `Response.packed`, for a caller that reads it part
    by part.
    """

    def __init__(
        self, sender: Sender, plan: LinePlan, parallel: int, *, packs: bool = False
    ) -> None:
        self._sender = sender
        self._packs = packs
        self._plan = plan
        self._limit = min(parallel, _limit_by_rate(plan))
        self._runner = asyncio.Runner()  # creates its loop at the first use
        self._has_sent = False
        # A request that was sent ahead, while the page before it was written.
        self._ahead: tuple[LineRequest, StartedSend[Response]] | None = None
        # The current configuration, and the one that requests of this run get for it.
        self._configured: tuple[Configuration, Configuration] | None = None

    @property
    def is_parallel(self) -> bool:
        """Whether several requests may be sent at once."""
        return self._limit > 1

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

    def send_ahead(self, request: LineRequest) -> None:
        """Send a request whose response `send` returns later.

        Not where several are sent at a time: they are sent together already.
        """
        if self._limit > 1:
            return
        # If the call cannot be built, `send` builds it again, and returns the error.
        with suppress(OutkeyError):
            started = self._sender.start(self._call(request))
            # A pause that is too long now may be over once the page is written.
            if not isinstance(started.failure, RateLimited):
                self._ahead = request, started

    def is_ahead(self, seconds: float) -> bool:
        """Whether the response to a request sent ahead arrives within some seconds."""
        return self._ahead is not None and self._ahead[1].has_arrived(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._ahead is not None:
            self._ahead[1].abandon()
        if self._has_sent and self._limit > 1:
            with self._runner:
                self._runner.run(self._sender.leave_loop())

    def _send_one(self, request: LineRequest) -> ResponseOrError:
        ahead = self._ahead
        self._ahead = None
        try:
            if ahead is not None and ahead[0] == request:
                return ahead[1].result()
            if ahead is not None:
                ahead[1].abandon()
            return self._sender.send(self._call(request), packs=self._packs)
        except OutkeyError as error:
            return error

    async def _send_together(
        self, requests: Sequence[LineRequest]
    ) -> Sequence[ResponseOrError]:
        sends = (
            self._sender.asend(partial(self._call, request)) for request in requests
        )
        return await asyncio.gather(*sends, return_exceptions=True)

    def _call(self, request: LineRequest) -> Call:
        """Return a call with the current secrets, and the script the run began with."""
        line = self._plan.line
        parts = {"method": line.method, "line": line.name, **request}
        configuration = self._configuration()
        if parts.pop("is_elsewhere", False):
            origin = parse_url(request["path"]).origin
            configuration = without_credentials_at(configuration, origin)
        call = build_call(configuration, **parts)  # type: ignore[arg-type]
        return call._replace(of_run=True)

    def _configuration(self) -> Configuration:
        """Return the same object until the configuration changes.

        Secrets are cached by object, so that they are not read for each request.
        """
        current = self._sender.configurations.get(self._plan.line.configuration)
        if current.record != self._plan.configuration.record:
            raise EditConflict  # the name belongs to another configuration now
        configured = self._configured
        if configured is None or configured[0] is not current:
            configured = current, current.as_begun_with(self._plan.configuration)
            self._configured = configured
        return configured[1]


def _limit_by_rate(plan: LinePlan) -> int:
    """Return how many requests the rate limit permits in half of a total timeout.

    More at once would only wait for each other until some time out.
    """
    limits = plan.configuration.limits
    per_minute = limits.requests_per_minute
    if per_minute is None:
        return plan.sync.parallel
    return max(1, int(per_minute * limits.total_timeout / 120))
