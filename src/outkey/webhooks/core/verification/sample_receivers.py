"""Which servers a signed sample may be sent to.

A signature proves that its sender knows the secret, and does not contain it. The proof
of other schemes is the secret itself: a server that gets such a sample has it.
"""

from collections.abc import Iterable
from typing import NamedTuple, assert_never
from urllib.parse import urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.request.addresses import AddressKind, judge
from outkey.webhooks.core.schemes.scheme import VerificationKind
from outkey.webhooks.core.settings.settings import Webhook, scheme_of

FIELD = "--url"
PORTS = {"http": 80, "https": 443}


class Server(NamedTuple):
    """The server of a URL."""

    scheme: str
    host: str
    port: int


def refuse_receiver(
    webhook: Webhook, url: str, *, listeners: Iterable[str], public_url: str
) -> None:
    """Raise ConfigError for the URL of a server that must not get a sample."""
    receiver = server_of(url)
    if receiver is None:
        raise ConfigError(
            Text("this is not the URL of a server"),
            hint=Text("Write it as https://outkey.example."),
            field=FIELD,
        )
    if receiver in map(server_of, listeners):
        return
    if receiver.scheme != "https" and not is_this_machine(receiver.host):
        raise ConfigError(
            Text("a sample is sent to another machine by https only"),
            hint=Text("Write the URL with https://."),
            field=FIELD,
        )
    scheme = scheme_of(webhook)
    is_revealing = scheme is not None and reveals_secret(scheme.kind)
    if is_revealing and receiver != server_of(public_url):
        raise ConfigError(
            Text(
                "a sample of this scheme contains the secret, so it is sent to the"
                " server of this installation only"
            ),
            hint=Text("Start outkey serve, and send the sample without --url."),
            field=FIELD,
        )


def reveals_secret(kind: VerificationKind) -> bool:
    """Whether the secret itself is in a header or the body of a delivery.

    It has no default: a sample of a new kind could send a secret to another server.
    """
    match kind:
        case VerificationKind.TOKEN | VerificationKind.BASIC | VerificationKind.GRAPH:
            return True
        case (
            VerificationKind.SIGNATURE
            | VerificationKind.TWILIO
            | VerificationKind.MAILGUN
            | VerificationKind.ADYEN
            | VerificationKind.SNS
            | VerificationKind.PAYPAL
            | VerificationKind.HTTP_SIGNATURE
            | VerificationKind.FETCH
            | VerificationKind.UNVERIFIED
        ):
            return False
        case other:
            assert_never(other)


def server_of(url: str) -> Server | None:
    """Return the server of an HTTP URL; None for any other text."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
    except ValueError:  # an invalid port or IPv6 address
        return None
    if parts.scheme not in PORTS or not host:
        return None
    return Server(parts.scheme, host, PORTS[parts.scheme] if port is None else port)


def is_this_machine(host: str) -> bool:
    """Whether what is sent to a host does not leave this machine."""
    return host == "localhost" or judge(host) is AddressKind.LOOPBACK
