"""Lending credentials to somebody else's HTTP client: ours decides, theirs carries.

What the gateway checks by carrying the request itself (addresses, redirects, caps) is out of
reach here; origin, conflicts, refusals and the record are not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from outkey.core.audit import Refusal, intent_of
from outkey.core.checks import refuse_unsendable
from outkey.core.config import Configuration
from outkey.core.errors import ConfigError, EgressDenied, PolicyError
from outkey.core.headers import compose
from outkey.core.message import Header, Request, Source
from outkey.core.origin import parse_url
from outkey.core.schemes import scheme_of
from outkey.engine.drive import Refuse, Steps, intend
from outkey.engine.send import Sender, with_rows

# What HTTP clients set by themselves; everything else in a request is the caller's own.
_CLIENT_DEFAULTS = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "user-agent"}
)


@dataclass(frozen=True, slots=True)
class Loan:
    """The headers to add to one request, and the attempt they are recorded under."""

    headers: tuple[Header, ...]
    attempt: str


def lend(
    sender: Sender, configuration: Configuration, method: str, url: str, present: Iterable[str]
) -> Steps[Loan]:
    """Return the credentials for a request to the configuration's own origin."""
    try:
        refuse_unsendable(configuration)
        request = _authenticated(sender, configuration, method, url, present)
    except (ConfigError, PolicyError) as error:
        yield Refuse(Refusal(configuration.name, "", str(error.code)))
        raise
    attempt = yield from intend(intent_of(configuration, "", request, 0))
    ours = {Source.AUTHENTICATION, Source.ROW}
    return Loan(tuple(header for header in request.headers if header.source in ours), attempt)


def _authenticated(
    sender: Sender, configuration: Configuration, method: str, url: str, present: Iterable[str]
) -> Request:
    location = parse_url(url)
    if location.origin != configuration.base.origin:
        raise EgressDenied(
            f"the request goes to {location.origin}, the configuration is for another origin",
            hint="Use this auth object only for requests to the Base URL's origin.",
        )
    theirs = tuple(Header(name, "", _source(name)) for name in present)
    opener = sender.opener(configuration)
    request = with_rows(
        Request(method, location.origin, location.target, theirs), configuration, opener
    )
    flow = scheme_of(configuration, opener).flow(request)
    try:
        request = next(flow).request
    finally:
        flow.close()
    return request.with_headers(compose(request.headers))


def _source(name: str) -> Source:
    return Source.DEFAULT if name.lower() in _CLIENT_DEFAULTS else Source.CALLER
