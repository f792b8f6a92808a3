"""The access that the token of a request gives; cookies and sessions play no part."""

from django.http import HttpRequest

from outkey.administration.core.access.api_tokens import token_of_header
from outkey.administration.engine.access.api_access import ApiAccess, open_access
from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.access import offered_references


def access_of(request: HttpRequest) -> ApiAccess:
    """Return the access of a request's token, or raise TokenRefused."""
    text = token_of_header(request.META.get("HTTP_AUTHORIZATION", ""))
    return open_access(installation(), text, offered_references())
