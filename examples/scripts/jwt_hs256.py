"""A short-lived JSON Web Token, signed with the secret (RFC 7519).

HS256 is RFC 7518 §3.2. A new token is made for each request, so that none has to be
stored or renewed. The secret should have 32 bytes or more: a shorter one can be guessed
from a single token.
"""

import base64
import hmac
import json
import time

ISSUER = "erp"
AUDIENCE = "https://api.acme.example"
LIFETIME = 300  # seconds; many APIs refuse more than a few minutes


def compute_auth_header(sync_line):
    """Return the token as a Bearer token."""
    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT"}
    claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + LIFETIME}
    signed = ".".join(encoded(compact(part)) for part in (header, claims))
    secret = sync_line.api_config_id.get_secret_key()
    signature = hmac.digest(secret.encode(), signed.encode(), "sha256")
    return {"Authorization": f"Bearer {signed}.{encoded(signature)}"}


def compact(part):
    """Write JSON without blanks."""
    return json.dumps(part, separators=(",", ":")).encode()


def encoded(data):
    """Encode for URLs, without the padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# It holds for the constants above; change or remove it together with them.
GOLDEN = [
    {
        "secret": "a made-up secret of 32 bytes min",
        "at": 1700000000,
        "expect": {
            "Authorization": (
                "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
                "eyJpc3MiOiJlcnAiLCJhdWQiOiJodHRwczovL2FwaS5hY21lLmV4YW1wbGUiLCJpYXQiOjE3MDAwMDAw"
                "MDAsImV4cCI6MTcwMDAwMDMwMH0."
                "1LZGzLw2mlOTNkdxjmaU5ue5_LRxCN7n618a0g4-hcE"
            ),
        },
    },
]
