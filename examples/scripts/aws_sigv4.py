"""AWS Signature Version 4, in the Authorization header.

After "Create a signed AWS API request" in the IAM User Guide. Set REGION and SERVICE to
those of the API. The Secret Key is ACCESS_KEY:SECRET, or only the secret if Username is
the access key. Temporary credentials do not work: they expire every hour.
"""

import hashlib
import hmac
import time
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlsplit

REGION = "us-east-1"
SERVICE = "execute-api"  # API Gateway; "s3", "dynamodb", "es", …
# Every X-Amz- header has to be signed: put those of the API here, not in a Headers row.
MORE_HEADERS = {}  # {"X-Amz-Target": "DynamoDB_20120810.ListTables"}


def compute_auth_header(sync_line):
    """Return the date and the signature, and for S3 the hash of the body."""
    request = sync_line.request
    access_key, secret = credentials(sync_line.api_config_id)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    body_hash = hashlib.sha256(request.body).hexdigest()
    headers = {**MORE_HEADERS, "X-Amz-Date": moment}
    if SERVICE == "s3":
        headers["X-Amz-Content-Sha256"] = body_hash

    signed = {name.lower(): value for name, value in headers.items()}
    signed["host"] = urlsplit(request.url).netloc
    names = sorted(signed)
    canonical = [
        request.method,
        canonical_path(request.path),
        canonical_query(request.query),
        *(f"{name}:{signed[name]}" for name in names),
        "",
        ";".join(names),
        body_hash,
    ]
    canonical_hash = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    scope = f"{moment[:8]}/{REGION}/{SERVICE}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{canonical_hash}"

    key = f"AWS4{secret}".encode()
    for part in scope.split(
        "/"
    ):  # the key of the day, of the region, of the service, …
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, "
        f"SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return headers


def credentials(configuration):
    """Return access key and secret. Neither can hold a colon."""
    access_key, colon, secret = configuration.get_secret_key().partition(":")
    return (access_key, secret) if colon else (configuration.username, access_key)


def canonical_path(path):
    """Return the path as AWS signs it: S3 encodes once, others twice and normalized."""
    if SERVICE == "s3":
        return quote(unquote_to_bytes(path), safe="/")
    segments = []
    for segment in path.split("/"):
        if segment == "..":
            segments = segments[:-1]
        elif segment not in {"", "."}:
            segments.append(segment)
    end = "/" if segments and path.endswith("/") else ""
    return quote(f"/{'/'.join(segments)}{end}", safe="/")


def canonical_query(query):
    """Return the parameters sorted and encoded in one way: a space as %20."""
    # surrogateescape carries bytes that are not UTF-8 through both steps.
    pairs = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    encoded = (
        [quote(text, safe="", errors="surrogateescape") for text in pair]
        for pair in pairs
    )
    return "&".join("=".join(pair) for pair in sorted(encoded))


# They hold for REGION and SERVICE as above; change or remove them together.
# The key is the one of AWS's own documentation, and opens nothing.
GOLDEN = [
    {
        "secret": "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "at": 1440938160,
        "method": "GET",
        "url": "https://example.amazonaws.com/?Param2=value2&Param1=value1",
        "expect": {
            "X-Amz-Date": "20150830T123600Z",
            "Authorization": (
                "AWS4-HMAC-SHA256 "
                "Credential=AKIDEXAMPLE/20150830/us-east-1/execute-api/aws4_request, "
                "SignedHeaders=host;x-amz-date, "
                "Signature=63a2c5c0c9c7da3e893f1c6a1cea590225532f3c536b55abde0fec3fb79616e5"
            ),
        },
    },
    {
        "secret": "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "at": 1440938160,
        "method": "POST",
        "url": "https://example.amazonaws.com/prod/a%20b/?tag=x&tag=b+c&empty",
        "body": '{"item": 7}',
        "expect": {
            "X-Amz-Date": "20150830T123600Z",
            "Authorization": (
                "AWS4-HMAC-SHA256 "
                "Credential=AKIDEXAMPLE/20150830/us-east-1/execute-api/aws4_request, "
                "SignedHeaders=host;x-amz-date, "
                "Signature=bd8833c1d4ed6446a871897889c4527df74259cbc30d5f89034aece1116a9386"
            ),
        },
    },
]
