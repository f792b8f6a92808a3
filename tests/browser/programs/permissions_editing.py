"""A form reaches the rules of editing: refusals are 422, and nothing is half done."""

from clients import (
    EDITOR,
    LIST,
    admin,
    application,
    client_with,
    form,
    save_document,
    text_of,
)
from inner_api import INNER, spar

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import SyncLine
from outkey.hosts.django.pages.shell import running_tests

editor = client_with("editor", *EDITOR)
place = save_document(
    INNER, "inner", token="spar-token", **{"row_X-API-Key": "spar-token"}
)


def the_internal_network_is_not_widened() -> None:
    moved = form("inner", base_url=spar.elsewhere)
    assert editor.post(place, moved).status_code == 422
    spar.clear()
    assert "internal network" in text_of(editor.post(place + "test/", moved))
    assert spar.journal == []


def a_row_that_is_not_called_secret_takes_or_puts_no_secret() -> None:
    plain = form("inner", **{"row-value-0": "mine", "row-secret-0": None})
    assert editor.post(place, plain).status_code == 422
    row = {"row-key-1": "Authorization", "row-value-1": "Bearer evil"}
    other = form("inner", authentication_type="none", **row)
    assert editor.post(place, other).status_code == 422
    assert editor.post(place, form("inner", notes="fine")).status_code == 302


def a_form_without_its_version_changes_nothing() -> None:
    for version in ("", "x", "-1", "9" * 5000, "1"):
        response = admin.post(place, form("inner", version=version, notes="lost"))
        assert response.status_code == 422, (version[:5], response.status_code)
    assert application.registry.get("inner").notes == "fine"


def a_secret_that_cannot_be_used_leaves_the_rest_as_it_was() -> None:
    bad = form("inner", notes="half", **{"secret:token": "****"})
    assert admin.post(place, bad).status_code == 422
    assert application.registry.get("inner").notes == "fine"


def a_draft_is_tried_under_a_name_of_its_own() -> None:
    taken = admin.post(LIST + "test/", form("inner") | {"name": "inner"})
    assert "already" in text_of(taken)
    path = {"verification.test_path": "/echo"}
    text_of(admin.post(place + "test/", form("inner", **path)))
    assert application.audit_trail.rows.newest(1)[0]["configuration"] == "inner (draft)"


def tests_that_wait_leave_threads_for_others() -> None:
    for _ in range(12):
        assert running_tests.acquire(blocking=False)
    busy = text_of(admin.post(place + "test/", form("inner")))
    assert "Many tests are running" in busy
    for _ in range(12):
        running_tests.release()
    for _ in range(15):
        tested = text_of(admin.post(place + "test/", form("inner")))
        assert "inner works." in tested


def adding_a_line_is_not_changing_one() -> None:
    adder = client_with("liner", Permission.VIEW_LINE, Permission.ADD_LINE)
    add = "/outkey/syncline/add/"
    line = {"name": "nightly", "configuration": "inner", "method": "GET", "path": "/"}
    assert adder.post(add, line).status_code == 302
    assert adder.post(add, line | {"method": "DELETE"}).status_code == 422
    assert SyncLine.objects.get().method == "GET"
    page = f"/outkey/syncline/{SyncLine.objects.get().pk}/"
    assert adder.post(page, line).status_code == 403


the_internal_network_is_not_widened()
a_row_that_is_not_called_secret_takes_or_puts_no_secret()
a_form_without_its_version_changes_nothing()
a_secret_that_cannot_be_used_leaves_the_rest_as_it_was()
a_draft_is_tried_under_a_name_of_its_own()
tests_that_wait_leave_threads_for_others()
adding_a_line_is_not_changing_one()
spar.close()
