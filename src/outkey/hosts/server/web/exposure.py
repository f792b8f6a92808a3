"""Warnings about an address that other machines can reach."""

import ipaddress
import sys


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def warn_about_exposure(host: str) -> None:
    """Print warnings about a server that other machines can reach."""
    if not is_loopback(host):
        sys.stderr.write(
            "warning: other machines can reach this address. Put a reverse proxy in"
            " front of it that terminates TLS and buffers whole requests, set"
            " OUTKEY_PUBLIC_URL and OUTKEY_PROXIES, and block this port for everyone"
            " else.\n"
        )
