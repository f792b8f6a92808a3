"""The interface to public-key cryptography, since the core has no library."""

from typing import Protocol

from outkey.webhooks.core.schemes.scheme import SignatureAlgorithm


class PublicKeys(Protocol):
    """Public-key cryptography. Nothing here raises: what cannot be read is invalid."""

    def is_valid(
        self,
        algorithm: SignatureAlgorithm,
        key: bytes,
        message: bytes,
        signature: bytes,
    ) -> bool:
        """Whether the owner of the key signed the message.

        The key is the 32 bytes of an Ed25519 key, or a SubjectPublicKeyInfo as DER. One
        of another algorithm is invalid.
        """

    def algorithm_of(self, key: bytes) -> SignatureAlgorithm | None:
        """Return the algorithm of RFC 9421 that a key is for."""

    def key_of_certificate(
        self, certificate: bytes, *, host: str, now: float
    ) -> bytes | None:
        """Return the key of a certificate (PEM) that is valid now, as DER.

        With a host, the certificate must also be issued for it by a trusted authority.
        """

    def sign(self, key: bytes, message: bytes) -> bytes | None:
        """Return the signature by an Ed25519 key, given as its 32 or 64 bytes."""
