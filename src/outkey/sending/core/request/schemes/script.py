"""Dynamic authentication: a script signs requests besides the authentication type."""

from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.sending.core.request.flow import AuthFlow, RunScript, Scheme, Send
from outkey.sending.core.request.message import Request


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
                    if isinstance(step, Send):
                        request = step.request
                        headers = yield RunScript(request)
                        signed = request.with_headers((*request.headers, *headers))
                        step = step._replace(request=signed)
                    result = yield step
                except OutkeyError as error:
                    step = inner.throw(error)
                else:
                    step = inner.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # a Response, as the inner flow promises
        finally:
            inner.close()
