"""CSRF tokens beside an authentication type, as SAP's OData services expect them."""

from typing import NamedTuple

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.flow import AuthFlow, Scheme, need_csrf_token
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.token_place import with_csrf_token

FETCH = "Fetch"
_REQUIRED = "required"
_FORBIDDEN = 403


class CsrfProtected(NamedTuple):
    """Add a CSRF token to what another scheme sends, by some methods."""

    configuration: Configuration
    inner: Scheme

    def flow(self, request: Request) -> AuthFlow:
        """Add the token and send; with one that is no longer valid, once more."""
        configuration = self.configuration
        if not configuration.needs_csrf_token(request.method):
            return (yield from self.inner.flow(request))
        token = yield from need_csrf_token()
        protected = with_csrf_token(request, configuration, token)
        response = yield from self.inner.flow(protected)
        if not asks_for_csrf_token(response, configuration):
            return response
        renewed = yield from need_csrf_token(rejected=token)
        if renewed == token:
            return response
        protected = with_csrf_token(request, configuration, renewed)
        return (yield from self.inner.flow(protected))


def asks_for_csrf_token(response: Response, configuration: Configuration) -> bool:
    """Whether a response refuses the CSRF token, and nothing else."""
    text = response.headers.get(configuration.csrf.header)
    return response.status == _FORBIDDEN and text.strip().lower() == _REQUIRED
