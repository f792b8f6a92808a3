"""A send whose request is on its way while its caller does something else.

Only the transport works in another thread. All that needs a database stays in the
thread of the caller: secrets, tokens, permits and records of the audit.
"""

from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.threads import Threads
from outkey.sending.core.audit.events import Intent, Outcome, Tag
from outkey.sending.core.request.message import Response
from outkey.sending.engine.wire.drive import Runtime, cancelled_outcome, drive
from outkey.sending.engine.wire.steps import (
    CallInThread,
    IoStep,
    Steps,
    Transmit,
    Wait,
)

Result = TypeVar("Result")


class StartedSend(Generic[Result]):
    """A flow that was performed up to its first request to the API.

    A token is fetched before that, and stored. A pause for a rate limit is left for
    later, since it may take longer than what the caller wants to do.
    """

    def __init__(self, flow: Steps[Result], runtime: Runtime, threads: Threads) -> None:
        self._flow = flow
        self._runtime = runtime
        self._intent: Intent | None = None
        self._attempt = ""
        self._pending: PendingResponse | None = None
        self._failure: OutkeyError | None = None
        try:
            self._next_step = drive(self._first_steps(), runtime)
        except OutkeyError as error:
            self._failure = error
            return
        if isinstance(self._next_step, Transmit):
            self._pending = PendingResponse(self._next_step, runtime, threads)
            self._next_step = CallInThread(self._pending.result)

    @property
    def is_sent(self) -> bool:
        """Whether the request was sent already."""
        return self._pending is not None

    def result(self) -> Result:
        """Wait for the response, perform the remaining steps, and return the result."""
        if self._failure is not None:
            raise self._failure
        return drive(self._remaining_steps(), self._runtime)

    def abandon(self) -> None:
        """Do not wait for the response; the audit records that it was cancelled."""
        self._flow.close()
        if self._pending is None or self._intent is None:
            return
        duration = self._pending.duration_ms
        self._runtime.audit.conclude(
            cancelled_outcome(self._intent, self._attempt, duration)
        )

    def _first_steps(self) -> Steps[IoStep]:
        """Perform the steps up to the one that is left for later; return that one."""
        flow = self._flow
        step = next(flow)
        while not self._is_left_for_later(step):
            try:
                step_result = yield step
            except OutkeyError as error:
                step = flow.throw(error)
                continue
            if isinstance(step, Intent):
                self._intent = step
                self._attempt = step_result
            step = flow.send(step_result)
        return step

    def _is_left_for_later(self, step: IoStep) -> bool:
        # A token that was granted must be stored first, with all retries of that.
        is_for_token = self._intent is not None and self._intent.tag is Tag.TOKEN_INTENT
        return isinstance(step, Transmit | Wait) and not is_for_token

    def _remaining_steps(self) -> Steps[Result]:
        """Continue with the step that was left for later."""
        flow = self._flow
        step = self._next_step
        try:
            while True:
                try:
                    step_result = yield step
                except OutkeyError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(step_result)
                if isinstance(step, Outcome) and step.attempt == self._attempt:
                    step = self._without_idle_time(step)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            flow.close()

    def _without_idle_time(self, outcome: Outcome) -> Outcome:
        """Return an outcome with the time that the API took, not its caller."""
        if self._pending is None:
            return outcome
        return outcome._replace(duration_ms=self._pending.duration_ms)


class PendingResponse:
    """The response to a request that a thread has sent."""

    def __init__(self, step: Transmit, runtime: Runtime, threads: Threads) -> None:
        self._clock = runtime.clock
        self._started_at = self._clock.monotonic()
        self._arrived_at: float | None = None
        self._response: Future[Response] = Future()
        send = partial(runtime.transport.send, step.request, step.route)
        threads.start(partial(self._receive, send), "outkey-ahead")

    @property
    def duration_ms(self) -> int:
        """How long the response took, or how long it has been awaited."""
        arrived_at = self._arrived_at
        if arrived_at is None:
            arrived_at = self._clock.monotonic()
        return round((arrived_at - self._started_at) * 1000)

    def result(self) -> Response:
        """Wait for the response and return it, or raise the error of the transport."""
        return self._response.result()

    def _receive(self, send: partial[Response]) -> None:
        try:
            response = send()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            self._arrived_at = self._clock.monotonic()
            self._response.set_exception(error)
        else:
            self._arrived_at = self._clock.monotonic()
            self._response.set_result(response)
