"""Forwarding headers count where a listed proxy sent them, and nowhere else."""

import re

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.test import Client
from django.urls import path

from outkey.hosts.server import urls

STRANGER = "203.0.113.9"
PROXY = "198.51.100.1"
FORWARDED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "8443",
    "X-Forwarded-For": "10.9.9.9",
    "X-Forwarded-Ssl": "on",
    "Forwarded": "proto=https;host=evil.example",
    "X-Real-IP": "10.9.9.9",
    "Host": "outkey.example",
}
# Not a page: those are served over https alone.
SHOW = "/api/v1/show/"
Facts = dict[str, object]
client = Client(SERVER_NAME="outkey.example")


def show(request: HttpRequest) -> JsonResponse:
    """Respond with what the pages believe of a request."""
    facts = {
        "scheme": request.scheme,
        "address": request.META["REMOTE_ADDR"],
        "url": request.build_absolute_uri("/callback/"),
        "headers": sorted(
            name for name in request.META if "FORWARD" in name or "REAL_IP" in name
        ),
    }
    return JsonResponse(facts)


def facts_of(remote: str, headers: dict[str, str]) -> tuple[Facts, str | None]:
    """Return what is believed, and the header Strict-Transport-Security."""
    response = client.get(SHOW, headers=headers, REMOTE_ADDR=remote)
    facts: Facts = response.json()
    return facts, response.headers.get("Strict-Transport-Security")


def a_listed_proxy_is_believed_and_nobody_else() -> None:
    assert facts_of(STRANGER, FORWARDED) == (
        {
            "scheme": "http",
            "address": STRANGER,
            "url": "http://outkey.example/callback/",
            "headers": [],
        },
        None,
    )
    assert facts_of(PROXY, FORWARDED) == (
        {
            "scheme": "https",
            "address": "10.9.9.9",
            "url": "https://outkey.example/callback/",
            "headers": ["HTTP_X_FORWARDED_PROTO"],
        },
        "max-age=31536000",
    )


def what_a_client_put_before_the_entry_of_the_proxy_counts_for_nothing() -> None:
    chained = FORWARDED | {
        "X-Forwarded-Proto": "https, http",
        "X-Forwarded-For": "10.9.9.9, 10.1.1.1",
    }
    facts, _ = facts_of(PROXY, chained)
    assert facts == {
        "scheme": "http",
        "address": "10.1.1.1",
        "url": "http://outkey.example/callback/",
        "headers": ["HTTP_X_FORWARDED_PROTO"],
    }


def sign_in_status(remote: str) -> int:
    """Return the status of a sign-in whose Origin is the https URL of the pages."""
    checked = Client(SERVER_NAME="outkey.example", enforce_csrf_checks=True)
    checked.get("/login/", headers=FORWARDED, REMOTE_ADDR=remote)
    form = {
        "username": "boss",
        "password": "a long password",
        "csrfmiddlewaretoken": checked.cookies["outkey_csrf"].value,
    }
    headers = FORWARDED | {"Origin": "https://outkey.example"}
    response = checked.post("/login/", form, headers=headers, REMOTE_ADDR=remote)
    return response.status_code


def the_origin_check_takes_a_request_over_http_for_what_it_is() -> None:
    User.objects.create_superuser("boss", password="a long password")
    settings.CSRF_TRUSTED_ORIGINS = []
    assert sign_in_status(PROXY) == 302


def no_page_is_served_in_clear_where_the_public_url_is_https() -> None:
    for page_path in ("/login/", "/", "/outkey/configuration/", "/nothing/"):
        for method in ("get", "post"):
            response = getattr(client, method)(
                page_path, headers=FORWARDED, REMOTE_ADDR=STRANGER
            )
            content = response.content.decode()
            assert response.status_code == 403, (page_path, method)
            assert "Open https://outkey.example instead" in content
            assert "<form" not in content
            assert "OUTKEY_PROXIES" in content
            assert "Set-Cookie" not in response.headers
    for path_, status in (
        ("/healthz", 200),
        ("/readyz", 200),
        ("/api/v1/openapi.json", 200),
        ("/api/v1/configurations", 401),
    ):
        response = client.get(path_, headers=FORWARDED, REMOTE_ADDR=STRANGER)
        assert response.status_code == status, path_
    page = client.get("/login/", headers=FORWARDED, REMOTE_ADDR=PROXY)
    assert page.status_code == 200
    static = re.search(r'href="(/static/[^"]+\.css)"', page.content.decode())
    assert static
    assert client.get(static[1], REMOTE_ADDR=STRANGER).status_code == 200


urls.urlpatterns.insert(0, path(SHOW.removeprefix("/"), show))
no_page_is_served_in_clear_where_the_public_url_is_https()
a_listed_proxy_is_believed_and_nobody_else()
what_a_client_put_before_the_entry_of_the_proxy_counts_for_nothing()
the_origin_check_takes_a_request_over_http_for_what_it_is()
