"""Three real authorization servers on loopback, that nobody here wrote.

- oidc-provider (Node.js), certified: nearly everything there is, with and without TLS;
- django-oauth-toolkit (Python): another opinion, and a grace period for refresh tokens;
- glewlwyd (C): yet another one, with answers that no other server gives.

Nothing here knows outkey.
"""

import base64
import hashlib
import http.client
import json
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import (
    HTTPCookieProcessor,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from peers.certificates import Pki
from peers.servers import listening, require, running, wait_until

SECRET = "cc-secret-0123456789-abcdefghijklmnop"  # long enough for a key of HS256
SPECIAL_ID = "cc:basic+sp/ecial"
SPECIAL_SECRET = "p%20a:b+c/d &=?0123456789abcdefghij"
USER = "bob"
PASSWORD = "pw-0123456789"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
REDIRECT = "http://127.0.0.1:9/callback"  # nobody listens there
_OIDC_PATHS = {
    "token": "/token",
    "authorize": "/auth",
    "device": "/device/auth",
    "push": "/request",
    "introspect": "/token/introspection",
    "revoke": "/token/revocation",
    "api": "/_api",
}
_TOOLKIT_PATHS = {
    "token": "/o/token/",
    "authorize": "/o/authorize/",
    "device": "/o/device-authorization/",
    "introspect": "/o/introspect/",
    "revoke": "/o/revoke_token/",
    "api": "/_api",
}
_GLEWLWYD_PATHS = {
    "token": "/api/oidc/token",
    "authorize": "/api/oidc/auth",
    "device": "/api/oidc/device_authorization",
    "introspect": "/api/oidc/introspect",
    "revoke": "/api/oidc/revoke",
    "api": "/api/oidc/userinfo",
}
INSTALLED = Path(sys.prefix) / "peers"  # by tools/peers.sh


# ── asking them ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever a server says
        return json.loads(self.body)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class Asker:
    """A client as simple as can be: no proxy, no redirects, cookies of its own."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        handlers = [ProxyHandler({}), HTTPCookieProcessor(CookieJar()), _NoRedirects()]
        self._opener: OpenerDirector = build_opener(
            *handlers, HTTPSHandler(context=context)
        )

    def ask(
        self,
        url: str,
        form: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
        data: object = None,
    ) -> Answer:
        """Send a form, JSON data or nothing, and return the response whatever it is."""
        sent, given = None, dict(headers or {})
        if form is not None:
            sent = urlencode(form).encode()
        elif data is not None:
            sent = json.dumps(data).encode()
            given["Content-Type"] = "application/json"
        request = Request(url, sent, given, method=method)
        try:
            with self._opener.open(request, timeout=10) as response:
                return Answer(response.status, response.headers, response.read())
        except HTTPError as refused:
            with refused:
                return Answer(refused.code, refused.headers, refused.read())


def basic_header(client: str, secret: str) -> dict[str, str]:
    """Authenticate a client as RFC 6749 §2.3.1 says: form-encoded, then base64."""
    pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def pkce() -> tuple[str, str]:
    """Return a code verifier and its challenge."""
    verifier = uuid.uuid4().hex * 2
    return verifier, _base64url(hashlib.sha256(verifier.encode()).digest())


def client_assertion(
    client: str, audience: str, key: JWK, algorithm: str
) -> dict[str, str]:
    """Return the parameters of private_key_jwt or client_secret_jwt."""
    now = int(time.time())
    claims = {
        "iss": client,
        "sub": client,
        "aud": audience,
        "jti": uuid.uuid4().hex,
        "iat": now,
        "exp": now + 60,
    }
    return {
        "client_id": client,
        "client_assertion_type": (
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        ),
        "client_assertion": signed({"alg": algorithm}, claims, key),
    }


def dpop_header(
    key: JWK,
    method: str,
    url: str,
    *,
    nonce: str | None = None,
    token: str | None = None,
) -> dict[str, str]:
    """Return the headers that prove the possession of a key, with the token if any."""
    claims: dict[str, object] = {
        "jti": uuid.uuid4().hex,
        "htm": method,
        "htu": url,
        "iat": int(time.time()),
    }
    if nonce:
        claims["nonce"] = nonce
    if token:
        claims["ath"] = _base64url(hashlib.sha256(token.encode()).digest())
    header = {"alg": "ES256", "typ": "dpop+jwt", "jwk": key.export_public(as_dict=True)}
    proof = {"DPoP": signed(header, claims, key)}
    return proof | ({"Authorization": f"DPoP {token}"} if token else {})


def signed(header: dict[str, Any], claims: dict[str, Any], key: JWK) -> str:
    signed = JWS(json.dumps(claims))
    signed.allowed_algs = [header["alg"]]
    signed.add_signature(key, protected=json.dumps(header))
    return str(signed.serialize(compact=True))


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


# ── the user's part ───────────────────────────────────────────────────────────────────


class _FirstForm(HTMLParser):
    """The first form of a page: its URL, and what a user who agrees would send."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form" and self.action is None:
            self.action = given.get("action") or ""
            self._inside = True
        elif tag == "input" and self._inside and (name := given.get("name")):
            filled = {"login": USER, "username": USER, "password": PASSWORD}
            self.fields[name] = filled.get(name, given.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "form"


def walk_forms(asker: Asker, url: str) -> str | None:
    """Log in and agree, page by page, as a user would.

    Return the address at another origin that the server finally sends the user to,
    without going there, or nothing when the last page has no form.
    """
    origin = _origin(url)
    answer = asker.ask(url)
    for _ in range(20):
        if location := answer.headers.get("Location"):
            url = urljoin(url, location)
            if _origin(url) != origin:
                return url
            answer = asker.ask(url)
            continue
        if answer.status != 200:
            raise AssertionError(
                f"{answer.status} from {urlsplit(url).path}: {answer.body!r}"
            )
        form = _FirstForm(answer.body.decode())
        if form.action is None:
            return None
        url = urljoin(url, form.action)
        answer = asker.ask(url, form.fields, headers={"Referer": url})
    raise AssertionError("there is no end to the forms")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


@dataclass(frozen=True, slots=True)
class Calls:
    """What a server counted since it started."""

    token: int  # requests for tokens
    grants: Mapping[str, int]  # of these, by grant type
    statuses: Mapping[str, int]  # of these, by status of the answer
    paths: Mapping[str, int]  # all requests, by path


# ── oidc-provider ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Oidc:
    """A running oidc-provider: one memory, two issuers."""

    url: str
    tls_url: str
    clients: Mapping[str, str | None]  # secrets by client
    keys: Mapping[str, Path]  # private keys of private_key_jwt by client, as PEM
    pki: Pki
    resource: str = "https://api.example/orders"  # for the parameter `resource`

    def endpoint(self, name: str, *, tls: bool = False) -> str:
        return (self.tls_url if tls else self.url) + _OIDC_PATHS[name]

    def calls(self) -> Calls:
        return Calls(**self._own("/_calls"))

    def seed_refresh(
        self, client: str = "web", scope: str = "openid offline_access api:read"
    ) -> str:
        """Return a new refresh token, as if the user had agreed."""
        asked = urlencode({"client": client, "scope": scope})
        return str(self._own(f"/_seed_refresh?{asked}")["refresh_token"])

    def seed_access(self, account: str) -> str:
        """Return an access token of a user, for another application."""
        asked = urlencode({"account": account})
        return str(self._own(f"/_seed_access?{asked}")["access_token"])

    def approve(self, authorize_url: str) -> str:
        """Agree as the user; return the address of the application with the code."""
        callback = walk_forms(Asker(self.context()), authorize_url)
        assert callback is not None
        return callback

    def approve_device(self, user_code: str, *, deny: bool = False) -> None:
        """Decide for the user about a device, without pages."""
        asked = {"user_code": user_code} | ({"deny": "1"} if deny else {})
        self._own(f"/_approve_device?{urlencode(asked)}")

    def register(self, client_id: str, **metadata: object) -> None:
        """Add a client, or replace it, by its registered metadata."""
        self._own("/_client", {"client_id": client_id} | metadata)

    def context(self, certificate: str | None = None) -> ssl.SSLContext:
        """Return a context that trusts the server, with a client certificate if any."""
        context = ssl.create_default_context(cafile=self.pki.ca)
        if certificate:
            context.load_cert_chain(
                self.pki.certificate(certificate), self.pki.key(certificate)
            )
        return context

    def _own(self, target: str, data: object = None) -> Any:  # noqa: ANN401 - JSON
        answer = Asker().ask(self.url + target, data=data)
        assert answer.status == 200, answer.body
        return answer.json


@contextmanager
def oidc_running(
    folder: Path,
    pki: Pki,
    *,
    client_token_seconds: int = 600,
    user_token_seconds: int = 600,
    refresh_token_seconds: int = 3600,
    device_code_seconds: int = 600,
    redirect_uris: tuple[str, ...] = (REDIRECT,),
    dpop_nonce: bool = False,
    rotate: bool = True,
    token_delay: float = 0.0,
) -> Iterator[Oidc]:
    """Run oidc-provider until the block ends.

    `dpop_nonce` demands a nonce at the token endpoint and at the resource;
    `token_delay` holds back each answer of the token endpoint, so that requests meet
    there.
    """
    program = require_node()
    modules = require(
        INSTALLED / "node_modules" / "oidc-provider",
        "missing npm package: oidc-provider (make .venv/.dev installs it)",
    ).parent
    keys = {alg: JWK.generate(**kind) for alg, kind in _KINDS.items()}
    files = {}
    for alg, key in keys.items():
        files[_assertion_client(alg)] = path = folder / f"{alg}.pem"
        path.write_bytes(key.export_to_pem(private_key=True, password=None))
    clients = _oidc_clients(pki, keys, list(redirect_uris))
    settings = {
        "clients": clients,
        "client_token_seconds": client_token_seconds,
        "user_token_seconds": user_token_seconds,
        "refresh_token_seconds": refresh_token_seconds,
        "device_code_seconds": device_code_seconds,
        "dpop_nonce": dpop_nonce,
        "rotate": rotate,
        "token_delay": token_delay,
        "node_modules": str(modules),
        "tls": {
            "key": pki.key("good"),
            "certificate": pki.certificate("good"),
            "ca": pki.ca,
        },
    }
    script = str(Path(__file__).with_name("oidc_provider.mjs"))
    with running([str(program), script, json.dumps(settings)], folder) as process:
        wait_until(lambda: bool(_printed_ports(folder)), "oidc-provider", process)
        ports = _printed_ports(folder)
        yield Oidc(
            url=f"http://127.0.0.1:{ports['http']}",
            tls_url=f"https://127.0.0.1:{ports['https']}",
            clients={
                client["client_id"]: client.get("client_secret") for client in clients
            },
            keys=files,
            pki=pki,
        )


def require_node() -> Path:
    found = shutil.which("node")
    program = require(found, "missing program: node (Debian package nodejs)")
    command = [str(program), "--version"]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=10
    ).stdout
    version = tuple(int(part) for part in said.strip().removeprefix("v").split("."))
    # Older ones lack functions that oidc-provider calls when it verifies a proof.
    new_enough = found if version >= (20, 12) else None
    return require(
        new_enough, f"missing program: node 20.12 or newer (this is {said.strip()})"
    )


_KINDS = {
    "ES256": {"kty": "EC", "crv": "P-256"},
    "RS256": {"kty": "RSA", "size": 2048},
    "PS256": {"kty": "RSA", "size": 2048},
}


def _assertion_client(algorithm: str) -> str:
    return f"cc_pkjwt_{algorithm.lower()}"


def _printed_ports(folder: Path) -> dict[str, int]:
    for line in (folder / "output").read_text(errors="replace").splitlines():
        if line.startswith('{"ports"'):
            return dict(json.loads(line)["ports"])
    return {}


def _oidc_clients(
    pki: Pki, keys: Mapping[str, JWK], redirects: list[str]
) -> list[dict[str, Any]]:
    machine: dict[str, Any] = {
        "grant_types": ["client_credentials"],
        "redirect_uris": [],
        "response_types": [],
        "scope": "api:read api:write",
    }
    user: dict[str, Any] = {
        "grant_types": ["authorization_code", "refresh_token", DEVICE_GRANT],
        "redirect_uris": redirects,
        "response_types": ["code"],
        "scope": "openid offline_access api:read api:write",
    }
    basic = {
        "client_secret": SECRET,
        "token_endpoint_auth_method": "client_secret_basic",
    }
    post = {"client_secret": SECRET, "token_endpoint_auth_method": "client_secret_post"}
    by_secret = {
        "client_secret": SECRET,
        "token_endpoint_auth_method": "client_secret_jwt",
    }
    bound = {"tls_client_certificate_bound_access_tokens": True}
    return [
        machine | basic | {"client_id": "cc_basic"},
        machine | basic | {"client_id": SPECIAL_ID, "client_secret": SPECIAL_SECRET},
        machine | post | {"client_id": "cc_post"},
        machine
        | by_secret
        | {
            "client_id": "cc_sjwt",
            "token_endpoint_auth_signing_alg": "HS256",
        },
        *(
            machine
            | {
                "client_id": _assertion_client(alg),
                "jwks": {
                    "keys": [
                        key.export_public(as_dict=True) | {"alg": alg, "use": "sig"}
                    ]
                },
                "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_signing_alg": alg,
            }
            for alg, key in keys.items()
        ),
        machine
        | bound
        | {
            "client_id": "cc_mtls",
            "tls_client_auth_san_dns": "client.example",
            "token_endpoint_auth_method": "tls_client_auth",
        },
        machine
        | bound
        | {
            "client_id": "cc_ssmtls",
            "jwks": {"keys": [_certificate_key(pki.certificate("selfsigned"))]},
            "token_endpoint_auth_method": "self_signed_tls_client_auth",
        },
        machine | basic | {"client_id": "cc_dpop", "dpop_bound_access_tokens": True},
        user | basic | {"client_id": "web"},
        user | basic | {"client_id": "web_dpop", "dpop_bound_access_tokens": True},
        user | {"client_id": "public", "token_endpoint_auth_method": "none"},
    ]


def _certificate_key(path: str) -> dict[str, Any]:
    certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()
    public = JWK.from_pyca(certificate.public_key()).export_public(as_dict=True)
    return dict(public) | {"x5c": [der]}


# ── django-oauth-toolkit ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A running django-oauth-toolkit."""

    url: str
    clients: Mapping[str, str]  # secrets by client

    def endpoint(self, name: str) -> str:
        return self.url + _TOOLKIT_PATHS[name]

    def calls(self) -> Calls:
        return Calls(**Asker().ask(f"{self.url}/_calls").json)

    def seed_refresh(self, client: str = "web", scope: str = "read write") -> str:
        """Return a new refresh token, as if the user had agreed."""
        return self._seed(client=client, scope=scope)["refresh_token"]

    def expired_token(self) -> str:
        """Return an access token that was good until a minute ago."""
        return self._seed(seconds="-60")["access_token"]

    def _seed(self, **asked: str) -> dict[str, str]:
        answer = Asker().ask(f"{self.url}/_seed_refresh?{urlencode(asked)}")
        return dict(answer.json)

    def approve(self, authorize_url: str) -> str:
        """Agree as the user; return the address of the application with the code."""
        callback = walk_forms(Asker(), authorize_url)
        assert callback is not None
        return callback


@contextmanager
def toolkit_running(
    folder: Path,
    *,
    token_seconds: int = 600,
    refresh_token_seconds: int = 3600,
    grace_seconds: int = 0,
    redirect_uris: tuple[str, ...] = (REDIRECT,),
    rotate: bool = True,
    token_delay: float = 0.0,
) -> Iterator[Toolkit]:
    """Run django-oauth-toolkit under gunicorn until the block ends."""
    confidential = {"client_type": "confidential", "client_secret": SECRET}
    machine = confidential | {"authorization_grant_type": "client-credentials"}
    user = confidential | {
        "authorization_grant_type": "authorization-code",
        "redirect_uris": " ".join(redirect_uris),
    }
    clients = [
        machine | {"client_id": "cc"},
        machine | {"client_id": SPECIAL_ID, "client_secret": SPECIAL_SECRET},
        user | {"client_id": "web"},
        confidential | {"client_id": "ropc", "authorization_grant_type": "password"},
    ]
    # The socket is bound here and inherited, so nobody else can take the port.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = {
            "clients": clients,
            "grace_seconds": grace_seconds,
            "password": PASSWORD,
            "refresh_token_seconds": refresh_token_seconds,
            "rotate": rotate,
            "socket": listener.fileno(),
            "token_delay": token_delay,
            "token_seconds": token_seconds,
            "user": USER,
        }
        script = str(Path(__file__).with_name("toolkit_server.py"))
        command = [sys.executable, script, json.dumps(settings)]
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with running(command, folder, inherited=[listener.fileno()]) as process:
            wait_until(
                partial(_answers, f"{url}/_calls"), "django-oauth-toolkit", process
            )
            yield Toolkit(
                url, {str(each["client_id"]): each["client_secret"] for each in clients}
            )


def _answers(url: str) -> bool:
    try:
        Asker().ask(url)
    except (OSError, http.client.HTTPException):
        return False
    return True


# ── glewlwyd ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Glewlwyd:
    """A running glewlwyd with its plugin for OpenID Connect."""

    url: str
    clients: Mapping[str, str]  # secrets by client
    log: Path

    def endpoint(self, name: str) -> str:
        return self.url + _GLEWLWYD_PATHS[name]

    def issued(self, client: str) -> int:
        """Count the access tokens of a client in the server's own log."""
        return self.log.read_text().count(
            f"Access token generated for client '{client}'"
        )

    def seed_refresh(self, client: str = "web", scope: str = "read") -> str:
        """Return a new refresh token, got with the user's password."""
        answer = Asker().ask(
            self.endpoint("token"),
            {
                "grant_type": "password",
                "username": USER,
                "password": PASSWORD,
                "scope": scope,
            },
            headers=basic_header(client, self.clients[client]),
        )
        return str(answer.json["refresh_token"])

    def approve(
        self, authorize_url: str, client: str = "web", scope: str = "read"
    ) -> str:
        """Agree as the user; return the address of the application with the code."""
        answer = self._as_user(client, scope).ask(f"{authorize_url}&g_continue")
        assert answer.status == 302, answer.body
        return str(answer.headers["Location"])

    def approve_device(
        self, user_code: str, client: str = "web", scope: str = "read"
    ) -> None:
        """Agree as the user that a device may act for them."""
        asked = (
            f"{self.url}/api/oidc/device?{urlencode({'code': user_code})}&g_continue"
        )
        assert self._as_user(client, scope).ask(asked).status == 302

    def _as_user(self, client: str, scope: str) -> Asker:
        asker = Asker()
        api = partial(_api, asker, f"{self.url}/api")
        api("POST", "/auth/", {"username": USER, "password": PASSWORD})
        api("PUT", f"/auth/grant/{quote(client, safe='')}", {"scope": scope})
        return asker


@contextmanager
def glewlwyd_running(folder: Path, *, token_seconds: int = 600) -> Iterator[Glewlwyd]:
    """Run glewlwyd until the block ends."""
    program, installed = _glewlwyd_command()

    def command(port: int) -> list[str]:
        database = folder / f"{port}.sqlite3"
        _make_database(database, installed)
        url = f"http://127.0.0.1:{port}"
        (folder / "conf").write_text(_glewlwyd_conf(installed, url, port, database))
        return [*program, "--config-file", str(folder / "conf")]

    with listening(folder, "glewlwyd", command, "/api/") as port:
        url = f"http://127.0.0.1:{port}"
        yield Glewlwyd(url, _configure_glewlwyd(url, token_seconds), folder / "output")


def _glewlwyd_command() -> tuple[list[str], Path]:
    """Return how to start it, and the root that it was installed or unpacked into."""
    if found := shutil.which("glewlwyd"):
        return [found], Path("/")
    root = INSTALLED / "debian"
    program = require(
        root / "usr/bin/glewlwyd",
        "missing program: glewlwyd (make .venv/.dev unpacks it)",
    )
    libraries = ":".join(
        str(path) for path in sorted((root / "usr/lib").glob("*-linux-*"))
    )
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(program)], root


def _make_database(path: Path, root: Path) -> None:
    tables = root / "usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
    database = sqlite3.connect(path)
    try:
        database.executescript(tables.read_text())
    finally:
        database.close()


def _glewlwyd_conf(root: Path, url: str, port: int, database: Path) -> str:
    modules = {
        "user_module_path": "user",
        "user_middleware_module_path": "user_middleware",
        "client_module_path": "client",
        "user_auth_scheme_module_path": "scheme",
        "plugin_module_path": "plugin",
    }
    paths = "\n".join(
        f'{key}="{root}/usr/lib/glewlwyd/{kind}"' for key, kind in modules.items()
    )
    return f"""
port={port}
bind_address="127.0.0.1"
external_url="{url}"
login_url="login.html"
api_prefix="api"
log_mode="console"
log_level="INFO"
cookie_domain="127.0.0.1"
cookie_secure=0
session_expiration=3600
session_key="session"
admin_scope="g_admin"
profile_scope="g_profile"
{paths}
hash_algorithm="SHA512"
database={{ type="sqlite3" path="{database}" }};
"""


def _configure_glewlwyd(url: str, token_seconds: int) -> dict[str, str]:
    """Configure the new server as an administrator would; return secrets by client."""
    api = partial(_api, Asker(), f"{url}/api")
    api("POST", "/auth/", {"username": "admin", "password": "password"})
    for scope in ("read", "write"):
        api("POST", "/scope/", {"name": scope, "password_required": True, "scheme": {}})
    user = {"username": USER, "password": PASSWORD, "enabled": True}
    api("POST", "/user/", user | {"scope": ["read", "write", "openid", "g_profile"]})
    parameters = {
        "iss": f"{url}/api/oidc",
        "jwt-type": "sha",
        "jwt-key-size": "256",
        "key": SECRET,
        "access-token-duration": token_seconds,
        "refresh-token-duration": 3600,
        "refresh-token-one-use": "always",
        "code-duration": 60,
        "allow-non-oidc": True,
        "auth-type-code-enabled": True,
        "auth-type-client-enabled": True,
        "auth-type-device-enabled": True,
        "auth-type-password-enabled": True,
        "auth-type-refresh-enabled": True,
        "device-authorization-interval": 1,
        "device-authorization-expiration": 600,
        "introspection-revocation-allowed": True,
        "introspection-revocation-allow-target-client": True,
        "pkce-allowed": True,
        "pkce-required": True,
    }
    plugin = {
        "module": "oidc",
        "name": "oidc",
        "display_name": "oidc",
        "parameters": parameters,
    }
    api("POST", "/mod/plugin/", plugin)
    client: dict[str, object] = {
        "confidential": True,
        "enabled": True,
        "redirect_uri": [REDIRECT],
        "scope": ["read", "write"],
        "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"],
    }
    machine = client | {"authorization_type": ["client_credentials"]}
    # Only a client of client_credentials may introspect and revoke.
    kinds = [
        "code",
        "device_authorization",
        "password",
        "refresh_token",
        "client_credentials",
    ]
    web = client | {"authorization_type": kinds}
    secrets = {"cc": SECRET, "cc_special": SPECIAL_SECRET, "web": SECRET}
    for name, secret in secrets.items():
        given = {"client_id": name, "client_secret": secret}
        api("POST", "/client/", (web if name == "web" else machine) | given)
    return secrets


def _api(asker: Asker, api: str, method: str, target: str, data: object) -> None:
    answer = asker.ask(api + target, method=method, data=data)
    assert answer.status == 200, f"{answer.status} from {target}: {answer.body!r}"
