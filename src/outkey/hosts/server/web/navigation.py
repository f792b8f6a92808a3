"""The menu of the pages: what the user may open, and how much of it needs attention."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.apps import apps
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from outkey.administration.engine.application import Application
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import Configuration, Run, SyncLine
from outkey.hosts.django.pages.access import seen_by, visible
from outkey.hosts.django.pages.limits import may_be_opened
from outkey.hosts.django.rows.pairs import count_open_conflicts
from outkey.hosts.django.rows.statuses import status_conditions
from outkey.sending.core.configuration.health import Status
from outkey.sync.core.run.run import ENDED_STATES, RunState

PROBLEMS = (
    Status.NEEDS_SECRET,
    Status.REAUTHORIZATION_NEEDED,
    Status.PAUSED,
    Status.EXPIRED,
    Status.FAILING,
)


def _failing_configurations(seen: Application) -> int:
    """Return how many active configurations do not work and need a user."""
    conditions = status_conditions()
    problem = reduce(or_, (conditions[status] for status in PROBLEMS))
    return visible(Configuration, seen).filter(problem, active=True).count()


def failing_lines(seen: Application) -> int:
    """Return how many sync lines failed in their newest run."""
    ended = visible(Run, seen).filter(
        line=OuterRef("pk"),
        dry_run=False,
        is_received=False,
        state__in=ENDED_STATES,
    )
    newest = Subquery(ended.order_by("-id").values("state")[:1])
    lines = visible(SyncLine, seen).filter(sync__isnull=False).annotate(newest=newest)
    return lines.filter(newest=RunState.FAILED).count()


def _pairs_with_conflicts(seen: Application) -> int:
    """Return how many pairs have conflicts that a user has to decide."""
    pairs = seen.sync_settings.pairs().values()
    return len(count_open_conflicts([pair.push for pair in pairs]))


@dataclass(frozen=True)
class Entry:
    """A page that the menu may link to, and the permission that opens it."""

    title: str | Promise
    icon: str
    view: str
    permission: str
    # How many of what the user sees need attention.
    problems: Callable[[Application], int] | None = None
    app: str = "outkey"


@dataclass(frozen=True)
class Group:
    """Entries under one heading; the first group has none."""

    title: str | Promise
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Item:
    """An entry as the menu of one user shows it."""

    title: str | Promise
    icon: str
    url: str
    problems: int
    is_current: bool
    is_exact: bool  # the page itself, and not one below it


@dataclass(frozen=True)
class ShownGroup:
    """The items of a group that the user may open."""

    title: str | Promise
    items: Sequence[Item]


GROUPS = (
    Group(
        "",
        (
            Entry(_("Overview"), "home", "outkey_home", Permission.VIEW),
            Entry(
                _("API Sync Configurations"),
                "link",
                "outkey_configuration_changelist",
                Permission.VIEW,
                problems=_failing_configurations,
            ),
        ),
    ),
    Group(
        _("Syncs"),
        (
            Entry(
                _("Lines"),
                "repeat",
                "outkey_syncline_changelist",
                Permission.VIEW_LINE,
                problems=failing_lines,
            ),
            Entry(_("Runs"), "play", "outkey_run_changelist", Permission.VIEW_RUN),
            Entry(
                _("Webhooks"),
                "hook",
                "outkey_webhook_changelist",
                Permission.VIEW_WEBHOOK,
            ),
            Entry(_("Data"), "table", "outkey_data", Permission.VIEW_DATA),
            Entry(
                _("Pairs"),
                "swap",
                "outkey_pairs",
                Permission.VIEW_LINE,
                problems=_pairs_with_conflicts,
            ),
        ),
    ),
    Group(
        _("Demo data"),
        (
            Entry(
                _("Contacts (demo)"),
                "person",
                "demo_contact_changelist",
                "view_contact",
                app="demo",
            ),
            Entry(
                _("Orders (demo)"),
                "cart",
                "demo_order_changelist",
                "view_order",
                app="demo",
            ),
        ),
    ),
    Group(
        "",
        (
            Entry(
                _("Activity"),
                "clock",
                "outkey_auditrecord_changelist",
                Permission.VIEW_AUDIT,
            ),
        ),
    ),
    Group(
        _("Settings"),
        (
            Entry(_("Users"), "users", "auth_user_changelist", "view_user", app="auth"),
            Entry(
                _("Groups"), "group", "auth_group_changelist", "view_group", app="auth"
            ),
            Entry(_("Keys"), "key", "outkey_knownkey_changelist", Permission.VIEW_KEYS),
            Entry(
                _("API tokens"),
                "code",
                "outkey_apitoken_changelist",
                Permission.VIEW_TOKENS,
            ),
            Entry(
                _("Data protection"),
                "shield",
                "outkey_data_protection",
                Permission.VIEW_AUDIT,
            ),
        ),
    ),
)


def menu_of(request: HttpRequest) -> list[ShownGroup]:
    """Return the groups of the menu that have a page for this user."""
    allowed = [(group, _allowed_entries(group, request)) for group in GROUPS]
    urls = [url_of(entry) for _, entries in allowed for entry in entries]
    current = _current_url(request.path, urls)
    return [
        ShownGroup(
            group.title, [_item_of(entry, request, current) for entry in entries]
        )
        for group, entries in allowed
        if entries
    ]


def first_url(request: HttpRequest) -> str | None:
    """Return the first page of the menu that the user may open, or None."""
    for group in GROUPS:
        for entry in _allowed_entries(group, request):
            return url_of(entry)
    return None


def _allowed_entries(group: Group, request: HttpRequest) -> list[Entry]:
    """Return the entries of a group whose page the user may open."""
    return [
        entry
        for entry in group.entries
        if entry.app in apps.app_configs and is_allowed(entry, request)
    ]


def is_allowed(entry: Entry, request: HttpRequest) -> bool:
    """Whether the user has the permission of an entry, and no limit that forbids it."""
    user = request.user
    has_permission = bool(user.has_perm(f"{entry.app}.{entry.permission}"))  # type: ignore[union-attr]
    return has_permission and may_be_opened(request, entry.view)


def url_of(entry: Entry) -> str:
    """Return the URL of the page of an entry."""
    return reverse(f"admin:{entry.view}")


def _current_url(path: str, urls: Sequence[str]) -> str:
    """Return the entry that a page belongs to: the longest URL that it begins with."""
    return max((url for url in urls if path.startswith(url)), key=len, default="")


def _item_of(entry: Entry, request: HttpRequest, current: str) -> Item:
    """Return an entry as it is shown on the page of a path."""
    url = url_of(entry)
    return Item(
        title=entry.title,
        icon=entry.icon,
        url=url,
        problems=entry.problems(seen_by(request)) if entry.problems else 0,
        is_current=url == current,
        is_exact=url == request.path,
    )
