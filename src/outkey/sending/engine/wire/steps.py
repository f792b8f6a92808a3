"""The steps of a send: what a flow asks the loop that performs it to do."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from outkey.sending.core.audit.events import Intent, Outcome, Refusal
from outkey.sending.core.request.message import Request, Route

Result = TypeVar("Result")


class Transmit(NamedTuple):
    """Send this request; the result is the response."""

    request: Request
    route: Route


class Resolve(NamedTuple):
    """Look up a host's addresses; the result is all of them."""

    host: str
    port: int
    timeout: float


class Wait(NamedTuple):
    """Wait for some seconds."""

    seconds: float


class CallInThread(NamedTuple):
    """Call a function that may block; the result is what it returns.

    On an event loop it runs in another thread, so that other flows do not wait for it.
    """

    function: Callable[[], Any]


Awaited = Transmit | Resolve | Wait | CallInThread
# to be recorded; the result of an intent is its id
Recorded = Intent | Outcome | Refusal
IoStep = Awaited | Recorded
StepResult = Any  # each step's docstring explains it
Steps = Generator[IoStep, Any, Result]
