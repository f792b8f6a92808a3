"""Date, Digest and Signature: HTTP signatures with a shared secret.

The signature has the form of draft-cavage-http-signatures-12, which many APIs and
gateways use; its successor RFC 9421 builds another text.
The digest is that of RFC 3230, or of RFC 9530.
"""

import base64
import hashlib
import hmac
import time
from email.utils import formatdate
from urllib.parse import urlsplit

KEY_ID = "erp"
DIGEST = "Digest"  # or "Content-Digest" (RFC 9530)


def compute_auth_header(sync_line):
    """Return date, digest of the body if there is one, and the signature of both."""
    request = sync_line.request
    secret = sync_line.api_config_id.get_secret_key()
    headers = {"Date": formatdate(time.time(), usegmt=True)}
    if request.body:
        headers[DIGEST] = digest(request.body)

    target = f"{request.path}?{request.query}" if request.query else request.path
    signed = {
        "(request-target)": f"{request.method.lower()} {target}",
        "host": urlsplit(request.url).netloc,
        **{name.lower(): value for name, value in headers.items()},
    }
    text = "\n".join(f"{name}: {value}" for name, value in signed.items())
    signature = base64.b64encode(
        hmac.digest(secret.encode(), text.encode(), "sha256")
    ).decode()
    headers["Signature"] = (
        f'keyId="{KEY_ID}",algorithm="hmac-sha256",'
        f'headers="{" ".join(signed)}",signature="{signature}"'
    )
    return headers


def digest(body):
    """Return the body's hash, in the spelling of the chosen header."""
    value = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return f"sha-256=:{value}:" if DIGEST == "Content-Digest" else f"SHA-256={value}"


# They hold for the constants above; change or remove them together.
GOLDEN = [
    {
        "secret": "a made-up secret",
        "at": 1700000000,
        "method": "GET",
        "url": "https://api.example/orders?state=open",
        "expect": {
            "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
            "Signature": (
                'keyId="erp",algorithm="hmac-sha256",headers="(request-target) host'
                ' date",signature="O2Rr3W4oTLBElkTIB1UKpF8ExF7iPKvLXjfTuQMyoZ4="'
            ),
        },
    },
    {
        "secret": "a made-up secret",
        "at": 1700000000,
        "method": "POST",
        "url": "https://api.example/orders",
        "body": '{"hello": "world"}',
        "expect": {
            "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
            "Digest": "SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
            "Signature": (
                'keyId="erp",algorithm="hmac-sha256",headers="(request-target) host'
                ' date digest",signature="4SfX9SkH2gs6rYkyz7aBjQmnga9oEHtAfmFENDBawiw="'
            ),
        },
    },
]
