"""The kinds of IP addresses: public, private, or never that of an API.

An address that contains another one, such as an IPv4-mapped one, is judged by that.
"""

import ipaddress
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_network

from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.text import Text

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NETWORK_BITS = 64  # of IPv6: a machine has at least as many addresses as this leaves


class AddressKind(StrEnum):
    """The kinds of IP addresses that egress rules distinguish."""

    GLOBAL = "a public address"
    PRIVATE = "a private address"
    LOOPBACK = "the loopback address of this machine"
    SHARED = "a shared address of a carrier"
    METADATA = "a link-local or cloud metadata address"
    UNUSABLE = "an IP address that no service can have"
    TUNNEL = "an IPv6 form that hides an IPv4 address"

    @property
    def label(self) -> Text:
        """The kind as a user reads it."""
        return Text(self.value)


_INTERNAL_ONLY = frozenset(
    {AddressKind.PRIVATE, AddressKind.LOOPBACK, AddressKind.SHARED}
)
# Where clouds give credentials to any client; none of them is ever an API of ours.
_METADATA = (
    ip_network(
        "169.254.0.0/16"
    ),  # link-local: AWS, Azure, GCP, OpenStack, DigitalOcean
    ip_network("fe80::/10"),
    ip_network("fd00:ec2::/32"),  # AWS over IPv6
    ip_network("fd20:ce::/32"),  # Google Cloud over IPv6
    ip_network("fd00:c1::a9fe:a9fe/128"),  # Oracle Cloud over IPv6
    ip_network("fd00:42::42/128"),  # Scaleway
    ip_network("fd00:a9fe:a9fe::/48"),  # Akamai (Linode)
    ip_network("fd00:100::100:200/128"),  # Alibaba Cloud over IPv6
    ip_network("100.100.100.200/32"),  # Alibaba Cloud
    ip_network("168.63.129.16/32"),  # Azure's wire server, a public address
    ip_network("192.0.0.192/32"),  # Oracle Cloud
)
_METADATA_NAMES = frozenset(
    {
        "instance-data",
        "metadata",
        "metadata.goog",
        "metadata.platformequinix.com",
        "metadata.tencentyun.com",
    }
)
# In the domain `internal` of AWS, Azure and Google Cloud, as of a region.
_METADATA_HOSTS = frozenset({"instance-data", "metadata"})
# As Linux distributions call this machine, besides the domain `localhost` (RFC 6761).
_LOOPBACK_NAMES = frozenset({"localhost.localdomain", "ip6-localhost", "ip6-loopback"})
# Domains that no public name is in: RFC 6762, RFC 8375, ICANN's for private use, and
# those that networks use although they are not assigned.
_INTERNAL_DOMAINS = frozenset(
    {"arpa", "corp", "home", "internal", "intranet", "lan", "local", "localdomain"}
)
_SHARED = ip_network("100.64.0.0/10")  # RFC 6598
_NAT64 = ip_network("64:ff9b::/96")  # RFC 6052
# Forms that hide an IPv4 address from a check of the IPv6 one. Nothing uses them today.
_TUNNELS = (
    ip_network("::/96"),  # IPv4-compatible, RFC 4291 (deprecated)
    ip_network("64:ff9b:1::/48"),  # NAT64 for local use, RFC 8215
    ip_network("2002::/16"),  # 6to4, RFC 3056
    ip_network("2001::/32"),  # Teredo, RFC 4380
)
_THIS_HOST = ip_network("0.0.0.0/8")  # RFC 1122; Linux connects 0.0.0.0 to this machine
# Ranges for special use that Python's tables,
# in one version or another, count as global.
_SPECIAL = (
    ip_network("fec0::/10"),  # site-local, RFC 3879
    ip_network("192.0.0.0/24"),  # protocol assignments, RFC 6890
    ip_network("3fff::/20"),  # documentation, RFC 9637
)


@lru_cache(maxsize=4096)
def judge(address: str) -> AddressKind:
    """Return the kind of an address; one that contains another is judged by that."""
    try:
        return _judge_parsed(ipaddress.ip_address(address))
    except ValueError:
        return AddressKind.UNUSABLE


def _judge_parsed(address: Address) -> AddressKind:
    """Return the kind of a parsed address."""
    if isinstance(address, ipaddress.IPv6Address):
        if inner := _contained_address(address):
            return _judge_parsed(inner)
        # `::` and `::1` lie inside the IPv4-compatible range but are not tunnels.
        if int(address) > 1 and any(address in tunnel for tunnel in _TUNNELS):
            return AddressKind.TUNNEL
        # An interface identifier of ISATAP (RFC 5214) contains an IPv4 address as well.
        if (int(address) >> 32) & 0xFFFF_FFFF in {0x0000_5EFE, 0x0200_5EFE}:
            return AddressKind.TUNNEL
    if any(address in network for network in _METADATA):
        return AddressKind.METADATA
    if address.is_loopback:
        return AddressKind.LOOPBACK
    return _judge_range(address)


def _judge_range(address: Address) -> AddressKind:
    """Return the kind of an address that is not special in itself, by its range."""
    if address in _THIS_HOST or address.is_unspecified:
        return AddressKind.UNUSABLE
    if address.is_multicast or address.is_reserved:
        return AddressKind.UNUSABLE
    if address in _SHARED:
        return AddressKind.SHARED
    special = any(address in network for network in _SPECIAL)
    return (
        AddressKind.GLOBAL if address.is_global and not special else AddressKind.PRIVATE
    )


def _contained_address(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address inside an IPv6 one, if there is one."""
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def plain_address(address: str) -> str:
    """Return the IPv4 address inside an IPv6 form, else the address itself."""
    parsed = ipaddress.ip_address(address)
    inner = (
        _contained_address(parsed)
        if isinstance(parsed, ipaddress.IPv6Address)
        else None
    )
    return str(inner or parsed)


def is_address(host: str) -> bool:
    """Whether a canonical host is an address, which needs no resolving."""
    return ":" in host or host.replace(".", "").isdigit()


def judge_host(host: str) -> AddressKind:
    """Return the kind of address that a canonical host is, or that its name means."""
    return judge(host) if is_address(host) else judge_name(host)


def judge_name(host: str) -> AddressKind:
    """Return the kind of address that a name means, as far as the name tells.

    For a host that a proxy resolves: from there it may lead to other machines.
    """
    first = host.partition(".")[0]
    last = host.rpartition(".")[2]
    is_metadata = first in _METADATA_HOSTS and last == "internal"
    if is_metadata or host in _METADATA_NAMES:
        return AddressKind.METADATA
    if last == "localhost" or host in _LOOPBACK_NAMES:
        return AddressKind.LOOPBACK
    is_internal_name = last == host or last in _INTERNAL_DOMAINS
    return AddressKind.PRIVATE if is_internal_name else AddressKind.GLOBAL


def is_allowed(verdict: AddressKind, network: Network) -> bool:
    """Whether requests may go to such an address on this kind of network."""
    if verdict is AddressKind.GLOBAL:
        return True
    return network is Network.INTERNAL and verdict in _INTERNAL_ONLY


def is_internal(verdict: AddressKind) -> bool:
    """Whether such an address is allowed on an internal network only."""
    return verdict in _INTERNAL_ONLY


def counted_part(address: str) -> str:
    """Return the key that a client is counted by: its address, for IPv6 its network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    network = ipaddress.ip_network((int(parsed), NETWORK_BITS), strict=False)
    return str(network.network_address)
