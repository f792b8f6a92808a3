import pytest

from outkey.foundation.core.errors import EgressDenied
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import Origin
from outkey.sending.core.request.addresses import (
    AddressKind,
    counted_part,
    is_address,
    judge,
)
from outkey.sending.engine.wire.egress import Egress
from outkey.testing import FakeListeners

ORIGIN = Origin("https", "api.acme.example", 443)
ALWAYS_REFUSED = [
    "169.254.169.254",  # cloud metadata
    "169.254.0.1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",  # 6to4
    "2001:0:4136:e378:8000:63bf:5601:5601",  # Teredo
    "::169.254.169.254",  # IPv4-compatible
    "::127.0.0.1",
    "fe80::1",
    "fe80::5efe:10.0.0.1",
    "2001:db8::5efe:a9fe:a9fe",  # ISATAP
    "2001:db8::200:5efe:a9fe:a9fe",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "ff02::1",
    "240.0.0.1",
    "255.255.255.255",
    "not an address",
    "",
]
INTERNAL_ONLY = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "10.0.0.1",
    "172.16.5.4",
    "192.168.1.1",
    "::ffff:10.0.0.1",
    "100.64.0.1",
    "fc00::1",
    "fec0::1",
    "198.18.0.1",
    "192.0.2.1",
]
PUBLIC = [
    "93.184.215.14",
    "::ffff:93.184.215.14",
    "64:ff9b::93.184.215.14",
    "2606:2800:21f::1",
]


def allowed(network: Network, *addresses: str) -> bool:
    try:
        return Egress().vet(network, ORIGIN, addresses) == addresses
    except EgressDenied:
        return False


@pytest.mark.parametrize("address", ALWAYS_REFUSED)
def test_metadata_and_unusable_addresses_are_refused_on_both_networks(
    address: str,
) -> None:
    assert not allowed(Network.PUBLIC, address)
    assert not allowed(Network.INTERNAL, address)


@pytest.mark.parametrize("address", INTERNAL_ONLY)
def test_private_and_loopback_addresses_are_for_the_internal_network_only(
    address: str,
) -> None:
    assert not allowed(Network.PUBLIC, address)
    assert allowed(Network.INTERNAL, address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed_on_both_networks(address: str) -> None:
    assert allowed(Network.PUBLIC, address)
    assert allowed(Network.INTERNAL, address)


def test_one_bad_address_among_good_ones_refuses_them_all() -> None:
    assert allowed(Network.PUBLIC, PUBLIC[0], PUBLIC[3])
    assert not allowed(Network.PUBLIC, PUBLIC[0], "10.0.0.1")
    assert not allowed(Network.INTERNAL, "10.0.0.1", "169.254.169.254")


def test_a_refusal_says_what_the_address_is_and_what_to_do() -> None:
    with pytest.raises(EgressDenied) as caught:
        Egress().vet(Network.PUBLIC, ORIGIN, ("10.0.0.1",))
    assert (
        caught.value.message == "https://api.acme.example resolves to a private address"
    )
    assert "Internal trusted network" in caught.value.hint
    with pytest.raises(EgressDenied) as caught:
        Egress().vet(Network.INTERNAL, ORIGIN, ("169.254.169.254",))
    assert "never allowed" in caught.value.hint


def calls_itself(listeners: FakeListeners, *addresses: str) -> bool:
    try:
        Egress(listeners).vet(Network.INTERNAL, ORIGIN, addresses)
    except EgressDenied as refused:
        assert refused.message.endswith("is this outkey installation itself")
        return True
    return False


def test_an_installation_does_not_call_itself() -> None:
    listeners = FakeListeners({443: ["127.0.0.1"]}, local=["10.0.0.5"])
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"):
        assert calls_itself(listeners, address)
    assert calls_itself(listeners, "10.0.0.9", "127.0.0.1")
    for address in ("127.0.0.2", "::1", "10.0.0.5"):
        assert not calls_itself(listeners, address)


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_a_server_on_every_address_is_at_each_address_of_the_machine(
    wildcard: str,
) -> None:
    listeners = FakeListeners({443: [wildcard]}, local=["10.0.0.5", "fd00::5"])
    own = (
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "::ffff:127.0.0.1",
        "10.0.0.5",
        "::ffff:10.0.0.5",
    )
    for address in (*own, "fd00::5"):
        assert calls_itself(listeners, address)
    for address in ("10.0.0.6", "fd00::6", "93.184.215.14"):
        assert not calls_itself(listeners, address)


def test_another_port_of_the_machine_is_another_service() -> None:
    assert not calls_itself(
        FakeListeners({8765: ["0.0.0.0"]}, local=["127.0.0.1"]), "127.0.0.1"
    )
    assert not calls_itself(FakeListeners(), "127.0.0.1")


def test_every_verdict_is_reached() -> None:
    seen = {judge(address) for address in [*ALWAYS_REFUSED, *INTERNAL_ONLY, *PUBLIC]}
    assert seen == set(AddressKind)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("a.example", False), ("1a", False)],
)
def test_an_address_needs_no_resolving(host: str, *, expected: bool) -> None:
    assert is_address(host) is expected


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_clients_are_counted_by_their_address_of_ipv6_by_the_network(
    address: str, counted: str
) -> None:
    assert counted_part(address) == counted
