"""Digest access authentication (RFC 7616, and RFC 2069 for MD5): computing only.

Texts of a challenge are kept as they arrived, one character for each byte, and are sent
back as the same bytes. User name and password are UTF-8.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import quote

from outkey.foundation.core.errors import HeaderFormatError
from outkey.foundation.core.text import Text
from outkey.sending.core.request.challenge import Challenge
from outkey.sending.core.request.headers import CONTROL_CHARACTER, check_length

_CONTROL_FAULTS = {
    "username": Text("Username has a control character"),
    "password": Text("Password has a control character"),
}
# So that a header with all of a challenge can be sent back. A longer
# one would be remembered, and stop every later request.
MAX_CHALLENGE = 4 * 1024
_LIST = re.compile(r"[\s,]+")
_SESSION = "-SESS"
# The strongest first. Others are never used: a server that offers nothing else gets no
# credentials at all.
_HASHES: dict[str, Callable[[bytes], "hashlib._Hash"]] = {
    "SHA-256": hashlib.sha256,
    "MD5": hashlib.md5,
}
_STRENGTH = tuple(_HASHES)


class DigestChallenge(NamedTuple):
    """The challenge of a server, if outkey can respond to it.

    `algorithm` is spelled as the server did, and empty if it named none.
    """

    realm: str
    nonce: str
    algorithm: str = ""
    opaque: str | None = None
    has_qop: bool = True
    hashes_user: bool = False
    is_utf8: bool = False

    @property
    def hash_name(self) -> str:
        """The name of the hash function."""
        return (self.algorithm or "MD5").upper().removesuffix(_SESSION)

    @property
    def is_session(self) -> bool:
        """Whether the password is hashed together with the first nonces."""
        return self.algorithm.upper().endswith(_SESSION)


class NonceUse(NamedTuple):
    """One use of a nonce: the number of the use, and our own random text."""

    challenge: DigestChallenge
    number: int
    client_nonce: str


class DigestProof(NamedTuple):
    """The proof of a password for one request, without the password."""

    username: str
    method: str
    use: NonceUse

    def header(self, password: str, target: str) -> str:
        """Return the value of the header Authorization."""
        for field, text in (("username", self.username), ("password", password)):
            if CONTROL_CHARACTER.search(text):
                raise HeaderFormatError(
                    _CONTROL_FAULTS[field], field=field, fault="invisible-characters"
                )
        challenge, number, client_nonce = self.use
        parts = [
            *self._user_parts(),
            f"realm={quoted(challenge.realm)}",
            f"nonce={quoted(challenge.nonce)}",
            f"uri={quoted(target)}",
            f'response="{self._response(password, target)}"',
        ]
        if challenge.algorithm:
            parts.append(f"algorithm={challenge.algorithm}")
        if challenge.opaque is not None:
            parts.append(f"opaque={quoted(challenge.opaque)}")
        if challenge.has_qop:
            parts += ["qop=auth", f"nc={number:08x}", f"cnonce={quoted(client_nonce)}"]
        return check_length("Digest " + ", ".join(parts), field="password")

    def _response(self, password: str, target: str) -> str:
        """Return the proof itself (RFC 7616 §3.4.1)."""
        challenge, number, client_nonce = self.use
        a1 = self._hash(self._user(), as_bytes(challenge.realm), utf8(password))
        if challenge.is_session:
            a1 = self._hash(a1, as_bytes(challenge.nonce), as_bytes(client_nonce))
        a2 = self._hash(self.method.encode(), as_bytes(target))
        between = [as_bytes(challenge.nonce)]
        if challenge.has_qop:
            between += [f"{number:08x}".encode(), as_bytes(client_nonce), b"auth"]
        return self._hash(a1, *between, a2).decode()

    def _user_parts(self) -> list[str]:
        challenge = self.use.challenge
        user = self._user()
        if challenge.hashes_user:
            hashed = self._hash(user, as_bytes(challenge.realm)).decode()
            return [f'username="{hashed}"', "userhash=true"]
        if challenge.is_utf8 and not user.isascii():
            return [f"username*=UTF-8''{quote(user, safe='')}"]
        # Servers that name no charset expect the bytes as they are, as curl sends them.
        return [f"username={quoted(user.decode('latin-1'))}"]

    def _user(self) -> bytes:
        return utf8(self.username)

    def _hash(self, *parts: bytes) -> bytes:
        compute = _HASHES[self.use.challenge.hash_name]
        return compute(b":".join(parts)).hexdigest().encode()


# Stands where only the form of a request matters.
ANY_USE = NonceUse(DigestChallenge("realm", "nonce", "SHA-256"), 1, "client-nonce")


def strongest_challenge(challenges: Iterable[Challenge]) -> DigestChallenge | None:
    """Return the strongest challenge that can be responded to, the first of equals."""
    usable = [digest for digest in map(_read_challenge, challenges) if digest]
    return min(
        usable, key=lambda digest: _STRENGTH.index(digest.hash_name), default=None
    )


def _read_challenge(challenge: Challenge) -> DigestChallenge | None:
    """Return a challenge of Digest, None for one that cannot be responded to."""
    parameters = challenge.parameters
    digest = DigestChallenge(
        realm=parameters.get("realm", ""),
        nonce=parameters.get("nonce", ""),
        algorithm=parameters.get("algorithm", ""),
        opaque=parameters.get("opaque"),
        has_qop="qop" in parameters,
        hashes_user=parameters.get("userhash", "").lower() == "true",
        is_utf8=parameters.get("charset", "").upper() == "UTF-8",
    )
    protections = _LIST.split(parameters.get("qop", "auth").lower())
    # Without qop there is no client nonce, which the other algorithms need.
    is_complete = digest.has_qop or (digest.algorithm or "MD5").upper() == "MD5"
    is_known = challenge.scheme == "digest" and digest.hash_name in _HASHES
    sent_back = f"{digest.realm}{digest.nonce}{digest.opaque or ''}"
    if len(sent_back) > MAX_CHALLENGE:
        return None
    if not digest.nonce or CONTROL_CHARACTER.search(sent_back):
        return None
    return digest if is_known and is_complete and "auth" in protections else None


def is_stale(challenges: Iterable[Challenge]) -> bool:
    """Whether the server refuses only the nonce, and not the proof."""
    return any(
        challenge.scheme == "digest"
        and challenge.parameters.get("stale", "").lower() == "true"
        for challenge in challenges
    )


def quoted(text: str) -> str:
    """Return a text as a quoted string (RFC 9110 §5.6.4)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def as_bytes(text: str) -> bytes:
    """Return a text of the wire as its bytes."""
    return text.encode("latin-1")


def utf8(text: str) -> bytes:
    """Return a user name or password as it is hashed (RFC 7616 §4)."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.encode()
