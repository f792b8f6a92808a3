"""A home with demo records, its roles, and the URL of each of its pages."""

import logging
import re
from collections.abc import Iterator, Sequence

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES, demo=True)

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.urls import URLPattern, URLResolver, get_resolver

from outkey.administration.core.document.document import parse_document
from outkey.hosts.demo_records.models import Contact, Order
from outkey.hosts.django.models import Configuration, Run, SyncLine
from outkey.hosts.django.pages.access import administration_for, installation

logging.disable(logging.CRITICAL)
settings.AXES_ENABLED = False
DOCUMENT = """
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
"""
GROUPS = ("Administrator", "Operator", "Auditor")
SUPERUSER = "boss"
USERS = (SUPERUSER, *GROUPS, "nobody")
ROLES = (None, *USERS)  # None: not signed in
ARGUMENT = re.compile(r"<[^>]*>|\(\?P.*\)")
WRONG_ARGUMENTS = (
    "99999999999999999999",
    "%00",
    "x" * 3000,
    "00000000-0000-0000-0000-000000000000",
)
application = installation()


def user_named(name: str) -> User:
    """Return a user, who is created with the rights of the role if missing."""
    facts = {"is_staff": True, "is_superuser": name == SUPERUSER}
    user, is_new = User.objects.get_or_create(username=name, defaults=facts)
    if is_new and name in GROUPS:
        user.groups.add(Group.objects.get(name=name))
    return user


def restore() -> dict[str, str]:
    """Create what requests have deleted; return the key of a record of each kind."""
    for name in USERS:
        user_named(name)
    if not SyncLine.objects.filter(name="nightly").exists():
        document = parse_document(DOCUMENT)
        application.apply(
            administration_for(user_named(SUPERUSER)), document, dry_run=False
        )
    line = SyncLine.objects.get(name="nightly")
    run = Run.objects.filter(line=line).first() or Run.objects.create(
        line=line,
        dry_run=False,
        state="done",
        checkpoint="{}",
        started_at=1,
        until=1,
    )
    contacts = Contact._default_manager
    contact = contacts.first() or contacts.create(external_id="1", name="A")
    orders = Order._default_manager
    order = orders.first() or orders.create(year=2026, number=1)
    group, _ = Group.objects.get_or_create(name="target")
    return {
        "configuration": str(Configuration.objects.get(name="acme").pk),
        "syncline": str(line.pk),
        "run": str(run.pk),
        "contact": str(contact.pk),
        "order": str(order.pk),
        "user": str(user_named("target").pk),
        "group": str(group.pk),
    }


def routes(
    patterns: Sequence[URLPattern | URLResolver], prefix: str = ""
) -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from routes(pattern.url_patterns, route)


def page_routes() -> list[str]:
    """Return the routes of all pages, without the marks of regular expressions."""
    unique = sorted(set(routes(get_resolver().url_patterns)))
    return [
        re.sub(r"\\Z|\^|\$", "", route)
        for route in unique
        if "static" not in route and not route.startswith("(")
    ]


def right_urls(keys: dict[str, str]) -> list[str]:
    """Return the URL of each page, of a record that exists where it is about one."""
    urls = []
    for route in page_routes():
        kinds = [name for name in keys if f"/{name}/" in f"/{route}"]
        argument = keys[kinds[0]] if kinds else "add"
        urls.append("/" + ARGUMENT.sub(argument, route))
    return urls


def wrong_urls() -> list[str]:
    """Return the URLs of pages about a record, with arguments that lead nowhere."""
    return [
        "/" + ARGUMENT.sub(argument, route)
        for route in page_routes()
        if "<" in route
        for argument in WRONG_ARGUMENTS
    ]
