"""What the operator decides by variables: who may use the pages, and how they are reached."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from browser.conftest import wait_for
from database.conftest import free_port

ASK = """
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.auth.models import User
from django.test import Client
client = Client(SERVER_NAME="outkey.example")
secure = {"HTTP_X_FORWARDED_PROTO": "https"}
for address in ("10.1.2.3", "127.0.0.1", "2001:db8::1"):
    answer = client.get("/login/", REMOTE_ADDR=address, **secure)
    print(address, answer.status_code)
User.objects.create_superuser("boss", password="a long password")
form = {"username": "boss", "password": "a long password"}
inside = {"REMOTE_ADDR": "198.51.100.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"} | secure
answer = client.post("/login/?next=/", form, **inside)
print(answer.status_code)
cookie = answer.cookies["outkey_session"]
print(bool(cookie["secure"]), bool(cookie["httponly"]), cookie["samesite"], cookie["max-age"])
print(answer["Strict-Transport-Security"])
client.post("/login/", {"username": "my password by mistake", "password": "x"}, **inside)
from outkey.hosts.django.pages.access import installation
for record in installation().audit_rows.newest(2):
    print(record["tag"], record["actor"])
"""


def test_only_listed_addresses_are_answered_and_behind_tls_cookies_are_for_tls(
    tmp_path: Path,
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "OUTKEY_HOME": str(tmp_path / "home"),
        "OUTKEY_PUBLIC_URL": "https://outkey.example",
        "OUTKEY_ALLOWED_ADDRESSES": "10.0.0.0/8, 192.0.2.7",
        "OUTKEY_PROXIES": "198.51.100.0/24",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "10.1.2.3 200",
        "127.0.0.1 403",
        "2001:db8::1 403",
        "302",
        "True True Lax ",
        "max-age=31536000",
        "people:session:refused web:",
        "people:session:began web:boss",
    ], done.stderr


FORWARDED = """
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from outkey.hosts.server import urls
from django.urls import path
from django.conf import settings

def show(request):
    return HttpResponse(" ".join([
        request.scheme, request.META["REMOTE_ADDR"], request.build_absolute_uri("/callback/"),
        str(sorted(name for name in request.META if "FORWARD" in name or "REAL_IP" in name)),
    ]))

urls.urlpatterns.insert(0, path("show/", show))
everything = {
    "HTTP_X_FORWARDED_PROTO": "https", "HTTP_X_FORWARDED_HOST": "evil.example",
    "HTTP_X_FORWARDED_PORT": "8443", "HTTP_X_FORWARDED_FOR": "10.9.9.9",
    "HTTP_X_FORWARDED_SSL": "on", "HTTP_FORWARDED": "proto=https;host=evil.example",
    "HTTP_X_REAL_IP": "10.9.9.9", "HTTP_HOST": "outkey.example",
}
client = Client(SERVER_NAME="outkey.example")
for address in ("203.0.113.9", "198.51.100.1"):
    answer = client.get("/show/", REMOTE_ADDR=address, **everything)
    print(answer.content.decode())
    print(answer.headers.get("Strict-Transport-Security"))
# What a client put before the entry of the proxy counts for nothing.
chained = everything | {"HTTP_X_FORWARDED_PROTO": "https, http",
                        "HTTP_X_FORWARDED_FOR": "10.9.9.9, 10.1.1.1"}
print(client.get("/show/", REMOTE_ADDR="198.51.100.1", **chained).content.decode())

# The check of the origin takes a request over http for what it is.
User.objects.create_superuser("boss", password="a long password")
settings.CSRF_TRUSTED_ORIGINS = []
form = {"username": "boss", "password": "a long password"}
for address in ("203.0.113.9", "198.51.100.1"):
    checking = Client(SERVER_NAME="outkey.example", enforce_csrf_checks=True)
    sent = everything | {"REMOTE_ADDR": address}
    checking.get("/login/", **sent)
    token = checking.cookies["outkey_csrf"].value
    origin = {"HTTP_ORIGIN": "https://outkey.example"}
    answer = checking.post("/login/", form | {"csrfmiddlewaretoken": token}, **sent, **origin)
    print(answer.status_code)
"""


def test_forwarding_headers_are_believed_from_listed_proxies_only(
    tmp_path: Path,
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "OUTKEY_HOME": str(tmp_path / "home"),
        "OUTKEY_PUBLIC_URL": "https://outkey.example",
        "OUTKEY_PROXIES": "198.51.100.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", FORWARDED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "http 203.0.113.9 http://outkey.example/callback/ []",
        "None",
        "https 10.9.9.9 https://outkey.example/callback/ ['HTTP_X_FORWARDED_PROTO']",
        "max-age=31536000",
        "http 10.1.1.1 http://outkey.example/callback/ ['HTTP_X_FORWARDED_PROTO']",
        "403",
        "302",
    ], done.stderr


@pytest.mark.parametrize(
    "header", ["X-Forwarded-Proto", "X_Forwarded_Proto", "x-forwarded-proto"]
)
@pytest.mark.parametrize("proxies", ["", "127.0.0.1"])
def test_the_running_server_believes_a_listed_proxy_only(
    tmp_path: Path, proxies: str, header: str
) -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "outkey.hosts.cli.main", "serve", "--port", str(port)],
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
        wait_for(f"http://127.0.0.1:{port}")
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/login/", headers={header: "https"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            is_believed = "Strict-Transport-Security" in response.headers
    finally:
        process.terminate()
        process.wait(20)
    assert is_believed is (proxies != "" and "_" not in header)
