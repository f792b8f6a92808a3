"""The rotation of credentials on a configuration's page: its panel, and its steps."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.administration.core.rotation.status import STATE_WORDS, set_in_use
from outkey.administration.core.rotation.steps import (
    Step,
    possible_steps,
    rotation_sentences,
)
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.errors import Cause, OutkeyError, RotationPending
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    offered_references,
    require,
)
from outkey.hosts.django.pages.shell import (
    configuration_at,
    limited_concurrency,
    message_of,
    url_of,
)
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import (
    BY_PATH,
    path_of_secret,
    secret_label,
)
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.rotation.credential_sets import (
    COMPANIONS,
    CredentialSet,
    CredentialSets,
    RotationState,
    Tally,
)

Action = Callable[[HttpRequest, CredentialRotation, Configuration], None]


@dataclass(frozen=True, slots=True)
class StagedInput:
    """An input for a part of the next credentials."""

    name: str
    label: str
    kind: str  # of the HTML input; "lines" for a key
    can_refer: bool


@dataclass(frozen=True, slots=True)
class RotationPanel:
    """How far a rotation is, and what the user may do now."""

    stored: Configuration
    state: RotationState
    sentences: Sequence[Text]
    tally: Tally
    steps: frozenset[Step]
    inputs: Sequence[StagedInput]
    references: Sequence[str]

    @property
    def words(self) -> Text:
        """The state in a few words."""
        return STATE_WORDS[self.state]

    @property
    def sets(self) -> CredentialSets:
        """The sets of the configuration."""
        return self.stored.sets

    @property
    def in_use(self) -> CredentialSet:
        """The credentials in use."""
        return set_in_use(self.stored)

    @property
    def is_under_way(self) -> bool:
        """Whether there is a second set."""
        return self.state is not RotationState.NONE

    @property
    def seen(self) -> str:
        """The serials and settings that the page shows; a step needs the same ones."""
        return _seen(self.stored)

    @property
    def can(self) -> Mapping[str, bool]:
        """The steps by the names that a template can write."""
        return {step.name.lower(): step in self.steps for step in Step}

    @property
    def until(self) -> str:
        """The day on which the previous credentials are deleted."""
        zone = timezone.get_current_timezone()
        return date_format(datetime.fromtimestamp(self.sets.until or 0, zone))

    @property
    def has_ended(self) -> bool:
        """Whether the time to go back is over."""
        return self.sets.has_ended_overlap(time.time())

    @property
    def share(self) -> int:
        """The percentage of the requests that a trial begins with."""
        return self.stored.rotation.share


def rotation_panel(request: HttpRequest, stored: Configuration) -> RotationPanel | None:
    """Return the panel, or None where there is nothing to see or to do."""
    rotation = _rotation_of(request)
    fields = rotation.fields(stored)
    now = time.time()
    state = stored.sets.state(now)
    may_stage = bool(fields) and may(request, Permission.SET_SECRET)
    if state is RotationState.NONE and not may_stage:
        return None
    tally = rotation.tally(stored)
    return RotationPanel(
        stored=stored,
        state=state,
        sentences=list(rotation_sentences(stored, tally, now)),
        tally=tally,
        steps=frozenset(
            step
            for step in possible_steps(stored, tally, now)
            if may(request, _permission_for(step))
        ),
        inputs=[_input_for(stored, field) for field in fields],
        references=[str(reference) for reference in offered_references()],
    )


@require_POST
def take_step(request: HttpRequest, record: UUID, step: str) -> HttpResponse:
    """Change something about the sets, and show on the page how it ended."""
    require(request, Permission.SET_SECRET)
    return _act(request, record, CHANGING_STEPS.get(step), nullcontext())


@require_POST
def send_step(request: HttpRequest, record: UUID, step: str) -> HttpResponse:
    """Send requests with one of the sets, and show on the page how it ended."""
    require(request, Permission.TEST)
    return _act(request, record, SENDING_STEPS.get(step), limited_concurrency())


def _act(
    request: HttpRequest,
    record: UUID,
    action: Action | None,
    place: AbstractContextManager[None],
) -> HttpResponse:
    if action is None:
        raise Http404
    stored = configuration_at(record)
    try:
        with place:
            _refuse_unseen(request, stored)
            action(request, _rotation_of(request), stored)
    except OutkeyError as error:
        messages.error(request, message_of(error))
    return HttpResponseRedirect(url_of("change", stored))


def _permission_for(step: Step) -> Permission:
    return Permission.TEST if step in SENDING_STEPS else Permission.SET_SECRET


def _rotation_of(request: HttpRequest) -> CredentialRotation:
    return installation().credential_rotation(administration_for(request.user))


def _seen(stored: Configuration) -> str:
    """Return the serials and the settings that a step is about."""
    sets = stored.sets
    others = [each.serial if each else 0 for each in (sets.next, sets.previous)]
    return "-".join(map(str, [stored.version, sets.serial, *others]))


def _refuse_unseen(request: HttpRequest, stored: Configuration) -> None:
    """Refuse a step about credentials that are not those that the page has shown."""
    if request.POST.get("seen") != _seen(stored):
        raise RotationPending(
            Text("the credentials or settings have changed since the page was shown"),
            hint=Text("Look at them again, and repeat the step."),
        )


def _input_for(stored: Configuration, field: str) -> StagedInput:
    """Return the input for a part of the next credentials."""
    if field in COMPANIONS:
        setting = BY_PATH[COMPANIONS[field]]
        kind = "date" if field == "token_expires_on" else "text"
        return StagedInput(field, setting.label, kind, can_refer=False)
    secret = BY_PATH.get(path_of_secret(field, stored.values()))
    kind = "password"
    if secret is not None and (secret.lines or secret.only_reference):
        kind = "lines" if secret.lines else ""
    return StagedInput(field, secret_label(field), kind, can_refer=True)


# ── steps ───────────────────────────────────────────────────────────────────────────


def _stage(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Store what was entered for the next set."""
    offered = {str(reference): reference for reference in offered_references()}
    entries: dict[str, str | Reference] = {}
    for field in rotation.fields(stored):
        chosen = offered.get(request.POST.get(f"reference:{field}", ""))
        text = request.POST.get(f"next:{field}", "")
        if chosen is not None and field not in COMPANIONS:
            entries[field] = chosen
        elif text:
            entries[field] = text
    rotation.stage(stored, entries)
    messages.success(
        request, _("The next credentials are stored. Test them before they are used.")
    )


def _test(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Test the next credentials."""
    report = rotation.test(stored.name)
    if report.ok:
        messages.success(request, _("The API accepts the next credentials."))
        return
    cause = (report.cause or Cause.UNEXPECTED).label
    template = _("The test of the next credentials failed: %s.")
    failed = template % translate_text(cause)
    messages.error(request, f"{failed} {translate_text(report.remedy or '')}")


def _start(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Begin the trial of the next credentials."""
    trial = rotation.start(stored.name, share=None, after=None)
    template = _("From now on, %(share)s %% of the requests try the next credentials.")
    messages.success(request, template % {"share": trial.share})


def _promote(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Use the next credentials for all requests."""
    rotation.promote(stored.name)
    messages.success(request, _("All requests use the next credentials from now on."))


def _back(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """End a trial, or use the credentials before."""
    serial = rotation.back(stored.name)
    # The previous ones are the newer ones, for a user who has gone back before.
    template = _("All requests use the credentials of set %(serial)s.")
    messages.success(request, template % {"serial": serial})


def _retire(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Delete the previous credentials."""
    rotation.retire(stored.name)
    messages.success(request, _("The old credentials were deleted."))


def _discard(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Delete the next credentials."""
    rotation.discard(stored.name)
    messages.success(request, _("The next credentials were deleted."))


def _probe(
    request: HttpRequest, rotation: CredentialRotation, stored: Configuration
) -> None:
    """Try the previous credentials, which must be refused."""
    result = rotation.probe(stored.name)
    if result.refused:
        messages.success(request, _("The API refuses the old credentials."))
    elif result.refused is False:
        messages.warning(
            request,
            _("The API still accepts the old credentials: revoke them there."),
        )
    else:
        messages.warning(
            request, _("That proves nothing: the API neither accepts nor refuses them.")
        )


CHANGING_STEPS: Mapping[str, Action] = {
    Step.STAGE: _stage,
    Step.START: _start,
    Step.PROMOTE: _promote,
    Step.BACK: _back,
    Step.RETIRE: _retire,
    Step.DISCARD: _discard,
}
SENDING_STEPS: Mapping[str, Action] = {Step.TEST: _test, Step.PROBE: _probe}
