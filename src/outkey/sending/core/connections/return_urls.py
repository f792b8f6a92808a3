"""Where a user's browser goes after connecting, at or below a URL of the policy."""

import re
from collections.abc import Iterable
from urllib.parse import urlencode

from outkey.foundation.core.errors import BlockedByPolicy, ConfigError
from outkey.foundation.core.origin import (
    Location,
    parse_base_url,
    parse_endpoint,
    without_parameters,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.request.dot_segments import has_parent_segment

FIELD = "return_url"
_MAX_URL = 2000
_BACKSLASH = re.compile(r"%(?:25)*5c", re.IGNORECASE)  # encoded once or more often
_ADDED = ("connection", "status")


def parse_allowed_url(text: object, field: str) -> Location:
    """Return a URL that links may return to, or below it, else raise."""
    if not isinstance(text, str):
        raise ConfigError(Text("it must be text"), field=field)
    location = parse_base_url(text, field)
    if _leads_elsewhere(location.target):
        raise ConfigError(
            Text("the path leads to a parent, or has a backslash"), field=field
        )
    return location


def refuse_return_url(url: str, allowed: Iterable[Location]) -> str:
    """Return a URL in canonical form if the policy allows it, else raise."""
    try:
        location = parse_endpoint(url[: _MAX_URL + 1], FIELD)
    except ConfigError as error:
        raise _refusal(error.message) from None
    if len(url) > _MAX_URL:
        raise _refusal(Text("it is longer than {limit} characters", limit=_MAX_URL))
    if _leads_elsewhere(_path_of(location)):
        raise _refusal(Text("its path leads to a parent, or has a backslash"))
    if not any(_is_at_or_below(location, other) for other in allowed):
        raise _refusal(Text("it is not at or below a URL of the policy"))
    return str(location)


def return_url_with(url: str, connection: str, status: str) -> str:
    """Return a return URL that tells the application what became of a connection.

    Its query stays, without other values of the two parameters.
    """
    location = parse_endpoint(url, FIELD)
    target = without_parameters(location.target, _ADDED)
    added = urlencode(dict(zip(_ADDED, (connection, status), strict=True)))
    mark = "&" if "?" in target else "?"
    return f"{location.origin}{target}{mark}{added}"


def _path_of(location: Location) -> str:
    return location.target.partition("?")[0]


def _leads_elsewhere(path: str) -> bool:
    return has_parent_segment(path) or _BACKSLASH.search(path) is not None


def _is_at_or_below(location: Location, allowed: Location) -> bool:
    """Whether a URL has the origin and all segments of another one."""
    path = _path_of(location)
    is_below = path.startswith(f"{allowed.target}/")
    return location.origin == allowed.origin and (is_below or path == allowed.target)


def _refusal(problem: Text) -> BlockedByPolicy:
    return BlockedByPolicy(
        Text("links may not return to this URL: {problem}", problem=problem),
        hint=Text(
            "Use a URL of return_urls in [connect] of config/policy.toml, or one below"
            " it; an operator adds others."
        ),
        field=FIELD,
    )
