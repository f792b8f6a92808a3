"""Notices as JSON for somebody else's address.

The address may hold a secret in its path, so it stands in no log and no audit; the signature lets
the other side know who speaks.
"""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from outkey.core.errors import OutkeyError
from outkey.core.findings.monitoring import Notice
from outkey.core.request.message import Header, Request, Route, Source
from outkey.core.request.origin import Location
from outkey.core.secret import Secret
from outkey.ports.sending import Clock, Transport

_logger = logging.getLogger("outkey.notices")
_WAITS = (1.0, 4.0)  # before the second and the third try


@dataclass(frozen=True, slots=True)
class WebhookNotices:
    """Posts what is to be told; `route` vets the way there as it does for every request."""

    place: Location = field(repr=False)
    transport: Transport
    route: Callable[[], Route]
    clock: Clock
    key: Secret | None = None

    def tell(self, notices: Sequence[Notice]) -> None:
        """Post all of them at once, three times at the most."""
        body = json.dumps({"notices": [notice.facts() for notice in notices]}).encode()
        failure = self._posted(body)
        for wait in _WAITS:
            if failure:
                self.clock.sleep(wait)
                failure = self._posted(body)
        self.transport.close()  # the next time may be days away
        if failure:
            _logger.error("notices could not be posted (%s)", failure)

    def _posted(self, body: bytes) -> str:
        """Try once, and return why it failed, or nothing."""
        try:
            response = self.transport.send(self._request(body), self.route())
        except OutkeyError as error:
            return str(error.code)
        return "" if response.status < 300 else str(response.status)

    def _request(self, body: bytes) -> Request:
        headers = {
            "Host": self.place.origin.authority,
            "Content-Length": str(len(body)),
            "Content-Type": "application/json",
            "User-Agent": "outkey",
        }
        lines = [Header(name, value, Source.DEFAULT) for name, value in headers.items()]
        if self.key is not None:
            signature = self.key.derive(lambda key: f"sha256={_code(key, body)}")
            lines.append(Header("X-Outkey-Signature", signature, Source.AUTHENTICATION))
        return Request("POST", self.place.origin, self.place.target, tuple(lines), body)


def _code(key: str, body: bytes) -> str:
    return hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
