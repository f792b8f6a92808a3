"""Where requests may go. Every address a name resolves to is judged, in every spelling.

Addresses are judged by kind, so that a refusal can name the kind.
"""

from dataclasses import dataclass

from outkey.foundation.core.errors import EgressDenied
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.text import Text
from outkey.sending.core.request.addresses import (
    AddressKind,
    is_address,
    is_allowed,
    is_internal,
    judge,
    judge_name,
    plain_address,
)
from outkey.sending.ports.sending import Listeners

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on
_LOOPBACK = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Egress:
    """The policy for all destinations.

    `listeners` knows what this installation listens on.
    """

    listeners: Listeners | None = None

    def vet(
        self, network: Network, origin: Origin, addresses: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the addresses if every one of them is allowed, else refuse them all.

        All, because a name that resolves to a good and a bad address is an attack or
        a mistake.
        """
        for address in addresses:
            kind = judge(address)
            if not is_allowed(kind, network):
                raise denial(origin, kind, network)
        self.refuse_own_pages(origin, addresses)
        return addresses

    def refuse_own_pages(
        self, origin: Origin, addresses: tuple[str, ...], field: str = "base_url"
    ) -> None:
        """Refuse what this installation itself listens on."""
        if self.listeners is not None:
            refuse_own_pages(self.listeners, origin, addresses, field)

    def vet_name(self, network: Network, origin: Origin) -> None:
        """Refuse a destination that a proxy will resolve, by its name alone."""
        if is_address(origin.host):
            self.vet(network, origin, (origin.host,))
            return
        kind = judge_name(origin.host)
        if not is_allowed(kind, network):
            raise denial(origin, kind, network)
        if kind is AddressKind.LOOPBACK:  # the proxy may be on this machine
            self.refuse_own_pages(origin, _LOOPBACK)


def refuse_own_pages(
    listeners: Listeners, origin: Origin, addresses: tuple[str, ...], field: str
) -> None:
    """Refuse the installation's own pages: they would take it for a user's request."""
    listening = listeners.addresses(origin.port)
    if not listening:
        return
    everywhere = not _WILDCARDS.isdisjoint(listening)
    for address in map(plain_address, addresses):
        if address in listening or (
            everywhere and is_on_this_machine(listeners, address)
        ):
            raise EgressDenied(
                Text("{origin} is this outkey installation itself", origin=origin),
                hint=Text("Enter the URL of the API; check host and port."),
                field=field,
            )


def is_on_this_machine(listeners: Listeners, address: str) -> bool:
    """Whether an address is one of this machine's own."""
    # All of 127.0.0.0/8 leads here, whether or not an interface has the address.
    return judge(address) is AddressKind.LOOPBACK or listeners.is_local(address)


def denial(origin: Origin, kind: AddressKind, network: Network) -> EgressDenied:
    """Return the error for an address of a kind that this network does not allow."""
    if is_internal(kind) and network is Network.PUBLIC:
        hint = Text(
            "Set Network to Internal trusted network (internal) if this is your"
            " own network."
        )
    else:
        hint = Text(
            "Such IP addresses are never allowed; check the host name and your DNS."
        )
    return EgressDenied(
        Text("{origin} resolves to {kind}", origin=origin, kind=kind.label),
        field="base_url",
        hint=hint,
    )
