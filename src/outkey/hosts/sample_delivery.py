"""Posting a signed sample to the own endpoint, as a sender would."""

import http.client
import ssl
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from outkey.foundation.core.errors import ConfigError, ConnectionFailed
from outkey.foundation.core.text import Text
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.verification.sample_receivers import refuse_receiver
from outkey.webhooks.core.verification.signing import sign

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.webhooks.core.inbox.delivery import Refused
    from outkey.webhooks.core.settings.stored import StoredWebhook

SECONDS = 30.0


def signed_sample(
    application: "Application",
    name: str,
    body: bytes,
    *,
    event_id: str,
    content_type: str,
    base: str,
) -> Delivery:
    """Return a sample for the endpoint of a webhook, signed with its secret."""
    settings = application.webhooks.inbox().settings
    stored = settings.get(name)
    if not base:
        raise ConfigError(
            Text("the URL of the server is not known"),
            hint=Text("Start outkey serve, or name the server with --url."),
            field="--url",
        )
    refuse_receiver(
        stored.webhook,
        base,
        listeners=application.listeners.urls(),
        public_url=application.public_url,
    )
    path = f"/hooks/{stored.endpoint}"
    # Signed for the URL that the server knows itself by, wherever it is posted to.
    known = application.public_url or base
    sample = Delivery(
        method="POST",
        url=f"{known.rstrip('/')}{path}",
        headers=(("Content-Type", content_type),),
        body=body,
    )
    signed = sign(
        sample,
        stored.webhook,
        settings.secret_to_sign(stored),
        now=application.clock.now(),
        event_id=event_id,
        keys=CryptographyKeys(),
    )
    query = urlsplit(signed.url).query  # that of a scheme which signs the URL
    target = f"{base.rstrip('/')}{path}"
    return replace(signed, url=f"{target}?{query}" if query else target)


def server_url(application: "Application") -> str:
    """Return where the own server is reached; "" if that is unknown."""
    return next(iter(application.listeners.urls()), application.public_url)


def refusal_of(
    application: "Application", stored: "StoredWebhook", sample: Delivery
) -> "Refused | None":
    """Return why a sample is refused; None if it would be accepted."""
    from outkey.webhooks.core.verification.explanation import explain

    settings = application.webhooks.inbox().settings
    parts = urlsplit(sample.url)
    known = application.public_url.rstrip("/") or f"{parts.scheme}://{parts.netloc}"
    url = f"{known}{_path_with_query(parts)}"
    return explain(
        replace(sample, url=url),
        stored.webhook,
        settings.open_secrets(stored),
        now=application.clock.now(),
        keys=CryptographyKeys(),
    )


def post_sample(sample: Delivery) -> int:
    """Post a sample, with a header as often as it has it; return the status."""
    parts = urlsplit(sample.url)
    try:
        with closing(_connection(parts)) as connection:
            connection.putrequest(sample.method, _path_with_query(parts))
            for name, value in sample.headers:
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(sample.body)))
            connection.endheaders()
            # A server may respond to a large body before it has all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.send(sample.body)
            return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError):
        raise ConnectionFailed(
            Text("the server does not respond"),
            hint=Text("Check the URL, and whether outkey serve is running."),
        ) from None


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            host, parts.port, timeout=SECONDS, context=context
        )
    return http.client.HTTPConnection(host, parts.port, timeout=SECONDS)


def _path_with_query(parts: SplitResult) -> str:
    """Return the path and the query of a URL, as a request line has them."""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
