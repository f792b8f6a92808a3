"""What a request signed by OAuth 1.0a costs, beside requests-oauthlib.

Both sign the same GET, which has four query parameters, with a token.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import os
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

from oauthlib.oauth1 import Client
from requests_oauthlib import OAuth1Session
from signed_sends import OURS, Send, compare
from urllib3 import PoolManager

from outkey.hosts.file.loading import from_text

TARGET = "/?fields=id%2Cname&limit=100&offset=0&since=2026-01-01"
# The environment variables that hold them.
CONSUMER_SECRET, TOKEN, TOKEN_SECRET = "BENCH_CS", "BENCH_AT", "BENCH_ATS"
LIMITS = {
    "oauthlib and urllib3": 0.6,
    "requests-oauthlib": 0.6,
    "requests-oauthlib, HMAC-SHA256": 0.6,
}


def outkey(url: str, closing: ExitStack) -> Send:
    document = (
        f'[configuration.bench]\nbase_url = "{url}"\nnetwork = "internal"\n'
        'authentication_type = "oauth1"\n[configuration.bench.oauth1]\n'
        f'consumer_key = "ck"\nconsumer_secret = "env:{CONSUMER_SECRET}"\n'
        f'access_token = "env:{TOKEN}"\naccess_token_secret = "env:{TOKEN_SECRET}"\n'
    )
    gateway = closing.enter_context(from_text(document))

    def send() -> tuple[int, int]:
        response = gateway.send("bench", "GET", TARGET)
        return response.status, len(response.body)

    return send


def keys() -> dict[str, str]:
    """Return what oauthlib signs with."""
    return {
        "client_key": "ck",
        "client_secret": os.environ[CONSUMER_SECRET],
        "resource_owner_key": os.environ[TOKEN],
        "resource_owner_secret": os.environ[TOKEN_SECRET],
    }


def with_requests(url: str, method: str, closing: ExitStack) -> Send:
    session = OAuth1Session(**keys(), signature_method=method)
    closing.enter_context(session)

    def send() -> tuple[int, int]:
        response = session.get(url)
        return response.status_code, len(response.content)

    return send


def with_urllib3(url: str) -> Send:
    pool = PoolManager()
    sign: Callable[[], tuple[str, dict[str, str], str]]
    sign = partial(Client(**keys()).sign, url)

    def send() -> tuple[int, int]:
        _, headers, _ = sign()
        response = pool.request("GET", url, headers=headers)
        return response.status, len(response.data)

    return send


def make(origin: str, closing: ExitStack) -> Mapping[str, Send]:
    url = origin + TARGET
    return {
        OURS: outkey(origin, closing),
        "oauthlib and urllib3": with_urllib3(url),
        "requests-oauthlib": with_requests(url, "HMAC-SHA1", closing),
        "requests-oauthlib, HMAC-SHA256": with_requests(url, "HMAC-SHA256", closing),
    }


def main() -> int:
    for name in (CONSUMER_SECRET, TOKEN, TOKEN_SECRET):
        os.environ[name] = secrets.token_urlsafe(30)
    return compare("oauth1", "OAuth oauth_", make, LIMITS)


if __name__ == "__main__":
    sys.exit(main())
