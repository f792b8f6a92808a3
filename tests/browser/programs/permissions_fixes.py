"""A fix is signed and needs what its change needs; a pause is explained and ended."""

import re

from clients import (
    EDITOR,
    HOME,
    LIST,
    admin,
    administration,
    application,
    apply_text,
    client_with,
    form,
    save_document,
    text_of,
)
from django.db.models import F
from inner_api import INNER, spar

from outkey.administration.core.findings.monitoring import Notice
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django.models import Configuration

place = save_document(
    INNER, "inner", token="spar-token", **{"row_X-API-Key": "spar-token"}
)
NOTICES = (
    Condition("S-paused", "inner"),
    Condition("S-new-origin", "inner", "https://new.example"),
)


def post_fix(proposal: str) -> str:
    return text_of(admin.post(place + "fix/", {"fix": proposal}, follow=True))


def a_fix_is_for_one_state_and_needs_what_the_change_needs() -> None:
    administration.set_secret("inner", "token", Secret("wrong"))
    apply_text('[configuration.inner]\nverification = { test_path = "/basic" }')
    shown = text_of(admin.post(place + "test/", form("inner")))
    found = re.search('name="fix"\\s+value="([^"]+)"', shown)
    assert found, shown[-800:]
    proposal = found[1]
    assert "wrong-scheme" in shown
    assert "<ins>basic</ins>" in shown, shown[-800:]
    editor = client_with("editor", *EDITOR)
    assert editor.post(place + "fix/", {"fix": proposal}).status_code == 403
    assert application.registry.get("inner").authentication_type == "bearer"
    for bad in ("", "nonsense", proposal[:-2] + "xx"):
        assert "too old" in post_fix(bad)
    shown = post_fix(proposal)
    assert "Changed and saved" in shown
    assert 'data-repeat="authentication_type"' in shown, "the page tests again"
    assert "data-repeat" not in admin.get(place).content.decode(), "but only once"
    assert application.registry.get("inner").authentication_type == "basic"
    post_fix(proposal)
    assert application.registry.get("inner").version == 3, "a second time is a conflict"


def pause() -> None:
    administration.set_secret("inner", "password", Secret("wrong"))
    for _ in range(5):
        application.registry.note_refused(
            "inner", application.registry.get("inner").revision
        )
    application.registry.pause("inner", 1_700_000_000.0)
    tested = {"cause": "secret_missing", "tested_revision": F("revision")}
    Configuration.objects.filter(name="inner").update(tested_at=1.0, **tested)


def a_pause_is_explained_and_ended_by_who_may_test() -> None:
    resume = place + "resume/"
    page = admin.get(place).content.decode()
    assert "paused since 2023-11-14 22:13:20 UTC" in page
    assert "5 times in a row" in page
    assert resume in page
    passer = client_with("passer", Permission.VIEW)
    assert resume not in passer.get(place).content.decode()
    stranger = client_with("stranger", Permission.VIEW, Permission.CHANGE)
    assert stranger.post(resume).status_code == 403
    assert admin.get(resume).status_code == 405


def a_notice_that_repeats_a_status_is_shown_once() -> None:
    notices = [Notice(condition, 1.0) for condition in NOTICES]
    states = {notice.condition.key(): notice.state() for notice in notices}
    application.states.put(StateKind.NOTICE, states)
    home = admin.get(HOME).content.decode()
    assert "again and again" not in home
    assert home.count("paused after 5 refusals in a row") == 1
    assert home.count("https://new.example") == 1
    assert "secret_missing" not in home


def a_pause_is_ended() -> None:
    tester = client_with("tester", Permission.VIEW, Permission.TEST)
    done = tester.post(place + "resume/", follow=True).content
    assert b"inner sends again" in done
    assert not application.registry.get("inner").paused
    assert application.audit_trail.rows.newest(1)[0]["fields"] == ["paused_at"]
    assert "failing" in admin.get(place).content.decode()
    administration.set_secret("inner", "password", Secret("another"))
    for path in (place, LIST, HOME):
        page = admin.get(path).content.decode()
        assert "changed since the last test" in page, path
        assert "secret missing" not in page, path


a_fix_is_for_one_state_and_needs_what_the_change_needs()
pause()
a_pause_is_explained_and_ended_by_who_may_test()
a_notice_that_repeats_a_status_is_shown_once()
a_pause_is_ended()
spar.close()
