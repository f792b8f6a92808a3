"""What a request signed for AWS costs, beside botocore's signer with three clients.

Both sign the same GET with the same headers, and both hash the empty body. The signer
with urllib3 is the least that could be written by hand, so that its budget is wider.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import os
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import httpx
import requests
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from signed_sends import OURS, Send, compare

from outkey.hosts.file.loading import from_text

KEY = "BENCH_AWS_SECRET"  # the environment variable that holds it
KEY_ID, REGION, SERVICE = "AKIDEXAMPLE", "eu-central-1", "execute-api"
LIMITS = {
    "botocore and urllib3": 0.8,
    "botocore and requests": 0.6,
    "botocore and httpx": 0.6,
}
Sign = Callable[[], dict[str, str]]


def outkey(url: str, closing: ExitStack) -> Send:
    document = (
        f'[configuration.bench]\nbase_url = "{url}"\nnetwork = "internal"\n'
        'authentication_type = "aws_sigv4"\n[configuration.bench.aws]\n'
        f'access_key_id = "{KEY_ID}"\nsecret_access_key = "env:{KEY}"\n'
        f'region = "{REGION}"\nservice = "{SERVICE}"\n'
    )
    gateway = closing.enter_context(from_text(document))

    def send() -> tuple[int, int]:
        response = gateway.send("bench", "GET", "/")
        return response.status, len(response.body)

    return send


def botocore(url: str) -> Sign:
    """Return what signs a GET as botocore's own clients do."""
    signer = SigV4Auth(Credentials(KEY_ID, os.environ[KEY]), SERVICE, REGION)

    def sign() -> dict[str, str]:
        request = AWSRequest("GET", url)
        signer.add_auth(request)
        return dict(request.headers)

    return sign


def with_urllib3(url: str, sign: Sign) -> Send:
    pool = urllib3.PoolManager()

    def send() -> tuple[int, int]:
        response = pool.request("GET", url, headers=sign())
        return response.status, len(response.data)

    return send


def with_requests(url: str, sign: Sign, closing: ExitStack) -> Send:
    session = closing.enter_context(requests.Session())

    def send() -> tuple[int, int]:
        response = session.get(url, headers=sign())
        return response.status_code, len(response.content)

    return send


def with_httpx(url: str, sign: Sign, closing: ExitStack) -> Send:
    client = closing.enter_context(httpx.Client())

    def send() -> tuple[int, int]:
        response = client.get(url, headers=sign())
        return response.status_code, len(response.content)

    return send


def make(origin: str, closing: ExitStack) -> Mapping[str, Send]:
    url = f"{origin}/"
    sign = botocore(url)
    return {
        OURS: outkey(origin, closing),
        "botocore and urllib3": with_urllib3(url, sign),
        "botocore and requests": with_requests(url, sign, closing),
        "botocore and httpx": with_httpx(url, sign, closing),
    }


def main() -> int:
    os.environ[KEY] = secrets.token_urlsafe(30)
    return compare("aws", "AWS4-HMAC-SHA256 Credential=", make, LIMITS)


if __name__ == "__main__":
    sys.exit(main())
