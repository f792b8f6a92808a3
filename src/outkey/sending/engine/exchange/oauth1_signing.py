"""Signing a request by OAuth 1.0a, with the time of its origin and a new nonce."""

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth1.signature import (
    Credentials,
    Parameters,
    signed_header,
    stamp_of,
)
from outkey.sending.core.request.message import Header, Request
from outkey.sending.engine.wire.context import SendContext


def sign_request(
    context: SendContext,
    configuration: Configuration,
    request: Request,
    credentials: Credentials,
    more: Parameters = (),
) -> Header:
    """Return the header Authorization of a request that is sent now."""
    moment = context.moment(configuration, request.origin)
    stamp = stamp_of(moment, context.signer.fresh())
    return signed_header(request, credentials, stamp, context.signer.rsa_sha1, more)
