"""The flow of httpx and httpx2: credentials for one hop, never copied to the next.

httpx follows redirects inside the auth flow and copies custom headers to the new origin
(openai-python#3516). So the credentials are put where only the transport reads them: in
the raw form of a headers object that copies itself without them.
"""

from collections.abc import AsyncGenerator, Generator
from typing import Any, TypeAlias

from outkey.foundation.core.errors import EgressDenied, RedirectBlocked
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Header
from outkey.sending.engine.exchange.calls import subject_of
from outkey.sending.engine.exchange.lend import Loan
from outkey.sending.engine.gateway import Gateway

# Of httpx or of httpx2, which share no base class.
ClientRequest: TypeAlias = Any
ClientResponse: TypeAlias = Any
ClientHeaders: TypeAlias = Any


class OneHopFlow:
    """The auth flow of httpx's Auth classes."""

    def __init__(
        self,
        gateway: Gateway,
        configuration: str,
        *,
        subject_token: str | Secret | None = None,
        connection: str | None = None,
    ) -> None:
        self._gateway = gateway
        self._configuration = configuration
        self._connection = connection  # the account, where there are several
        self._subject = subject_of(subject_token)  # of a configuration for users

    def auth_flow(
        self, request: ClientRequest
    ) -> Generator[ClientRequest, ClientResponse, None]:
        """Add the credentials and let the client send; renew a refused token once.

        What refuses the credentials of a trial is sent again with those in use.
        """
        loan = self._lend(request)
        is_refused = yield from self._send(request, loan)
        for earlier in (1, 2):
            is_last = earlier == 2 and loan.turn is None
            # A body that came from a stream cannot be sent again.
            if not is_refused or is_last or body_of(request) is None:
                return
            other = self._lend(request, rejected=loan)
            if not loan.is_replaced_by(other):
                return
            loan = other
            is_refused = yield from self._send(request, loan, earlier=earlier)

    async def async_auth_flow(
        self, request: ClientRequest
    ) -> AsyncGenerator[ClientRequest, ClientResponse]:
        """Do the same for an event loop; what may block runs in a thread."""
        from anyio.to_thread import run_sync  # noqa: PLC0415 - httpx brings it along

        flow = self.auth_flow(request)
        response = None
        try:
            while (step := await run_sync(next_request, flow, response)) is not None:
                response = yield step
        finally:
            await run_sync(flow.close)

    def _lend(self, request: ClientRequest, rejected: Loan | None = None) -> Loan:
        return self._gateway.lend(
            self._configuration,
            request.method,
            str(request.url),
            request.headers,
            body=body_of(request),
            rejected=rejected,
            subject_token=self._subject,
            connection=self._connection,
        )

    def _send(
        self,
        request: ClientRequest,
        loan: Loan,
        earlier: int = 0,
    ) -> Generator[ClientRequest, ClientResponse, bool]:
        """Send with lent credentials, and return whether their token was refused.

        The response's history has our `earlier` responses, and then the redirects.
        """
        plain = request.headers
        request.headers = _one_hop_headers(request, loan.headers)
        status = 0
        headers = ()
        try:
            response = yield request
            # The first response is the one to our credentials.
            first = next(iter(response.history[earlier:]), response)
            status = first.status_code
            headers = first.headers.items()
        finally:
            request.headers = plain  # to send it again needs another loan
            is_refused = self._gateway.settle(loan, status, headers)
        if response.history[earlier:]:
            raise RedirectBlocked(
                Text("the client followed a redirect, without the credentials"),
                hint=Text(
                    "Send with follow_redirects=False; gateway.send follows safe"
                    " redirects."
                ),
            )
        return is_refused


def _one_hop_headers(
    request: ClientRequest, credentials: tuple[Header, ...]
) -> ClientHeaders:
    """Return a copy of the headers with the credentials in its raw form only."""
    plain = type(request.headers)
    lent_for = parse_url(str(request.url)).origin
    replaced = {header.name.lower().encode() for header in credentials}

    class OneHopHeaders(plain):  # type: ignore[misc, valid-type]
        @property
        def raw(self) -> list[tuple[bytes, bytes]]:
            if parse_url(str(request.url)).origin != lent_for:
                raise EgressDenied(
                    Text(
                        "the request was redirected to another origin after it got"
                        " credentials"
                    )
                )
            others = [
                (name, value)
                for name, value in super().raw
                if name.lower() not in replaced
            ]
            ours = [
                (header.name.encode(), _wire_value(header.value))
                for header in credentials
            ]
            return others + ours

    return OneHopHeaders(request.headers)


def next_request(
    flow: Generator[ClientRequest, ClientResponse, None],
    response: ClientResponse | None,
) -> ClientRequest | None:
    """Return a flow's next request, or None: StopIteration crosses no thread."""
    try:
        return flow.send(response)
    except StopIteration:
        return None


def body_of(request: ClientRequest) -> bytes | None:
    """Return the body, or None where it comes from a stream."""
    try:
        body: bytes = request.content
    except RuntimeError:  # RequestNotRead, of either library
        return None
    return body


def _wire_value(value: str | Secret) -> bytes:
    """Return a header's value as it is sent."""
    return (value.reveal() if isinstance(value, Secret) else value).encode("ascii")
