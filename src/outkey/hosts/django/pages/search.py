"""Search over everything that the user may see: configurations, lines, runs, pages."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from outkey.administration.engine.watching.search import (
    MOST_RESULTS,
    matches,
    run_number,
    words_of,
)
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    installation,
    may,
    visible,
)
from outkey.hosts.django.pages.limits import may_be_opened
from outkey.hosts.django.pages.shell import page
from outkey.sync.core.mapping.targets import TABLE_PREFIX

# The pages of outkey, with words that users may look for, and the right to see each.
PAGES: tuple[tuple[object, str, str, str], ...] = (
    (gettext_lazy("Overview"), "home start", "outkey_home", Permission.VIEW),
    (
        gettext_lazy("API Sync Configurations"),
        "list api credentials",
        "outkey_configuration_changelist",
        Permission.VIEW,
    ),
    (
        gettext_lazy("New API Sync Configuration"),
        "add create import curl postman",
        "outkey_configuration_new",
        Permission.ADD,
    ),
    (
        gettext_lazy("Sync Lines"),
        "lines syncs schedule",
        "outkey_syncline_changelist",
        Permission.VIEW_LINE,
    ),
    (
        gettext_lazy("New sync line"),
        "add create line",
        "outkey_syncline_add",
        Permission.ADD_LINE,
    ),
    (gettext_lazy("Pairs"), "both directions", "outkey_pairs", Permission.VIEW_LINE),
    (
        gettext_lazy("Runs"),
        "history jobs",
        "outkey_run_changelist",
        Permission.VIEW_RUN,
    ),
    (gettext_lazy("Data"), "tables rows", "outkey_data", Permission.VIEW_DATA),
    (
        gettext_lazy("Activity"),
        "audit log history changes requests",
        "outkey_auditrecord_changelist",
        Permission.VIEW_AUDIT,
    ),
    (
        gettext_lazy("Recommendations"),
        "posture security safer",
        "outkey_recommendations",
        Permission.VIEW,
    ),
    (
        gettext_lazy("Data protection"),
        "gdpr personal privacy",
        "outkey_data_protection",
        Permission.VIEW_AUDIT,
    ),
    (
        gettext_lazy("Keys"),
        "encryption rotate rotation",
        "outkey_knownkey_changelist",
        Permission.VIEW_KEYS,
    ),
    (
        gettext_lazy("Your settings"),
        "time zone language preferences",
        "outkey_usersettings_changelist",
        "",
    ),
    (
        gettext_lazy("Change password"),
        "password sign in",
        "password_change",
        "",
    ),
    (
        gettext_lazy("Users"),
        "accounts people",
        "auth_user_changelist",
        "auth.view_user",
    ),
    (
        gettext_lazy("Groups"),
        "roles permissions rights",
        "auth_group_changelist",
        "auth.view_group",
    ),
)


@dataclass(frozen=True)
class SearchResult:
    """One thing that was found."""

    kind: str
    title: str
    url: str
    detail: str = ""


def search_page(request: HttpRequest) -> HttpResponse:
    """Show what a text finds, as a page or as the part of one."""
    query = request.GET.get("q", "").strip()[:200]
    results = find(request, query)
    context = {"title": _("Search"), "query": query, "results": results}
    if "part" in request.GET:
        return render(request, "outkey/search_results.html", context)
    return page(request, "outkey/search.html", context)


def find(request: HttpRequest, query: str) -> list[SearchResult]:
    """Return the results that the user may see, at most some of each kind."""
    words = words_of(query)
    if not words:
        return []
    results: list[SearchResult] = []
    for search in SEARCHES:
        for number, result in enumerate(search(request, query, words)):
            if number == MOST_RESULTS:
                break
            results.append(result)
    return results


def _find_pages(
    request: HttpRequest, _query: str, words: list[str]
) -> Iterator[SearchResult]:
    """Yield the pages whose title or words match."""
    for title, others, view, permission in PAGES:
        if not matches(f"{title} {others}", words):
            continue
        if not may_open(request, view, permission):
            continue
        try:
            url = reverse(f"admin:{view}")
        except NoReverseMatch:  # a project without the admin of users
            continue
        yield SearchResult(_("Page"), str(title), url)


def may_open(request: HttpRequest, view: str, permission: str) -> bool:
    """Whether the user has the permission of a page; "" for every user."""
    if not may_be_opened(request, view):
        return False
    if not permission:
        return True
    name = permission if "." in permission else f"outkey.{permission}"
    return bool(request.user.has_perm(name))  # type: ignore[union-attr]


def _find_configurations(
    request: HttpRequest, _query: str, words: list[str]
) -> Iterator[SearchResult]:
    """Yield the configurations whose name or Base URL has all words."""
    if not may(request, Permission.VIEW):
        return
    rows = visible(models.Configuration).order_by("name")
    for word in words:
        rows = rows.filter(Q(name__icontains=word) | Q(base_url__icontains=word))
    for row in rows.values_list("pk", "name", "base_url")[:MOST_RESULTS]:
        record, name, base_url = row
        url = reverse("admin:outkey_configuration_change", args=[record])
        yield SearchResult(_("Configuration"), name, url, base_url)


def _find_lines(
    request: HttpRequest, _query: str, words: list[str]
) -> Iterator[SearchResult]:
    """Yield the lines whose name, path or target has all words."""
    if not may(request, Permission.VIEW_LINE):
        return
    rows = visible(models.SyncLine).order_by("name")
    for word in words:
        rows = rows.filter(
            Q(name__icontains=word)
            | Q(path__icontains=word)
            | Q(sync__target__icontains=word)
        )
    for record, name, path in rows.values_list("pk", "name", "path")[:MOST_RESULTS]:
        url = reverse("admin:outkey_syncline_change", args=[record])
        yield SearchResult(_("Sync Line"), name, url, path)


def _find_runs(
    request: HttpRequest, query: str, _words: list[str]
) -> Iterator[SearchResult]:
    """Yield the run of a number such as #12."""
    number = run_number(query)
    if number is None or not may(request, Permission.VIEW_RUN):
        return
    for record, line in (
        visible(models.Run).filter(pk=number).values_list("pk", "line__name")
    ):
        url = reverse("admin:outkey_run_change", args=[record])
        yield SearchResult(pgettext("a run of a line", "Run"), f"#{record}", url, line)


def _find_tables(
    request: HttpRequest, _query: str, words: list[str]
) -> Iterator[SearchResult]:
    """Yield the tables that lines have filled."""
    if not may_open(request, "outkey_data", Permission.VIEW_DATA):
        return
    try:
        targets = list(installation().sync.tables().targets())
    except OutkeyError:  # the search has other results
        return
    for target in targets:
        if matches(target.name, words):
            name = target.name.removeprefix(TABLE_PREFIX)
            url = reverse("admin:outkey_data_table", args=[name])
            yield SearchResult(_("Table"), name, url)


def _find_pairs(
    request: HttpRequest, _query: str, words: list[str]
) -> Iterator[SearchResult]:
    """Yield the pairs whose name or lines match."""
    if not may(request, Permission.VIEW_LINE):
        return
    for pair in installation().sync_settings.pairs().values():
        if matches(f"{pair.name} {pair.pull} {pair.push}", words):
            url = f"{reverse('admin:outkey_pair')}?{urlencode({'name': pair.name})}"
            yield SearchResult(_("Pair"), pair.name, url, f"{pair.pull} ⇄ {pair.push}")


Search = Callable[[HttpRequest, str, list[str]], Iterator[SearchResult]]
SEARCHES: tuple[Search, ...] = (
    _find_runs,
    _find_configurations,
    _find_lines,
    _find_tables,
    _find_pairs,
    _find_pages,
)
