"""Discovery of an authorization server (RFC 8414, OpenID Connect Discovery).

For a user who sets up a configuration, and never at the moment of use: the server
behind the issuer would then decide where the client secret goes.
"""

from outkey.foundation.core.errors import TokenEndpointFailed
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.oauth2 import grants
from outkey.sending.core.oauth2.responses import MAX_RESPONSE, read_document
from outkey.sending.engine.tokens.token_source import TOKEN_SECONDS
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps
from outkey.sending.engine.wire.transmit import RequestBudget, transmit

_NAMES = ("oauth-authorization-server", "openid-configuration")


def discover(
    context: SendContext, issuer: str, network: Network, ca_file: str
) -> Steps[dict[str, str]]:
    """Return the URLs of an authorization server by field, as it spells them."""
    location = parse_endpoint(issuer, "oauth2.issuer")
    configuration = anonymous_configuration(str(location.origin), network, ca_file)
    requests = [grants.metadata_request(location, name) for name in _NAMES]
    for request in requests:
        budget = RequestBudget(
            context.clock.monotonic() + TOKEN_SECONDS, MAX_RESPONSE, for_token=True
        )
        response = yield from transmit(context, configuration, request, budget)
        try:
            return grants.read_metadata(read_document(response), issuer)
        except TokenEndpointFailed:
            continue
    raise TokenEndpointFailed(
        Text("there is no metadata for this issuer"),
        hint=Text(
            "Requested: {first} and {second}. Check the issuer, or enter the URLs"
            " yourself.",
            first=requests[0].url,
            second=requests[1].url,
        ),
        reason="not_found",
    )


def anonymous_configuration(
    origin: str, network: Network, ca_file: str
) -> Configuration:
    """Return a configuration without credentials, to fetch public metadata with."""
    values = {"base_url": origin, "network": str(network), "tls.ca_file": ca_file}
    return build("(discovery)", values)
