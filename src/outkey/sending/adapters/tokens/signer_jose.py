"""JSON Web Tokens: client assertions (RFC 7523) and DPoP proofs (RFC 9449).

Also RSA-SHA1 signatures of OAuth 1.0a (RFC 5849 §3.4.3), with keys of the same library.
"""

import hashlib
import json
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import ConfigError, drop_traceback
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import secret_label
from outkey.sending.core.oauth2.assertions import Assertion

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

# Members of a private JWK that are copied into the header,
# so that the provider finds the public key.
_COPIED_MEMBERS = ("kid", "x5t", "x5t#S256")
_BY_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
_FAMILIES = {"RSA": ("RS", "PS"), "EC": ("ES",)}  # the first letters of an algorithm
_ALGORITHMS = (
    "HS256",
    "RS256",
    "PS256",
    "ES256",
    "ES384",
    "ES512",
    "PS384",
    "PS512",
    "RS384",
    "RS512",
)


_NUMBERS = ("n", "d", "p", "q", "dp", "dq", "qi")  # of an RSA key
_MAX_NUMBER = 700  # characters in base64; 4096 bits have 683
_MAX_PEM = 4000  # characters; a key of 4096 bits has 3272


class JoseSigner:
    """Signs tokens; the library is loaded by the first signature."""

    @drop_traceback
    def assertion(self, content: Assertion) -> Secret:
        sign = _with_shared if content.is_shared else _with_private
        return content.key.derive(partial(sign, content))

    @drop_traceback
    def proof(
        self, claims: Mapping[str, object], key: Secret, token: Secret | None
    ) -> Secret:
        claims = dict(claims)
        if token is not None:
            claims["ath"] = token.derive(_hash).reveal()
        return key.derive(lambda text: _proof(claims, text))

    @drop_traceback
    def rsa_sha1(self, text: Secret, key: Secret) -> Secret:
        # A base string has no line break.
        return Secret.joined(text, "\n", key).derive(_rsa_sha1)

    def new_key(self) -> Secret:
        jwk = _library("jwk")
        return Secret(json.dumps(jwk.ECKey.generate_key("P-256").as_dict(private=True)))

    def fresh(self) -> str:
        return secrets.token_urlsafe(32)


def _library(part: str) -> Any:  # noqa: ANN401 - a module
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(f"joserfc.{part}")
    except ModuleNotFoundError:
        hint = Text("Install outkey[oauth2] or outkey[server].")
        raise ConfigError(
            Text("signing needs the package joserfc"), hint=hint
        ) from None


def _sign_token(
    header: dict[str, object],
    claims: Mapping[str, object],
    key: object,
    key_name: str = "client_secret",
) -> str:
    """Return a signed token; the error of a key that cannot sign never shows it."""
    jwt = _library("jwt")
    with suppress(Exception):  # any exception may hold the key
        return str(jwt.encode(header, dict(claims), key, algorithms=list(_ALGORITHMS)))
    hint = Text("Check the kind of key and the alg, use and key_ops of a JWK.")
    raise ConfigError(
        Text("{secret} cannot be used for signing", secret=secret_label(key_name)),
        field=key_name,
        hint=hint,
    )


def _with_shared(content: Assertion, text: str) -> str:
    header = {"alg": "HS256", **_named_key(content)}
    key = _library("jwk").OctKey.import_key(text)
    return _sign_token(header, content.claims, key)


def _named_key(content: Assertion) -> dict[str, object]:
    return {"kid": content.key_id} if content.key_id else {}


def _with_private(content: Assertion, text: str) -> str:
    account = _service_account(text)
    key = _private_key(account.get("private_key", text).strip(), content.key_name)
    members = key.as_dict(private=True)
    usual = _usual_algorithm(members)
    if (
        content.algorithm
        and content.algorithm[:2] not in _FAMILIES[str(members["kty"])]
    ):
        raise ConfigError(
            Text(
                "Signature algorithm {algorithm} does not fit the key of {secret}",
                algorithm=content.algorithm,
                secret=secret_label(content.key_name),
            ),
            field="oauth2.assertion.algorithm",
            hint=Text("This key signs by {algorithm}.", algorithm=usual),
        )
    algorithm = content.algorithm or members.get("alg") or usual
    if members.get("alg", algorithm) != algorithm:  # what was chosen wins
        key = _library("jwk").import_key({**members, "alg": algorithm})
    header: dict[str, object] = {"alg": algorithm}
    header |= {name: members[name] for name in _COPIED_MEMBERS if name in members}
    if "private_key_id" in account:
        header["kid"] = account["private_key_id"]
    header |= _named_key(content)
    claims = dict(content.claims)
    if "client_email" in account:
        claims.setdefault("iss", account["client_email"])
    if content.is_about_issuer:
        claims["sub"] = claims["iss"]
    return _sign_token(header, claims, key, content.key_name)


def _service_account(text: str) -> dict[str, str]:
    """Return the members of a service account file of Google; {} for any other key."""
    with suppress(ValueError, RecursionError):
        members = json.loads(text)
        if isinstance(members, dict) and members.get("type") == "service_account":
            return {
                name: value for name, value in members.items() if isinstance(value, str)
            }
    return {}


def _usual_algorithm(members: Mapping[str, object]) -> str:
    """Return the algorithm of a key that does not name one."""
    if members["kty"] == "RSA":
        return "RS256"
    return _BY_CURVE.get(str(members["crv"]), "ES256")


def _private_key(text: str, key_name: str) -> "ECKey | RSAKey":
    jwk = _library("jwk")
    try:
        _refuse_large(text)
        key = (
            jwk.import_key(json.loads(text))
            if text.startswith("{")
            else _from_pem(jwk, text)
        )
        usable = key.is_private and key.key_type in {"RSA", "EC"}
    except Exception:  # noqa: BLE001 - any exception may hold the key
        usable = False
    if not usable:
        message = Text(
            "{secret} is not a private key, which signing needs",
            secret=secret_label(key_name),
        )
        hint = Text(
            "Enter an RSA key of at most 4096 bits or an EC key, as unencrypted"
            " PEM or as a JWK."
        )
        raise ConfigError(message, field=key_name, hint=hint)
    private_key: ECKey | RSAKey = key
    return private_key


def _refuse_large(text: str) -> None:
    """Refuse a key of far more than 4096 bits before its numbers are checked.

    The check for primes takes seconds, grows with the fourth power of the length,
    and blocks all threads.
    """
    if text.startswith("{"):
        members = json.loads(text)
        is_large = any(len(members.get(name, "")) > _MAX_NUMBER for name in _NUMBERS)
    else:
        is_large = len(text) > _MAX_PEM
    if is_large:
        raise ValueError


def _from_pem(jwk: Any, text: str) -> Any:  # noqa: ANN401 - the library's module and key
    with suppress(Exception):  # another kind of key, or not a key
        return jwk.RSAKey.import_key(text)
    return jwk.ECKey.import_key(text)


def _hash(token: str) -> str:
    """Return the hash of a token for a proof (RFC 9449 §4.2, ath)."""
    digest = hashlib.sha256(token.encode("ascii")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _proof(claims: Mapping[str, object], text: str) -> str:
    key = _library("jwk").ECKey.import_key(json.loads(text))
    header: dict[str, object] = {"typ": "dpop+jwt", "alg": "ES256"}
    header["jwk"] = key.as_dict(private=False)
    return _sign_token(header, claims, key)


def _rsa_sha1(text_and_key: str) -> str:
    text, _, key_text = text_and_key.partition("\n")
    jwk = _library("jwk")
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    with suppress(Exception):  # any exception may hold the key
        _refuse_large(key_text.strip())
        key = _rsa_key(jwk, key_text.strip())
        # The standard knows no other hash for this method.
        algorithm = hashes.SHA1()  # noqa: S303
        signature = key.private_key.sign(text.encode(), padding.PKCS1v15(), algorithm)
        return b64encode(signature).decode("ascii")
    raise ConfigError(
        Text("Private Key is not an RSA key, which RSA-SHA1 needs"),
        field="private_key",
        hint=Text(
            "Enter an RSA key of at most 4096 bits, as unencrypted PEM or as a JWK."
        ),
    )


def _rsa_key(jwk: Any, text: str) -> Any:  # noqa: ANN401 - the library's module and key
    return jwk.RSAKey.import_key(json.loads(text) if text.startswith("{") else text)
