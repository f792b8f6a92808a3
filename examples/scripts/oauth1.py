"""OAuth 1.0a signatures (RFC 5849), for a client that already has its tokens.

The Secret Key is CONSUMER_KEY:CONSUMER_SECRET:TOKEN:TOKEN_SECRET, or the first two if
the API issues no token. The tokens are obtained once, at the provider.
"""

import base64
import hmac
import secrets
import time
from urllib.parse import parse_qsl, quote

METHOD = "HMAC-SHA256"  # or "HMAC-SHA1", the only one that the RFC itself has
REALM = ""  # NetSuite wants the account id here
# Parameters of a form are signed, any other body is not (§3.4.1.3.1). A script does not
# see the Content-Type, so set it here:
BODY_IS_FORM = False


def compute_auth_header(sync_line):
    """Return the Authorization header of §3.5.1."""
    request = sync_line.request
    parts = sync_line.api_config_id.get_secret_key().split(":")
    consumer_key, consumer_secret, token, token_secret = (
        parts if parts[2:] else [*parts, "", ""]
    )
    oauth = {
        "oauth_consumer_key": consumer_key,
        "oauth_nonce": secrets.token_hex(16),
        "oauth_signature_method": METHOD,
        "oauth_timestamp": str(int(time.time())),
        "oauth_version": "1.0",
    }
    if token:
        oauth["oauth_token"] = token

    pairs = [*oauth.items(), *parameters(request.query)]
    if BODY_IS_FORM:
        pairs += parameters(request.body.decode())
    # Encoded, then sorted (§3.4.1.3.2), then encoded again as a whole (§3.4.1.1).
    normalized = "&".join(
        f"{name}={value}" for name, value in sorted(map(encoded, pairs))
    )
    url = request.url.partition("?")[0]
    text = "&".join(encoded((request.method, url, normalized)))
    key = "&".join(encoded((consumer_secret, token_secret)))
    algorithm = METHOD.removeprefix("HMAC-").lower()
    signature = hmac.digest(key.encode(), text.encode(), algorithm)
    oauth["oauth_signature"] = base64.b64encode(signature).decode()

    parts = [f'realm="{REALM}"'] if REALM else []
    parts += [f'{name}="{value}"' for name, value in map(encoded, oauth.items())]
    return {"Authorization": f"OAuth {', '.join(parts)}"}


def parameters(form):
    """Return the decoded pairs of a query or form, also bytes that are not UTF-8."""
    return parse_qsl(form, keep_blank_values=True, errors="surrogateescape")


def encoded(texts):
    """Encode all but letters, digits and -._~ (§3.6)."""
    return tuple(quote(text, safe="", errors="surrogateescape") for text in texts)


# The nonce is here too: in a trial with a stopped clock, chance repeats itself.
GOLDEN = [
    {
        "secret": "dpf43f3p2l4k3l03:kd94hf93k423kf44:nnch734d00sl2jdk:pfkkdhi9sl3r4s00",
        "at": 1191242096,
        "method": "GET",
        "url": "https://photos.example.net/photos?file=vacation.jpg&size=original",
        "expect": {
            "Authorization": (
                'OAuth oauth_consumer_key="dpf43f3p2l4k3l03", '
                'oauth_nonce="cd072cd8be6f9f62ac4c09c28206e7e3", '
                'oauth_signature_method="HMAC-SHA256", oauth_timestamp="1191242096", '
                'oauth_version="1.0", oauth_token="nnch734d00sl2jdk", '
                'oauth_signature="luZFPimolHW%2BKVvsRVf05N774aAL65KWNjuQSMcLgiw%3D"'
            ),
        },
    },
]
