"""Two real registries of packages on loopback, that nobody here wrote.

- docker-registry (Go): challenges with realm, service and scope, errors as JSON, and
  notifications of what was pushed;
- verdaccio (Node.js): one challenge with two schemes, and tokens that expire untold.

Nothing here knows outkey.
"""

import base64
import hashlib
import json
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from jwcrypto.jwk import JWK

from peers.authorization_servers import (
    INSTALLED,
    Asker,
    basic_header,
    require_node,
    signed,
)
from peers.certificates import Pki
from peers.servers import listening, require, wait_until, write_users

USERS = {"alice": "registry-password-of-alice", "bob": "registry-password-of-bob"}
_DOCKER = "application/vnd.docker"
MANIFEST = f"{_DOCKER}.distribution.manifest.v2+json"
_SERVICE, _ISSUER = "packages", "issuer.example"


# ── docker-registry ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DockerRegistry:
    """Two running docker-registries: one wants passwords, the other signed tokens."""

    url: str
    token_url: str
    pki: Pki

    def token(self, *actions: str, lifetime: float = 600, signer: str = "good") -> str:
        """Sign a token for the repository `parts`, as the registry's service would."""
        now = int(time.time())
        claims = {
            "iss": _ISSUER,
            "aud": _SERVICE,
            "sub": "alice",
            "jti": uuid.uuid4().hex,
            "nbf": now - 3600,
            "exp": now + int(lifetime),
            "access": [
                {"type": "repository", "name": "parts", "actions": list(actions)}
            ],
        }
        certificate = x509.load_pem_x509_certificate(
            Path(self.pki.certificate(signer)).read_bytes()
        )
        chain = [base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()]
        key = JWK.from_pem(Path(self.pki.key(signer)).read_bytes())
        return signed({"typ": "JWT", "alg": "ES256", "x5c": chain}, claims, key)


@contextmanager
def docker_registry_running(folder: Path, pki: Pki) -> Iterator[DockerRegistry]:
    """Run docker-registry twice until the block ends."""
    write_users(folder / "users", USERS)
    ways: dict[str, dict[str, object]] = {
        "htpasswd": {"realm": _SERVICE, "path": str(folder / "users")},
        "token": {
            "realm": "https://issuer.example/token",
            "service": _SERVICE,
            "issuer": _ISSUER,
            "rootcertbundle": pki.ca,
        },
    }
    with ExitStack() as closing:
        ports = {
            way: closing.enter_context(
                _one_registry(folder / way, {"auth": {way: settings}})
            )
            for way, settings in ways.items()
        }
        urls = {way: f"http://127.0.0.1:{port}" for way, port in ports.items()}
        yield DockerRegistry(urls["htpasswd"], urls["token"], pki)


@contextmanager
def _one_registry(folder: Path, more: Mapping[str, object]) -> Iterator[int]:
    program = require(
        shutil.which("docker-registry") or INSTALLED / "debian/usr/bin/docker-registry",
        "missing program: docker-registry (make .venv/.dev unpacks it)",
    )
    folder.mkdir()

    def command(port: int) -> list[str]:
        settings = {
            "version": "0.1",
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
            "http": {"addr": f"127.0.0.1:{port}"},
        } | more
        (folder / "conf").write_text(json.dumps(settings))  # JSON is YAML too
        return [str(program), "serve", str(folder / "conf")]

    with listening(folder, "docker-registry", command) as port:
        yield port


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the registry knows it."""

    repository: str
    tag: str
    digest: str  # of its manifest
    blobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotifyingRegistry:
    """A running docker-registry that posts to an endpoint what was pushed."""

    url: str

    def push(self, repository: str, tag: str) -> Image:
        """Push an image of one layer, as the client of Docker does."""
        layer, config = (
            self._push_blob(repository, f"{repository}:{tag} {part}".encode())
            for part in ("layer", "config")
        )
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": f"{_DOCKER}.container.image.v1+json"} | config,
            "layers": [{"mediaType": f"{_DOCKER}.image.rootfs.diff.tar.gzip"} | layer],
        }
        headers = self._send(
            "PUT",
            f"{self.url}/v2/{repository}/manifests/{tag}",
            json.dumps(manifest).encode(),
            MANIFEST,
        )
        digest = headers["Docker-Content-Digest"]
        return Image(
            repository, tag, digest, (str(layer["digest"]), str(config["digest"]))
        )

    def _push_blob(self, repository: str, data: bytes) -> dict[str, object]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        begun = self._send("POST", f"{self.url}/v2/{repository}/blobs/uploads/")
        place = f"{begun['Location']}&{urlencode({'digest': digest})}"
        self._send("PUT", place, data, "application/octet-stream")
        return {"digest": digest, "size": len(data)}

    def _send(
        self, method: str, url: str, body: bytes = b"", media_type: str = ""
    ) -> Mapping[str, str]:
        headers = {"Content-Type": media_type} if media_type else {}
        request = Request(url, body, headers, method=method)
        with build_opener(ProxyHandler({})).open(request, timeout=30) as response:
            return dict(response.headers.items())


@contextmanager
def notifying_registry_running(
    folder: Path, endpoint: str, token: str
) -> Iterator[NotifyingRegistry]:
    """Run docker-registry until the block ends.

    After three failures it pauses for a second before it tries again, for ever.
    """
    settings = {
        "name": "outkey",
        "url": endpoint,
        "headers": {"Authorization": [f"Bearer {token}"]},
        "timeout": "5s",
        "threshold": 3,
        "backoff": "1s",
    }
    more = {"notifications": {"endpoints": [settings]}}
    with _one_registry(folder / "registry", more) as port:
        yield NotifyingRegistry(f"http://127.0.0.1:{port}")


# ── verdaccio ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Verdaccio:
    """A running verdaccio; its tokens live for a second."""

    url: str

    def expired_token(self, user: str = "alice") -> str:
        """Log in as npm does, and wait until the token is no longer good."""
        answer = Asker().ask(
            f"{self.url}/-/user/org.couchdb.user:{user}",
            method="PUT",
            data={"name": user, "password": USERS[user]},
            headers=basic_header(user, USERS[user]),
        )
        token = str(answer.json["token"])
        header = {"Authorization": f"Bearer {token}"}
        wait_until(
            lambda: Asker().ask(f"{self.url}/parts", headers=header).status == 401,
            "a token's end",
        )
        return token


@contextmanager
def verdaccio_running(folder: Path) -> Iterator[Verdaccio]:
    """Run verdaccio until the block ends."""
    node = require_node()
    package = require(
        INSTALLED / "node_modules" / "verdaccio",
        "missing npm package: verdaccio (make .venv/.dev installs it)",
    )
    write_users(folder / "users", USERS)

    def command(port: int) -> list[str]:
        settings = {
            "listen": f"127.0.0.1:{port}",
            "storage": str(folder / "storage"),
            "auth": {"htpasswd": {"file": str(folder / "users")}},
            "packages": {
                "private": {"access": "bob"},
                "**": {"access": "$authenticated"},
            },
            "security": {"api": {"jwt": {"sign": {"expiresIn": "1s"}}}},
            "web": {"enable": False},
            "log": {"type": "stdout", "format": "json", "level": "warn"},
        }
        (folder / "conf.yaml").write_text(json.dumps(settings))  # JSON is YAML too
        return [
            str(node),
            str(package / "bin/verdaccio"),
            "--config",
            str(folder / "conf.yaml"),
        ]

    with listening(folder, "verdaccio", command, "/-/ping") as port:
        yield Verdaccio(f"http://127.0.0.1:{port}")
