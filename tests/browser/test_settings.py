"""What the operator decides by variables: who uses the pages, and by which way."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest

import forks
from browser.conftest import wait_for
from ports import free_port
from programs import assert_program_passes


def test_only_listed_addresses_are_answered_and_behind_tls_cookies_are_for_tls(
    tmp_path: Path,
) -> None:
    settings = {
        "OUTKEY_PUBLIC_URL": "https://outkey.example",
        "OUTKEY_ALLOWED_ADDRESSES": "10.0.0.0/8, 192.0.2.7",
        "OUTKEY_PROXIES": "198.51.100.0/24",
    }
    assert_program_passes(
        "browser/listed_addresses", tmp_path / "home", settings=settings
    )


def test_forwarding_headers_are_believed_from_listed_proxies_only(
    tmp_path: Path,
) -> None:
    settings = {
        "OUTKEY_PUBLIC_URL": "https://outkey.example",
        "OUTKEY_PROXIES": "198.51.100.1",
    }
    assert_program_passes(
        "browser/forwarded_headers", tmp_path / "home", settings=settings
    )


@pytest.mark.parametrize(
    "header", ["X-Forwarded-Proto", "X_Forwarded_Proto", "x-forwarded-proto"]
)
@pytest.mark.parametrize("proxies", ["", "127.0.0.1"])
def test_the_running_server_believes_a_listed_proxy_only(
    tmp_path: Path, proxies: str, header: str
) -> None:
    port = free_port()
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            "PATH": os.environ["PATH"],
            "OUTKEY_HOME": str(tmp_path / "home"),
            "OUTKEY_PUBLIC_URL": "https://127.0.0.1",
            "OUTKEY_PROXIES": proxies,
        },
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        response = httpx.get(
            f"http://127.0.0.1:{port}/login/", headers={header: "https"}, timeout=10
        )
        is_believed = "Strict-Transport-Security" in response.headers
    finally:
        process.terminate()
        process.wait(20)
    assert is_believed is (proxies != "" and "_" not in header)
    assert response.status_code == (200 if is_believed else 403)
    assert ("<form" in response.text) is is_believed
