"""An auth object for requests: `get(url, auth=OutkeyAuth(gateway, "acme"))`."""

from typing import Any

from requests import PreparedRequest, Response
from requests.auth import AuthBase

from outkey.foundation.core.errors import RedirectBlocked
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import Text
from outkey.sending.engine.exchange.calls import subject_of
from outkey.sending.engine.exchange.lend import Loan
from outkey.sending.engine.gateway import Gateway

__all__ = ["OutkeyAuth"]


class MaskedValue(str):
    """A header value that is sent as it is and shown as a mask."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


class OutkeyAuth(AuthBase):
    """Authenticates requests with an outkey configuration; refuses redirects."""

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
        self._rejected: Loan | None = None

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the credentials to one prepared request."""
        loan = self._authenticate(request, self._rejected)

        def settle(response: Response, *_args: object, **options: Any) -> Response:  # noqa: ANN401 - of the adapter
            return self._settle(loan, response, options)

        request.register_hook("response", settle)  # type: ignore[no-untyped-call]
        return request

    def _authenticate(self, request: PreparedRequest, rejected: Loan | None) -> Loan:
        """Add the credentials to a request, and return the loan of them."""
        loan = self._gateway.lend(
            self._configuration,
            request.method or "GET",
            request.url or "",
            request.headers,
            body=body_of(request),
            rejected=rejected,
            subject_token=self._subject,
            connection=self._connection,
        )
        for name, value, _ in loan.headers:
            if isinstance(value, Secret):
                request.headers[name] = MaskedValue(value.reveal())
            else:
                request.headers[name] = value
        return loan

    def _send_again(
        self, loan: Loan, refused: Response, options: dict[str, Any]
    ) -> tuple[Loan, Response]:
        """Send once more, with other credentials, what refused those of a trial."""
        _ = refused.content  # so that the connection can be used again
        refused.close()
        request = refused.request.copy()
        for name, _, _ in loan.headers:
            request.headers.pop(name, None)
        other = self._authenticate(request, loan)
        response: Response = refused.connection.send(request, **options)
        response.history.append(refused)
        response.request = request
        return other, response

    def _settle(
        self, loan: Loan, response: Response, options: dict[str, Any]
    ) -> Response:
        is_refused = self._is_refused(loan, response)
        # A token of a trial is renewed once; then the credentials in use are sent.
        for _ in range(2):
            if not is_refused or loan.turn is None:
                break
            loan, response = self._send_again(loan, response, options)
            is_refused = self._is_refused(loan, response)
        # Else requests cannot retry; the next request gets another token.
        self._rejected = loan if is_refused else None
        # Called before requests follows. It would copy every header but Authorization
        # to another origin, and replace ours by a .netrc entry at the same one.
        if response.is_redirect:
            response.close()
            raise RedirectBlocked(
                Text(
                    "the server redirected, and requests would send the credentials"
                    " there"
                ),
                hint=Text(
                    "Use gateway.send, which follows safe redirects, or correct the"
                    " URL."
                ),
            )
        return response

    def _is_refused(self, loan: Loan, response: Response) -> bool:
        return self._gateway.settle(
            loan, response.status_code, response.headers.items()
        )


def body_of(request: PreparedRequest) -> bytes | None:
    """Return the body, or None where it comes from a file or a generator."""
    body: object = request.body or b""
    if isinstance(body, str):
        return body.encode()
    return body if isinstance(body, bytes) else None
