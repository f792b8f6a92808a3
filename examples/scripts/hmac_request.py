"""The whole request, signed: time, method, path with query, and body.

A changed request no longer fits its signature. The time limits how long a recorded
request can be repeated. APIs differ in the order and the separators of the parts:
compare `parts` with the API's documentation.
"""

import hashlib
import hmac
import time


def compute_auth_header(sync_line):
    """Return the time and the signature of the request."""
    request = sync_line.request
    secret = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    # Path and query as they are sent: an API that decodes them first needs others.
    target = f"{request.path}?{request.query}" if request.query else request.path
    parts = [timestamp.encode(), request.method.encode(), target.encode(), request.body]
    signature = hmac.new(secret.encode(), b"\n".join(parts), hashlib.sha256).hexdigest()
    return {"X-Timestamp": timestamp, "X-Signature": signature}


GOLDEN = [
    {
        "secret": "a made-up secret",
        "at": 1700000000,
        "method": "GET",
        "url": "https://api.example/v1/orders?state=open&state=late&q=a%20b",
        "expect": {
            "X-Timestamp": "1700000000",
            "X-Signature": (
                "a6857fdf2c570ad8df15e4468ffb8580c39ab348034dcee8e40d69a66cec8389"
            ),
        },
    },
    {
        "secret": "a made-up secret",
        "at": 1700000000,
        "method": "POST",
        "url": "https://api.example/v1/orders",
        "body": '{"item": 7}',
        "expect": {
            "X-Timestamp": "1700000000",
            "X-Signature": (
                "5f8146c5220e0b985c8f78e40677987c6435329cb4f1e9c5137095d62ef19ce2"
            ),
        },
    },
]
