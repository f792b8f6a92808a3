"""The buttons Test and Preview: they try what the form has, saved or not."""

import json
import time
from collections.abc import Iterator
from uuid import UUID

from django.core import signing
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from outkey.administration.engine.editing.drafts import CandidateConfiguration
from outkey.administration.engine.editing.editing import Errors
from outkey.administration.engine.editing.fixes import difference, form_changes
from outkey.foundation.core.errors import ConfigError, OutkeyError, UnknownConfiguration
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    editor_for,
    installation,
    may,
    require,
    visible,
)
from outkey.hosts.django.pages.configurations.first_line import url_of_first_line
from outkey.hosts.django.pages.configurations.tested_drafts import note_of_test
from outkey.hosts.django.pages.shell import (
    configuration_at,
    limited_concurrency,
    streamed,
)
from outkey.hosts.django.rows.storage import health_of
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.evidence import Fix
from outkey.sending.engine.connection_test import Report

FIX = "outkey.fix"  # the salt of signatures under proposals
PIECE_END = "<!-- end -->"  # a network may cut pieces anywhere; a page shows whole ones


def read_candidate(
    request: HttpRequest, record: UUID | None
) -> CandidateConfiguration | Errors:
    """Return the configuration of a posted form, or what is wrong with it."""
    application = installation()
    stored = None if record is None else configuration_at(record)
    try:
        return editor_for(request).candidate(
            request.POST.dict(),
            stored,
            registry=application.registry,
            secrets=application.secrets,
        )
    except UnknownConfiguration:
        raise Http404 from None


def refusal(request: HttpRequest, errors: Errors) -> HttpResponse:
    """Show why a form cannot be tried."""
    return render(request, "outkey/refused.html", {"errors": errors.values()})


@require_POST
def test_panel(
    request: HttpRequest,
    record: UUID | None = None,  # noqa: PT028 - a view, not a test
) -> HttpResponseBase:
    """Test what the form has, and send each step of the test when it has ended."""
    require(request, Permission.TEST)
    candidate = read_candidate(request, record)
    if not isinstance(candidate, CandidateConfiguration):
        return refusal(request, candidate)
    pieces = _limited_pieces(_test_pieces(request, candidate))
    return streamed(pieces, "text/html; charset=utf-8")


def _limited_pieces(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces of a test, or a refusal if too many tests are running."""
    # The place is taken here: a response that is never read would not give it back.
    try:
        with limited_concurrency():
            for piece in pieces:
                yield piece + PIECE_END
    except ConfigError as error:
        yield render_to_string("outkey/refused.html", {"errors": [error]})


def _test_pieces(
    request: HttpRequest, candidate: CandidateConfiguration
) -> Iterator[str]:
    """Run a test, and yield its steps and its verdict as HTML."""
    application = installation()
    administration = administration_for(request.user)
    tokens = MemoryTokens(time.time)
    trial = application.begin_test(administration, candidate, tokens)
    for step in trial.steps():
        yield render_to_string("outkey/test_step.html", {"step": step})
    report = trial.report()
    now = time.time()
    candidate.finish_test(administration, report, now)
    context = {
        "report": report,
        "draft": candidate.configuration,
        "reasons": list(reasons(request, report, candidate)),
        "tested": note_of_test(request, candidate, report, now),
    }
    if candidate.stored is not None and candidate.is_saved:
        context |= status_context(request, candidate.stored)
    yield render_to_string("outkey/test_verdict.html", context)


def status_context(request: HttpRequest, stored: Configuration) -> dict[str, object]:
    """Return the status of a configuration after its test, and the next step."""
    row = visible(models.Configuration).get(pk=UUID(stored.record))
    health = health_of(row)
    sealed = installation().keys.is_sealed()
    return {
        "health": health,
        "status": health.status(now=time.time(), sealed=sealed),
        "line_url": url_of_first_line(request, stored, health),
    }


def reasons(
    request: HttpRequest, report: Report, candidate: CandidateConfiguration
) -> Iterator[dict[str, object]]:
    """Yield each reason with the fix that outkey proposes.

    A fix of what is saved has a signature under it; one of an unsaved form names the
    inputs that it changes.
    """
    stored = candidate.stored
    needed = Permission.CHANGE if stored else Permission.ADD
    may_fix = may(request, needed)
    for suspicion in report.suspicions:
        fix = suspicion.fix
        reason: dict[str, object] = {"suspicion": suspicion}
        if fix and may_fix:
            reason["difference"] = difference(candidate.configuration, fix)
            if stored and candidate.is_saved:
                reason |= _proposal_for(stored, fix)
            else:
                changes = form_changes(fix, request.POST.dict())
                reason["changes"] = json.dumps(changes) if changes else ""
        # The verdict itself says why an address is refused.
        if "difference" in reason or not report.is_refused_address:
            yield reason


def _proposal_for(stored: Configuration, fix: Fix) -> dict[str, object]:
    """Return a fix of a stored configuration as its button posts it."""
    state = (stored.record, stored.version, stored.revision)
    proposal = (*state, fix.label.to_json(), fix.changes, fix.tidied)
    return {
        "proposal": signing.dumps(proposal, salt=FIX),
        "record": UUID(stored.record),
    }


@require_POST
def preview_panel(request: HttpRequest, record: UUID | None = None) -> HttpResponse:
    """Show the exact request of what the form has, secrets masked."""
    require(request, Permission.VIEW)
    candidate = read_candidate(request, record)
    if not isinstance(candidate, CandidateConfiguration):
        return refusal(request, candidate)
    require(request, *candidate.needs_for_preview())
    try:
        with limited_concurrency():
            preview = installation().preview_candidate(
                administration_for(request.user), candidate
            )
    except OutkeyError as error:
        return refusal(request, {"": error})
    context = {"shown": preview, "curl": preview.curl()}
    return render(request, "outkey/preview.html", context)
