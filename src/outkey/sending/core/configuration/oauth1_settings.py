"""Settings of OAuth 1.0a that cannot work together are refused when they are saved."""

import re
from collections.abc import Mapping

from outkey.foundation.core.fields.choices import AuthenticationType, SignatureMethod
from outkey.foundation.core.origin import endpoint_origin
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH

OAUTH1_TOKEN = "access_token"  # noqa: S105 - the name of a secret
OAUTH1_TOKEN_SECRET = "access_token_secret"  # noqa: S105 - as well
OAUTH1_SECRETS = frozenset({"consumer_secret", OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET})
# What proves the application where a user authorizes the access.
SENT_TO_REQUEST_URL = frozenset({"consumer_secret", "private_key"})
_REALM = re.compile(r"[ -~]*")
_REQUEST_URL = "oauth1.request_url"
# The other two URLs of three legs.
_LATER_URLS = ("oauth1.authorization_url", "oauth1.access_url")
_METHOD = "oauth1.signature_method"


def refuse_unusable_oauth1(values: Mapping[str, object]) -> None:
    """Refuse settings by path with which no request could be signed, or not safely."""
    if values["authentication_type"] is not AuthenticationType.OAUTH1:
        return
    if not _REALM.fullmatch(str(values["oauth1.realm"])):
        raise BY_PATH["oauth1.realm"].refuse(
            Text("must be letters, digits and punctuation of ASCII: it is in a header")
        )
    _refuse_incomplete_legs(values)
    _refuse_several_origins(values)
    _refuse_plaintext_over_http(values)


def _refuse_incomplete_legs(values: Mapping[str, object]) -> None:
    """Refuse some of the URLs of three legs without the others."""
    paths = (_REQUEST_URL, *_LATER_URLS)
    missing = [path for path in paths if not values[path]]
    if missing and len(missing) < len(paths):
        raise BY_PATH[missing[0]].refuse(
            Text(
                "must not be empty beside the other URLs: Request URL, Authorization"
                " URL and Access URL belong together"
            )
        )


def _refuse_several_origins(values: Mapping[str, object]) -> None:
    """Refuse URLs that would give what is signed for one host to another one."""
    if not values[_REQUEST_URL]:
        return
    origin = endpoint_origin(str(values[_REQUEST_URL]), _REQUEST_URL)
    for path in _LATER_URLS:
        if endpoint_origin(str(values[path]), path) != origin:
            raise BY_PATH[path].refuse(
                Text(
                    "must be at the Request URL's origin, since the Consumer Secret is"
                    " used there"
                )
            )


def _refuse_plaintext_over_http(values: Mapping[str, object]) -> None:
    """Refuse to send secrets in plain text (RFC 5849 §3.4.4)."""
    if values[_METHOD] is not SignatureMethod.PLAINTEXT:
        return
    urls = [str(values["base_url"]), str(values[_REQUEST_URL])]
    if any(url.lower().startswith("http:") for url in urls):
        raise BY_PATH[_METHOD].refuse(
            Text("must not be PLAINTEXT over plain http: it sends the secrets"),
            hint=Text("Use https, or choose HMAC-SHA256 or HMAC-SHA1."),
        )
