"""Discovery: what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).

For a person who sets up a configuration, and never at the moment of use: whoever answers for the
issuer would decide then where the client secret goes.
"""

from outkey.core.config.choices import Network
from outkey.core.config.configuration import Configuration, build
from outkey.core.errors import TokenEndpointFailed
from outkey.core.oauth2 import grants
from outkey.core.oauth2.responses import MAX_RESPONSE, read_document
from outkey.core.request.origin import parse_endpoint
from outkey.core.text import Text
from outkey.engine.tokens.renewal import TOKEN_SECONDS
from outkey.engine.wire.drive import Steps
from outkey.engine.wire.transmit import RequestBudget, SendContext

_NAMES = ("oauth-authorization-server", "openid-configuration")


def discover(
    sender: SendContext, issuer: str, network: Network, ca_file: str
) -> Steps[dict[str, str]]:
    """Return the addresses of an authorization server by field, with the issuer's own spelling."""
    location = parse_endpoint(issuer, "oauth2.issuer")
    asking = _asking(issuer, network, ca_file)
    for name in _NAMES:
        trip = RequestBudget(
            sender.clock.monotonic() + TOKEN_SECONDS, MAX_RESPONSE, for_token=True
        )
        request = grants.metadata_request(location, name)
        response = yield from sender.carry(asking, request, trip)
        try:
            return grants.read_metadata(read_document(response), issuer)
        except TokenEndpointFailed:
            continue
    targets = (grants.metadata_request(location, name).target for name in _NAMES)
    tried = " and ".join(f"{location.origin}{target}" for target in targets)
    hint = Text(
        "Requested: {urls}. Check the issuer, or enter the URLs yourself.",
        urls=tried,
    )
    raise TokenEndpointFailed(
        Text("there is no metadata for this issuer"), hint=hint, reason="not_found"
    )


def _asking(issuer: str, network: Network, ca_file: str) -> Configuration:
    """Return a configuration to ask with: it has no credentials."""
    origin = str(parse_endpoint(issuer, "oauth2.issuer").origin)
    values = {"base_url": origin, "network": str(network), "tls.ca_file": ca_file}
    return build("(discovery)", values)
