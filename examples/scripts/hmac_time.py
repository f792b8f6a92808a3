"""The current time, signed: X-Timestamp and X-Signature.

The signature is an HMAC (RFC 2104) with SHA-256 of the timestamp, in lowercase
hexadecimal. It proves that the sender has the secret,
and nothing about the request: for that see hmac_request.py.
"""

import hashlib
import hmac
import time


def compute_auth_header(sync_line):
    """Return the time and its signature."""
    secret = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    signature = hmac.new(
        secret.encode(), timestamp.encode(), hashlib.sha256
    ).hexdigest()
    return {"X-Timestamp": timestamp, "X-Signature": signature}


GOLDEN = [
    {
        "secret": "a made-up secret",
        "at": 1700000000,
        "expect": {
            "X-Timestamp": "1700000000",
            "X-Signature": (
                "21baf5bf53fce9557ecf97375d96bf93cd5997e10a4b0757be12dfde3219d565"
            ),
        },
    },
]
