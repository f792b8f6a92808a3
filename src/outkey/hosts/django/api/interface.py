"""The HTTP interface as ninja has it: how operations are described, and errors."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiSubject
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import TokenAuthentication
from outkey.hosts.django.api.parsing import StrictParser
from outkey.hosts.django.api.responses import (
    error_response,
    failure_response,
    plain_error,
)

VERSION = "1"
DESCRIPTION = (
    "Send requests with the credentials of outkey's configurations, and manage these."
    " Every request needs an API token: `outkey api-token create NAME --scope SCOPE`."
)
# What every operation can respond with, besides its own, and what a changing one can.
REFUSALS = (400, 401, 403, 404, 422, 429, 503)
REFUSED_CHANGES = (409, 412, 413)
View = TypeVar("View", bound=Callable[..., HttpResponse])

api = NinjaAPI(
    title="outkey",
    version=VERSION,
    description=DESCRIPTION,
    urls_namespace="outkey-api",
    openapi_url=None,  # see urls.py
    docs_url=None,  # its page would load scripts from elsewhere
    parser=StrictParser(),
)


def operation(
    method: str,
    path: str,
    *scopes: Scope,
    subject: ApiSubject | None = None,
    returns: Mapping[int, Any],
    tag: str,
    extra: dict[str, Any] | None = None,
) -> Callable[[View], View]:
    """Describe an operation; the first line of its docstring is its summary.

    `subject` is what the first name in the path names.
    """
    statuses = REFUSALS if method == "GET" else (*REFUSALS, *REFUSED_CHANGES)
    responses = dict.fromkeys(statuses, schemas.ErrorBody) | dict(returns)

    def describe(view: View) -> View:
        documentation = (view.__doc__ or "").strip()
        summary, _, more = documentation.partition("\n")
        needed = " or ".join(f"`{scope}`" for scope in scopes)
        added: View = api.api_operation(
            [method],
            path,
            auth=TokenAuthentication(*scopes, subject=subject),
            response=responses,
            operation_id=view.__name__,
            summary=summary.rstrip("."),
            description=f"{' '.join(more.split())} Scope: {needed}.".strip(),
            tags=[tag],
            openapi_extra=extra,
        )(view)
        return added

    return describe


@api.exception_handler(OutkeyError)
def _respond_with_error(_request: HttpRequest, error: OutkeyError) -> HttpResponse:
    """Return an error of outkey."""
    return error_response(error)


@api.exception_handler(HttpError)
def _respond_with_http_error(_request: HttpRequest, error: HttpError) -> HttpResponse:
    """Return an error of ninja; the text of what it could not read is not repeated."""
    if isinstance(error.__context__, OutkeyError):
        return error_response(error.__context__)
    return plain_error(error.status_code, "invalid_request", "cannot be read")


@api.exception_handler(ValidationError)
def _respond_with_fields(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Return the first wrong field; never the value that it has."""
    first = error.errors[0] if error.errors else {}
    # The source of a parameter and, in a body, the parameter's own name come first.
    parts = [str(part) for part in first.get("loc", ())[1:]]
    place = ".".join(parts[1:] if parts[:1] == ["body"] else parts)
    return plain_error(
        422,
        "invalid_request",
        str(first.get("msg", "the request is not as described")),
        hint="See the OpenAPI document for what is expected.",
        field=place or None,
    )


@api.exception_handler(Exception)
def _respond_with_failure(_request: HttpRequest, failure: Exception) -> HttpResponse:
    """Return a failure of our own."""
    return failure_response(failure)
