"""One HTTP client in one process, sending when it is told to.

Started by send.py as `candidates.py NAME URL`, with the interpreter that has the
client. It reads one JSON command a line and answers with one JSON line; CPU time is
that of all its threads.

Each client is used as its own documentation shows, at its best: one session for all
requests, as many kept connections as threads, a static or an unexpired token. Where a
library has more layers above (singer-sdk's streams parse records, which nobody else
here does), the lowest one that authenticates is measured, which favours that library.
"""

import cProfile
import http.client
import importlib.metadata
import json
import logging
import os
import pstats
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

THREADS = 50
TOKEN = "BENCH_TOKEN"  # the environment variable that holds it
_EXPECTED = (200, 1024)
_FAR = 4_000_000_000
Send = Callable[
    [], Any
]  # sends one request and returns the client's own kind of response


def outkey(url: str) -> Send:
    from outkey.hosts.file.loading import from_text

    return partial(from_text(outkey_document(url)).send, "bench", "GET", "/")


def outkey_audited(url: str) -> Send:
    """outkey as an installation: SQLite, a stored secret, attempts in the audit."""
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.administration.core.document.document import parse_document
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.core.secret import Secret
    from outkey.hosts.django.wiring import install

    application = install(home)
    administration = Administration(
        application.registry, application.secrets, application.audit, "bench"
    )
    application.apply(
        administration, parse_document(outkey_document(url)), dry_run=False
    )
    administration.set_secret("bench", "token", Secret(os.environ[TOKEN]))
    return partial(application.gateway.send, "bench", "GET", "/")


def outkey_power(url: str) -> Send:
    """The same with records that survive a power failure."""
    from outkey.hosts.server.location import home

    policy = home() / "config" / "policy.toml"
    policy.parent.mkdir(parents=True, mode=0o700)
    policy.write_text('[audit]\ndurability = "power"\n', encoding="utf-8")
    return outkey_audited(url)


def durable_urllib3(url: str) -> Send:
    """urllib3 with the least durable record: one committed row of 500 bytes."""
    import sqlite3

    send, own = urllib3(url), threading.local()
    lock = threading.Lock()

    def committed() -> Any:  # noqa: ANN401 - urllib3's own response
        if not hasattr(own, "database"):
            own.database = sqlite3.connect(
                "least.sqlite3", isolation_level=None, timeout=60
            )
            own.database.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                "CREATE TABLE IF NOT EXISTS least (id INTEGER PRIMARY KEY, body BLOB)"
            )
        with lock:
            own.database.execute("INSERT INTO least (body) VALUES (?)", (b"x" * 500,))
        return send()

    return committed


def outkey_document(url: str) -> str:
    """Return a document with one configuration of each authentication type."""
    common = f'base_url = "{url}"\nnetwork = "internal"\nauthentication_type'
    return (
        f'[configuration.bench]\n{common} = "bearer"\ntoken ='
        f' "env:{TOKEN}"\n[configuration.basic]\n{common} = "basic"\nusername ='
        f' "x"\npassword = "env:{TOKEN}"\n[configuration.none]\n{common} = "none"\n'
    )


class _Answer(NamedTuple):
    status: int
    body: bytes


def raw_http_client(url: str) -> Send:
    address, headers, own = (
        urlsplit(url),
        {"Authorization": _bearer()},
        threading.local(),
    )

    def send() -> _Answer:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection(
                address.hostname or "", address.port
            )
        own.connection.request("GET", "/", headers=headers)
        response = own.connection.getresponse()
        return _Answer(response.status, response.read())

    return send


def urllib3(url: str) -> Send:
    import urllib3

    pool = urllib3.PoolManager(maxsize=THREADS, headers={"Authorization": _bearer()})
    return partial(pool.request, "GET", url)


def httpx2(url: str) -> Send:
    import httpx2

    limits = httpx2.Limits(max_connections=THREADS, max_keepalive_connections=THREADS)
    return partial(
        httpx2.Client(limits=limits, headers={"Authorization": _bearer()}).get, url
    )


def requests(url: str) -> Send:
    import requests

    def authenticate(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = _bearer()
        return request

    # By auth and not by headers: requests would
    # look for a netrc file with each request.
    session = requests.Session()
    session.auth = authenticate
    return partial(_pooled(session).get, url)


def authlib(url: str) -> Send:
    from authlib.integrations.requests_client import OAuth2Session

    return partial(_pooled(OAuth2Session("bench", token=_cached_token())).get, url)


def requests_oauthlib(url: str) -> Send:
    from requests_oauthlib import OAuth2Session

    return partial(_pooled(OAuth2Session("bench", token=_cached_token())).get, url)


def dlt(url: str) -> Send:
    from dlt.sources.helpers.rest_client import RESTClient
    from dlt.sources.helpers.rest_client.auth import BearerTokenAuth

    # Keeps 50 connections by itself.
    return partial(
        RESTClient(url, auth=BearerTokenAuth(token=os.environ[TOKEN])).get, "/"
    )


def airbyte_cdk(url: str) -> Send:
    from airbyte_cdk.sources.streams.call_rate import APIBudget, LimiterSession
    from airbyte_cdk.sources.streams.http.http_client import HttpClient
    from airbyte_cdk.sources.streams.http.requests_native_auth import TokenAuthenticator

    # The session it makes itself, but for more
    # than 10 connections to a plain http server.
    session = _pooled(LimiterSession(api_budget=APIBudget(policies=[])))
    token = TokenAuthenticator(os.environ[TOKEN])
    client = HttpClient(
        "bench", logging.getLogger("bench"), session=session, authenticator=token
    )
    return lambda: client.send_request("GET", url, request_kwargs={})[1]


def singer_sdk(url: str) -> Send:
    import requests
    from singer_sdk.authenticators import BearerTokenAuthenticator

    session = requests.Session()
    session.auth = BearerTokenAuthenticator(token=os.environ[TOKEN])
    return partial(_pooled(session).get, url)


# How each candidate is made, and what it calls a response's status and body.
CANDIDATES: dict[str, tuple[Callable[[str], Send], str, str]] = {
    "http.client": (raw_http_client, "status", "body"),
    "urllib3": (urllib3, "status", "data"),
    "urllib3 again": (urllib3, "status", "data"),
    "outkey": (outkey, "status", "body"),
    "outkey audited": (outkey_audited, "status", "body"),
    "outkey power": (outkey_power, "status", "body"),
    "urllib3 and a commit": (durable_urllib3, "status", "data"),
    "httpx2": (httpx2, "status_code", "content"),
    "requests": (requests, "status_code", "content"),
    "authlib": (authlib, "status_code", "content"),
    "requests-oauthlib": (requests_oauthlib, "status_code", "content"),
    "dlt": (dlt, "status_code", "content"),
    "airbyte-cdk": (airbyte_cdk, "status_code", "content"),
    "singer-sdk": (singer_sdk, "status_code", "content"),
}


def _bearer() -> str:
    return f"Bearer {os.environ[TOKEN]}"


def _cached_token() -> dict[str, object]:
    return {
        "access_token": os.environ[TOKEN],
        "token_type": "Bearer",
        "expires_at": _FAR,
    }


def _pooled(session: Any) -> Any:  # noqa: ANN401 - any kind of requests.Session
    from requests.adapters import HTTPAdapter

    session.mount(
        "http://", HTTPAdapter(pool_connections=THREADS, pool_maxsize=THREADS)
    )
    return session


class Worker:
    """Sends with one candidate and measures itself."""

    def __init__(self, name: str, url: str) -> None:
        make, status, body = CANDIDATES[name]
        self._send = make(url)
        self._read = attrgetter(status, body)
        self._threads = ThreadPoolExecutor(THREADS)

    def obey(self, command: dict[str, int]) -> object:
        if "profile" in command:
            return profile(self._send, command["profile"])
        return self._cpu_per_request(command["requests"], command["threads"])

    def _cpu_per_request(self, requests: int, threads: int) -> float:
        # Connections may have idled too long since the last round:
        # open them before timing.
        self._send_by_threads(requests // 10, threads)
        started = time.process_time()
        self._send_by_threads(requests, threads)
        return (time.process_time() - started) / requests * 1e6

    def _send_by_threads(self, requests: int, threads: int) -> None:
        if threads == 1:
            self._send_many(requests)
        else:
            list(self._threads.map(self._send_many, [requests // threads] * threads))

    def _send_many(self, requests: int) -> None:
        for _ in range(requests):
            status, body = self._read(self._send())
            if (status, len(body)) != _EXPECTED:
                raise RuntimeError(
                    f"expected {_EXPECTED}, got {status} with {len(body)} bytes"
                )


def profile(action: Callable[[], object], times: int) -> list[tuple[str, float, float]]:
    """Return functions with their calls and own µs per action, slowest first."""
    with cProfile.Profile() as profiler:
        for _ in range(times):
            action()
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    rows = [
        (
            f"{'/'.join(file.split('/')[-2:])}:{line} {name}",
            calls / times,
            own / times * 1e6,
        )
        for (file, line, name), (_, calls, own, _, _) in stats.items()
    ]
    return sorted(rows, key=lambda row: -row[2])


def version_of(name: str) -> str:
    """Return the version of a candidate; http.client comes with Python."""
    return (
        ""
        if name == "http.client"
        else importlib.metadata.version(name.split(maxsplit=1)[0])
    )


def main(name: str, url: str) -> None:
    # Some libraries print; the answers keep the real standard output to themselves.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        worker = Worker(name, url)
        greeting = {"version": version_of(name)}
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    print(json.dumps(greeting), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.obey(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
