"""Pasting needs what saving by hand needs, and a refused paste is not shown again."""

from clients import (
    EDITOR,
    LIST,
    admin,
    application,
    client_with,
    text_of,
)

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.configurations.import_reports import REPORT

IMPORT = LIST + "import/"
SECRET = "s3cr3t-of-a-paste"
COMMAND = f"curl https://api.acme.example/v1/me -u svc:{SECRET}"
INTERNAL = f"curl http://10.0.0.1/v1/me -u svc:{SECRET}"
AWS = f"curl --aws-sigv4 aws:amz:eu-west-1:s3 -u AK8S:{SECRET} https://b.example/x"

viewer = client_with("viewer", Permission.VIEW)
editor = client_with("editor", *EDITOR)
keeper = client_with("keeper", *EDITOR, Permission.SET_SECRET)


def adding_is_needed() -> None:
    assert viewer.post(IMPORT, {"text": COMMAND}).status_code == 403
    assert admin.get(IMPORT).status_code == 405
    assert "import-text" not in text_of(viewer.get(LIST))


def what_a_user_may_not_save_is_refused_without_the_paste() -> None:
    for client, text in (
        (editor, COMMAND),
        (keeper, INTERNAL),
        (editor, AWS),
        (admin, f"wget {SECRET}"),
    ):
        response = client.post(IMPORT, {"text": text})
        assert response.status_code == 422, (text, response.status_code)
        assert SECRET not in text_of(response)
    assert application.registry.all() == []


def what_a_user_may_save_is_imported_and_its_report_shown_once() -> None:
    response = keeper.post(IMPORT, {"text": COMMAND})
    assert response.status_code == 302
    assert SECRET not in str(dict(keeper.session))
    shown = text_of(keeper.get(response["Location"]))
    assert "What became of the import" in shown
    assert SECRET not in shown
    assert REPORT not in keeper.session
    again = text_of(keeper.get(response["Location"]))
    assert "What became of the import" not in again
    assert application.registry.lines() == []  # without the permission to add them


def a_name_that_is_taken_gets_a_number() -> None:
    assert admin.post(IMPORT, {"text": COMMAND}).status_code == 302
    names = [one.name for one in application.registry.all()]
    assert names == ["acme", "acme 2"]
    assert [line.name for line in application.registry.lines()] == ["acme 2 me"]


adding_is_needed()
what_a_user_may_not_save_is_refused_without_the_paste()
what_a_user_may_save_is_imported_and_its_report_shown_once()
a_name_that_is_taken_gets_a_number()
