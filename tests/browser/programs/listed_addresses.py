"""Only listed addresses get a response, and cookies behind TLS are for TLS only."""

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import User
from django.test import Client

from outkey.hosts.django.pages.access import installation

FORM = {"username": "boss", "password": "a long password"}
MISTAKE = {"username": "my password by mistake", "password": "x"}
TLS = {"X-Forwarded-Proto": "https"}
FORWARDED = TLS | {"X-Forwarded-For": "10.1.2.3"}
PROXY = "198.51.100.1"
STATUSES = {"10.1.2.3": 200, "127.0.0.1": 403, "2001:db8::1": 403}
client = Client(SERVER_NAME="outkey.example")


def only_listed_addresses_get_a_response() -> None:
    for address, status in STATUSES.items():
        headers = TLS | {"X-Forwarded-For": address}
        response = client.get("/login/", headers=headers, REMOTE_ADDR=PROXY)
        assert response.status_code == status, (address, response.status_code)


def cookies_behind_tls_are_for_tls_only() -> None:
    User.objects.create_superuser("boss", password="a long password")
    response = client.post("/login/?next=/", FORM, headers=FORWARDED, REMOTE_ADDR=PROXY)
    assert response.status_code == 302
    cookie = response.cookies["outkey_session"]
    assert cookie["secure"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["max-age"] == "", "the session ends with the browser"
    assert response["Strict-Transport-Security"] == "max-age=31536000"


def the_audit_names_no_user_who_could_not_sign_in() -> None:
    client.post("/login/", MISTAKE, headers=FORWARDED, REMOTE_ADDR=PROXY)
    rows = installation().audit_trail.rows.newest(2)
    assert [(row["tag"], row["actor"]) for row in rows] == [
        ("people:session:refused", "web:"),
        ("people:session:began", "web:boss"),
    ]


only_listed_addresses_get_a_response()
cookies_behind_tls_are_for_tls_only()
the_audit_names_no_user_who_could_not_sign_in()
