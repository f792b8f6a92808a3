"""Certificates for the real servers, new in each run: good ones, and bad in one way."""

import datetime as dt
import ssl
import warnings
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Pki:
    """A folder of certificates, NAME.pem with NAME.key; `ca` is the trusted root."""

    folder: Path

    def certificate(self, name: str) -> str:
        return str(self.folder / f"{name}.pem")

    def key(self, name: str) -> str:
        return str(self.folder / f"{name}.key")

    @property
    def ca(self) -> str:
        return self.certificate("ca")


def make_pki(folder: Path) -> Pki:
    """Make certificates that are good, or bad in exactly one way."""
    pki = Pki(folder)
    ca, stranger = trustme.CA(), trustme.CA()
    ca.cert_pem.write_to_path(pki.ca)
    names = ("localhost", "127.0.0.1")
    past = dt.datetime(2024, 2, 1, tzinfo=dt.UTC)
    leaves = {
        "good": ca.issue_cert(*names),
        "expired": ca.issue_cert(*names, not_after=past),
        "wronghost": ca.issue_cert("other.example", "192.0.2.1"),
        "stranger": stranger.issue_cert(*names),
        "client": ca.issue_cert("client.example", common_name="client"),
        "badclient": stranger.issue_cert("client.example", common_name="badclient"),
    }
    for name, leaf in leaves.items():
        leaf.private_key_pem.write_to_path(pki.key(name))
        leaf.cert_chain_pems[0].write_to_path(pki.certificate(name))
    _make_self_signed(pki)
    return pki


def _make_self_signed(pki: Pki) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    Path(pki.key("selfsigned")).write_bytes(pem)
    Path(pki.certificate("selfsigned")).write_bytes(
        certificate.public_bytes(Encoding.PEM)
    )


def careless_context() -> ssl.SSLContext:
    """Make a context that verifies nothing and has no minimum version."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
    return context
