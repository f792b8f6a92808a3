"""Every page and every operation of the HTTP interface, as other owners open it.

Prints what is not isolated: a line for each. The URLs are those that Django has: one
that this program does not know how to fill is printed as well.
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode
from uuid import UUID

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES, demo=True)

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.document.document import parse_document
from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django import models
from outkey.hosts.django.api.resources import RESOURCES
from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.limits import FOR_LIMITED
from outkey.sync.core.drift.drift import LineShape
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery

logging.disable(logging.CRITICAL)
settings.AXES_ENABLED = False
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MINE, THEIRS = "zephyr", "quasar"
SHARED = "umbra"  # the names of what has no owner begin with it
FOREIGN = (THEIRS, SHARED)
DOCUMENT = """
[configuration.{name}]
base_url = "https://{name}.example"
owner = "{owner}"
notes = "{name}-notes"
authentication_type = "basic"
username = "{name}-user"
headers = [{{ key = "X-{name}-key", value = "{name}-value", secret = false }}]
[line.{name}-pull]
configuration = "{name}"
direction = "pull"
path = "/{name}-path"
target = "table:{name}_items"
keys = ["number"]
fields = [{{ api = "id", host = "number" }}, {{ api = "n", host = "name" }}]
[line.{name}-push]
configuration = "{name}"
direction = "push"
target = "table:{name}_items"
remote_id = "id"
fields = [{{ api = "n", host = "name" }}]
create = {{ method = "POST", path = "/{name}-path" }}
update = {{ method = "PUT", path = "/{name}-path/{{remote_id}}" }}
[pair.{name}-pair]
pull = "{name}-pull"
push = "{name}-push"
conflict = "ask"
[webhook.{name}-hook]
scheme = "github"
configuration = "{name}"
run = "{name}-pull"
"""
application = installation()
operator = application.administration("cli:operator")
problems: list[str] = []


# ── the installation ────────────────────────────────────────────────────────────────


class Subjects(NamedTuple):
    """What the URLs of one owner name."""

    name: str
    configuration: str
    line: int
    run: int
    delivery: str
    token: str


def subjects_of(name: str, owner: str) -> Subjects:
    """Create everything of an owner, and return what URLs name of it."""
    text = DOCUMENT.format(name=name, owner=owner)
    application.apply(operator, parse_document(text), dry_run=False)
    operator.set_secret(name, "password", Secret(f"{name}-password"))
    User.objects.create(username=f"{name}-person", email=f"{name}@mail.example")
    fields = tuple(HostField(key, key, FieldKind.TEXT) for key in ("number", "name"))
    application.sync.tables().prepare(f"table:{name}_items", Shape(("number",), fields))
    run = application.request_run(f"{name}-pull", f"web:{name}-user")
    models.Run.objects.filter(pk=run.id).update(state="failed", cause="unexpected")
    models.Quarantine.objects.create(
        run_id=int(run.id),
        number=1,
        key=f"{name}-key",
        reason=f'["{name}"]',
        excerpt=name,
    )
    stored = application.webhooks.stored()[f"{name}-hook"]
    assert application.hook_ports is not None
    rows = application.hook_ports().deliveries
    delivery = InboxDelivery(
        "",
        stored.endpoint,
        f"{name}-event",
        event_id=f"{name}-event",
        event_type=f"{name}-type",
        received_at=application.database.now(),
        state=DeliveryState.FAILED,
        body=b"sealed",
    )
    rows.insert([delivery])
    row = models.Delivery.objects.get(key=f"{name}-event")
    conditions = (
        Condition("S-volume", name),
        Condition("S-line-failing", name, f"{name}-pull"),
        Condition("S-hook-stopped", name, f"{name}-hook"),
    )
    for condition in conditions:
        state = Notice(condition, application.database.now()).state()
        application.states.put(StateKind.NOTICE, {condition.key(): state})
    states: dict[StateKind, tuple[str, dict[str, object]]] = {
        StateKind.HOOK_REFUSALS: (f"{name}-hook", {"total": {"unsigned": 3}}),
        StateKind.PAUSED_LINE: (f"{name}-push", {"at": 1.0}),
    }
    for kind, (key, value) in states.items():
        application.states.put(kind, {key: value})
    application.runs.shapes.put(f"{name}-pull", LineShape())
    wish = TokenWish(
        name=f"{name}-token",
        scopes=frozenset(Scope),
        owners=[owner] if owner else [],
        allow_internal=True,
        allow_targets=True,
    )
    token = application.api_tokens.create(operator, wish).text
    return Subjects(
        name,
        str(UUID(application.registry.get(name).record)),
        models.SyncLine.objects.get(name=f"{name}-pull").pk,
        int(run.id),
        str(row.pk),
        token,
    )


def client_of(name: str, owners: frozenset[str] | None) -> Client:
    """Return the browser of a superuser, who may be limited to owners."""
    user = User.objects.create(username=name, is_staff=True, is_superuser=True)
    if owners is not None:
        application.user_owners.put(str(user.pk), owners)
    client = Client(headers={"host": "127.0.0.1"}, raise_request_exception=False)
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def stored_content() -> str:
    """Return all rows of others, to compare them."""
    tables = ("configuration", "headerrow", "secretvalue", "syncline", "run")
    found: list[str] = []
    with connection.cursor() as cursor:
        for table in (*tables, "quarantine", "delivery", "sharedstate"):
            cursor.execute(f"SELECT * FROM outkey_{table}")
            found += [
                text
                for row in cursor.fetchall()
                if any(name in (text := repr(row)) for name in FOREIGN)
            ]
    return "\n".join(sorted(found))


# ── pages ───────────────────────────────────────────────────────────────────────────

# How the parts of a page's path are filled, by the section of the page.
PATHS = {
    "configuration/<uuid:record>": "configuration",
    "syncline/<int:record>": "line",
    "run/<int:record>": "run",
}
FIXED = {
    "<str:name>": {"outkey_preset": "github"},
    "<str:step>": {
        "outkey_key_step": "add",
        "outkey_configuration_rotation": "stage",
        "outkey_configuration_rotation_send": "test",
    },
    "<int:number>": {"outkey_syncline_version": "1"},
}
# Pages whose subject is in the query or the body.
NAMED = {
    "outkey_pair": "pair",
    "outkey_pair_conflicts": "pair",
    "outkey_pair_resolve": "pair",
    "outkey_apitoken_revoke": "token",
    **dict.fromkeys(
        (
            *("outkey_webhook", "outkey_webhook_delete", "outkey_webhook_delivery"),
            *("outkey_webhook_edit", "outkey_webhook_inbox", "outkey_webhook_offer"),
            *("outkey_webhook_pause", "outkey_webhook_replay"),
            *("outkey_webhook_secret", "outkey_webhook_test"),
        ),
        "hook",
    ),
}
# Of the admin itself and of other apps: refused to limited users as a whole.
OTHERS = re.compile(r"auth_|demo_|index$|app_list$|autocomplete$|jsi18n$|view_on_site$")
# Signing in and out, one's own password, and the first page of the menu.
OWN = {"login", "logout", "password_change", "password_change_done", "index"}
# For users of a connect link, who do not sign in: tests/browser/test_connect_pages.py.
OWN |= {"outkey_connect", "outkey_connect_callback"}


class Page(NamedTuple):
    """A URL of the pages; `subject` tells whether it is about something named."""

    name: str
    url: str
    values: Mapping[str, str]
    has_subject: bool


def routes(patterns: list[object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the route of every URL of a project."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield pattern.name or "", prefix + str(pattern.pattern)


def pages_of(subjects: Subjects) -> Iterator[Page]:
    """Yield the pages about one owner's, and those that are about nothing named."""
    for name, route in routes(get_resolver().url_patterns):
        if not name or name in OWN:
            continue
        url = f"/{route}"
        has_subject = name in NAMED or name in {
            "outkey_data_table",
            "outkey_data_export",
        }
        for part, subject in PATHS.items():
            if part in url:
                has_subject = True
                section = part.split("/")[0]
                url = url.replace(part, f"{section}/{getattr(subjects, subject)}")
        url = url.replace("data/<str:name>", f"data/{subjects.name}_items")
        for part, values in FIXED.items():
            url = url.replace(part, values.get(name, part))
        if OTHERS.match(name):
            url = re.sub(r"\^.*\$", "auth/", re.sub(r"<[^>]*>", "1", url))
        if "<" in url or "(" in url:
            problems.append(f"the test does not know how to fill {name}: {url}")
            continue
        named = f"{subjects.name}-{NAMED[name]}" if name in NAMED else ""
        values = posted_values(subjects, named)
        query = {"name": named, "id": subjects.delivery} if named else {}
        yield Page(name, f"{url}?{urlencode(query)}", values, has_subject)


def posted_values(subjects: Subjects, named: str) -> dict[str, str]:
    """Return a form that names what is one owner's wherever forms name something."""
    name = subjects.name
    return {
        "name": named or "a new name",
        "configuration": name,
        "configurations": name,
        "record": subjects.configuration,
        "records": subjects.configuration,
        "selected": subjects.configuration,
        "rows": subjects.configuration,
        "row": subjects.configuration,
        "line": f"{name}-pull",
        "run": f"{name}-pull",
        "does": "line",
        "target": f"table:{name}_items",
        "for_each_line": f"{name}-pull",
        "owner": THEIRS,
        "id": subjects.delivery,
        "key": f"{name}-key",
        "choice": "api",
        "action": "test",
        "scope": "read",
        "scheme": "github",
        "secret": "a-secret-value",
        "sync": f'direction = "pull"\ntarget = "table:{name}_items"\n',
        "base_url": "https://new.example",
        "method": "GET",
        "path": "/",
        "text": f'curl https://{name}.example -H "X-A: b"',
        "confirmed": "1",
        "yes": "1",
    }


def foreign_words(content: bytes) -> list[str]:
    """Return the names of others that are in a response."""
    return [name for name in FOREIGN if name.encode() in content.lower()]


def body_of(response: object) -> bytes:
    """Return the whole content of a response."""
    if getattr(response, "streaming", False):
        return b"".join(response.streaming_content)  # type: ignore[attr-defined]
    return response.content  # type: ignore[attr-defined, no-any-return]


def without_input(content: bytes, page: Page) -> bytes:
    """Return a page without the values that the test has posted itself."""
    for value in sorted({*page.values.values(), THEIRS}, key=len, reverse=True):
        if any(name in value for name in FOREIGN):
            content = content.replace(value.encode(), b"")
            escaped = value.replace('"', "&quot;").encode()
            content = content.replace(escaped, b"")
    return content


def check_pages_about_others(client: Client, pages: Iterable[Page]) -> None:
    """Note the pages about others that are there, or show something of them."""
    for page in pages:
        is_refused = page.has_subject or page.name not in FOR_LIMITED
        for method in ("get", "post"):
            values = page.values if method == "post" else {}
            response = getattr(client, method)(page.url, values)
            content = body_of(response)
            if is_refused and response.status_code not in {403, 404, 405}:
                problems.append(f"{response.status_code}: {method} {page.name}")
            if response.status_code >= 500:
                problems.append(f"{response.status_code}: {method} {page.name}")
            if method == "get" or page.has_subject:
                # The URL is repeated by links that lead back to the same page.
                content = content.replace(page.url.encode(), b"")
            if words := foreign_words(without_input(content, page)):
                problems.append(f"{words} on {method} {page.name}")
            for header, value in response.items():
                if page.has_subject and foreign_words(value.encode()):
                    problems.append(f"{header} of {method} {page.name}")


def check_own_pages(client: Client, own: Subjects) -> int:
    """Note own pages that cannot be opened, or show something of others."""
    count = 0
    for page in pages_of(own):
        if page.name not in FOR_LIMITED:
            continue
        response = client.get(page.url)
        status = response.status_code
        if status not in {200, 302, 405} and page.name != "outkey_oauth2_callback":
            problems.append(f"{status}: own {page.name}")
        if words := foreign_words(body_of(response)):
            problems.append(f"{words} on own {page.name}")
        count += status == 200
    return count


def check_searches(client: Client) -> None:
    """Note searches and filters that find something of others."""
    for name in FOREIGN:
        for path in (
            f"configuration/search/?q={name}",
            f"configuration/?q={name}",
            f"run/?line={name}-pull",
            f"auditrecord/?tab=changes&configuration={name}",
            f"auditrecord/?tab=requests&configuration={name}",
            "auditrecord/?tab=sign-ins",
        ):
            content = body_of(client.get(f"/outkey/{path}"))
            repeated = name + ("-pull" if "-pull" in path else "")
            if words := foreign_words(content.replace(repeated.encode(), b"")):
                problems.append(f"{words} on {path}")


def check_teeth(client: Client, others: Subjects) -> None:
    """Note the pages that an unlimited user cannot open: the test would see nothing."""
    seen = 0
    for page in pages_of(others):
        if OTHERS.match(page.name):
            continue
        response = client.get(page.url)
        is_begun = page.name == "outkey_oauth2_callback"  # by the page before it
        is_odd = response.status_code not in {200, 302, 405}
        if is_odd and not is_begun:
            problems.append(f"{response.status_code}: unlimited {page.name}")
        seen += bool(foreign_words(body_of(response)))
    if seen < 30:
        problems.append(f"only {seen} pages show something to an unlimited user")


# ── the HTTP interface ──────────────────────────────────────────────────────────────

# What the first part of an operation's path names, by the section.
RESOURCE_NAMES = {
    "configurations": "{0}",
    "lines": "{0}-pull",
    "webhooks": "{0}-hook",
    "tables": "{0}_items",
}
FIELDS = {
    "set_secret": "password",
    "clear_secret": "password",
    "stage_secret": "password",
    "set_webhook_secret": "secret",
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def operations_of(subjects: Subjects) -> Iterator[tuple[str, str, bool]]:
    """Yield name and path of every operation, and whether it names something."""
    for pattern in RESOURCES.url_patterns:
        route = str(pattern.pattern)
        section = route.split("/", maxsplit=1)[0]
        path = route.replace("<segment:run>", str(subjects.run))
        if section in RESOURCE_NAMES:
            subject = RESOURCE_NAMES[section].format(subjects.name)
            path = path.replace("<segment:name>", quote(subject, safe=""))
        name = str(pattern.name)
        path = path.replace("<segment:field>", FIELDS.get(name, "<segment:field>"))
        if "<" in path:
            problems.append(f"the test does not know how to fill {name}: {path}")
            continue
        yield name, f"/api/v1/{path}", path != route
    yield "send", f"/api/v1/send/{subjects.name}/path", True
    yield "openapi", "/api/v1/openapi.json", False
    yield "metrics", "/metrics", False


def bodies_of(subjects: Subjects) -> list[dict[str, object]]:
    """Return bodies that name what is one owner's wherever bodies name something."""
    name = subjects.name
    return [
        {"base_url": "https://new.example", "owner": THEIRS},
        {
            "configuration": name,
            "direction": "pull",
            "path": "/",
            "target": f"table:{name}_items",
            "keys": ["a"],
            "fields": [{"api": "a", "host": "a"}],
        },
        {"scheme": "github", "configuration": name, "run": f"{name}-pull"},
        {"scheme": "github", "configuration": MINE, "run": f"{name}-pull"},
    ]


def check_operations(token: str, others: Subjects) -> None:
    """Note the operations about others that do not respond as for what is missing."""
    client = Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {token}"})
    for name, path, has_subject in operations_of(others):
        for method in METHODS:
            response = client.generic(method, path, "{}", "application/json")
            status = response.status_code
            if has_subject and status not in {403, 404, 405}:
                problems.append(f"{status}: {method} {name}")
            if status >= 500:
                problems.append(f"{status}: {method} {name}")
            if words := foreign_words(body_of(response)):
                problems.append(f"{words} by {method} {name}")


def check_bodies(token: str, others: Subjects) -> None:
    """Note what can be created with what is others', and what filters find."""
    client = Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {token}"})
    for path in ("lines", "configurations", "webhooks"):
        for body in bodies_of(others):
            response = client.put(
                f"/api/v1/{path}/new", json.dumps(body), "application/json"
            )
            if response.status_code < 400:
                problems.append(f"{response.status_code}: PUT {path}/new {body}")
    for query in (f"configuration={others.name}", f"line={others.name}-pull"):
        for path in ("audit", "runs"):
            response = client.get(f"/api/v1/{path}?{query}")
            if words := foreign_words(body_of(response)):
                problems.append(f"{words} by {path}?{query}")


def check_operations_of_all(token: str, others: Subjects) -> None:
    """Note the operations that a token for all cannot use: the test would be blunt."""
    client = Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {token}"})
    for name, path, has_subject in operations_of(others):
        status = client.get(path).status_code
        if has_subject and status in {403, 404} and name != "send":
            problems.append(f"{status}: token for all, {name}")


def main() -> None:
    own = subjects_of(MINE, MINE)
    theirs = subjects_of(THEIRS, THEIRS)
    shared = subjects_of(SHARED, "")
    limited = client_of("limited-user", frozenset({MINE}))
    check_teeth(client_of("everybody", None), theirs)
    before = stored_content()
    if len(before.splitlines()) < 30:
        problems.append("there is too little of others")
    opened = check_own_pages(limited, own)
    if opened < 35:
        problems.append(f"only {opened} own pages were opened")
    check_pages_about_others(limited, pages_of(theirs))
    named = [page for page in pages_of(shared) if page.has_subject]
    check_pages_about_others(limited, named)
    for others in (theirs, shared):
        check_operations(own.token, others)
        check_bodies(own.token, others)
    check_searches(limited)
    if stored_content() != before:
        problems.append("something of others was changed")
    check_operations_of_all(shared.token, theirs)
    print("\n".join(dict.fromkeys(problems)))


main()
