"""What the server needs when it listens on an address that other machines can reach."""

import ipaddress
import sys


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address that the server listens on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def warn_about_exposure(host: str) -> None:
    """Print what an address needs that other machines can reach."""
    if not is_loopback(host):
        sys.stderr.write(
            "warning: other machines can reach this address. Put a reverse proxy in"
            " front of it that speaks TLS and buffers whole requests, set"
            " OUTKEY_PUBLIC_URL and OUTKEY_PROXIES, and let nobody else reach this"
            " port.\n"
        )
