"""Lending credentials to somebody else's HTTP client: ours decides, theirs carries.

Origin, conflicts, refusals, the rate limit and the record are checked here; what needs the
connection (addresses, TLS settings, redirects, caps) is the other client's business.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from outkey.core.audit.events import Outcome, Refusal, Tag, intent_of
from outkey.core.config.configuration import Configuration
from outkey.core.errors import EgressDenied, OutkeyError, ScriptFailed
from outkey.core.findings.configuration_checks import refuse_unsendable
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.addresses import is_address
from outkey.core.request.assembly import PLACEHOLDER, authenticated_request
from outkey.core.request.message import Header, Request, Source
from outkey.core.request.origin import parse_url
from outkey.core.text import Text
from outkey.engine.sending.scripts import signed
from outkey.engine.tokens.renewal import TokenManager, TokenRequest
from outkey.engine.wire.drive import Steps
from outkey.engine.wire.transmit import SendContext

# What HTTP clients set by themselves; everything else in a request is the caller's own.
_CLIENT_DEFAULTS = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "user-agent"}
)
_OURS = frozenset({Source.AUTHENTICATION, Source.ROW, Source.SCRIPT})


@dataclass(frozen=True, slots=True)
class Loan:
    """The headers to add to one request, and the attempt they are recorded under."""

    headers: tuple[Header, ...]
    configuration: str
    attempt: str
    started: float
    revision: int
    token: AccessToken | None = (
        None  # of OAuth 2.0, to be renewed where the API refuses it
    )
    renewed: bool = False  # after the API refused another token

    def outcome(self, status: int, now: float) -> Outcome:
        """Describe how the request ended; status 0 means without an answer."""
        result = "unknown" if not status else "ok" if status < 400 else "answered"
        duration = round((now - self.started) * 1000)
        return Outcome(self.attempt, self.configuration, status, result, duration)


def lend(  # noqa: PLR0913 - the parts of a request
    sender: SendContext,
    configuration: Configuration,
    method: str,
    url: str,
    present: Iterable[str],
    *,
    body: bytes | None,
    rejected: AccessToken | None = None,
) -> Steps[Loan]:
    """Return the credentials for a request to the configuration's own origin.

    The body is None where it will come from a stream.
    """
    secret, keeper = sender.opener(configuration), TokenManager(sender, configuration)
    token = None
    try:
        refuse_unsendable(configuration)
        sender.brake.refuse_paused(configuration)
        request = _checked(sender, configuration, method, url, present)
        if configuration.is_scripted:
            request = _signable(request, url, body)
        if configuration.uses_oauth2:
            token = yield from keeper.get(
                TokenRequest(rejected, sure=rejected is not None)
            )
        sign, given = partial(signed, sender, configuration, ""), token or PLACEHOLDER
        request = authenticated_request(
            request, configuration, secret, given, keeper.proof, sign
        )
        sender.permit(configuration, patience=0.0)
    except OutkeyError as error:
        yield Refusal("", configuration.name, "", str(error.code))
        raise
    attempt: str = yield intent_of(configuration, "", request, 0, Tag.SEND_INTENT)
    ours = tuple(header for header in request.headers if header.source in _OURS)
    name, started, again = (
        configuration.name,
        sender.clock.monotonic(),
        rejected is not None,
    )
    return Loan(
        ours, name, attempt, started, configuration.revision, token, renewed=again
    )


def _checked(
    sender: SendContext,
    configuration: Configuration,
    method: str,
    url: str,
    present: Iterable[str],
) -> Request:
    location = parse_url(url)
    if location.origin != configuration.base.origin:
        # Without its name: it may be a link of a response, which can spell a secret as a host.
        message = Text("the request goes to another origin than the Base URL")
        hint = Text(
            "Use this auth object only for requests to the origin of the Base URL."
        )
        raise EgressDenied(message, hint=hint)
    if is_address(location.origin.host):
        sender.egress.vet(
            configuration.network, location.origin, (location.origin.host,)
        )
    theirs = tuple(Header(name, "", _source(name)) for name in present)
    return Request(method, location.origin, location.target, theirs)


def _signable(request: Request, url: str, body: bytes | None) -> Request:
    """Return the request as the other client will send it, or refuse what cannot be signed."""
    if body is None:
        hint = Text("Pass the body as bytes.")
        raise ScriptFailed(Text("a body from a stream cannot be signed"), hint=hint)
    if url.partition("#")[0].removeprefix(str(request.origin)) != request.target:
        message = Text("the URL would be sent in another form than the signed one")
        hint = Text("Percent-encode path and query, and omit a default port.")
        raise ScriptFailed(message, hint=hint)
    return request._replace(body=body)


def _source(name: str) -> Source:
    return Source.DEFAULT if name.lower() in _CLIENT_DEFAULTS else Source.CALLER
