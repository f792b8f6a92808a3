"""The flow that httpx and httpx2 share: credentials for one hop, never copied to the next.

httpx follows redirects inside the auth flow and copies custom headers to the new origin
(openai-python#3516). So the credentials are put where only the transport reads them: in the raw
form of a headers object that copies itself without them.
"""

from collections.abc import AsyncGenerator, Generator
from typing import Any

from outkey.core.errors import EgressDenied, RedirectBlocked
from outkey.core.request.message import Header
from outkey.core.request.origin import parse_url
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.engine.gateway import Gateway
from outkey.engine.sending.lend import Loan


class OneHopFlow:
    """The auth flow of httpx's Auth classes."""

    def __init__(self, gateway: Gateway, configuration: str) -> None:
        self._gateway = gateway
        self._configuration = configuration

    def auth_flow(self, request: Any) -> Generator[Any, Any, None]:  # noqa: ANN401 - httpx's or httpx2's
        """Add the credentials, let the client send; renew a refused token and send once more."""
        loan = self._lend(request)
        rejected = yield from self._sent(request, loan)
        if (
            not rejected or _body_of(request) is None
        ):  # one that came from a stream is gone
            return
        renewed = self._lend(request, rejected=loan)
        if renewed.token != loan.token:
            yield from self._sent(request, renewed, earlier=1)

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:  # noqa: ANN401 - the same
        """Do the same for an event loop: what waits for a database or a provider, in a thread."""
        from anyio.to_thread import run_sync  # noqa: PLC0415 - httpx brings it along

        flow, answer = self.auth_flow(request), None
        try:
            while (step := await run_sync(_next, flow, answer)) is not None:
                answer = yield step
        finally:
            await run_sync(flow.close)

    def _lend(self, request: Any, rejected: Loan | None = None) -> Loan:  # noqa: ANN401 - the same
        name, method, url = self._configuration, request.method, str(request.url)
        headers, body = list(request.headers), _body_of(request)
        return self._gateway.lend(
            name, method, url, headers, body=body, rejected=rejected
        )

    def _sent(
        self,
        request: Any,  # noqa: ANN401 - the same
        loan: Loan,
        earlier: int = 0,
    ) -> Generator[Any, Any, bool]:
        """Send with lent credentials, and tell whether their token was refused.

        The history has our `earlier` answers, and then the redirects.
        """
        plain = request.headers
        request.headers = _one_hop(request, loan.headers)
        status, headers = 0, ()
        try:
            response = yield request
            # The first answer is the one our credentials got.
            first = next(iter(response.history[earlier:]), response)
            status, headers = first.status_code, first.headers.items()
        finally:
            request.headers = plain  # whoever sends it again must ask again
            rejected = self._gateway.settle(loan, status, headers)
        if response.history[earlier:]:
            message = Text("the client followed a redirect, without the credentials")
            hint = Text(
                "Send with follow_redirects=False; gateway.send follows safe redirects."
            )
            raise RedirectBlocked(message, hint=hint)
        return rejected


def _one_hop(request: Any, credentials: tuple[Header, ...]) -> Any:  # noqa: ANN401 - httpx's or httpx2's
    """Return a copy of a request's headers that has the credentials in its raw form only."""
    plain = type(request.headers)
    lent_for = parse_url(str(request.url)).origin
    replaced = {header.name.lower().encode() for header in credentials}

    class OneHopHeaders(plain):  # type: ignore[misc, valid-type]  # the class comes from the client
        @property
        def raw(self) -> list[tuple[bytes, bytes]]:
            if parse_url(str(request.url)).origin != lent_for:
                message = Text(
                    "the request was redirected to another origin after it got"
                    " credentials"
                )
                raise EgressDenied(message)
            kept = [
                (name, value)
                for name, value in super().raw
                if name.lower() not in replaced
            ]
            return kept + [(h.name.encode(), _wire(h.value)) for h in credentials]

    return OneHopHeaders(request.headers)


def _next(flow: Generator[Any, Any, None], answer: Any) -> Any:  # noqa: ANN401 - the same
    """Return what a flow asks for next, or None at its end: StopIteration crosses no thread."""
    try:
        return flow.send(answer)
    except StopIteration:
        return None


def _body_of(request: Any) -> bytes | None:  # noqa: ANN401 - httpx's or httpx2's
    """Return the body, or None where it comes from a stream."""
    try:
        body: bytes = request.content
    except RuntimeError:  # RequestNotRead, of either library
        return None
    return body


def _wire(value: str | Secret) -> bytes:
    return (value.reveal() if isinstance(value, Secret) else value).encode("ascii")
