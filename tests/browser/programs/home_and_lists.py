"""Home, the list and the search for every role, with the buttons that each may use."""

import json
import re
import time
from html import unescape

from clients import HOME, LIST, admin, application, apply_text, client_of, client_with
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from inner_api import INNER, spar

from outkey.administration.core.findings.monitoring import Notice
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django.models import Configuration, Quarantine, Run, SyncLine
from outkey.sending.core.configuration.health import Status

SEARCH = f"{LIST}search/?part=1&q="
LINE = """
[line.orders]
configuration = "inner"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""


def client_in(group: str) -> Client:
    user = User.objects.create_user(group, is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return client_of(user)


def page_of(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, (path, response.status_code)
    return " ".join(response.content.decode().split())


operator = client_in("Operator")
auditor = client_in("Auditor")


def an_empty_installation_has_a_first_step_for_those_who_may_take_it() -> None:
    assert "Create the first configuration" in page_of(admin, HOME)
    page = page_of(operator, HOME)
    assert "Create the first configuration" not in page
    assert "An administrator adds the first one." in page
    assert "Create the first configuration" not in page_of(operator, LIST)


def who_may_read_only_the_audit_is_sent_there() -> None:
    assert auditor.get(HOME)["Location"] == "/outkey/auditrecord/"
    assert client_with("nobody").get(HOME).status_code == 403


def fill() -> None:
    apply_text(INNER.replace("headers =", "# headers ="))
    apply_text(LINE)
    columns: dict[str, object] = {
        "base_url": "https://a.example",
        "tested_revision": 1,
    }
    rows: dict[str, dict[str, object]] = {
        "b-failing": {"cause": "timeout", "tested_at": time.time() - 300},
        "a-failing": {"cause": "timeout", "tested_at": time.time() - 300},
        "consent": {"needs_person": True},
        "fine": {},
        "off": {"cause": "timeout", "active": False},
        "paused": {"paused_at": time.time(), "refused": 5},
        "untested": {"tested_revision": None},
    }
    for name, changed in rows.items():
        Configuration.objects.create(name=name, **(columns | changed))
    counts = json.dumps({"created": 259, "failed": 41})
    run = Run.objects.create(
        line=SyncLine.objects.get(name="orders"),
        actor="test",
        state="done",
        dry_run=False,
        checkpoint="{}",
        counts=json.loads(counts),
        started_at=time.time() - 64,
        ended_at=time.time() - 60,
        until=0,
    )
    Quarantine.objects.create(
        run=run, number=1, field="born_on", reason="no_date", excerpt="a secret value"
    )


def names_in(page: str) -> list[str]:
    part = page.partition('class="ok-attention"')[2].partition("</ul>")[0]
    return re.findall(r'class="ok-about"> <a [^>]*>([^<]*)</a>', part)


def what_needs_attention_comes_by_urgency_and_then_by_name() -> None:
    page = page_of(admin, HOME)
    names = names_in(page)
    assert names[:5] == ["inner", "consent", "paused", "a-failing", "b-failing"]
    assert names[-2:] == ["orders", "untested"]
    assert "5 configurations need attention" in page
    assert "1 switched off" in page
    assert "41 of 300 records rejected" in page
    assert "born_on: the value is not a date" in page
    assert "a secret value" not in page
    assert "outkey doctor" not in page


def each_role_gets_the_buttons_that_it_may_use() -> None:
    labels = re.compile(r'ok-small"[^>]*> ?([^<]+?) ?</')
    assert labels.findall(page_of(admin, HOME)) == [
        "Enter secret",
        "Connect",
        "Fix",
        "Fix",
        "Fix",
        "Open mapping",
        "Test",
    ]
    page = page_of(operator, HOME)
    assert labels.findall(page) == [
        "Open",
        "Open",
        "Test",
        "Test",
        "Test",
        "Open run",
        "Test",
    ]
    assert f'href="{LIST}new/"' not in page
    assert "Test all" in page
    viewer = client_with("viewer", Permission.VIEW)
    page = page_of(viewer, HOME)
    assert "Test all" not in page
    assert "orders" not in names_in(page)
    assert viewer.post(f"{LIST}test-all/").status_code == 403


def the_list_is_sorted_filtered_and_counted() -> None:
    def listed(query: str) -> list[str]:
        page = page_of(admin, LIST + query)
        return re.findall(
            r'<a href="/outkey/configuration/[0-9a-f-]{36}/">([^<]+)<', page
        )

    names = sorted(row.name for row in Configuration.objects.all())
    assert listed("") == names
    assert listed("?sort=-name") == names[::-1]
    assert listed("?sort=nonsense") == names
    assert listed("?sort=status")[:2] == ["inner", "consent"]
    assert listed("?sort=-status")[0] in {"fine", "off"}
    assert listed("?status=inactive") == ["off"]
    assert "untested" not in listed("?status=attention")
    assert len(listed("?status=attention")) == 5
    assert listed(f"?status={Status.NEVER_TESTED}&q=unt") == ["untested"]
    assert f"1–{len(names)} of {len(names)}" in page_of(admin, LIST)
    assert listed("?page=999") == names
    assert listed("?page=x") == names
    assert 'aria-sort="descending"' in page_of(admin, LIST + "?sort=-environment")


def many_are_switched_off_and_on_after_a_question() -> None:
    rows = Configuration.objects.filter(name__in=["fine", "inner"])
    selected = [str(row.pk) for row in rows]
    form = {"action": "pause", "selected": selected, "query": "sort=-name"}
    page = admin.post(f"{LIST}bulk/", form).content.decode()
    assert "Nothing is sent with a configuration that is switched off." in page
    assert rows.filter(active=False).count() == 0
    done = admin.post(f"{LIST}bulk/", form | {"confirmed": "1"})
    assert done["Location"] == f"{LIST}?sort=-name"
    page = page_of(admin, LIST)
    assert "Changed: 1." in page, "the other one's row is not what outkey would write"
    assert not Configuration.objects.get(name="inner").active
    admin.post(f"{LIST}bulk/", form | {"action": "resume", "confirmed": "1"})
    assert Configuration.objects.get(name="inner").active
    assert operator.post(f"{LIST}bulk/", form).status_code == 403
    assert admin.post(f"{LIST}bulk/", {"action": "delete"}).status_code == 404
    nothing = {"action": "test", "selected": ["x"]}
    response = admin.post(f"{LIST}bulk/", nothing, follow=True)
    assert b"Select at least one configuration." in response.content


def an_export_has_no_secret_and_is_recorded() -> None:
    selected = [str(Configuration.objects.get(name="inner").pk)]
    form = {"action": "export", "selected": selected}
    response = operator.post(f"{LIST}bulk/", form)
    assert "attachment" in response["Content-Disposition"]
    text = response.content.decode()
    assert "[configuration.inner]" in text
    assert "[line.orders]" in text
    assert "spar-token" not in text
    application.audit.flush()
    newest = application.audit_trail.rows.newest(5, configuration="inner")
    assert any("exported" in str(record["tag"]) for record in newest)


def one_configuration_is_tested_from_a_list() -> None:
    row = Configuration.objects.get(name="inner")
    part = operator.post(f"{LIST}{row.pk}/check/", {"part": "1"}).content.decode()
    assert "data-failed" in part
    viewer = client_with("viewer 2", Permission.VIEW)
    assert viewer.post(f"{LIST}{row.pk}/check/").status_code == 403
    page = operator.post(f"{LIST}test-all/").content.decode()
    assert page.count("data-check>") >= 1
    assert ">paused<" not in page, "its credentials were refused: a test could lock"


def the_search_finds_what_the_user_may_see_and_no_secret() -> None:
    assert "inner" in page_of(admin, SEARCH + "INN")
    assert "orders" in page_of(admin, SEARCH + "orders")
    run = Run.objects.get()
    assert f"/outkey/run/{run.pk}/" in page_of(admin, f"{SEARCH}%23{run.pk}")
    assert "/outkey/knownkey/" in page_of(admin, SEARCH + "keys")
    assert "/outkey/knownkey/" not in page_of(operator, SEARCH + "keys")
    assert page_of(auditor, SEARCH + "inner") == ""
    assert "/outkey/auditrecord/" in page_of(auditor, SEARCH + "audit")
    assert page_of(admin, SEARCH + "spar-token") == ""
    assert page_of(admin, SEARCH + "a+secret+value") == ""
    assert page_of(admin, SEARCH) == ""
    page = page_of(admin, f"{LIST}search/?q=nothing-like-this")
    assert "Nothing matches." in page


def each_word_of_a_search_costs_as_much_as_the_first() -> None:
    compared = []
    for words in ("a", "a b c d e f"):
        with CaptureQueriesContext(connection) as queries:
            admin.get(SEARCH + words.replace(" ", "+"))
        compared.append(max(query["sql"].count("LIKE") for query in queries))
    assert compared == [3, 18]


def recommendations_have_a_page_without_commands() -> None:
    page = page_of(operator, f"{LIST}recommendations/")
    assert "Recommendations" in page
    assert "outkey test" not in page
    assert auditor.get(f"{LIST}recommendations/").status_code == 403


def a_notice_of_a_webhook_leads_to_it_if_the_user_may_see_it() -> None:
    notice = Notice(Condition("S-webhook-refusing", "", "my shop"), time.time())
    states = application.states
    states.put(StateKind.NOTICE, {notice.condition.key(): notice.state()})
    page = page_of(admin, HOME)
    assert 'webhook/?name=my+shop">my shop</a>' in page
    assert "See the reasons before the sender gives up." in page
    page = page_of(client_with("without webhooks", Permission.VIEW), HOME)
    assert "many deliveries of a webhook are refused" in page
    assert "my shop" in page
    assert "name=my+shop" not in page
    states.put(StateKind.NOTICE, {notice.condition.key(): None})


def long_lists_lead_to_their_other_pages_and_keep_their_filters() -> None:
    def pages(path: str, label: str, row: str) -> list[list[str]]:
        found = []
        while path:
            page = page_of(admin, path)
            found.append(re.findall(row, page))
            pager = page.partition('aria-label="Pages"')[2].partition("</nav>")[0]
            link = re.search(rf'href="([^"]*)">{label}<', pager)
            path = path.partition("?")[0] + unescape(link[1]) if link else ""
        return found

    line = SyncLine.objects.get(name="orders")
    run = Run.objects.get()
    for number in range(110):
        SyncLine.objects.create(
            name=f"&= {number:03}", configuration=line.configuration, path="/", sync={}
        )
        run.pk = None
        run.save(force_insert=True)
        Configuration.objects.create(
            name=f"many {number:03}", base_url="https://a.example"
        )
    for path, label, row in (
        ("/outkey/syncline/", "Next", r'<a href="/outkey/syncline/(\d+)/">'),
        ("/outkey/run/?line=orders&state=done", "Older", r'run/(\d+)/">#'),
        (f"{LIST}?q=many&sort=-name", "Next", r"<a[^>]*>(many \d+)<"),
    ):
        listed = pages(path, label, row)
        rows = [name for names in listed for name in names]
        assert [len(names) for names in listed[:2]] == [50, 50], path
        assert len(listed) == 3, path
        assert len(set(rows)) == len(rows) >= 110, path
    page = page_of(admin, f"{LIST}?q=many&sort=-name&page=2")
    assert "51–100 of 110" in page
    assert 'rel="prev" href="?q=many&amp;sort=-name&amp;page=1"' in page
    assert 'rel="next" href="?q=many&amp;sort=-name&amp;page=3"' in page
    assert "101–110 of 110" in page_of(admin, f"{LIST}?q=many&page={'9' * 5000}")


an_empty_installation_has_a_first_step_for_those_who_may_take_it()
who_may_read_only_the_audit_is_sent_there()
fill()
what_needs_attention_comes_by_urgency_and_then_by_name()
each_role_gets_the_buttons_that_it_may_use()
the_list_is_sorted_filtered_and_counted()
the_search_finds_what_the_user_may_see_and_no_secret()
each_word_of_a_search_costs_as_much_as_the_first()
recommendations_have_a_page_without_commands()
a_notice_of_a_webhook_leads_to_it_if_the_user_may_see_it()
an_export_has_no_secret_and_is_recorded()
one_configuration_is_tested_from_a_list()
many_are_switched_off_and_on_after_a_question()
long_lists_lead_to_their_other_pages_and_keep_their_filters()
spar.close()
