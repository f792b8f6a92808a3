"""Requests of a collection, grouped into the APIs that they belong to."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text, counted
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import Auth, SeenApi, SeenRequest
from outkey.importing.core.token_requests import token_auth
from outkey.importing.core.urls import split_url

MAX_REQUESTS = 500


@dataclass(slots=True, repr=False)
class CollectedRequest:
    """A request of a collection, and how it or its folder authenticates."""

    request: SeenRequest
    auth: tuple[Auth, ...]


def group_requests(
    collected: Iterable[CollectedRequest], name: str, report: ImportReport
) -> list[SeenApi]:
    """Return an API for each origin and way to authenticate.

    Lines begin with what reads: other requests are counted in the report.
    """
    groups: list[tuple[str, SeenApi]] = []
    writing_requests = 0
    for item in islice(collected, MAX_REQUESTS):
        origin = _origin_of(item.request, report)
        if origin is None:
            continue
        api = _find_group(groups, origin, item.auth)
        if is_wanted(item.request):
            api.requests.append(item.request)
        else:
            writing_requests += 1
    if writing_requests:
        report.note_dropped(
            "requests",
            counted(
                writing_requests,
                Text("1 request that writes was skipped"),
                Text(
                    "{count} requests that write were skipped", count=writing_requests
                ),
            ),
            Level.NOTICE,
        )
    for number, (origin, api) in enumerate(groups, start=1):
        if not api.requests:
            api.base_url = origin
        api.name = f"{name} {number}" if name and number > 1 else name
    return [api for _, api in groups]


def note_pre_request_script(report: ImportReport) -> None:
    """Report that a script which runs before a request is not taken over."""
    report.note_dropped(
        "pre-request script",
        Text("it is never run: if it signs requests, write a script"),
    )


def _find_group(
    groups: list[tuple[str, SeenApi]], origin: str, auth: tuple[Auth, ...]
) -> SeenApi:
    """Return the group of an origin that authenticates alike, a new one if need be.

    Requests without credentials of their own join any group of their origin.
    """
    for group_origin, api in groups:
        if group_origin == origin and (not auth or not api.auth or api.auth == auth):
            api.auth = api.auth or auth
            return api
    api = SeenApi([], auth=auth)
    groups.append((origin, api))
    return api


def _origin_of(request: SeenRequest, report: ImportReport) -> str | None:
    """Return the origin of a request, None where its URL cannot be one."""
    try:
        return split_url(request.url).origin
    except ConfigError as error:
        report.note_dropped("request", error.message)
        return None


def is_wanted(request: SeenRequest) -> bool:
    """Whether a request only reads, or obtains a token."""
    if request.method.upper() in {"GET", "HEAD"}:
        return True
    return request.has_body and token_auth(request, ImportReport()) is not None
