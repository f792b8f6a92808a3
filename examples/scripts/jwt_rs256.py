"""A short-lived JSON Web Token, signed with a private key (RFC 7519).

RS256 is RFC 7518 §3.3. The API has only the public key. The Secret Key is the private
key as PEM, without a passphrase. Keep its line breaks: enter it with
`outkey secret set NAME secret_key < key.pem`.
"""

import base64
import functools
import json
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

ISSUER = "erp"
AUDIENCE = "https://api.acme.example"
KEY_ID = ""  # what the API calls the key, if it has several
LIFETIME = 300  # seconds


def compute_auth_header(sync_line):
    """Return the token as a Bearer token."""
    now = int(time.time())
    header = {"alg": "RS256", "typ": "JWT"}
    if KEY_ID:
        header["kid"] = KEY_ID
    claims = {
        "iss": ISSUER,
        "sub": ISSUER,
        "aud": AUDIENCE,
        "iat": now,
        "exp": now + LIFETIME,
    }
    signed = ".".join(encoded(compact(part)) for part in (header, claims))
    key = read(sync_line.api_config_id.get_secret_key())
    signature = key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return {"Authorization": f"Bearer {signed}.{encoded(signature)}"}


@functools.lru_cache(maxsize=1)
def read(pem):
    """Read the key once: that takes longer than signing."""
    # Checking your own key of 4096 bits would take 300 ms, more than a script has.
    return serialization.load_pem_private_key(
        pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
    )


def compact(part):
    """Write JSON without blanks."""
    return json.dumps(part, separators=(",", ":")).encode()


def encoded(data):
    """Encode for URLs, without the padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# It holds for the constants above; change or remove it together with them.
# The key is the one that RFC 7515 prints in its appendix A.2, and opens nothing.
GOLDEN = [
    {
        "secret": (
            """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
03k2+ZQwVK0JKSHuLFkuQ3U=
-----END PRIVATE KEY-----
"""
        ),
        "at": 1700000000,
        "expect": {
            "Authorization": (
                "Bearer eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9."
                "eyJpc3MiOiJlcnAiLCJzdWIiOiJlcnAiLCJhdWQiOiJodHRwczovL2FwaS5hY21lLmV4YW1wbGUiLCJp"
                "YXQiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMDMwMH0."
                "REnla39TelNgaynSkWz67lxaaDYAXpLelUy2DMDT5BAEDeHyvAZrUVNVvFnGpUvDvPj1q_7W4fyzMs9-"
                "a5j4yf6naP0j8fUlYUGFwW4UgGyTd7OQJMhJNoDjLNzUdk2Ja1YdY72D5zHZuSOZmqw31nWXrGiegTPm"
                "IEIg9bZ3gvvMRPxBxRZpUKsoBSKuwuxYOOeH08GE0FBxzzL6KdOw7INER576U54YWCYqvgjU86PEyAY5"
                "Dde43oEjoSUqRpWTVXR3RGwWoTSa-RNPE-X6EpxWMEIgdhOO1dJA8r2MD-OMjT2s4JSzw6XFjy2mX0Yl"
                "C9AKZoKSqR7e1ZYHnJYaEg"
            ),
        },
    },
]
