"""Verifying signatures of webhooks with public keys and certificates."""

from collections.abc import Callable
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, SHA512
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)
from cryptography.x509.verification import (
    PolicyBuilder,
    Store,
    VerificationError,
)

from outkey.webhooks.core.schemes.scheme import SignatureAlgorithm

_SEED_LENGTH = 32
_COORDINATE_LENGTH = 32
_MAX_CERTIFICATES = 256 * 1024
# Verifying takes time that grows with the key.
_MIN_RSA_BITS = 2048
_MAX_RSA_BITS = 4096
_HASHES = {
    SignatureAlgorithm.RSA_SHA1: SHA1(),  # noqa: S303 - what SNS signs by default
    SignatureAlgorithm.RSA_SHA256: SHA256(),
    SignatureAlgorithm.RSA_PSS_SHA512: SHA512(),
}


class CryptographyKeys:
    """Public keys by the library cryptography; `roots` are trusted authorities (PEM).

    They are read when the first certificate comes. Without authorities, no certificate
    is accepted for a host.
    """

    def __init__(self, roots: Callable[[], bytes] = bytes) -> None:
        self._roots = roots

    def is_valid(
        self,
        algorithm: SignatureAlgorithm,
        key: bytes,
        message: bytes,
        signature: bytes,
    ) -> bool:
        try:
            _verify(algorithm, key, message, signature)
        except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
            return False
        return True

    def algorithm_of(self, key: bytes) -> SignatureAlgorithm | None:
        try:
            public = load_der_public_key(key)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            return None
        if isinstance(public, ed25519.Ed25519PublicKey):
            return SignatureAlgorithm.ED25519
        if isinstance(public, rsa.RSAPublicKey):
            return SignatureAlgorithm.RSA_PSS_SHA512
        is_p256 = isinstance(public, ec.EllipticCurvePublicKey) and isinstance(
            public.curve, ec.SECP256R1
        )
        return SignatureAlgorithm.ECDSA_P256_PLAIN if is_p256 else None

    def key_of_certificate(
        self, certificate: bytes, *, host: str, now: float
    ) -> bytes | None:
        if len(certificate) > _MAX_CERTIFICATES:
            return None
        moment = datetime.fromtimestamp(now, UTC)
        try:
            chain = x509.load_pem_x509_certificates(certificate)
            if host:
                self._check_host(chain, host, moment)
            key = chain[0].public_key()
        except (ValueError, VerificationError, UnsupportedAlgorithm):
            return None
        start = chain[0].not_valid_before_utc
        if not start <= moment <= chain[0].not_valid_after_utc:
            return None
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def _check_host(
        self, chain: list[x509.Certificate], host: str, moment: datetime
    ) -> None:
        """Raise if no trusted authority issued the first certificate for the host."""
        store = Store(x509.load_pem_x509_certificates(self._roots()))
        verifier = (
            PolicyBuilder()
            .store(store)
            .time(moment)
            .build_server_verifier(x509.DNSName(host))
        )
        verifier.verify(chain[0], chain[1:])

    def sign(self, key: bytes, message: bytes) -> bytes | None:
        try:
            # The other half of 64 bytes is the public key.
            private = ed25519.Ed25519PrivateKey.from_private_bytes(key[:_SEED_LENGTH])
        except ValueError:
            return None
        return private.sign(message)


def _verify(
    algorithm: SignatureAlgorithm, key: bytes, message: bytes, signature: bytes
) -> None:
    """Raise InvalidSignature, ValueError or TypeError unless the signature is valid."""
    if algorithm is SignatureAlgorithm.ED25519:
        _ed25519_key(key).verify(signature, message)
    elif algorithm in {
        SignatureAlgorithm.ECDSA_P256,
        SignatureAlgorithm.ECDSA_P256_PLAIN,
    }:
        public = load_der_public_key(key)
        if not isinstance(public, ec.EllipticCurvePublicKey):
            raise TypeError
        if algorithm is SignatureAlgorithm.ECDSA_P256_PLAIN:
            signature = _as_der(signature)
        public.verify(signature, message, ec.ECDSA(SHA256()))
    else:
        _verify_rsa(algorithm, key, message, signature)


def _ed25519_key(key: bytes) -> ed25519.Ed25519PublicKey:
    if len(key) == _SEED_LENGTH:
        return ed25519.Ed25519PublicKey.from_public_bytes(key)
    public = load_der_public_key(key)
    if not isinstance(public, ed25519.Ed25519PublicKey):
        raise TypeError
    return public


def _as_der(signature: bytes) -> bytes:
    """Return r and s, written one after the other, as DER."""
    if len(signature) != 2 * _COORDINATE_LENGTH:
        raise ValueError
    return encode_dss_signature(
        int.from_bytes(signature[:_COORDINATE_LENGTH]),
        int.from_bytes(signature[_COORDINATE_LENGTH:]),
    )


def _verify_rsa(
    algorithm: SignatureAlgorithm, key: bytes, message: bytes, signature: bytes
) -> None:
    public = load_der_public_key(key)
    if not isinstance(public, rsa.RSAPublicKey):
        raise TypeError
    if not _MIN_RSA_BITS <= public.key_size <= _MAX_RSA_BITS:
        raise ValueError
    if algorithm not in _HASHES:
        raise ValueError
    digest = _HASHES[algorithm]
    if algorithm is SignatureAlgorithm.RSA_PSS_SHA512:
        mask = padding.MGF1(digest)
        public.verify(
            signature,
            message,
            padding.PSS(mgf=mask, salt_length=digest.digest_size),
            digest,
        )
    else:
        public.verify(signature, message, padding.PKCS1v15(), digest)
