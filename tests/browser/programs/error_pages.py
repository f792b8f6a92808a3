"""What went wrong, as a page: in the layout, without the database if need be."""

import logging
import re
from unittest.mock import patch

from clients import HOME, LIST, admin, client_with
from django.db import OperationalError, connection
from django.test import Client

from outkey.foundation.core.permission import Permission

AUDIT = "/outkey/auditrecord/"
SEARCH = f"{LIST}search/"
GERMAN = {"accept-language": "de"}


def text(response: object) -> str:
    return response.content.decode()  # type: ignore[attr-defined,no-any-return]


def a_foreign_host_names_the_setting() -> None:
    response = Client(SERVER_NAME="outkey.corp.example").get("/login/")
    assert response.status_code == 400
    assert "OUTKEY_PUBLIC_URL" in text(response)
    german = Client(SERVER_NAME="outkey.corp.example").get("/login/", headers=GERMAN)
    assert "Umgebungsvariable OUTKEY_PUBLIC_URL" in text(german)


def a_missing_page_has_the_menu_and_no_query_of_strangers() -> None:
    page = text(admin.get("/nowhere/"))
    assert "There is no such page" in page
    assert 'id="ok-menu"' in page
    stranger = Client(SERVER_NAME="127.0.0.1").get("/nowhere/")
    assert stranger.status_code in {302, 404}


def an_auditor_lands_on_a_page_of_theirs() -> None:
    auditor = client_with("auditor", Permission.VIEW_AUDIT)
    assert auditor.get("/")["Location"] == AUDIT
    assert auditor.get(HOME)["Location"] == AUDIT
    refused = auditor.get(LIST)
    assert refused.status_code == 403
    page = text(refused)
    assert 'id="ok-menu"' in page
    assert re.search(rf'ok-primary"\s+href="{AUDIT}">Open your first page', page)
    # The search is for everybody, and finds what its user may open.
    assert set(re.findall(rf'"({LIST}[^"]*)"', page)) == {SEARCH}


def a_form_that_came_from_elsewhere_says_what_to_do() -> None:
    strict = Client(SERVER_NAME="127.0.0.1", enforce_csrf_checks=True)
    response = strict.post("/login/", {"username": "a", "password": "b"})
    assert response.status_code == 403
    assert "load the page again" in text(response)
    foreign = strict.post(
        "/login/", {"username": "a"}, HTTP_ORIGIN="https://elsewhere.example"
    )
    assert "OUTKEY_PUBLIC_URL" in text(foreign)


def too_much_data_is_named_as_such() -> None:
    response = admin.post(LIST + "add/", {"name": "x" * 3_000_000})
    assert response.status_code == 413
    assert "This is too large" in text(response)


def a_failure_has_an_id_that_the_log_has_too_and_leaks_nothing() -> None:
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("outkey.hosts.server.web.errors").addHandler(handler)
    admin.raise_request_exception = False
    failing = patch(
        "outkey.hosts.django.pages.home.build_overview",
        side_effect=RuntimeError("token s3cr3t"),
    )
    with failing:
        response = admin.get(HOME)
    assert response.status_code == 500
    page = text(response)
    assert "s3cr3t" not in page
    assert "RuntimeError" not in page
    reference = re.search(r"<code>([0-9a-f]{8})</code>", page)
    assert reference
    assert any(reference[1] in record for record in records)


def without_the_database_every_error_is_still_a_page() -> None:
    admin.raise_request_exception = False
    down = OperationalError("could not connect to server db.corp.example")
    with patch.object(connection, "cursor", side_effect=down):
        for url, status in ((HOME, 503), ("/nowhere/", 404), ("/auth/user/", 503)):
            response = admin.get(url)
            assert response.status_code in {status, 503}, (url, response.status_code)
            page = text(response)
            assert '<main id="content-start"' in page
            assert "db.corp.example" not in page
    assert "The database does not respond" in page


def the_policy_allows_nothing_inline_and_no_evaluation() -> None:
    for url in (HOME, LIST, "/auth/user/", "/nowhere/", "/login/"):
        policy = admin.get(url)["Content-Security-Policy"]
        assert "unsafe" not in policy, url
        page = text(admin.get(url, follow=True))
        assert " style=" not in page, url
        assert "<style" not in page, url
        assert not re.search(r"<script(?![^>]* src=)", page), url
        assert not re.search(r"\son[a-z]+=", page), url


a_foreign_host_names_the_setting()
a_missing_page_has_the_menu_and_no_query_of_strangers()
an_auditor_lands_on_a_page_of_theirs()
a_form_that_came_from_elsewhere_says_what_to_do()
too_much_data_is_named_as_such()
a_failure_has_an_id_that_the_log_has_too_and_leaks_nothing()
without_the_database_every_error_is_still_a_page()
the_policy_allows_nothing_inline_and_no_evaluation()
