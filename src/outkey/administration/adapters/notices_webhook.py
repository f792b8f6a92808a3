"""Notices as JSON for a webhook.

Its URL may hold a secret in its path, so it is in no log and no audit; the signature
lets the receiver know the sender.
"""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from outkey.administration.core.findings.monitoring import Notice
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.origin import Location
from outkey.foundation.core.secret import Secret
from outkey.foundation.ports.clock import Clock
from outkey.sending.core.request.message import Header, Request, Route, Source
from outkey.sending.ports.sending import Transport

logger = logging.getLogger("outkey.notices")
WAITS = (1.0, 4.0)  # before the second and the third attempt


@dataclass(frozen=True, slots=True)
class WebhookNotices:
    """Posts notices; `route` vets the destination as it does for every request."""

    location: Location = field(repr=False)
    transport: Transport
    route: Callable[[], Route]
    clock: Clock
    key: Secret | None = None

    def send(self, notices: Sequence[Notice]) -> None:
        """Post all of them in one request, with two retries."""
        body = json.dumps({"notices": [notice.facts() for notice in notices]}).encode()
        failure = self._post(body)
        for wait in WAITS:
            if failure:
                self.clock.sleep(wait)
                failure = self._post(body)
        self.transport.close()  # the next notice may be days away
        if failure:
            logger.error("notices could not be posted (%s)", failure)

    def _post(self, body: bytes) -> str:
        """Post once; return the error code or status of a failure, or nothing."""
        try:
            response = self.transport.send(self._request(body), self.route())
        except OutkeyError as error:
            return str(error.code)
        return "" if response.status < 300 else str(response.status)

    def _request(self, body: bytes) -> Request:
        origin = self.location.origin
        values = {
            "Host": origin.authority,
            "Content-Length": str(len(body)),
            "Content-Type": "application/json",
            "User-Agent": "outkey",
        }
        headers = [
            Header(name, value, Source.DEFAULT) for name, value in values.items()
        ]
        if self.key is not None:
            signature = self.key.derive(lambda key: f"sha256={signature_of(key, body)}")
            headers.append(
                Header("X-Outkey-Signature", signature, Source.AUTHENTICATION)
            )
        return Request("POST", origin, self.location.target, tuple(headers), body)


def signature_of(key: str, body: bytes) -> str:
    """Return the hexadecimal HMAC-SHA-256 of a body."""
    return hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
