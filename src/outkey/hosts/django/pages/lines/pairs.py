"""The pages of pairs: their lines and runs, and conflicts that users decide."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    user_of,
    visible,
)
from outkey.hosts.django.pages.lines.runs import (
    ListedRun,
    may_view_records,
    newest_chart,
    rows_of_runs,
)
from outkey.hosts.django.pages.lists import page_number, read_uncounted_page
from outkey.hosts.django.pages.shell import message_of, page
from outkey.hosts.django.rows.pairs import count_open_conflicts
from outkey.hosts.django.wiring import records
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.pairs.pairs import (
    PairAgreement,
    PairConflict,
    Values,
    changed_fields,
)
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.engine.pairs.runner import conflict_version, fields_by_owner

CONFLICTS_SIZE = 20
RUNS_SIZE = 10
MOST_CHARACTERS = 500  # of a value
CHOICES = {ConflictRule.API, ConflictRule.HOST}


@dataclass(frozen=True)
class ListedPair:
    """A pair as the list shows it."""

    pair: Pair
    open_count: int


@dataclass(frozen=True)
class PairLine:
    """One of the lines of a pair; without a row it was deleted or renamed."""

    name: str
    row: models.SyncLine | None


@dataclass(frozen=True)
class VersionCell:
    """A value of one version; None: that side has deleted the record."""

    text: str | None
    is_changed: bool  # since both sides agreed


@dataclass(frozen=True)
class FieldVersions:
    """One field as both sides have it, and as they agreed on it."""

    name: str
    agreed: str
    api: VersionCell
    host: VersionCell


@dataclass(frozen=True)
class ListedConflict:
    """A record that both sides have changed."""

    key: str
    version: str
    conflict: PairConflict
    has_agreed: bool
    fields: Sequence[FieldVersions]
    same_count: int  # fields that are equal on both sides, and not shown

    @classmethod
    def of(cls, known: PairAgreement, conflict: PairConflict) -> "ListedConflict":
        """Return a conflict with the fields that differ."""
        names = changed_fields(conflict.api, conflict.host)
        shared = {**(conflict.api or {}), **(conflict.host or {})}
        return cls(
            key=known.key,
            version=conflict_version(known),
            conflict=conflict,
            has_agreed=known.api is not None,
            fields=[versions_of(name, known, conflict) for name in names],
            same_count=len(shared) - len(names),
        )


def list_page(request: HttpRequest) -> HttpResponse:
    """List the pairs."""
    require(request, Permission.VIEW_LINE)
    runner = installation().sync.pair_runner()
    pairs = [
        ListedPair(pair, runner.count_open(pair.name))
        for pair in runner.pairs().values()
    ]
    unreadable = installation().sync_settings.unreadable()[StateKind.PAIR]
    context = {"title": _("Pairs"), "rows": pairs, "unreadable": unreadable}
    return page(request, "outkey/pairs.html", context)


def pair_page(request: HttpRequest) -> HttpResponse:
    """Show one pair: its rule, its lines, its last runs and its open conflicts."""
    require(request, Permission.VIEW_LINE)
    pair = _pair_at(request.GET.get("name", ""))
    lines = lines_of(pair)
    runs: Sequence[ListedRun] = ()
    if may(request, Permission.VIEW_RUN):
        rows = [line.row for line in lines if line.row]
        newest = rows_of_runs().filter(line__in=rows)
        runs = [ListedRun.of(run) for run in newest.order_by("-id")[:RUNS_SIZE]]
    context = {
        "title": pair.name,
        "pair": pair,
        "rule": pair.conflict.label,
        "lines": lines,
        "fields": fields_of(pair),
        "open_count": installation().sync.pair_runner().count_open(pair.name),
        "runs": runs,
        "run_chart": newest_chart(runs),
        "paused": installation().runs.paused_lines(),
    }
    return page(request, "outkey/pair.html", context)


def conflicts_page(request: HttpRequest) -> HttpResponse:
    """List the conflicts of a pair, for a user who decides."""
    require(request, Permission.VIEW_LINE)
    pair = _pair_at(request.GET.get("name", ""))
    sees_values = _may_view_records_of(request, pair)
    # The key of a record is a value too.
    shown = _conflicts_of(pair) if sees_values else ()
    conflicts, pager = read_uncounted_page(request, shown, CONFLICTS_SIZE)
    context = {
        "title": _("Conflicts of %s") % pair.name,
        "pair": pair,
        "conflicts": conflicts,
        "sees_values": sees_values,
        "open_count": installation().sync.pair_runner().count_open(pair.name),
        "may_resolve": may(request, Permission.RUN_LINE),
        "number": page_number(request.GET.get("page", "")),
        "pager": pager,
    }
    return page(request, "outkey/pair_conflicts.html", context)


@require_POST
def resolve(request: HttpRequest) -> HttpResponse:
    """Store whose version of a record stays."""
    require(request, Permission.VIEW_LINE, Permission.RUN_LINE)
    pair = _pair_at(request.POST.get("name", ""))
    choice = request.POST.get("choice", "")
    if choice not in CHOICES:
        raise Http404
    key = request.POST.get("key", "")
    try:
        installation().sync.resolve_conflict(
            administration_for(request.user),
            pair.name,
            key,
            ConflictRule(choice),
            rights=records(user_of(request)),
            # Without one, the user would decide about versions not seen.
            version=request.POST.get("version", "") or "none",
        )
    except ConfigError as error:
        messages.error(request, message_of(error))
    else:
        text = _("The API's version of %s will be kept: the next run applies it.")
        if choice == ConflictRule.HOST:
            text = _("Our version of %s will be kept: the next run applies it.")
        messages.success(request, text % key)
    number = page_number(request.POST.get("page", ""))
    query = urlencode({"name": pair.name, "page": number})
    return HttpResponseRedirect(f"{reverse('admin:outkey_pair_conflicts')}?{query}")


def open_conflicts() -> dict[str, int]:
    """Return how many conflicts of each pair wait for a user; only pairs with some."""
    pairs = installation().sync_settings.pairs().values()
    counts = count_open_conflicts([pair.push for pair in pairs])
    return {pair.name: counts[pair.push] for pair in pairs if pair.push in counts}


def url_of_pair(name: str, view: str = "pair") -> str:
    """Return the URL of a page of a pair."""
    return f"{reverse(f'admin:outkey_{view}')}?{urlencode({'name': name})}"


def _pair_at(name: str) -> Pair:
    """Return the pair of a page, or respond with 404."""
    try:
        return installation().sync.pair_runner().get(name)
    except UnknownConfiguration:
        raise Http404 from None


def lines_of(pair: Pair) -> tuple[PairLine, PairLine]:
    """Return the pull and the push of a pair."""
    rows = visible(models.SyncLine).filter(name__in=(pair.pull, pair.push))
    by_name = {row.name: row for row in rows}
    return (
        PairLine(pair.pull, by_name.get(pair.pull)),
        PairLine(pair.push, by_name.get(pair.push)),
    )


def fields_of(pair: Pair) -> dict[str, list[str]]:
    """Return the names of the fields that each side may change."""
    registry = installation().registry
    try:
        pull = registry.line(pair.pull).sync
        push = registry.line(pair.push).sync
    except ConfigError:  # one is missing, or not readable
        return {}
    return fields_by_owner(pull, push)


def _may_view_records_of(request: HttpRequest, pair: Pair) -> bool:
    """Whether the user may see the records that a pair synchronizes."""
    rows = [line.row for line in lines_of(pair) if line.row]
    return bool(rows) and all(may_view_records(request, row) for row in rows)


def _conflicts_of(pair: Pair) -> Iterator[ListedConflict]:
    """Yield the conflicts of a pair."""
    for known in installation().sync.pair_runner().conflicts(pair.name):
        if known.conflict is not None:
            yield ListedConflict.of(known, known.conflict)


def versions_of(
    name: str, known: PairAgreement, conflict: PairConflict
) -> FieldVersions:
    """Return one field of a record in all versions."""
    agreed = known.api
    return FieldVersions(
        name,
        agreed="" if agreed is None else shortened(agreed.get(name), MOST_CHARACTERS),
        api=_version_cell(name, conflict.api, agreed),
        host=_version_cell(name, conflict.host, agreed),
    )


def _version_cell(
    name: str, version: Values | None, agreed: Values | None
) -> VersionCell:
    """Return a value of a version; what was never agreed on has not changed since."""
    if version is None:
        return VersionCell(None, is_changed=True)
    value = version.get(name)
    is_changed = agreed is not None and value != agreed.get(name)
    return VersionCell(shortened(value, MOST_CHARACTERS), is_changed)
