import hashlib
import json
import re
import sys
import traceback
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cache

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS, InvalidJWSSignature

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.core.oauth2.assertions import Assertion

CLAIMS = {
    "iss": "acme-app",
    "aud": "https://auth.acme.example/token",
    "exp": 1_800_000_060,
}
SIGNER = JoseSigner()
PKCS8 = serialization.PrivateFormat.PKCS8
TRADITIONAL = serialization.PrivateFormat.TraditionalOpenSSL
CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


@cache
def private_key(kind: str) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    """Make a key once, since RSA keys take long."""
    if kind == "RSA":
        return rsa.generate_private_key(65537, 2048)
    return ec.generate_private_key(CURVES[kind])


def pem(
    key: object,
    form: serialization.PrivateFormat = PKCS8,
    protection: serialization.KeySerializationEncryption | None = None,
) -> str:
    protection = protection or serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, protection).decode()  # type: ignore[attr-defined]


@cache
def loaded(kind: str) -> JWK:
    """Return a private key in the other library, which checks it for long."""
    return JWK.from_pem(pem(private_key(kind)).encode())


def jwk(kind: str, **more: object) -> str:
    """Return a private key as a JWK, as the other library writes it."""
    known = json.loads(loaded(kind).export_private())
    return json.dumps({name: known[name] for name in known if name != "kid"} | more)


def assertion(key: Secret, *, shared: bool = False, **more: str) -> Secret:
    content = Assertion(CLAIMS, key, "client_secret", is_shared=shared, **more)
    return SIGNER.assertion(content)


def verified(token: Secret, key: JWK) -> tuple[dict[str, object], dict[str, object]]:
    """Return header and claims of a token that another library has verified."""
    signed = JWS()
    signed.deserialize(token.reveal(), key)
    return signed.jose_header, json.loads(signed.payload)


def public(kind: str) -> JWK:
    return JWK.from_json(loaded(kind).export_public())


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256"])
def test_an_algorithm_may_be_chosen_for_the_key(algorithm: str) -> None:
    signed = assertion(Secret(jwk("RSA", alg="RS256")), algorithm=algorithm)
    header, claims = verified(signed, public("RSA"))
    assert (header["alg"], claims) == (algorithm, CLAIMS)


def test_a_key_id_that_was_entered_is_sent_in_place_of_the_keys_own() -> None:
    signed = assertion(Secret(jwk("RSA", kid="of-the-file")), key_id="entered")
    header, _ = verified(signed, public("RSA"))
    assert header["kid"] == "entered"


@pytest.mark.parametrize(
    ("kind", "algorithm", "fitting"),
    [("P-256", "RS256", "ES256"), ("RSA", "ES256", "RS256")],
)
def test_an_algorithm_of_another_kind_of_key_is_refused(
    kind: str, algorithm: str, fitting: str
) -> None:
    key = Secret(pem(private_key(kind)))
    error = refusal(lambda: assertion(key, algorithm=algorithm))
    assert isinstance(error, ConfigError)
    assert error.field == "oauth2.assertion.algorithm"
    assert fitting in str(error.hint)


# ── assertions ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "secret", ["a-client-secret-of-some-length-7", "ü€" * 16, "0" * 500]
)
def test_a_shared_secret_signs_with_hs256(secret: str) -> None:
    key = JWK(kty="oct", k=urlsafe_b64encode(secret.encode()).rstrip(b"=").decode())
    header, claims = verified(assertion(Secret(secret), shared=True), key)
    assert (header["alg"], claims) == ("HS256", CLAIMS)
    assert "kid" not in header


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [("RSA", "RS256"), ("P-256", "ES256"), ("P-384", "ES384"), ("P-521", "ES512")],
)
@pytest.mark.parametrize(
    "written",
    [
        lambda kind: pem(private_key(kind)),
        lambda kind: pem(private_key(kind), TRADITIONAL),
        lambda kind: f"\n  {pem(private_key(kind))}\n\n",
        lambda kind: pem(private_key(kind)).replace("\n", "\r\n"),
        jwk,
        lambda kind: f" {json.dumps(json.loads(jwk(kind)), indent=2)}\n",
    ],
    ids=[
        "pem",
        "traditional pem",
        "pem in blanks",
        "pem of windows",
        "jwk",
        "indented jwk",
    ],
)
def test_a_private_key_signs_with_what_is_usual_for_it(
    written: Callable[[str], str], kind: str, algorithm: str
) -> None:
    signed = assertion(Secret(written(kind)))
    header, claims = verified(signed, public(kind))
    assert (header["alg"], claims) == (algorithm, CLAIMS)
    assert set(header) <= {"alg", "typ"}


@pytest.mark.parametrize(
    "algorithm", ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]
)
def test_a_jwk_may_say_how_it_signs(algorithm: str) -> None:
    signed = assertion(Secret(jwk("RSA", alg=algorithm)))
    assert verified(signed, public("RSA"))[0]["alg"] == algorithm


def test_the_names_of_a_jwk_are_in_the_header_and_nothing_else_of_it() -> None:
    named = {"kid": "key-7", "x5t": "dGh1bWI", "x5t#S256": "dGh1bWIy"}
    key = Secret(jwk("RSA", **named, use="sig", x5c=["MIIB"], alg="PS256"))
    header, _ = verified(assertion(key), public("RSA"))
    assert header == named | {"alg": "PS256", "typ": "JWT"}


def test_another_key_does_not_verify() -> None:
    signed = assertion(Secret(pem(private_key("P-256"))))
    with pytest.raises(InvalidJWSSignature):
        verified(signed, JWK.generate(kty="EC", crv="P-256"))


# ── keys that are none ────────────────────────────────────────────────────────────────


def refusal(attempt: Callable[[], object]) -> OutkeyError:
    """Return how an attempt is refused; this frame holds no text of a secret."""
    try:
        attempt()
    except OutkeyError as error:
        return error
    raise AssertionError("it was not refused")


def everything(error: BaseException) -> str:
    """Return what a crash reporter would take: texts, notes, locals, history."""
    captured = traceback.TracebackException.from_exception(error, capture_locals=True)
    history = (error.__cause__, error.__context__)
    return "".join([*captured.format(), *map(repr, history), repr(vars(error))])


def pieces(text: str) -> list[str]:
    """Return the secret parts of a key; the words of a PEM file are not secret."""
    return re.findall(r"[A-Za-z0-9+/_]{12,}", text) or [text]


NO_KEYS: dict[str, Callable[[], str]] = {
    "garbage": lambda: "this-is-no-key-at-all",
    "empty": lambda: "",
    "blanks": lambda: " \n",
    "half a pem": lambda: pem(private_key("P-256"))[:120],
    "public pem": lambda: public("RSA").export_to_pem().decode(),
    "public jwk": lambda: public("RSA").export_public(),
    "encrypted pem": lambda: pem(
        private_key("P-256"), protection=serialization.BestAvailableEncryption(b"x")
    ),
    "ed25519": lambda: pem(ed25519.Ed25519PrivateKey.generate()),
    "dsa": lambda: pem(dsa.generate_private_key(1024)),
    "shared jwk": lambda: JWK.generate(kty="oct", size=256).export(),
    "okp jwk": lambda: JWK.generate(kty="OKP", crv="Ed25519").export(),
    "set of jwks": lambda: json.dumps({"keys": [json.loads(jwk("RSA"))]}),
    "half a jwk": lambda: jwk("RSA")[:-1],
    "jwk without its numbers": lambda: '{"kty": "RSA", "d": "AQAB-secret-part"}',
    "jwk that is a list": lambda: f"[{jwk('RSA')}]",
    "deep": lambda: '{"a":' * 100_000,
}


@pytest.mark.parametrize("kind", NO_KEYS)
def test_what_is_no_private_key_is_refused_without_being_shown(kind: str) -> None:
    key = Secret(NO_KEYS[kind]())
    error = refusal(lambda: assertion(key))
    assert isinstance(error, ConfigError)
    assert error.field == "client_secret"
    shown = everything(error)
    found = [
        piece for piece in pieces(key.reveal()) if piece.strip() and piece in shown
    ]
    assert len(found) == 0


UNFIT: dict[str, Callable[[], str]] = {
    "another curve": lambda: pem(ec.generate_private_key(ec.SECP256K1())),
    "for encryption": lambda: jwk("RSA", use="enc"),
    "only to verify": lambda: jwk("RSA", key_ops=["verify"]),
    "alg none": lambda: jwk("RSA", alg="none"),
    "alg of a shared secret": lambda: jwk("RSA", alg="HS256"),
    "alg of another kind": lambda: jwk("P-256", alg="RS256"),
    "alg of another curve": lambda: jwk("P-256", alg="ES384"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_a_key_that_cannot_sign_so_is_refused_without_being_shown(kind: str) -> None:
    key = Secret(UNFIT[kind]())
    error = refusal(lambda: assertion(key))
    assert isinstance(error, ConfigError)
    shown = everything(error)
    assert len([piece for piece in pieces(key.reveal()) if piece in shown]) == 0


def test_an_empty_shared_secret_is_refused() -> None:
    error = refusal(lambda: assertion(Secret(""), shared=True))
    assert isinstance(error, ConfigError)


# ── proofs ────────────────────────────────────────────────────────────────────────────

PROOF = {
    "htm": "GET",
    "htu": "https://api.acme.example/me",
    "iat": 1_800_000_000,
    "jti": "n-7",
}


def test_a_proof_is_verified_by_the_key_in_its_own_header() -> None:
    key = SIGNER.new_key()
    proof = SIGNER.proof(PROOF | {"nonce": "abc"}, key, Secret("v^1.1#token"))
    shown = JWS.from_jose_token(proof.reveal()).jose_header["jwk"]
    header, claims = verified(proof, JWK(**shown))
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert set(shown) == {"kty", "crv", "x", "y"}  # RFC 9449 §4.2: no private part
    digest = hashlib.sha256(b"v^1.1#token").digest()
    ath = urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert claims == PROOF | {"nonce": "abc", "ath": ath}


def test_a_proof_without_a_token_names_none() -> None:
    given = dict(PROOF)
    proof = SIGNER.proof(given, SIGNER.new_key(), None)
    header = JWS.from_jose_token(proof.reveal()).jose_header
    assert verified(proof, JWK(**header["jwk"]))[1] == PROOF


def test_what_is_to_be_proven_is_not_changed() -> None:
    given = dict(PROOF)
    SIGNER.proof(given, SIGNER.new_key(), Secret("t"))
    assert given == PROOF


def test_a_key_for_proofs_is_a_new_one_each_time_and_secret() -> None:
    keys = [SIGNER.new_key() for _ in range(5)]
    parts = [json.loads(key.reveal()) for key in keys]
    assert len({part["d"] for part in parts}) == 5
    assert {(part["kty"], part["crv"]) for part in parts} == {("EC", "P-256")}
    assert str(keys[0]) == "***"


@pytest.mark.parametrize(
    "kept", ["garbage-in-the-database", "{}", '{"kty": "EC", "d": "broken-key"}']
)
def test_a_broken_key_for_proofs_is_refused_without_being_shown(kept: str) -> None:
    key = Secret(kept)
    del kept
    error = refusal(lambda: SIGNER.proof(PROOF, key, None))
    shown = everything(error)
    assert isinstance(error, ConfigError)
    assert len([piece for piece in ("garbage-in", "broken-key") if piece in shown]) == 0


def test_a_token_that_is_no_ascii_is_refused_without_being_shown() -> None:
    key, token = SIGNER.new_key(), Secret("töken77")
    error = refusal(lambda: SIGNER.proof(PROOF, key, token))
    assert "ken77" not in everything(error)


# ── the rest ──────────────────────────────────────────────────────────────────────────


def test_what_is_fresh_is_long_and_never_the_same() -> None:
    made = {SIGNER.fresh() for _ in range(1000)}
    assert len(made) == 1000
    # RFC 7636 §4.1: a verifier has 43 to 128 characters of these.
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", text) for text in made)


def test_without_the_library_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "joserfc.jwk", None)
    attempts: list[Callable[[], object]] = [
        SIGNER.new_key,
        lambda: assertion(Secret("x" * 32), shared=True),
        lambda: assertion(Secret("x" * 32)),
    ]
    for attempt in attempts:
        assert "outkey[oauth2]" in refusal(attempt).hint


def test_a_token_about_its_issuer_names_the_account_of_the_key_file_twice() -> None:
    key = pem(private_key("RSA"))
    email = "erp@acme.iam.example"
    account = {"type": "service_account", "client_email": email, "private_key": key}
    content = Assertion(
        claims={"aud": "https://api.example/"},
        key=Secret(json.dumps(account)),
        key_name="private_key",
        is_about_issuer=True,
    )
    payload = SIGNER.assertion(content).reveal().split(".")[1]
    claims = json.loads(urlsafe_b64decode(payload + "=="))
    assert claims == {"aud": "https://api.example/", "iss": email, "sub": email}
