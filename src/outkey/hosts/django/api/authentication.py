"""What admits a request to an operation, as ninja calls it."""

from django.http import HttpRequest
from ninja.security.base import AuthBase

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiAccess, ApiSubject
from outkey.hosts.django.api.access import access_of


class TokenAuthentication(AuthBase):
    """Admits a request to an operation by its token, before its body is looked at."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "An API token, `ok_` and 43 characters."

    def __init__(self, *scopes: Scope, subject: ApiSubject | None) -> None:
        self._scopes = scopes
        self._subject = subject
        super().__init__()

    def __call__(self, request: HttpRequest) -> ApiAccess:
        """Return the access of the token, or raise the error that prevents it."""
        access = access_of(request)
        match = request.resolver_match
        # The first name in a path is what the operation is about.
        names = list(match.kwargs.values()) if match else []
        access.admit(self._scopes, self._subject, names[0] if names else "")
        return access


def granted(request: HttpRequest) -> ApiAccess:
    """Return the access that an operation was admitted with."""
    access = request.auth  # type: ignore[attr-defined]  # set by ninja
    assert isinstance(access, ApiAccess)  # noqa: S101 - for the type checker
    return access
