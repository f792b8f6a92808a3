"""An auth object for requests: `requests.get(url, auth=OutkeyAuth(gateway, "acme"))`."""

from requests import PreparedRequest, Response
from requests.auth import AuthBase

from outkey.core.errors import RedirectBlocked
from outkey.core.secret import MASK, Secret
from outkey.core.text import Text
from outkey.engine.gateway import Gateway
from outkey.engine.sending.lend import Loan


class _Masked(str):
    """A header value that is sent as it is and shown as a mask."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


class OutkeyAuth(AuthBase):
    """Authenticates requests with an outkey configuration; an answer that redirects is refused."""

    def __init__(self, gateway: Gateway, configuration: str) -> None:
        self._gateway = gateway
        self._configuration = configuration
        self._rejected: Loan | None = None

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the credentials to one prepared request."""
        names, body, rejected = list(request.headers), _body_of(request), self._rejected
        asked = self._configuration, request.method or "GET", request.url or ""
        loan = self._gateway.lend(*asked, names, body=body, rejected=rejected)
        for name, value, _ in loan.headers:
            request.headers[name] = (
                _Masked(value.reveal()) if isinstance(value, Secret) else value
            )

        def ended(response: Response, *_args: object, **_kwargs: object) -> Response:
            return self._ended(loan, response)

        request.register_hook("response", ended)  # type: ignore[no-untyped-call]  # theirs
        return request

    def _ended(self, loan: Loan, response: Response) -> Response:
        refused = self._gateway.settle(
            loan, response.status_code, response.headers.items()
        )
        # requests cannot be told to send once more; the next request gets another token.
        self._rejected = loan if refused else None
        # Called before requests follows. It would copy every header but Authorization to another
        # origin, and put a .netrc entry in the place of ours at the same one.
        if response.is_redirect:
            response.close()
            message = Text(
                "the server redirected, and requests would send the credentials there"
            )
            hint = Text(
                "Use gateway.send, which follows safe redirects, or correct the URL."
            )
            raise RedirectBlocked(message, hint=hint)
        return response


def _body_of(request: PreparedRequest) -> bytes | None:
    """Return the body, or None where it comes from a file or a generator."""
    body: object = request.body or b""
    if isinstance(body, str):
        return body.encode()
    return body if isinstance(body, bytes) else None
