"""One OAuth 2.0 client in one process, whose threads all send at one moment.

Started by stampede.py as `stampede_clients.py NAME`, with the interpreter that has the
client. It reads the job and then the moment, one JSON line each, and answers each with
one JSON line.

Each client is used as its own documentation shows: one session or authenticator for the
process, shared by its threads, which begins with a token that has expired. Where there
is a refresh token, the process has read it from a file before, and the library's own
callback keeps the next one.
"""

import contextlib
import importlib.metadata
import json
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

Send = Callable[
    [], Any
]  # sends one request and returns the client's own kind of response
HOUR = 3600


@dataclass(frozen=True)
class Job:
    """What to aim at, and with which credentials."""

    api_url: str
    token_url: str
    client_id: str
    client_secret: str
    threads: int
    store: (
        str  # the file of a token that has expired; its refresh token, if any, is live
    )

    def stored(self) -> dict[str, Any]:
        token: dict[str, Any] = json.loads(Path(self.store).read_text(encoding="utf-8"))
        return token

    def save(self, token: dict[str, Any], **_: object) -> None:
        own = Path(f"{self.store}.{os.getpid()}.{threading.get_ident()}")
        own.write_text(json.dumps(token), encoding="utf-8")
        own.replace(self.store)


# ── client credentials ────────────────────────────────────────────────────────────────


def outkey(_: Job) -> Send:
    """Send as the handbook's first page shows; OUTKEY_HOME says which installation."""
    import outkey

    return partial(outkey.open().send, "acme", "GET", "/oauth/api")


def authlib(job: Job) -> Send:
    """Follow "Refresh & Auto Update Token": the session fetches tokens itself."""
    from authlib.integrations.requests_client import OAuth2Session

    session = OAuth2Session(
        job.client_id,
        job.client_secret,
        token_endpoint=job.token_url,
        grant_type="client_credentials",
        token=job.stored(),
        update_token=job.save,
    )
    return partial(session.get, job.api_url)


def requests_oauthlib(job: Job) -> Send:
    """Follow "Backend Application Flow" and "Try-Catch TokenExpiredError"."""
    from oauthlib.oauth2 import BackendApplicationClient, TokenExpiredError
    from requests_oauthlib import OAuth2Session

    client = BackendApplicationClient(client_id=job.client_id)
    session = OAuth2Session(client=client, token=job.stored())

    def send() -> Any:  # noqa: ANN401 - requests' own response
        try:
            return session.get(job.api_url)
        except TokenExpiredError:
            session.fetch_token(
                token_url=job.token_url,
                client_id=job.client_id,
                client_secret=job.client_secret,
            )
            return session.get(job.api_url)

    return send


def dlt(job: Job) -> Send:
    """Follow "OAuth 2.0 authorization" of RESTClient; a new one counts as expired."""
    from dlt.sources.helpers.rest_client import RESTClient
    from dlt.sources.helpers.rest_client.auth import OAuth2ClientCredentials

    auth = OAuth2ClientCredentials(
        access_token_url=job.token_url,
        client_id=job.client_id,
        client_secret=job.client_secret,
        access_token=job.stored()["access_token"],
    )
    origin, _, path = job.api_url.rpartition("/oauth/")
    return partial(RESTClient(base_url=origin, auth=auth).get, f"/oauth/{path}")


def airbyte_cdk(job: Job) -> Send:
    """Give an HttpClient the authenticator that all streams share.

    A new authenticator counts as expired.
    """
    from airbyte_cdk.sources.streams.http.requests_native_auth import (
        Oauth2Authenticator,
    )

    authenticator = Oauth2Authenticator(
        token_refresh_endpoint=job.token_url,
        client_id=job.client_id,
        client_secret=job.client_secret,
        refresh_token="",
        grant_type="client_credentials",
    )
    authenticator.access_token = job.stored()["access_token"]
    return _by_airbyte(job, authenticator)


def singer_sdk(job: Job) -> Send:
    """Derive from OAuthAuthenticator with a request body, and sign requests with it."""
    import requests
    from singer_sdk.authenticators import OAuthAuthenticator

    class Authenticator(OAuthAuthenticator):
        @property
        def oauth_request_body(self) -> dict[str, Any]:
            return {
                "grant_type": "client_credentials",
                "client_id": self.client_id,
                "client_secret": self.client_secret,
            }

    session = requests.Session()
    session.auth = authenticator = Authenticator(
        auth_endpoint=job.token_url,
        client_id=job.client_id,
        client_secret=job.client_secret,
    )
    authenticator.access_token = job.stored()["access_token"]
    # What it keeps itself of a token: since when, and for how long.
    authenticator.last_refreshed = datetime(2020, 1, 1, tzinfo=UTC)
    authenticator.expires_in = HOUR
    return partial(session.get, job.api_url)


def httpx_auth(job: Job) -> Send:
    """Follow "Client Credentials flow", with the default cache in memory."""
    from httpx_auth import OAuth2

    send, key = _by_httpx(job)
    OAuth2.token_cache.tokens[key] = (
        job.stored()["access_token"],
        time.time() - HOUR,
        None,
    )
    return send


def httpx_auth_file(job: Job) -> Send:
    """Follow "Managing token cache": one file for all processes."""
    from httpx_auth import JsonTokenFileCache, OAuth2

    send, key = _by_httpx(job)
    file = Path(f"{job.store}.cache")
    with contextlib.suppress(FileExistsError), file.open("x", encoding="utf-8") as made:
        json.dump({key: [job.stored()["access_token"], time.time() - HOUR, None]}, made)
    OAuth2.token_cache = JsonTokenFileCache(file)
    return send


# ── refresh tokens ────────────────────────────────────────────────────────────────────


def authlib_refreshing(job: Job) -> Send:
    """Follow "Refresh & Auto Update Token" with `update_token`."""
    from authlib.integrations.requests_client import OAuth2Session

    session = OAuth2Session(
        job.client_id,
        job.client_secret,
        token_endpoint=job.token_url,
        token=job.stored(),
        update_token=job.save,
    )
    return partial(session.get, job.api_url)


def requests_oauthlib_refreshing(job: Job) -> Send:
    """Follow "(Third, Recommended) Define automatic token refresh and update"."""
    from requests_oauthlib import OAuth2Session

    session = OAuth2Session(
        job.client_id,
        token=job.stored(),
        auto_refresh_url=job.token_url,
        auto_refresh_kwargs={
            "client_id": job.client_id,
            "client_secret": job.client_secret,
        },
        token_updater=job.save,
    )
    return partial(session.get, job.api_url)


def airbyte_cdk_refreshing(job: Job) -> Send:
    """Use the authenticator for single-use refresh tokens; it prints the next one."""
    from airbyte_cdk.sources.streams.http.requests_native_auth import (
        SingleUseRefreshTokenOauth2Authenticator,
    )

    token = job.stored()
    credentials = {
        "client_id": job.client_id,
        "client_secret": job.client_secret,
        "access_token": token["access_token"],
        "refresh_token": token["refresh_token"],
        "token_expiry_date": "2020-01-01T00:00:00Z",
    }
    authenticator = SingleUseRefreshTokenOauth2Authenticator(
        {"credentials": credentials}, token_refresh_endpoint=job.token_url
    )
    return _by_airbyte(job, authenticator)


CLIENTS: dict[str, Callable[[Job], Send]] = {
    "outkey": outkey,
    "authlib": authlib,
    "requests-oauthlib": requests_oauthlib,
    "dlt": dlt,
    "airbyte-cdk": airbyte_cdk,
    "singer-sdk": singer_sdk,
    "httpx-auth": httpx_auth,
    "httpx-auth file": httpx_auth_file,
    "authlib refreshing": authlib_refreshing,
    "requests-oauthlib refreshing": requests_oauthlib_refreshing,
    "airbyte-cdk refreshing": airbyte_cdk_refreshing,
}


def _by_airbyte(job: Job, authenticator: Any) -> Send:  # noqa: ANN401 - any of its authenticators
    from airbyte_cdk.sources.streams.http.http_client import HttpClient

    client = HttpClient(
        "bench", logging.getLogger("bench"), authenticator=authenticator
    )
    return lambda: client.send_request("GET", job.api_url, request_kwargs={})[1]


def _by_httpx(job: Job) -> tuple[Send, str]:
    import httpx
    from httpx_auth import OAuth2ClientCredentials

    auth = OAuth2ClientCredentials(
        job.token_url, client_id=job.client_id, client_secret=job.client_secret
    )
    return partial(httpx.Client().get, job.api_url, auth=auth), auth.state


# ── the process ───────────────────────────────────────────────────────────────────────


def race(send: Send, threads: int, begins: float) -> dict[str, object]:
    """Send once from each thread at that moment; return the results and the end."""
    ends: list[tuple[str, float]] = []

    def one() -> None:
        time.sleep(max(0.0, begins - time.time()))
        try:
            response = send()
            status = getattr(response, "status_code", None) or response.status
            how = f"status {status}"
        except Exception as error:  # counted by its name, whatever it is
            logging.getLogger("stampede").exception("a send failed")
            how = type(error).__name__
        ends.append((how, time.time()))

    running = [threading.Thread(target=one, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return {
        "ends": Counter(how for how, _ in ends),
        "last": max(when for _, when in ends),
    }


def main(name: str) -> None:
    # Some libraries print, one of them past sys.stdout;
    # the answers have a pipe of their own.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job = Job(**json.loads(sys.stdin.readline()))
    try:
        send = CLIENTS[name](job)
        greeting = {"version": importlib.metadata.version(name.split(maxsplit=1)[0])}
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    print(json.dumps(greeting), file=answers, flush=True)
    begins = float(json.loads(sys.stdin.readline()))
    print(json.dumps(race(send, job.threads, begins)), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
