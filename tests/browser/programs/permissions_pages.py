"""Every page for every user: lists, menu, sign-in, spoilt records and a missing key."""

import re
from datetime import UTC, datetime, timedelta

from clients import (
    HOME,
    LIST,
    admin,
    client_with,
    lose_key,
    save_document,
)
from django.contrib.auth.models import Permission as DjangoPermission
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from inner_api import CONSENT, INNER, spar

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import Configuration
from outkey.hosts.django.rows.storage import health_of
from outkey.sending.core.configuration.health import Status

place = save_document(
    INNER, "inner", token="spar-token", **{"row_X-API-Key": "spar-token"}
)
consent = save_document(CONSENT, "consent", client_secret="spar-client-secret")
AUDIT = "/outkey/auditrecord/"


def every_permission_is_one_of_django() -> None:
    rows = DjangoPermission.objects.filter(content_type__app_label="outkey")
    assert set(Permission) <= set(rows.values_list("codename", flat=True))


def the_filter_shows_exactly_those_whose_status_it_is() -> None:
    today = datetime.now(UTC).date()
    ended = today - timedelta(days=3)
    soon = today + timedelta(days=3)
    tested: dict[str, object] = {"tested_revision": 1}
    needs_user: dict[str, object] = {"cause": "reauthorization_needed"}
    samples: dict[str, dict[str, object]] = {
        "f-working": tested,
        "f-failing": tested | {"cause": "timeout"},
        "f-never_tested": {},
        "f-never_tested-2": {"cause": "timeout"},
        "f-paused": tested | {"paused_at": 1.0, "cause": "tls"},
        "f-expired": tested | {"cause": "tls", "expires_on": ended},
        "f-expiring_soon": tested | {"expires_on": soon},
        "f-expiring_soon-2": {"expires_on": soon},
        "f-needs_secret": tested | {"needs_secret": True, "cause": "tls"},
        "f-reauthorization_needed": tested | needs_user,
        "f-reauthorization_needed-2": {"needs_person": True, "paused_at": 1.0},
    }
    for name, columns in samples.items():
        Configuration.objects.create(name=name, base_url="https://a.example", **columns)
    now = datetime.now(UTC).timestamp()
    rows = Configuration.objects.filter(name__startswith="f-")
    statuses = {row.name: health_of(row).status(now=now, sealed=False) for row in rows}
    assert set(statuses.values()) == set(Status) - {Status.SEALED}
    for status in set(statuses.values()):
        page = admin.get(f"{LIST}?q=f-&status={status}").content.decode()
        listed = {name for name in samples if f">{name}<" in page}
        expected = {name for name in samples if statuses[name] is status}
        assert listed == expected, status
        assert {name.removesuffix("-2") for name in listed} == {f"f-{status}"}
    page = admin.get(f"{LIST}?q=f-").content.decode()
    assert all(f">{name}<" in page for name in samples)
    rows.delete()
    assert admin.get(f"{AUDIT}?before=" + "9" * 5000).status_code == 200


def who_may_see_nothing_can_at_least_sign_out() -> None:
    nobody = client_with("nobody")
    page = nobody.get("/", follow=True).content.decode()
    main = main_of(page)
    assert "You may not see this" in main
    assert "Ask an administrator for one, such as Operator" in main
    assert "a page that is yours" not in main
    assert "href=" not in main
    assert nobody.post("/logout/").status_code == 200
    assert "/login/" in nobody.get(LIST)["Location"]
    tester = client_with("tester", Permission.VIEW, Permission.TEST)
    main = main_of(tester.get(AUDIT).content.decode())
    assert re.findall('href="([^"]+)">Open your first page<', main) == [HOME]
    assert main.count("href=") == 1
    assert "a page that is yours" in main


def main_of(page: str) -> str:
    """Return what a page has beside its header and its menu."""
    before, found, main = page.partition("<main ")
    assert 'action="/logout/"' in before
    assert found
    return main


def the_menu_marks_the_page_that_is_shown_and_no_other() -> None:
    for path in (f"{AUDIT}people/", AUDIT, HOME, LIST):
        page = admin.get(path).content.decode()
        marked = re.findall(r'href="([^"]+)"\s+aria-current="page"', page)
        assert marked == [path]
    assert b"by whom" in admin.get(f"{AUDIT}people/").content


def a_sign_in_leads_to_the_beginning_and_a_locked_one_says_for_how_long() -> None:
    User.objects.create_superuser("lou", password="a long password")
    visitor = Client(SERVER_NAME="127.0.0.1")
    right = {"username": "lou", "password": "a long password"}
    assert visitor.post("/login/", right)["Location"] == "/"
    for _ in range(5):
        stranger = Client(SERVER_NAME="127.0.0.1")
        locked = stranger.post("/login/", {"username": "x", "password": "x"})
    assert locked.status_code == 429
    assert b"15 minutes" in locked.content
    assert re.search(rb'href="/static/outkey/outkey\.[0-9a-f]+\.css"', locked.content)


def a_spoilt_record_spoils_no_page() -> None:
    with connection.cursor() as cursor:
        cursor.execute('UPDATE outkey_auditrecord SET body = \'{"at":"x"}\'')
    assert admin.get(AUDIT).status_code == 200


def without_a_key_everything_is_said_on_a_page() -> None:
    lose_key()
    line = {"name": "another", "configuration": "inner", "method": "GET", "path": "/"}
    for path in (place + "delete/", "/outkey/syncline/add/", f"{AUDIT}export/"):
        response = admin.post(path, line)
        assert response.status_code == 503, (path, response.status_code)
    spar.clear()
    for action in ("connect", "renew", "revoke", "forget"):
        page = admin.post(f"{consent}token/{action}/", follow=True).content.decode()
        assert "is missing, wrong or damaged" in page, action
        assert "token/renew/" not in page
    assert spar.journal == []
    for path in (place, LIST, AUDIT, "/outkey/syncline/"):
        assert b"Sealed." in admin.get(path).content, path


every_permission_is_one_of_django()
the_filter_shows_exactly_those_whose_status_it_is()
who_may_see_nothing_can_at_least_sign_out()
the_menu_marks_the_page_that_is_shown_and_no_other()
a_sign_in_leads_to_the_beginning_and_a_locked_one_says_for_how_long()
a_spoilt_record_spoils_no_page()
without_a_key_everything_is_said_on_a_page()
spar.close()
