"""An auth object for requests: `requests.get(url, auth=OutkeyAuth(gateway, "acme"))`."""

from requests import PreparedRequest, Response
from requests.auth import AuthBase

from outkey.core.errors import ConfigError, RedirectBlocked
from outkey.core.origin import parse_redirect, parse_url
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.engine.lend import Loan


class OutkeyAuth(AuthBase):
    """Authenticates requests with an outkey configuration; redirects elsewhere are refused."""

    def __init__(self, gateway: Gateway, configuration: str) -> None:
        self._gateway = gateway
        self._configuration = configuration

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the credentials to one prepared request."""
        loan = self._gateway.lend(
            self._configuration, request.method or "GET", request.url or "", list(request.headers)
        )
        for name, value, _ in loan.headers:
            request.headers[name] = value.reveal() if isinstance(value, Secret) else value

        def ended(response: Response, *_args: object, **_kwargs: object) -> Response:
            return self._ended(loan, response)

        request.register_hook("response", ended)  # type: ignore[no-untyped-call]  # theirs
        return request

    def _ended(self, loan: Loan, response: Response) -> Response:
        self._gateway.settle(loan, response.status_code)
        # requests strips Authorization from a redirect elsewhere, but no other header, and calls
        # this hook before it follows.
        if response.is_redirect:
            _refuse_elsewhere(response)
        return response


def _refuse_elsewhere(response: Response) -> None:
    here = parse_url(response.url)
    try:
        there = parse_redirect(here.origin, here.target, response.headers["Location"])
    except ConfigError as error:
        raise RedirectBlocked(f"the server redirected, but {error.message}") from None
    if there.origin != here.origin:
        raise RedirectBlocked(f"the server redirected to another origin, {there.origin}")
