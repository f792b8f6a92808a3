"""Every address of the pages, for every role, by every method, with parameters that are wrong.

Nothing that a browser sends may end as a failure of the server, on either database.
"""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

PROGRAM = """
import logging, re, sys
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES, demo=True)
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, get_resolver
from outkey.core.config.document import parse_document
from outkey.core.config.fields import FIELDS
from outkey.core.secret import Secret
from outkey.engine.managing.changes import apply
from outkey.hosts.demo_records.models import Contact, Order
from outkey.hosts.django.models import Configuration, Run, SyncLine
from outkey.hosts.django.pages.access import desk_for, installation

logging.disable(logging.CRITICAL)
settings.AXES_ENABLED = False
here = installation()
BACKEND = "django.contrib.auth.backends.ModelBackend"
DOCUMENT = parse_document('''
[configuration.acme]
base_url = "https://127.0.0.1:9"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.acme.oauth2]
grant = "authorization_code"
issuer = "https://127.0.0.1:9"
authorization_url = "https://127.0.0.1:9/authorize"
token_url = "https://127.0.0.1:9/token"
client_id = "acme"
[configuration.acme.limits]
retries = 0
[line.nightly]
configuration = "acme"
path = "/"
''')


def person(name, **facts):
    user, made = User.objects.get_or_create(username=name, defaults={"is_staff": True} | facts)
    if made and name in GROUPS:
        user.groups.add(Group.objects.get(name=name))
    return user


GROUPS = ("Administrator", "Operator", "Auditor")
ROLES = (None, "boss", *GROUPS, "nobody")


def restore():
    # Deleting is one of the things that are tried.
    for name in ROLES:
        if name:
            person(name, is_superuser=name == "boss")
    if not SyncLine.objects.filter(name="nightly").exists():
        here.apply(desk_for(person("boss")), DOCUMENT, dry_run=False)
    line = SyncLine.objects.get(name="nightly")
    run = Run.objects.filter(line=line).first() or Run.objects.create(
        line=line, dry_run=False, state="done", started_at=1, until=1)
    contact = Contact.objects.first() or Contact.objects.create(external_id="1", name="A")
    order = Order.objects.first() or Order.objects.create(year=2026, number=1)
    return {
        "configuration": str(Configuration.objects.get(name="acme").pk),
        "syncline": str(line.pk), "run": str(run.pk), "contact": str(contact.pk),
        "order": str(order.pk), "user": str(person("target").pk),
        "group": str(Group.objects.get_or_create(name="target")[0].pk),
    }


def places(patterns, before=""):
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from places(pattern.url_patterns, route)


WRONG = ("99999999999999999999", "%00", "x" * 3000, "00000000-0000-0000-0000-000000000000")


def addresses(records):
    # Each route with what it is for, and with arguments that lead nowhere.
    for route in sorted(set(places(get_resolver().url_patterns))):
        if "static" in route or route.startswith("("):
            continue
        route = re.sub(r"\\\\Z|\\^|\\$", "", route)
        kind = next((name for name in records if f"/{name}/" in f"/{route}"), None)
        good = records[kind] if kind else "add"
        yield "/" + re.sub(r"<[^>]*>|\\(\\?P.*\\)", good, route), True
        if "<" in route:
            for wrong in WRONG:
                yield "/" + re.sub(r"<[^>]*>|\\(\\?P.*\\)", wrong, route), False


FIELD_NAMES = [known.path for known in FIELDS] + [
    "version", "row-key-0", "row-value-0", "row-secret-0", "secret:token", "secret:password",
    "clear:token", "reference:token", "sync", "configuration", "method", "path", "sample", "dry",
    "key", "fix", "run:at", "q", "after", "before", "outcome", "status", "line", "state", "busy",
    "o", "p", "all", "e", "_popup", "next", "username", "password", "password1",
    "password2", "old_password", "new_password1", "new_password2", "email", "is_active",
    "is_staff", "is_superuser", "action",
    "index", "app_label", "model_name", "field_name", "term", "post", "usable_password",
    "is_staff__exact", "groups__id__exact", "username__startswith", "external_id", "number",
    "date_joined_0", "date_joined_1", "last_login_0", "iss", "code", "error", "_save", "name__gt",
]
PARAMETERS = {
    "missing": {},
    "nul": dict.fromkeys(FIELD_NAMES, "a\\x00b"),
    "long": dict.fromkeys(FIELD_NAMES, "9" * 5000),
    "wrong": dict.fromkeys(FIELD_NAMES, "\\U0001F600' OR <b>"),
    "twice": {name: ["x", "", "-1"] for name in FIELD_NAMES},
    "numbers": dict.fromkeys(FIELD_NAMES, "99999999999999999999"),
    "not a number": dict.fromkeys(FIELD_NAMES, "nan"),
    # What Django refuses as a whole stands alone, or it would hide what is beside it.
    "to field": {"_to_field": "x"},
    "strange groups": {"username": "target", "groups": "x", "user_permissions": "nan"},
    "large groups": {"username": "target", "groups": "9" * 20, "user_permissions": "9" * 20},
    "large rights": {"name": "target", "permissions": "9" * 20},
    "large filters": {"groups__in": "9" * 20, "pk__in": "9" * 20, "id__gt": "9" * 20},
    "nothing ticked": {"action": "delete_selected", "index": "0"},
    "chosen": {"post": "yes", "action": "delete_selected", "_selected_action": "x", "name": ""},
}
# One alone, so that no other one is what refuses it: filters, paging, names and free text.
ONE_NUL = [{name: "a\\x00b"} for name in (
    "name", "q", "after", "before", "configuration", "outcome", "line", "state", "sync", "next",
    "username", "username__startswith", "groups__id__exact", "old_password", "key", "term",
)]
METHODS = ("get", "post", "put", "delete", "head", "options")
failures, clients, asked = [], {}, 0


def ask(role, method, address, parameters, **extra):
    global asked
    client = clients.get(role) or Client(SERVER_NAME="127.0.0.1", raise_request_exception=False)
    clients[role] = client
    if role and "_auth_user_id" not in client.session:  # logging out is one of the things too
        client.force_login(User.objects.get(username=role), backend=BACKEND)
    try:
        if method in ("put", "delete", "options"):
            answer = client.generic(method.upper(), address, "a\\x00b", **extra)
        else:
            answer = getattr(client, method)(address, parameters, **extra)
        if answer.streaming:
            b"".join(answer)
    except Exception as error:
        failures.append((role, method, address[:80], type(error).__name__))
        return None
    asked += 1
    if method == "post" and answer.status_code == 302:
        restore()
    if answer.status_code >= 500:
        error = getattr(answer, "exc_info", None)
        told = f"{error[0].__name__}: {error[1]}"[:120] if error else ""
        failures.append((role, method, address[:80], answer.status_code, told))
    return answer


if sys.argv[1] == "sweep":
    restore()
    listed = list(addresses(restore()))
    assert len(listed) > 100, len(listed)
    for role in ROLES:
        for address, right in listed:
            if not right and role != "boss":
                continue
            for method in METHODS if right else ("get", "post"):
                ask(role, method, address, {})
                if role == "boss" and method in ("get", "post") and right:
                    for parameters in PARAMETERS.values():
                        ask(role, method, address, parameters)
else:
    restore()
    for address, right in list(addresses(restore())):
        if not right or "<" in address:
            continue
        for parameters in ONE_NUL:
            for method in ("get", "post"):
                answer = ask("boss", method, address, parameters)
                if answer is not None and answer.status_code not in (302, 403, 404, 405, 422):
                    failures.append((method, address, *parameters, answer.status_code))
    cookie = {"HTTP_COOKIE": 'outkey_session="aaaaaaaaaaaa\\\\000aaaaaaaaaaaaaaaaaaa"'}
    client = Client(SERVER_NAME="127.0.0.1", raise_request_exception=False)
    answer = client.get("/outkey/configuration/", **cookie)
    if answer.status_code >= 500:
        failures.append(("cookie", answer.status_code))
for failure in list(dict.fromkeys(failures))[:40]:
    print(failure)
print(asked > 500, len(failures))
"""


def run_program(kind: str, home: Path, url: str | None) -> str:
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
    if url is not None:
        environment["OUTKEY_DATABASE_URL"] = url
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("kind", ["sweep", "nul"])
def test_nothing_that_is_sent_is_a_failure_of_the_server(
    kind: str, database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = None
    if database == "postgresql":
        server_url = request.getfixturevalue("postgresql_url")
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute("DROP DATABASE IF EXISTS addresses")
            server.execute("CREATE DATABASE addresses")
        url = server_url.rpartition("/")[0] + "/addresses"
    assert run_program(kind, tmp_path / "home", url) == "True 0\n"
