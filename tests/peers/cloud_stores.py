"""Stores of secrets in the cloud, as their documentation describes them.

Azure Key Vault with its authority, Google Secret Manager, and 1Password Connect: each a
server on loopback. The official clients judge them in `test_store_judges.py`, before
outkey is tested with them. Nothing here knows outkey.
"""

import json
import re
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from peers.certificates import Pki

VAULT_SCOPE = "https://vault.azure.net/.default"
CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GOOGLE_AUDIENCE = "https://secretmanager.googleapis.com/"
# Its clients name this one, whatever address a key file has for tokens.
GOOGLE_TOKENS = "https://oauth2.googleapis.com/token"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def bearer(self) -> str:
        """The token of the request; nothing without one."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme == "Bearer" else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response; a document that is a text is sent as it is."""

    status: int
    document: object
    headers: Mapping[str, str] = field(default_factory=dict)


class Store(Protocol):
    """What a server does with a request."""

    url: str
    calls: list[Call]
    # A reply that the store gives instead of its own, such as that of an outage.
    outage: Reply | None

    def respond(self, call: Call) -> Reply:
        """Return the response to a request."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def __init__(self, store: Store, *given: Any) -> None:  # noqa: ANN401 - the base's
        self.store = store
        super().__init__(*given)

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(
            self.command,
            parts.path,
            _first_values(parts.query),
            {name.lower(): value for name, value in self.headers.items()},
            _first_values(body.decode("utf-8", "replace")),
        )
        self.store.calls.append(call)
        reply = self.store.outage or self.store.respond(call)
        text = reply.document
        content = (text if isinstance(text, str) else json.dumps(text)).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing: a request has secrets."""


def _first_values(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


@contextmanager
def store_running(store: Store, pki: Pki) -> Iterator[None]:
    """Serve a store by https until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, store))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate("good"), pki.key("good"))
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.daemon_threads = True
    store.url = f"https://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ── Azure Key Vault ───────────────────────────────────────────────────────────────────


@dataclass
class AzureSecret:
    """A secret and its versions, the newest last."""

    versions: dict[str, str]
    is_enabled: bool = True
    is_allowed: bool = True


@dataclass
class AzureVault:
    """A vault, and Microsoft Entra ID as its authority at the same address.

    https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret
    """

    tenant: str = "11111111-2222-3333-4444-555555555555"
    client: str = "66666666-7777-8888-9999-000000000000"
    client_secret: str = "canary-azure-client-secret"
    federated_token: str = "canary.azure.federated-token"
    token: str = "canary-azure-access-token"
    lifetime: int = HOUR
    secrets: dict[str, AzureSecret] = field(default_factory=dict)
    # Members that replace those of a response: how a store lies.
    lies: dict[str, object] = field(default_factory=dict)
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    outage: Reply | None = None

    def respond(self, call: Call) -> Reply:
        """Return the response to a request."""
        if call.path.startswith(f"/{self.tenant}/"):
            return self._authorize(call)
        if call.bearer != self.token:
            challenge = (
                f'Bearer authorization="{self.url}/{self.tenant}",'
                ' resource="https://vault.azure.net"'
            )
            message = "AKV10000: Request is missing a Bearer or PoP token."
            reply = _azure_error(401, "Unauthorized", message)
            return Reply(401, reply.document, {"WWW-Authenticate": challenge})
        if not re.fullmatch(
            r"7\.\d|\d{4}-\d\d-\d\d", call.query.get("api-version", "")
        ):
            return _azure_error(400, "BadParameter", "api-version must be specified")
        place = re.fullmatch(r"/secrets/([0-9A-Za-z-]{1,127})(?:/(\w*))?/?", call.path)
        if call.method != "GET" or not place:
            return _azure_error(400, "BadParameter", "the name is invalid")
        return self._read(place[1], place[2] or "")

    def _authorize(self, call: Call) -> Reply:
        base = f"{self.url}/{self.tenant}"
        if call.path.endswith("/v2.0/.well-known/openid-configuration"):
            return Reply(
                200,
                {
                    "token_endpoint": f"{base}/oauth2/v2.0/token",
                    "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                    "issuer": f"{base}/v2.0",
                },
            )
        form = call.form
        is_secret = form.get("client_secret") == self.client_secret
        is_federated = (
            form.get("client_assertion_type") == CLIENT_ASSERTION
            and form.get("client_assertion") == self.federated_token
        )
        if form.get("client_id") != self.client or is_secret == is_federated:
            words = "AADSTS7000215: Invalid client secret provided."
            document = {"error": "invalid_client", "error_description": words}
            return Reply(401, document)
        # The client of Azure asks for scopes of OpenID Connect besides.
        if VAULT_SCOPE not in form.get("scope", "").split():
            return Reply(400, {"error": "invalid_scope"})
        if form.get("grant_type") != "client_credentials":
            return Reply(400, {"error": "unsupported_grant_type"})
        granted = {
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "ext_expires_in": self.lifetime,
            "access_token": self.token,
        }
        return Reply(200, granted)

    def _read(self, name: str, version: str) -> Reply:
        # Names of secrets are the same in upper and lower case.
        secret = self.secrets.get(name.lower())
        if secret is not None and not secret.is_allowed:
            return _azure_error(403, "Forbidden", "no action", "ForbiddenByRbac")
        if secret is None or (version and version not in secret.versions):
            return _azure_error(404, "SecretNotFound", "A secret was not found.")
        if not secret.is_enabled:
            return _azure_error(403, "Forbidden", "it is disabled", "SecretDisabled")
        version = version or list(secret.versions)[-1]
        attributes = {"enabled": True, "created": 1700000000, "updated": 1700000000}
        document = {
            "value": secret.versions[version],
            "id": f"{self.url}/secrets/{name}/{version}",
            "attributes": attributes,
        }
        return Reply(200, document | self.lies)


def _azure_error(status: int, code: str, message: str, inner: str = "") -> Reply:
    error: dict[str, object] = {"code": code, "message": message}
    if inner:
        error["innererror"] = {"code": inner}
    return Reply(status, {"error": error})


# ── Google Secret Manager ─────────────────────────────────────────────────────────────


@dataclass
class GoogleVersion:
    """A version of a secret."""

    payload: bytes
    state: str = "ENABLED"


@dataclass
class GoogleSecrets:
    """Secret Manager of one project, and the token endpoint of its service accounts.

    https://cloud.google.com/secret-manager/docs/reference/rest
    https://google.aip.dev/auth/4111 for tokens that an account signs itself.
    """

    NUMBER: ClassVar[str] = "123456789012"  # of the project, as names have it

    project: str = "acme"
    email: str = "erp@acme.iam.example"
    token: str = "canary-google-access-token"
    secrets: dict[str, list[GoogleVersion]] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    # Members that replace those of a response: how a store lies.
    lies: dict[str, object] = field(default_factory=dict)
    lied_payload: dict[str, object] = field(default_factory=dict)
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    outage: Reply | None = None

    def __post_init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)

    def account(self) -> dict[str, str]:
        """Return the key file of the service account."""
        pem = self._key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode()
        return {
            "type": "service_account",
            "project_id": self.project,
            "private_key_id": "key-of-google",
            "private_key": pem,
            "client_email": self.email,
            "token_uri": f"{self.url}/token",
        }

    def respond(self, call: Call) -> Reply:
        """Return the response to a request."""
        if (call.method, call.path) == ("POST", "/token"):
            return self._grant(call)
        if not self._knows(call.bearer):
            return _google_error(401, "UNAUTHENTICATED")
        place = re.fullmatch(
            rf"/v1/projects/{self.project}/secrets/([\w-]{{1,255}})/versions/(\w+):access",
            unquote(call.path),
        )
        if call.method != "GET" or not place:
            return _google_error(400, "INVALID_ARGUMENT")
        return self._access(place[1], place[2])

    def _grant(self, call: Call) -> Reply:
        """Exchange the assertion of the account for a token (RFC 7523 §2.1)."""
        claims = self._claims(call.form.get("assertion", ""), GOOGLE_TOKENS)
        asked = call.form.get("grant_type") == JWT_BEARER
        if not asked or CLOUD_SCOPE not in str(claims.get("scope", "")).split():
            return Reply(400, {"error": "invalid_grant"})
        granted = {"access_token": self.token, "token_type": "Bearer"}
        return Reply(200, granted | {"expires_in": HOUR})

    def _knows(self, token: str) -> bool:
        """Whether a token is granted, or signed by the account itself."""
        if token == self.token:
            return True
        claims = self._claims(token, None)
        is_for = claims.get("aud") == GOOGLE_AUDIENCE
        scopes = str(claims.get("scope", "")).split()
        return (is_for or CLOUD_SCOPE in scopes) and claims.get("sub") == self.email

    def _claims(self, token: str, audience: str | None) -> dict[str, Any]:
        """Return the claims of a valid token of the account; {} of any other."""
        try:
            if jwt.get_unverified_header(token).get("kid") != "key-of-google":
                return {}
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=["RS256"],
                audience=audience,
                issuer=self.email,
                options={
                    "require": ["iat", "exp", "iss"],
                    "verify_aud": audience is not None,
                },
            )
        except jwt.InvalidTokenError:
            return {}
        lifetime = claims["exp"] - claims["iat"]
        return claims if lifetime <= HOUR and claims["exp"] > time.time() else {}

    def _access(self, name: str, version: str) -> Reply:
        # Who may not read a secret does not learn whether there is one.
        if name in self.denied:
            return _google_error(403, "PERMISSION_DENIED")
        versions = self.secrets.get(name, [])
        number = len(versions) if version == "latest" else int(version)
        if not 0 < number <= len(versions):
            return _google_error(404, "NOT_FOUND")
        found = versions[number - 1]
        if found.state != "ENABLED":
            return _google_error(400, "FAILED_PRECONDITION")
        payload: dict[str, object] = {
            "data": b64encode(found.payload).decode(),
            "dataCrc32c": str(checksum(found.payload)),
        }
        document: dict[str, object] = {
            "name": f"projects/{self.NUMBER}/secrets/{name}/versions/{number}",
            "payload": payload | self.lied_payload,
        }
        return Reply(200, document | self.lies)


def _google_error(status: int, name: str) -> Reply:
    return Reply(status, {"error": {"code": status, "message": name, "status": name}})


def checksum(data: bytes) -> int:
    """Return the CRC32C of bytes (RFC 3720 §12.1), bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# ── 1Password Connect ─────────────────────────────────────────────────────────────────


@dataclass
class ConnectItem:
    """An item of a vault, with fields of the form id, label, value."""

    id: str
    title: str
    fields: list[dict[str, object]]
    version: int = 1
    state: str = ""


@dataclass
class Connect:
    """A Connect server with the vaults that its token may read.

    https://developer.1password.com/docs/connect/api-reference
    """

    token: str = "canary.connect.token"
    vaults: dict[str, str] = field(default_factory=dict)  # names by ids
    items: dict[str, list[ConnectItem]] = field(default_factory=dict)  # by vault
    denied: frozenset[str] = frozenset()  # vaults
    # Members that replace those of an item: how a store lies.
    lies: dict[str, object] = field(default_factory=dict)
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    outage: Reply | None = None

    def respond(self, call: Call) -> Reply:
        """Return the response to a request."""
        if call.bearer != self.token:
            return _connect_error(401, "Invalid token signature")
        wanted = call.query.get("filter", "")
        match call.path.strip("/").split("/"):
            case ["v1", "vaults"]:
                found = [_vault(*pair) for pair in self.vaults.items()]
                return _filtered(found, wanted, "name")
            case ["v1", "vaults", vault, *rest]:
                return self._in_vault(vault, rest, wanted)
        return _connect_error(404, "not found")

    def _in_vault(self, vault: str, rest: list[str], wanted: str) -> Reply:
        if vault in self.denied:
            return _connect_error(403, "Authorization: token does not have access")
        if vault not in self.vaults:
            return _connect_error(404, "Invalid Vault UUID")
        match rest:
            case ["items"]:
                found = [self._summary(vault, item) for item in self.items[vault]]
                return _filtered(found, wanted, "title")
            case ["items", item]:
                return self._item(vault, item)
        return Reply(200, _vault(vault, self.vaults[vault]))

    def _item(self, vault: str, wanted: str) -> Reply:
        for item in self.items[vault]:
            if item.id == wanted:
                summary = self._summary(vault, item)
                return Reply(200, summary | {"fields": item.fields} | self.lies)
        return _connect_error(404, "Item not found")

    @staticmethod
    def _summary(vault: str, item: ConnectItem) -> dict[str, object]:
        summary: dict[str, object] = {
            "id": item.id,
            "title": item.title,
            "version": item.version,
            "vault": {"id": vault},
            "category": "LOGIN",
            "createdAt": "2026-01-02T03:04:05Z",
            "updatedAt": "2026-01-02T03:04:05Z",
        }
        return summary | ({"state": item.state} if item.state else {})


def _vault(identifier: str, name: str) -> dict[str, object]:
    return {"id": identifier, "name": name, "type": "USER_CREATED"}


def _filtered(found: list[dict[str, object]], wanted: str, name: str) -> Reply:
    """Return what a filter of SCIM (RFC 7644 §3.4.2.2) leaves; its text is JSON."""
    if not wanted:
        return Reply(200, found)
    match = re.fullmatch(rf'{name} eq ("(?:[^"\\]|\\.)*")', wanted)
    if not match:
        return _connect_error(400, "Invalid filter")
    try:
        text = json.loads(match[1])
    except ValueError:
        return _connect_error(400, "Invalid filter")
    # Texts are compared without regard to case.
    same = [each for each in found if str(each[name]).lower() == text.lower()]
    return Reply(200, same)


def _connect_error(status: int, message: str) -> Reply:
    return Reply(status, {"status": status, "message": message})
