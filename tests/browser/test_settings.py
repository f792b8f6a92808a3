"""What the operator decides by variables: who may use the pages, and how they are reached."""

import os
import subprocess
import sys
from pathlib import Path

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
inside = {"REMOTE_ADDR": "10.1.2.3"} | secure
answer = client.post("/login/?next=/", form, **inside)
print(answer.status_code)
cookie = answer.cookies["outkey_session"]
print(bool(cookie["secure"]), bool(cookie["httponly"]), cookie["samesite"], cookie["max-age"])
print(answer["Strict-Transport-Security"])
client.post("/login/", {"username": "my password by mistake", "password": "x"}, **inside)
from outkey.hosts.django.pages.installed import installation
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
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=False
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
