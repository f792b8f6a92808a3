"""Asks every URL as every role, by GET and by POST.

Prints who was not refused, and links and forms that lead a role to a refusal.
"""

import json
import re
import sys
from collections.abc import Iterator

from clients import (
    admin,
    administration,
    application,
    apply_text,
    client_of,
    save_document,
)
from django.contrib.auth.models import Group, User
from django.http import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve
from inner_api import CONSENT, INNER, spar

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.roles import ROLES
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.hosts.django.models import Configuration, SyncLine
from outkey.webhooks.core.inbox.delivery import Delivery

LINE = """
[line.orders]
configuration = "inner"
method = "GET"
path = "/key"
"""
HOOK = """
[line.hooked]
configuration = "inner"
direction = "pull"
path = "/key"
target = "table:hooked"
keys = ["id"]
fields = [{ api = "id", host = "id" }]

[webhook.shop]
scheme = "unverified"
reason = "a sample"
line = "hooked"
"""
INTERFACE = "api/v1/"  # for programs with tokens, which have no roles
OK = 200
FORBIDDEN = 403
NOT_ALLOWED = 405


def routes(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, str]]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern.name or route, route
        elif route != INTERFACE:
            yield from routes(pattern, route)


def make_samples() -> None:
    """Create what the URLs name, where an earlier request has deleted it."""
    if not Configuration.objects.filter(name="inner").exists():
        save_document(INNER, "inner", token="spar-token")
    if not SyncLine.objects.filter(name="orders").exists():
        save_document(CONSENT + LINE, "consent", client_secret="spar-client-secret")
    if "shop" not in application.webhooks.stored():
        apply_text(HOOK)
    if "sample" not in {token.name for token in application.api_tokens.all()}:
        wish = TokenWish(name="sample", scopes=frozenset({Scope.READ}))
        application.api_tokens.create(administration, wish)
    if not application.webhooks.inbox().newest("shop", limit=1):
        endpoint = application.webhooks.stored()["shop"].endpoint
        delivery = Delivery("POST", "", (), b'{"id": "1"}')
        assert application.webhooks.reception().receive(endpoint, delivery).status == OK
    if not User.objects.filter(username="somebody").exists():
        User.objects.create_user("somebody", is_staff=True)
    Group.objects.get_or_create(name="Nobody")


def path_of(route: str) -> str:
    """Return a path of a route, with the ids of the samples."""
    somebody = User.objects.get(username="somebody").pk
    group = Group.objects.get(name="Nobody").pk
    path = "/" + route.removeprefix("/")
    path = path.replace(
        "<uuid:record>", str(Configuration.objects.get(name="inner").pk)
    )
    if "run/<int:record>" in path:
        path = path.replace("<int:record>", "1")
    path = path.replace("<int:record>", str(SyncLine.objects.get(name="orders").pk))
    path = path.replace("<int:number>", "1")
    path = path.replace("<str:step>", "add").replace("<str:name>", "nothing")
    path = path.replace("<path:content_type_id>", "1")
    object_id = group if "/group/" in path else somebody
    path = path.replace("<path:object_id>", str(object_id))
    path = path.replace("<id>", str(somebody))
    if path.startswith("/outkey/webhook/"):
        newest = application.webhooks.inbox().newest("shop", limit=1)
        path += f"?name=shop&id={newest[0].id}"
    if path.startswith("/outkey/apitoken/"):
        path += "?name=sample"
    return re.sub(r"\^?\(\?P<app_label>.*", "auth/", path)


def is_refused(response: HttpResponseBase) -> bool:
    """Whether the user may not do this, or has to sign in first."""
    location = response.headers.get("Location", "")
    return response.status_code == FORBIDDEN or location.startswith("/login/")


def offers(page: str) -> Iterator[tuple[str, str]]:
    """Yield the method and the URL name of every link and form of a page."""
    for url in re.findall(r'<a\b[^>]*?href="(/[^"?#]*)', page):
        yield "GET", name_of(url)
    for form in re.findall(r"<form\b.*?</form>", page, re.DOTALL):
        tag = form.partition(">")[0]
        action = re.search(r'action="(/[^"?#]*)', tag)
        can_be_sent = re.search(
            r'<button(?![^>]*(?:type="button"|formaction))|type="submit"', form
        )
        if action and can_be_sent and 'method="post"' in tag:
            yield "POST", name_of(action[1])


def name_of(url: str) -> str:
    try:
        return resolve(url).url_name or ""
    except Resolver404:
        return ""


def member(role: str) -> User:
    user = User.objects.create_user(f"a-{role}", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


make_samples()
clients = {
    "superuser": admin,
    **{role: client_of(member(role)) for role in ROLES},
    "no role": client_of(User.objects.create_user("a-none", is_staff=True)),
    "visitor": Client(SERVER_NAME="127.0.0.1"),
}
table: dict[str, dict[str, list[str]]] = {}
pages: dict[tuple[str, str], str] = {}
for name, route in routes(get_resolver()):
    if name in {"logout", "login", "login/", "(?P<url>.*)$"}:
        continue
    table[name] = {"GET": [], "POST": []}
    for role, client in clients.items():
        for method in ("GET", "POST"):
            make_samples()
            client.raise_request_exception = False
            response = client.generic(
                method, path_of(route), content_type="application/x-www-form-urlencoded"
            )
            if response.streaming:
                list(response)
            if response.status_code == NOT_ALLOWED:
                continue
            if is_refused(response):
                continue
            table[name][method].append(role)
            if method == "GET" and response.status_code == OK:
                pages[name, role] = response.content.decode()
spar.close()
refused_offers = sorted(
    f"{role} on {name}: {method} {target}"
    for (name, role), page in pages.items()
    for method, target in offers(page)
    # The name of the product leads to the first page, also of who has none.
    if target and target in table and role not in table[target][method]
)
json.dump({"allowed": table, "refused offers": refused_offers}, sys.stdout)
