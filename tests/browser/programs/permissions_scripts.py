"""Who may not write scripts changes everything else; a run shows lengths only."""

import json
import re
import time

from clients import (
    ALL_BUT_SCRIPTS,
    BACKEND,
    EDITOR,
    LIST,
    admin,
    application,
    boss,
    client_with,
    form,
    save_document,
    text_of,
)
from django.test import Client
from inner_api import INNER, spar

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import Configuration
from outkey.hosts.django.pages.shell import running_tests

SCRIPT = """
def compute_auth_header(sync_line):
    return {"X-Signed": sync_line.api_config_id.get_secret_key()[:3]}
"""
SPYING = (
    "def compute_auth_header(line):\n"
    " return {'X-Spy': line.api_config_id.get_secret_key()}"
)
SIGNS = f"""
[configuration.signs]
base_url = "{spar.url}"
network = "internal"
authentication_type = "none"
no_auth_reason = "internal"
script = {json.dumps(SCRIPT)}
"""
signs = save_document(SIGNS, "signs", secret_key="precious key")
inner = save_document(
    INNER, "inner", token="spar-token", **{"row_X-API-Key": "spar-token"}
)
writer = client_with("writer", *ALL_BUT_SCRIPTS, Permission.EDIT_SCRIPT)
scriptless = client_with("scriptless", *ALL_BUT_SCRIPTS)
script = application.registry.get("signs").script
evil = script.replace("[:3]", "")


def form_without_script(**changed: str | None) -> dict[str, str]:
    """Return the form as the page of a user posts it who may not write scripts."""
    absent = {
        name: None for name in ("script", "script_enabled") if name not in changed
    }
    return form("signs", **changed, **absent)


def the_script_is_shown_and_left_alone() -> None:
    page = scriptless.get(signs).content.decode()
    textarea = r"<textarea[^>]* readonly[^>]*>\n\ndef compute_auth_header"
    assert re.search(textarea, page)
    assert 'name="script"' not in page
    assert "data-run" not in page
    saved = scriptless.post(signs, form_without_script(notes="theirs"))
    assert saved.status_code == 302
    stored = application.registry.get("signs")
    assert (stored.notes, stored.script) == ("theirs", script)
    assert stored.script_enabled
    refused = scriptless.post(signs, form_without_script(base_url="nonsense"))
    assert refused.status_code == 422
    assert b"\ndef compute_auth_header" in refused.content


def a_forged_script_is_neither_saved_nor_tried() -> None:
    spar.clear()
    for forged in ({"script": evil}, {"script": ""}, {"script_enabled": ""}):
        values = form_without_script(**forged)
        page = scriptless.post(signs, values)
        assert page.status_code == 422, forged
        assert b"not write scripts" in page.content, forged
        for panel in ("test/", "preview/"):
            shown = scriptless.post(signs + panel, values).content
            assert b"not write scripts" in shown, forged
    fresh = form_without_script(script=evil, version="") | {"name": "another"}
    assert scriptless.post(LIST + "add/", fresh).status_code == 422
    assert application.registry.get("signs").script == script
    assert spar.journal == []


def a_run_needs_both_permissions() -> None:
    untested = (Permission.VIEW, Permission.CHANGE, Permission.EDIT_SCRIPT)
    for client in (
        scriptless,
        client_with("editor", *EDITOR),
        client_with("untested", *untested),
    ):
        assert client.post(signs + "script/", form("signs")).status_code == 403
    assert writer.get(signs + "script/").status_code == 405
    checking = Client(SERVER_NAME="127.0.0.1", enforce_csrf_checks=True)
    checking.force_login(boss, backend=BACKEND)
    assert checking.post(signs + "script/", form("signs")).status_code == 403


def run(**changed: str | None) -> str:
    shown = text_of(writer.post(signs + "script/", form("signs", **changed)))
    return re.sub(r">\s+<", "><", shown)


def a_run_shows_names_and_lengths_and_uses_no_secret_elsewhere() -> None:
    spar.clear()
    assert "<code>X-Signed</code></td><td>3<" in run()
    shown = run(script=evil)
    assert "<td>12<" in shown, shown
    assert "precious" not in shown
    assert "ok-error" in run(base_url=spar.elsewhere)
    typed = {"secret:secret_key": "another key"}
    assert "<td>3<" in run(base_url=spar.elsewhere, **typed)
    assert "ok-error" in run(**{"clear:secret_key": "on"})
    assert "not a date" in run(**{"run:at": "some day"}).lower()
    assert spar.journal == []


def runs_and_examples_are_limited_like_tests() -> None:
    for _ in range(12):
        assert running_tests.acquire(blocking=False)
    assert "Many tests are running" in run()
    page = writer.post(signs, form("signs", script=evil))
    assert page.status_code == 422
    assert b"many tests are running" in page.content
    for _ in range(12):
        running_tests.release()
    windows = form("signs", script=evil.replace("\n", "\r\n"))
    assert writer.post(signs, windows).status_code == 302
    assert application.registry.get("signs").script == evil


def a_script_that_was_written_into_the_database_gets_no_secret() -> None:
    row = Configuration.objects.get(name="inner")
    settings = dict(row.settings)
    row.settings |= {"script": SPYING, "script_enabled": True}
    row.revision += 1
    row.save()
    time.sleep(0.2)
    spar.clear()
    permissions = (Permission.VIEW, Permission.CHANGE, Permission.TEST)
    spy = client_with("spy", *permissions)
    for client in (spy, admin):
        for panel in ("test/", "preview/"):
            for notes in ("", "another"):
                values = form("inner", script=SPYING, script_enabled="on", notes=notes)
                shown = text_of(client.post(inner + panel, values))
                assert "outkey secret confirm" in shown, (panel, notes, shown[-300:])
    assert spar.journal == []
    row.settings = settings
    row.revision += 1
    row.save()
    time.sleep(0.2)


def a_preview_that_runs_another_script_needs_the_permission_to_test() -> None:
    permissions = (Permission.VIEW, Permission.CHANGE, Permission.EDIT_SCRIPT)
    scribe = client_with("scribe", *permissions)
    quiet = "def compute_auth_header(line):\n return {}"
    values = form("inner", script=quiet, script_enabled="on")
    assert scribe.post(inner + "preview/", values).status_code == 403
    assert admin.post(inner + "preview/", values).status_code == 200
    assert str(application.audit_trail.rows.newest(1)[0]["key"]).startswith("script ")


the_script_is_shown_and_left_alone()
a_forged_script_is_neither_saved_nor_tried()
a_run_needs_both_permissions()
a_run_shows_names_and_lengths_and_uses_no_secret_elsewhere()
runs_and_examples_are_limited_like_tests()
a_script_that_was_written_into_the_database_gets_no_secret()
a_preview_that_runs_another_script_needs_the_permission_to_test()
spar.close()
