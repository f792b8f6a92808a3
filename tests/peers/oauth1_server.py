"""A provider of OAuth 1.0a whose rules are oauthlib's, with made-up credentials.

What is wrong with a request it says as oauthlib does: its errors in the form that its
own endpoints send, and what its log of the validation knows, by the names of "OAuth
Problem Reporting".
"""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlencode

from oauthlib.oauth1 import RequestValidator, WebApplicationServer
from oauthlib.oauth1.rfc5849.errors import OAuth1Error

# oauthlib accepts keys of 20 to 30 letters and digits.
CONSUMER = "the0consumer0of0a0test"
CONSUMER_SECRET = "of the consumer, with &/+ä"
TOKEN = "the0access0token0of0tests"
TOKEN_SECRET = "of the token, with &/+ä"
VERIFIER = "the0verifier0of0these0tests"
METHODS = ("HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1", "PLAINTEXT")
FORM = "application/x-www-form-urlencoded"
_PROBLEMS = {
    "client": "consumer_key_unknown",
    "resource_owner": "token_rejected",
    "signature": "signature_invalid",
}


@dataclass
class Provider(RequestValidator):  # type: ignore[misc] # oauthlib has no types
    """The accounts of the provider, as oauthlib asks for them."""

    public_key: str
    methods: tuple[str, ...] = METHODS
    tokens: dict[str, str] = field(default_factory=lambda: {TOKEN: TOKEN_SECRET})
    temporary: dict[str, dict[str, str]] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    enforce_ssl = False
    dummy_client = "a0dummy0client0of0a0test"
    dummy_request_token = "a0dummy0token0of0a0test"
    dummy_access_token = dummy_request_token

    @property
    def allowed_signature_methods(self) -> tuple[str, ...]:
        return self.methods

    def validate_client_key(self, client_key: str, request: object) -> bool:
        return client_key == CONSUMER

    def get_client_secret(self, client_key: str, request: object) -> str:
        return CONSUMER_SECRET

    def get_rsa_key(self, client_key: str, request: object) -> str:
        return self.public_key

    def validate_timestamp_and_nonce(
        self, client_key: str, timestamp: str, nonce: str, *_: object, **__: object
    ) -> bool:
        is_new = (timestamp, nonce) not in self.seen
        self.seen.add((timestamp, nonce))
        return is_new

    # Realms are not used.
    def validate_realms(self, *_: object, **__: object) -> bool:
        return True

    def validate_requested_realms(self, *_: object, **__: object) -> bool:
        return True

    def verify_realms(self, *_: object, **__: object) -> bool:
        return True

    def get_default_realms(self, *_: object) -> list[str]:
        return []

    def get_realms(self, *_: object) -> list[str]:
        return []

    # The three legs.
    def validate_redirect_uri(self, *_: object) -> bool:
        return True

    def save_request_token(self, token: dict[str, str], request: object) -> None:
        """Let a user agree at once, with a verifier that is known."""
        self.temporary[token["oauth_token"]] = token

    def validate_request_token(self, key: str, token: str, request: object) -> bool:
        return token in self.temporary

    def get_request_token_secret(self, key: str, token: str, request: object) -> str:
        return self.temporary.get(token, {}).get("oauth_token_secret", "")

    def validate_verifier(
        self, key: str, token: str, verifier: str, request: object
    ) -> bool:
        return verifier == VERIFIER

    def invalidate_request_token(self, key: str, token: str, request: object) -> None:
        del self.temporary[token]

    def save_access_token(self, token: dict[str, str], request: object) -> None:
        self.tokens[token["oauth_token"]] = token["oauth_token_secret"]

    def validate_access_token(self, key: str, token: str, request: object) -> bool:
        return token in self.tokens

    def get_access_token_secret(self, key: str, token: str, request: object) -> str:
        return self.tokens.get(token, "")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: Provider
    origin: str
    skew: float = 0  # of its clock, in seconds


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name
        """Write no log."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.server.skew)

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = self.path.partition("?")[0]
        endpoints = WebApplicationServer(self.server.provider)
        given = (self.server.origin + self.path, self.command, body, dict(self.headers))
        if path == "/initiate":
            headers, text, status = endpoints.create_request_token_response(*given)
        elif path == "/token":
            headers, text, status = endpoints.create_access_token_response(*given)
        else:
            headers, text, status = _api_response(endpoints, given)
        raw = (text or "").encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_PUT = _serve  # noqa: N815 - names of the library


def _api_response(
    endpoints: WebApplicationServer, given: tuple[str, str, str, dict[str, str]]
) -> tuple[dict[str, str], str, int]:
    """Return the response of the API: who signed, or what is wrong."""
    challenge = {"WWW-Authenticate": 'OAuth realm="peer"', "Content-Type": FORM}
    try:  # what its own endpoints report, and this one hides
        checked = endpoints._create_request(*given)
        endpoints._check_mandatory_parameters(checked)
    except OAuth1Error as error:
        return challenge, error.urlencoded, error.status_code
    valid, request = endpoints.validate_protected_resource_request(*given)
    if valid:
        text = f"signed by {request.client_key}"
        return {"Content-Type": "text/plain"}, text, 200
    log = request.validator_log
    names = [name for key, name in _PROBLEMS.items() if log.get(key) is False]
    problem = {"oauth_problem": names[0] if names else "nonce_used"}
    return challenge, urlencode(problem), 401


@contextmanager
def provider_running(
    provider: Provider, tls: ssl.SSLContext | None = None, skew: float = 0
) -> Iterator[str]:
    """Run the provider on loopback, and yield its origin."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    server.provider = provider
    server.skew = skew
    server.origin = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.origin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
