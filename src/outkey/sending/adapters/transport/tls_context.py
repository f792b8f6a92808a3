"""TLS settings as SSL contexts, and TLS failures in words a user can act on.

Verification is always on. The environment variables SSL_CERT_FILE and SSL_CERT_DIR are
not read: who sets them would decide which authorities outkey trusts.
"""

from __future__ import annotations

import os
import re
import secrets
import ssl
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    OutkeyError,
    TlsBelowFloor,
    TlsFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.tls_in_tls import TlsInTls
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Certificate, Route

if TYPE_CHECKING:
    from cryptography import x509


_MAX_CA_BYTES = 4 * 1024 * 1024  # the bundle of a whole system has a quarter of a MiB
_MAX_CERTIFICATE_BYTES = 256 * 1024
_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
# Where systems store certificate authorities, for a Python built with other paths.
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
_CERTIFICATE = re.compile(
    r"-----BEGIN (?:X509 )?CERTIFICATE-----[^-]+-----END (?:X509 )?CERTIFICATE-----"
)
# By the verify code of OpenSSL: the message, and the reason of the diagnosis.
_VERIFY_FAILURES = {
    10: (Text("the server's certificate has expired"), "certificate-expired"),
    18: (Text("the server's certificate is self-signed"), "certificate-self-signed"),
    19: (
        Text(
            "the server's certificate chain ends in an unknown, self-signed authority"
        ),
        "certificate-unknown-issuer",
    ),
    20: (
        Text("the server's certificate is from an unknown authority"),
        "certificate-unknown-issuer",
    ),
    21: (
        Text("the server's certificate is from an unknown authority"),
        "certificate-unknown-issuer",
    ),
    62: (
        Text("the server's certificate is for another host"),
        "certificate-other-host",
    ),
    64: (
        Text("the server's certificate is for another IP address"),
        "certificate-other-host",
    ),
    66: (Text("the key of the server's certificate is too weak"), ""),
    67: (Text("a key in the server's certificate chain is too weak"), ""),
}
_VERSION_REASONS = {
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "NO_PROTOCOLS_AVAILABLE",
    "VERSION_TOO_LOW",
}
_CLIENT_REASONS = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "TLSV1_ALERT_UNKNOWN_CA",
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
}
# Characters in PEM; 4096 bits have 3272. The check for primes of a longer key takes
# many seconds, and all threads wait.
_MAX_KEY = 4000


class _CachedContext(NamedTuple):
    settings: TlsSettings
    client_key: Secret | None
    file_states: tuple[tuple[int, int, int], ...]
    context: ssl.SSLContext

    def fits(self, route: Route, file_states: tuple[tuple[int, int, int], ...]) -> bool:
        return (
            self.settings == route.tls
            and self.client_key == route.client_key
            and self.file_states == file_states
        )


class TlsContexts:
    """Caches one context per configuration until its settings or files change."""

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._files = files or ConfiguredFiles()
        # One lock per configuration: a slow disk of one must not hold up the others.
        self._locks: dict[str, ProcessLock] = {}
        self._cache: dict[str, _CachedContext] = {}

    def get(self, route: Route) -> ssl.SSLContext:
        """Return the context for a route: the same object until something changes."""
        states = _file_states(route.tls)
        cached = self._cache.get(route.partition)
        if cached is None or not cached.fits(route, states):
            with self._locks.setdefault(route.partition, ProcessLock()):
                # Another thread may have made it meanwhile; connections of a second
                # context would not be shared.
                cached = self._cache.get(route.partition)
                if cached is None or not cached.fits(route, states):
                    context = make_context(route.tls, route.client_key, self._files)
                    cached = _CachedContext(
                        route.tls, route.client_key, states, context
                    )
                    self._cache[route.partition] = cached
        return cached.context


def route_to_proxy(route: Route) -> Route:
    """Return how the connection to an https proxy is secured.

    The same authorities are trusted, but our certificate is for the API alone.
    """
    settings = TlsSettings(route.tls.minimum_version, route.tls.ca_file)
    partition = f"{route.partition}\n(proxy)"  # no configuration has such a name
    return route._replace(partition=partition, tls=settings, client_key=None)


def make_context(
    settings: TlsSettings,
    client_key: Secret | None = None,
    files: ConfiguredFiles | None = None,
) -> ssl.SSLContext:
    """Make a context that verifies, with the floor set here and not by openssl.cnf."""
    files = files or ConfiguredFiles()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _VERSIONS[settings.minimum_version]
    context.set_alpn_protocols(["http/1.1"])  # some servers assume HTTP/2 without it
    _trust_system(context)
    if settings.ca_file:
        authorities = _read_pem(
            files, settings.ca_file, _MAX_CA_BYTES, field="tls.ca_file"
        )
        try:
            context.load_verify_locations(cadata=authorities)
        except (OSError, ValueError):
            raise _unusable("tls.ca_file") from None
    if settings.client_certificate:
        field = "tls.client_certificate"
        certificate = _read_pem(
            files, settings.client_certificate, _MAX_CERTIFICATE_BYTES, field=field
        )
        _identify(context, certificate, client_key or Secret(""))
    return context


def certificate_times(
    settings: TlsSettings, client_key: Secret, files: ConfiguredFiles
) -> tuple[float, float]:
    """Return from when and until when a client certificate is valid, as Unix times.

    ConfigError where it cannot be read, or where the key is that of another one.
    """
    from cryptography import x509  # noqa: PLC0415

    make_context(settings, client_key, files)
    field = "tls.client_certificate"
    path = settings.client_certificate
    text = _read_pem(files, path, _MAX_CERTIFICATE_BYTES, field=field)
    certificate = x509.load_pem_x509_certificate(text.encode())
    return (
        certificate.not_valid_before_utc.timestamp(),
        certificate.not_valid_after_utc.timestamp(),
    )


def tls_failure(error: ssl.SSLError) -> OutkeyError:
    """Return the error that a failed handshake means."""
    if isinstance(error, ssl.SSLCertVerificationError):
        unknown = (Text("the server's certificate is invalid"), "")
        message, code = _VERIFY_FAILURES.get(error.verify_code, unknown)
        return TlsFailed(message, reason=code)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return ConnectionFailed(Text("the server closed the TLS connection"))
    reason = error.reason or ""
    if reason in _VERSION_REASONS:
        return TlsBelowFloor()
    if reason == "WRONG_VERSION_NUMBER":
        return TlsFailed(
            Text("the server does not support TLS on this port"),
            hint=Text("Check scheme and port of the Base URL."),
            reason="tls-to-plain-port",
        )
    if reason in _CLIENT_REASONS:
        return TlsFailed(
            Text("the server did not accept our client certificate, or requires one"),
            hint=Text("Check Client certificate and Client key (tls.client_key)."),
            reason="client-certificate-missing",
        )
    return TlsFailed()


def negotiated_tls(connected: object) -> tuple[str, tuple[Certificate, ...]]:
    """Return the negotiated version of TLS, and the chain as it was verified."""
    # Through an https proxy it is TLS inside of TLS.
    layer = connected.session if isinstance(connected, TlsInTls) else connected
    assert isinstance(layer, ssl.SSLSocket | ssl.SSLObject)  # noqa: S101 - the transport makes no other with a context
    if sys.version_info >= (3, 13):
        chain = layer.get_verified_chain()
    else:  # the same method, private until 3.13
        certificates = layer._sslobj.get_verified_chain()  # type: ignore[union-attr]  # noqa: SLF001
        chain = [ssl.PEM_cert_to_DER_cert(c.public_bytes()) for c in certificates]
    return layer.version() or "", tuple(map(_certificate, chain))


def _certificate(der: bytes) -> Certificate:
    from cryptography import x509  # noqa: PLC0415

    certificate = x509.load_der_x509_certificate(der)
    ends = certificate.not_valid_after_utc.timestamp()
    subject = _common_name(certificate.subject) or _first_name(certificate)
    return Certificate(subject, _common_name(certificate.issuer), ends)


def _first_name(certificate: x509.Certificate) -> str:
    """Return the first host of a certificate; many have no common name any more."""
    from cryptography import x509  # noqa: PLC0415

    try:
        names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except (x509.ExtensionNotFound, ValueError):
        return ""
    return printable(names.get_values_for_type(x509.DNSName)[:1])


def _common_name(name: x509.Name) -> str:
    """Return the common name, shortened: the issuer chose the text."""
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    return printable(
        [str(part.value) for part in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    )


def printable(texts: list[str]) -> str:
    """Return names of a certificate as a terminal can show them, cut short."""
    return "".join(c for c in " ".join(texts) if c.isprintable())[:100]


def _trust_system(context: ssl.SSLContext) -> None:
    paths = ssl.get_default_verify_paths()
    if os.name == "nt":
        context.load_default_certs()  # the Windows store
        return
    bundles = [paths.openssl_cafile, *_SYSTEM_BUNDLES]
    bundle = next((name for name in bundles if Path(name).is_file()), None)
    if bundle is None:
        message = Text("this machine has no certificate authorities to verify servers")
        hint = Text("Install your system's ca-certificates package.")
        raise TlsFailed(message, hint=hint)
    context.load_verify_locations(cafile=bundle)


def system_authorities() -> bytes:
    """Return the certificate authorities of this machine as PEM; none if unknown."""
    paths = ssl.get_default_verify_paths()
    for name in (paths.openssl_cafile, *_SYSTEM_BUNDLES):
        if Path(name).is_file():
            return Path(name).read_bytes()
    return b""


def _identify(context: ssl.SSLContext, certificate: str, key: Secret) -> None:
    """Load the client certificate, given as PEM text.

    The ssl module reads certificates and keys from files only, so the key in the file
    that it gets is encrypted with a password that exists for this moment.
    """
    password = Secret(secrets.token_hex(32))
    sealed = key.derive(lambda pem: encrypt_key(pem, password))
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # mode 0600
        file.write(f"{certificate}\n{sealed.reveal()}")
        file.flush()
        try:
            context.load_cert_chain(file.name, password=password.reveal())
        except (OSError, ssl.SSLError):
            raise _unusable("tls.client_certificate") from None


def _read_pem(files: ConfiguredFiles, path: str, limit: int, *, field: str) -> str:
    """Return the certificates of a PEM file, without keys in the same file."""
    try:
        content = files.read(path, limit)
        text = content.decode("ascii", "replace")
    except OSError:
        raise _unusable(field) from None
    certificates = _CERTIFICATE.findall(text)
    if len(content) > limit or not certificates:
        raise _unusable(field)
    return "\n".join(certificates)


def encrypt_key(pem: str, password: Secret) -> str:
    """Return a private key in PEM that opens with this password."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    if len(pem) > _MAX_KEY:
        message = Text("Client key has more than 4096 bits, or is not a single key")
        hint = Text(
            "Enter an RSA key of at most 4096 bits or an EC key, without certificates."
        )
        raise ConfigError(message, field="tls.client_key", hint=hint)
    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError):
        message = Text("Client key is not an unencrypted private key in PEM format")
        raise ConfigError(message, field="tls.client_key") from None
    encryption = BestAvailableEncryption(password.reveal().encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def _unusable(field: str) -> ConfigError:
    message = Text(
        "{field} cannot be read, or is not a valid PEM file",
        field=BY_PATH[field].label,
    )
    hint = Text("Check path and permissions; certificate and key must belong together.")
    return ConfigError(message, field=field, hint=hint)


def _file_states(settings: TlsSettings) -> tuple[tuple[int, int, int], ...]:
    """Return identity and change time of the files that the settings name.

    A missing file is refused.
    """
    files = {
        "tls.ca_file": settings.ca_file,
        "tls.client_certificate": settings.client_certificate,
    }
    states = []
    for field, name in files.items():
        if not name:
            continue
        try:
            status = Path(name).stat()
        except (OSError, ValueError):
            raise _unusable(field) from None
        states.append((status.st_dev, status.st_ino, status.st_mtime_ns))
    return tuple(states)
