"""Where requests may go. Every address a name resolves to is judged, in every spelling.

The verdicts are kept apart so that a refusal can say what it was about.
"""

from dataclasses import dataclass

from outkey.core.config.choices import Network
from outkey.core.errors import EgressDenied
from outkey.core.request.addresses import (
    AddressKind,
    is_allowed,
    is_internal,
    judge,
    plain_address,
)
from outkey.core.request.origin import Origin
from outkey.core.text import Text
from outkey.ports.sending import Listeners

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class Egress:
    """The policy for all destinations. `listeners` tells what this installation listens on."""

    listeners: Listeners | None = None

    def vet(
        self, network: Network, origin: Origin, addresses: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the addresses if every one of them is allowed, else refuse them all.

        All, because a name that resolves to a good and a bad address is an attack or a mistake.
        """
        for address in addresses:
            verdict = judge(address)
            if not is_allowed(verdict, network):
                raise _denied(origin, verdict, network)
        if self.listeners is not None:
            _refuse_own(self.listeners, origin, addresses)
        return addresses


def _refuse_own(
    listeners: Listeners, origin: Origin, addresses: tuple[str, ...]
) -> None:
    """Refuse the installation's own pages, which would take the request for one of a user."""
    listening = listeners.addresses(origin.port)
    if not listening:
        return
    everywhere = not _WILDCARDS.isdisjoint(listening)
    for address in map(plain_address, addresses):
        if address in listening or (everywhere and _is_here(listeners, address)):
            raise EgressDenied(
                Text("{origin} is this outkey installation itself", origin=origin),
                hint=Text("Enter the URL of the API; check host and port."),
                field="base_url",
            )


def _is_here(listeners: Listeners, address: str) -> bool:
    # All of 127.0.0.0/8 leads to this machine, whether or not an interface has the address.
    return judge(address) is AddressKind.LOOPBACK or listeners.is_local(address)


def _denied(origin: Origin, verdict: AddressKind, network: Network) -> EgressDenied:
    if is_internal(verdict) and network is Network.PUBLIC:
        hint = Text(
            "Set Network to Internal trusted network (internal) if this is your"
            " own network."
        )
    else:
        hint = Text(
            "Such addresses are never allowed; check the host name and your DNS."
        )
    return EgressDenied(
        Text("{origin} resolves to {kind}", origin=origin, kind=verdict.label),
        field="base_url",
        hint=hint,
    )
