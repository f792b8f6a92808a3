"""Dynamic authentication: a script signs requests besides the authentication type."""

from typing import Any, NamedTuple

from outkey.core.errors import OutkeyError
from outkey.core.request.flow import AuthFlow, AuthStep, Scheme, Send, run_script
from outkey.core.request.message import Request


class Scripted(NamedTuple):
    """Add a script's headers to whatever another scheme sends."""

    inner: Scheme

    def flow(self, request: Request) -> AuthFlow:
        """Run the script for each request sent, so that its timestamp is current."""
        inner = self.inner.flow(request)
        try:
            step = next(inner)
            while True:
                try:
                    result = yield from self._perform(step)
                except OutkeyError as error:
                    step = inner.throw(error)
                else:
                    step = inner.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # a Response, as the inner flow promises
        finally:
            inner.close()

    def _perform(self, step: AuthStep) -> Any:  # noqa: ANN401 - the result of the step
        if isinstance(step, Send):
            headers = yield from run_script(step.request)
            step = Send(step.request.with_headers((*step.request.headers, *headers)))
        return (yield step)
