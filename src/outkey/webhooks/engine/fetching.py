"""Fetching what a delivery names, by the rules of sending."""

import threading
from collections.abc import Callable, Iterator, Sequence

from outkey.foundation.core.errors import Cause, ConfigError, RateLimited
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.text import Text
from outkey.sending.core.oauth2.grants import common_headers
from outkey.sending.core.request.message import Request
from outkey.sending.engine.exchange.calls import build_call
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.tokens.discovery import anonymous_configuration
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps
from outkey.sending.engine.wire.transmit import RequestBudget, transmit
from outkey.sync.core.paging.response import read_json
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.ports.sync import LineSource
from outkey.webhooks.core.settings.confirmation import object_path
from outkey.webhooks.core.settings.settings import Webhook

FETCH_SECONDS = 5.0
MAX_DOCUMENT = 256 * 1024
OK = 200
MISSING = frozenset({404, 410})
FETCHES_AT_ONCE = 8  # of certificates; a server has several times as many threads
KEPT_SECONDS = 3600.0
MOST_KEPT = 32
NOTHING_KEPT = (0.0, b"")
NO_OBJECT = object()


class Certificates:
    """Certificates of senders, cached once a delivery was verified with them.

    A delivery names its certificate before it is verified: an attacker who sends many
    must neither cause a request for each, nor make all threads wait for these.
    """

    def __init__(
        self, fetch: Callable[[str], bytes], monotonic: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._places = threading.BoundedSemaphore(FETCHES_AT_ONCE)
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, bytes]] = {}  # with the end of its time

    def get(self, url: str) -> bytes:
        """Return a certificate; RateLimited while too many others are fetched."""
        with self._lock:
            end, certificate = self._kept.get(url, NOTHING_KEPT)
        if self._monotonic() < end:
            return certificate
        if not self._places.acquire(blocking=False):
            raise RateLimited
        try:
            return self._fetch(url)
        finally:
            self._places.release()

    def keep(self, url: str, certificate: bytes) -> None:
        """Keep a certificate that has verified a delivery."""
        now = self._monotonic()
        with self._lock:
            end, _ = self._kept.pop(url, NOTHING_KEPT)
            # The time counts from when it was fetched, not from when it was used.
            end = end if now < end else now + KEPT_SECONDS
            self._kept[url] = (end, certificate)
            for oldest in list(self._kept)[:-MOST_KEPT]:
                del self._kept[oldest]


def fetch_public(context: SendContext, url: str) -> Steps[bytes]:
    """Return a document of the public internet; no redirect is followed.

    The caller has checked that the URL is the sender's.
    """
    location = parse_endpoint(url, "url")
    configuration = anonymous_configuration(str(location.origin), Network.PUBLIC, "")
    headers = tuple(common_headers(location, {}))
    request = Request("GET", location.origin, location.target, headers)
    deadline = context.clock.monotonic() + FETCH_SECONDS
    budget = RequestBudget(deadline, MAX_DOCUMENT)
    response = yield from transmit(context, configuration, request, budget)
    if response.status != OK:
        raise ConfigError(Text("the sender's document cannot be fetched"))
    return bytes(response.body)


def fetch_objects(
    sender: Sender,
    lines: LineSource,
    webhook: Webhook,
    identifiers: Sequence[str],
    *,
    actor: str,
    now: Callable[[], float],
) -> Iterator[tuple[str, object]]:
    """Yield each id with its object, or NO_OBJECT if the API has none.

    They are requested like every other request: with the configuration's credentials,
    its limits and its rules, and recorded in the audit.
    """
    # All before the first request: nothing is sent if one of them is refused.
    paths = [object_path(webhook.confirm, identifier) for identifier in identifiers]
    if webhook.configuration:
        configuration = sender.configurations.get(webhook.configuration)
    else:
        line = lines.line(webhook.line)
        configuration = sender.configurations.get(line.configuration)
        line.refuse_other(configuration)
    for identifier, path in zip(identifiers, paths, strict=True):
        call = build_call(configuration, "GET", path, line=webhook.line, actor=actor)
        response = sender.send(call)
        if response.status in MISSING and response.cause is not Cause.TOKEN_EXPIRED:
            yield identifier, NO_OBJECT
            continue
        raise_for_cause(response, now)
        yield identifier, read_json(response.body)
