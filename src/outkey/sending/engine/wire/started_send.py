"""A send whose request is on its way while its caller does something else.

Its response stays in the buffer of the socket, or only the transport works in another
thread. All that needs a database stays in the thread of the caller: secrets, tokens,
permits and records of the audit.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.threads import Threads
from outkey.sending.core.audit.events import Intent, Outcome, Refusal, Tag
from outkey.sending.core.request.message import Response
from outkey.sending.engine.wire.drive import Runtime, cancelled_outcome, drive
from outkey.sending.engine.wire.steps import (
    CallInThread,
    IoStep,
    Steps,
    Transmit,
    Wait,
)
from outkey.sending.ports.sending import BegunExchange

Result = TypeVar("Result")


class IdleClock:
    """A clock that does not count the time in which the caller did something else.

    A deadline is about the API. What is concluded from a response is concluded for the
    moment at which it arrived, but what is signed next has the time of now.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.idle = 0.0
        self.is_concluding = False

    def now(self) -> float:
        """Return Unix time: of now, or of the response that is being judged."""
        return self._clock.now() - (self.idle if self.is_concluding else 0.0)

    def monotonic(self) -> float:
        """Return seconds without those that were idle."""
        return self._clock.monotonic() - self.idle

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function once after some time."""
        self._clock.call_later(seconds, call)


class StartedSend(Generic[Result]):
    """A flow that was performed up to its first request to the API.

    A token is fetched before that, and stored. A pause for a rate limit is left for
    later, since it may take longer than what the caller wants to do.
    """

    def __init__(
        self,
        new_flow: Callable[[Clock], Steps[Result]],
        runtime: Runtime,
        threads: Threads,
    ) -> None:
        self._runtime = runtime
        self._clock = IdleClock(runtime.clock)
        self._flow = new_flow(self._clock)
        self._intent: Intent | None = None
        self._attempt = ""
        self._pending: BegunExchange | None = None
        self.failure: OutkeyError | None = None  # before the request was sent
        try:
            self._next_step = drive(self._first_steps(), runtime)
        except OutkeyError as error:
            self.failure = error
        self._left_at = runtime.clock.monotonic()
        if self.failure is None and isinstance(self._next_step, Transmit):
            self._send(self._next_step, threads)

    @property
    def is_sent(self) -> bool:
        """Whether the request was sent already."""
        return self._pending is not None

    def has_arrived(self, seconds: float) -> bool:
        """Whether the response arrives within some seconds."""
        return self._pending is not None and self._pending.wait(seconds)

    def result(self) -> Result:
        """Wait for the response, perform the remaining steps, and return the result."""
        if self.failure is not None:
            raise self.failure
        self._skip_idle_time()
        return drive(self._remaining_steps(), self._runtime)

    def abandon(self) -> None:
        """Do not wait for the response.

        The audit records that it was cancelled; or what it was, if it has arrived.
        """
        if self.has_arrived(0.0):
            self._skip_idle_time()
            with suppress(OutkeyError):  # it is the recorded outcome
                drive(self._concluding_steps(), self._runtime)
            return
        self._flow.close()
        if self._pending is not None:
            self._pending.abandon()
        if self.failure is None and isinstance(self._next_step, Transmit):
            self._conclude_as_cancelled()

    def _conclude_as_cancelled(self) -> None:
        if self._intent is None:
            return
        duration = self._runtime.clock.monotonic() - self._left_at
        outcome = cancelled_outcome(self._intent, self._attempt, round(duration * 1000))
        self._runtime.audit.conclude(outcome)

    def _send(self, step: Transmit, threads: Threads) -> None:
        # Without a thread where that is possible: it would have to take turns with
        # this one. What the transport raises is raised again when it is waited for.
        with suppress(OutkeyError):
            self._pending = self._runtime.transport.begin(step.request, step.route)
        if self._pending is not None:
            return
        # There may be no more threads: then the request is sent when it is waited for.
        with suppress(RuntimeError):
            self._pending = PendingResponse(step, self._runtime, threads)

    def _skip_idle_time(self) -> None:
        """Let the clock go on from when the response arrived, or the flow was left."""
        left_at = self._left_at
        if self._pending is not None:
            left_at = self._pending.arrived_at
        self._clock.idle = max(0.0, self._runtime.clock.monotonic() - left_at)
        if self._pending is None and isinstance(self._next_step, Wait):
            # Some of the pause, or all of it, has passed.
            seconds = self._next_step.seconds
            passed = min(seconds, self._clock.idle)
            self._clock.idle -= passed
            self._next_step = Wait(seconds - passed)

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
        if self._pending is not None:
            step = CallInThread(self._pending.result)
            self._clock.is_concluding = True
        try:
            while True:
                try:
                    step_result = yield step
                except OutkeyError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(step_result)
                if isinstance(step, Outcome):
                    self._clock.is_concluding = False
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            flow.close()

    def _concluding_steps(self) -> Steps[None]:
        """Take the response and record it, but do nothing that follows from it."""
        steps = self._remaining_steps()
        step = next(steps)
        try:
            while True:
                try:
                    step_result = yield step
                except OutkeyError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(step_result)
                if not isinstance(step, Outcome | Refusal):
                    return
        except StopIteration:
            return
        finally:
            steps.close()


class PendingResponse:
    """The response to a request that a thread has sent."""

    def __init__(self, step: Transmit, runtime: Runtime, threads: Threads) -> None:
        self._clock = runtime.clock
        self._arrived_at: float | None = None
        self._response: Future[Response] = Future()
        send = partial(runtime.transport.send, step.request, step.route)
        threads.start(partial(self._receive, send), "outkey-ahead")

    def wait(self, seconds: float) -> bool:
        """Return whether there is a response, or an error, within some seconds."""
        return bool(wait([self._response], seconds).done)

    @property
    def arrived_at(self) -> float:
        """When the response arrived, or now, by the monotonic clock."""
        if self._arrived_at is None:
            return self._clock.monotonic()
        return self._arrived_at

    def result(self) -> Response:
        """Wait for the response and return it, or raise the error of the transport."""
        return self._response.result()

    def abandon(self) -> None:
        """Let the thread read the response, and pool the connection."""

    def _receive(self, send: partial[Response]) -> None:
        try:
            response = send()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            self._arrived_at = self._clock.monotonic()
            self._response.set_exception(error)
        else:
            self._arrived_at = self._clock.monotonic()
            self._response.set_result(response)
