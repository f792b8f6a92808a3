"""Sends once, and gets a signal at a named point of the renewal of its token.

Arguments: the point ("" for none), the name of the signal, the length of the lease in
seconds, and the path if it is another than that of the authorization server. Prints how
the request ended, if it did.
"""

import os
import signal
import sys
from dataclasses import replace

import outkey
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2 import token
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.request.message import Peer, Request, Response, Route
from outkey.sending.engine.tokens import renewal
from outkey.sending.ports.sending import Tokens, Transport

POINT = sys.argv[1]
SIGNAL = signal.Signals[sys.argv[2]]
PATH = "".join(sys.argv[4:]) or "/oauth/api"


def reach(point: str) -> None:
    """Send the signal to this process if this is the point."""
    if point == POINT:
        os.kill(os.getpid(), SIGNAL)


class InterruptedTokens:
    """Stored tokens, interrupted where a lease is claimed and where one is kept."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        return self._tokens.read(configuration, opened=opened)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        kind = "claim" if after.serial == before.serial else "keep"
        reach(f"before {kind}")
        state = self._tokens.swap(configuration, before, after)
        reach(f"after {kind}")
        return state

    def csrf(self) -> Tokens:
        return self._tokens.csrf()

    def now(self) -> float:
        return self._tokens.now()

    def refuse_renewal(self) -> None:
        self._tokens.refuse_renewal()

    def of_subject(self, subject: Secret) -> Tokens:
        return InterruptedTokens(self._tokens.of_subject(subject))

    def subjects(self, configuration: Configuration) -> int:
        return self._tokens.subjects(configuration)

    def delete_beside(self, configuration: Configuration) -> None:
        self._tokens.delete_beside(configuration)

    def delete_set(self, configuration: Configuration, serial: int) -> None:
        self._tokens.delete_set(configuration, serial)

    def drop_other_keys(self) -> None:
        self._tokens.drop_other_keys()

    def prune_ended(self) -> None:
        self._tokens.prune_ended()

    def mark(self, secret: Secret, before: str) -> str:
        return self._tokens.mark(secret, before)


class InterruptedTransport:
    """A transport that is interrupted around each request."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, request: Request, route: Route) -> Response:
        kind = "asking" if request.method == "POST" else "sending"
        reach(f"before {kind}")
        response = self._transport.send(request, route)
        reach(f"after {kind}")
        return response

    def begin(self, request: Request, route: Route) -> None:
        """Let a thread send it."""

    def probe(self, origin: Origin, route: Route) -> Peer:
        return self._transport.probe(origin, route)

    def close(self) -> None:
        self._transport.close()


def main() -> None:
    gateway = outkey.open()
    sender = gateway._sender
    tokens = InterruptedTokens(sender.context.tokens)
    sender.context = replace(sender.context, tokens=tokens)
    transport = InterruptedTransport(sender.runtime.transport)
    sender.runtime = replace(sender.runtime, transport=transport)
    try:
        subject = os.environ.get("SUBJECT_TOKEN")
        response = gateway.send("acme", "GET", PATH, subject_token=subject)
        print(response.status)
    except outkey.errors.OutkeyError as error:
        print(error.code)


token.LEASE_SECONDS = float(sys.argv[3])
renewal.LEASE_SECONDS = float(sys.argv[3])  # type: ignore[attr-defined] # a copy
main()
