"""The rows of Activity, and of the History of a configuration: records in words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from outkey.administration.core.watching.audit_words import (
    Detail,
    details_of,
    is_about_line,
    sentence_of,
    subject_of,
)
from outkey.administration.engine.watching.activity import (
    Activity,
    ActivityFilter,
    Facts,
    RequestGroup,
    RunSpan,
    SentRequest,
)
from outkey.administration.engine.watching.audit_trail import recorded_at
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    installation,
    may,
    visible,
)
from outkey.hosts.django.pages.shell import url_of
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.audit.actors import actor_words
from outkey.sending.core.audit.chain import CHANGE
from outkey.sending.core.configuration.configuration import Configuration

GROUP_SIZE = 20  # requests of a run that are listed under it
RUNS_SIZE = 1000
HISTORY_SIZE = 20
HISTORY_WINDOW = 200  # records; the page of a configuration has more to read


@dataclass(frozen=True)
class Links:
    """The pages of what rows are about, by name; of what the user may see."""

    configurations: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ListedChange:
    """A change or a sign-in as the page shows it."""

    at: float
    actor: str
    sentence: str
    subject: str
    subject_url: str
    configuration: str  # of the line that is the subject
    configuration_url: str
    details: Sequence[Detail]


@dataclass(frozen=True)
class ListedRequest:
    """A request, or the requests of a run."""

    request: SentRequest
    configuration_url: str
    line_url: str
    group: RequestGroup | None = None

    @property
    def hidden(self) -> int:
        """How many requests of the run are not listed under it."""
        return max(0, len(self.group.requests) - GROUP_SIZE) if self.group else 0

    @property
    def requests(self) -> Sequence[SentRequest]:
        """The newest requests of the run."""
        return self.group.requests[:GROUP_SIZE] if self.group else ()

    @property
    def actor(self) -> str:
        """Who requested the run."""
        return translate_text(actor_words(self.group.run.actor)) if self.group else ""


def listed_changes(
    request: HttpRequest, records: Sequence[Facts], stored: Configuration | None
) -> list[ListedChange]:
    """Return records in the language of the user.

    `stored` is the configuration that all of them are about, if there is one.
    """
    links = _links_for(
        request,
        configurations={str(facts.get("configuration", "")) for facts in records},
        lines={subject_of(facts) for facts in records if is_about_line(facts)},
        stored=stored,
    )
    return [_listed_change(facts, links) for facts in records]


def _listed_change(facts: Facts, links: Links) -> ListedChange:
    """Return a record in the language of the user."""
    configuration = str(facts.get("configuration", ""))
    subject = subject_of(facts)
    configuration_url = links.configurations.get(configuration, "")
    subject_url = configuration_url if subject == configuration else ""
    if is_about_line(facts):
        subject_url = links.lines.get(subject, "")
    sentence = sentence_of(str(facts.get("tag", "")), str(facts.get("effect", "")))
    return ListedChange(
        at=recorded_at(facts),
        actor=translate_text(actor_words(str(facts.get("actor", "")))),
        sentence=translate_text(sentence),
        subject=subject,
        subject_url=subject_url,
        configuration=configuration,
        configuration_url=configuration_url,
        details=[
            detail._replace(label=translate_text(detail.label))
            for detail in details_of(facts)
        ],
    )


def listed_requests(
    request: HttpRequest,
    items: Sequence[SentRequest | RequestGroup],
    stored: Configuration | None,
) -> list[ListedRequest]:
    """Return requests and runs with their links."""
    newest = {
        number: item.requests[0] if isinstance(item, RequestGroup) else item
        for number, item in enumerate(items)
    }
    links = _links_for(
        request,
        configurations={sent.stored_name for sent in newest.values()},
        lines={sent.line for sent in newest.values() if sent.line},
        stored=stored,
    )
    return [
        ListedRequest(
            request=newest[number],
            configuration_url=links.configurations.get(newest[number].stored_name, ""),
            line_url=links.lines.get(newest[number].line, ""),
            group=item if isinstance(item, RequestGroup) else None,
        )
        for number, item in enumerate(items)
    ]


def _links_for(
    request: HttpRequest,
    *,
    configurations: Collection[str],
    lines: Collection[str],
    stored: Configuration | None,
) -> Links:
    """Return the pages of these configurations and lines, as far as there are any.

    Two queries, however many rows there are.
    """
    found: dict[str, str] = {}
    if configurations and may(request, Permission.VIEW):
        rows = visible(models.Configuration).filter(name__in=configurations)
        found = _urls_of("outkey_configuration_change", rows.values_list("name", "pk"))
        if stored is not None:
            own = url_of("change", stored)
            found |= {name: own for name, _until in stored.former_names}
    found_lines: dict[str, str] = {}
    if lines and may(request, Permission.VIEW_LINE):
        line_rows = visible(models.SyncLine).filter(name__in=lines)
        found_lines = _urls_of(
            "outkey_syncline_change", line_rows.values_list("name", "pk")
        )
    return Links(found, found_lines)


def _urls_of(view: str, rows: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return the pages of some rows, by name."""
    return {name: reverse(f"admin:{view}", args=[key]) for name, key in rows}


def run_spans(lines: Collection[str], first: float, last: float) -> list[RunSpan]:
    """Return the runs of some lines that were active between two moments."""
    runs = (
        visible(models.Run)
        .select_related("line")
        .filter(
            Q(ended_at__isnull=True) | Q(ended_at__gte=first),
            line__name__in=lines,
            is_received=False,  # one of deliveries may go on for an hour beside others
            started_at__lte=last,
        )
    )
    return [
        RunSpan(
            id=str(run.pk),
            line=run.line.name,
            started=run.started_at,
            ended=run.ended_at,
            actor=run.actor,
        )
        for run in runs.order_by("-id")[:RUNS_SIZE]
    ]


def history_of(request: HttpRequest, stored: Configuration) -> dict[str, object]:
    """Return the newest changes and requests of a configuration, for its tab."""
    activity = Activity(installation().audit_trail.rows, window=HISTORY_WINDOW)
    chosen = ActivityFilter(configuration=stored.name, former_names=stored.former_names)
    changes = activity.records(CHANGE, chosen, HISTORY_SIZE)
    requests = activity.requests(chosen, HISTORY_SIZE, run_spans)
    return {
        "changes": listed_changes(request, changes.records, stored),
        "requests": listed_requests(request, requests.items, stored),
    }
