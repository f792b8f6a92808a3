"""Authentication Type Basic (RFC 7617)."""

import unicodedata
from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple

from outkey.foundation.core.errors import HeaderFormatError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.request.flow import AuthFlow, send
from outkey.sending.core.request.headers import CONTROL_CHARACTER, check_length
from outkey.sending.core.request.message import Header, Request, Source


class Basic(NamedTuple):
    """Send user name and password with each request."""

    username: str
    password: Secret
    # The two change places: some APIs expect their key as the user name.
    key_as_username: bool = False

    def flow(self, request: Request) -> AuthFlow:
        """Add `Authorization: Basic …` and send."""
        sent = request.with_headers((*request.headers, self._header()))
        return (yield from send(sent))

    def _header(self) -> Header:
        user = _user(self.username, self.key_as_username)
        value = self.password.derive_once(user.credentials)
        return Header("Authorization", value, Source.AUTHENTICATION)


class _User(NamedTuple):
    """Who sends, without the password."""

    username: str
    key_as_username: bool

    def credentials(self, password: str) -> str:
        """Return the value of the header, or raise."""
        if not password.isprintable() and CONTROL_CHARACTER.search(password):
            raise HeaderFormatError(
                Text("Password has a control character"),
                field="password",
                fault="invisible-characters",
            )
        if not self.username and not password:
            raise HeaderFormatError(
                Text("Username and Password are both empty"), field="username"
            )
        if self.key_as_username and ":" in password:
            raise HeaderFormatError(
                Text("Password has a colon, so it cannot be sent as the user name"),
                field="password",
            )
        pair = f"{self.username}:{password}"
        if self.key_as_username:
            pair = f"{password}:{self.username}"
        if not pair.isascii():
            # RFC 7617 §2.1: UTF-8 after normalization to NFC.
            pair = unicodedata.normalize("NFC", pair)
        return check_length(
            "Basic " + b64encode(pair.encode()).decode("ascii"), field="password"
        )


@lru_cache(maxsize=1024)
def _user(username: str, key_as_username: bool) -> _User:  # noqa: FBT001 - as in TokenPlace
    """Return the same user each time, so that its credentials are derived once."""
    return _User(username, key_as_username)
