"""Access through the HTTP interface, by the token of a program.

Every host that offers the interface calls this: it decides by the token's scopes and
configurations, and records changes and sends under the token's name.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import NamedTuple, assert_never

from outkey.administration.core.access.api_tokens import ApiToken, Scope
from outkey.administration.core.access.relay import RelayedRequest
from outkey.administration.core.access.versions import (
    CONFIGURATION_DIFFERS,
    refuse_other_version,
)
from outkey.administration.core.document.document import Document
from outkey.administration.core.operating.metrics import Metrics
from outkey.administration.core.presets.presets import Preset
from outkey.administration.engine.access.limited_application import limited
from outkey.administration.engine.access.limited_audit import LimitedAudit
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.operating.measuring import measure
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    EgressDenied,
    InvalidRequest,
    RateLimited,
    ScopeMissing,
    UnknownConfiguration,
    unknown_line,
)
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.facts import written_table
from outkey.sending.core.configuration.health import Status, Summary
from outkey.sending.core.configuration.permissions import requirements
from outkey.sending.core.configuration.reference import Reference, parse_reference
from outkey.sending.core.configuration.sections import Limits
from outkey.sending.core.request.message import Response
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.exchange.calls import RequestContent, build_call
from outkey.sending.engine.exchange.preview import Preview, preview
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.run import Run
from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.core.settings.facts import ShownWebhook
from outkey.webhooks.core.settings.stored import StoredWebhook

MINUTE = 60.0
BINARY = "application/octet-stream"  # of a body whose sender does not name its type


class ApiSubject(Enum):
    """The subject of an operation of the interface, which is named."""

    CONFIGURATION = "configuration"
    NEW_CONFIGURATION = "configuration that may be a new one"
    LINE = "line"
    NEW_LINE = "line that may be a new one"
    RUN = "run"
    WEBHOOK = "webhook"
    NEW_WEBHOOK = "webhook that may be a new one"


class Saved(NamedTuple):
    """A configuration as it was saved, and whether it is a new one."""

    configuration: Configuration
    created: bool


def open_access(
    application: Application, text: str, references: Collection[Reference] = ()
) -> "ApiAccess":
    """Return the access that a token gives, or raise TokenRefused or RateLimited.

    `references` are those that the operator offers for secrets.
    """
    now = application.clock.monotonic()
    token = application.api_tokens.authenticate(text, now)
    if not application.token_memory.permit(token, now):
        error = RateLimited(
            Text(
                "this token may make {count} requests a minute", count=token.per_minute
            ),
            hint=Text("Send the request again later."),
        )
        error.pause = MINUTE / token.per_minute
        raise error
    seen = limited(application, token.reach, allow_targets=token.allow_targets)
    return ApiAccess(seen, token, frozenset(references))


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The access of one token; a missing scope is ScopeMissing.

    The application is within the token's reach: a configuration that the token is not
    for looks as if it did not exist.
    """

    application: Application
    token: ApiToken
    references: frozenset[Reference] = frozenset()

    @property
    def administration(self) -> Administration:
        """The administration of the token's actor."""
        return self.application.administration(self.token.actor)

    def admit(
        self, scopes: Collection[Scope], subject: ApiSubject | None, name: str
    ) -> None:
        """Raise unless the token has one of the scopes, and what is named exists.

        A host calls it before it looks at the body of a request: what a program may not
        do is refused as such, whatever it sends.
        """
        self.token.demand(*scopes)
        match subject:
            case ApiSubject.CONFIGURATION:
                self.configuration(name)
            case ApiSubject.NEW_CONFIGURATION:
                self._savable(name)
            case ApiSubject.LINE:
                self._line(name)
            case ApiSubject.NEW_LINE:
                if self.stores_line(name):
                    self._line(name)
            case ApiSubject.RUN:
                self._run(name)
            case ApiSubject.WEBHOOK:
                self._webhook(name)
            case ApiSubject.NEW_WEBHOOK:
                self.savable_webhook(name)
            case None:
                pass
            case _:
                assert_never(subject)

    def metrics(self) -> Metrics:
        """Return the metrics of the whole installation."""
        self.token.demand(Scope.READ)
        if self.token.reach.is_limited:
            raise ScopeMissing(
                Text("this token is for certain configurations"),
                hint=Text("Metrics are about all: create a token for all of them."),
            )
        return measure(self.application)

    # ── configurations ──────────────────────────────────────────────────────────────

    def summaries(self) -> list[tuple[Summary, Status]]:
        """Return the configurations that the token is for, by name, with states."""
        self.token.demand(Scope.READ)
        application = self.application
        now = application.clock.now()
        sealed = application.keys.is_sealed()
        return [
            (summary, summary.health.status(now=now, sealed=sealed))
            for summary in application.registry.summaries()
        ]

    def show(self, name: str) -> Configuration:
        """Return one configuration."""
        self.token.demand(Scope.READ)
        return self.configuration(name)

    def save(
        self, name: str, facts: Mapping[str, object], *, whole: bool, version: str = ""
    ) -> Saved:
        """Create or change a configuration.

        If `whole`, what is not named gets its default, and a name that is not stored
        yet creates a configuration, unless the token is for certain ones. `version` is
        the one that the program has seen, as an ETag, "" for any.
        """
        self.token.demand(Scope.MANAGE)
        before = self._savable(name) if whole else self.configuration(name)
        draft = replace(read_draft(name, written_table(name, facts)), is_whole=whole)
        self.application.apply(
            self.administration,
            Document((draft,), ()),
            dry_run=False,
            check=partial(self._refuse_forbidden, version),
        )
        return Saved(self.administration.current(name), before is None)

    def remove(self, name: str, version: str = "") -> None:
        """Delete a configuration with its secrets and lines.

        `version` is the one that the program has seen, as an ETag, "" for any.
        """
        self.token.demand(Scope.MANAGE)
        tag = f'"{self.configuration(name).version}"'
        refuse_other_version(tag, version, CONFIGURATION_DIFFERS)
        self.administration.remove(name, self.application.sync_settings)

    def set_secret(
        self, name: str, field: str, *, value: Secret | None, reference: str | None
    ) -> None:
        """Replace a secret by a value, or by a reference that the operator offers.

        Exactly one of the two is given. Nobody can read a secret here.
        """
        self.token.demand(Scope.MANAGE)
        seen = self.configuration(name)
        source = self.source_of_secret(field, value, reference)
        if isinstance(source, Secret):
            self.administration.set_secret(name, field, source, seen=seen)
        else:
            self.administration.set_reference(name, field, source, seen=seen)

    def source_of_secret(
        self, field: str, value: Secret | None, reference: str | None
    ) -> Secret | Reference:
        """Return the value, or the reference if the operator offers it."""
        if value is not None and reference is None:
            return value
        if reference is not None and value is None:
            parsed = parse_reference(reference, field=field)
            self.refuse_reference(parsed, field)
            return parsed
        raise InvalidRequest(
            Text("the body needs either value or reference"), field="body"
        )

    def clear_secret(self, name: str, field: str) -> None:
        """Delete a secret."""
        self.token.demand(Scope.MANAGE)
        self.configuration(name)
        self.administration.clear_secret(name, field)

    def test(self, name: str, subject: Secret | None = None) -> Report:
        """Test a configuration; that sends a request."""
        self.token.demand(Scope.SEND)
        self.configuration(name)
        return self.administration.test(self.application.sender, name, subject)

    def preview(
        self, name: str, method: str, path: str | None, content: RequestContent
    ) -> Preview:
        """Return a request with its secrets masked; nothing is sent."""
        self.token.demand(Scope.READ)
        call = build_call(self.configuration(name), method, path, **content)
        return preview(self.application.sender.context, call)

    def limits(self, name: str) -> Limits:
        """Return the limits of a configuration, for both directions of a send."""
        self.token.demand(Scope.SEND)
        return self.configuration(name).limits

    def send(self, name: str, request: RelayedRequest) -> Response:
        """Send a request of the caller with a configuration's credentials.

        The body of a success may be a stream, which the host reads and closes.
        """
        self.token.demand(Scope.SEND)
        configuration = self.configuration(name)
        body = request.body
        if configuration.is_scripted and not isinstance(body, bytes):
            body = b"".join(body.parts())  # the script signs it
        call = build_call(
            configuration,
            request.method,
            request.target(),
            headers=request.sent_headers(),
            actor=self.token.actor,
            subject_token=request.subject_token(),
        )
        if body:
            call = call._replace(body=body, content_type=BINARY)
        return self.application.sender.stream(call)

    def presets(self) -> list[Preset]:
        """Return the presets."""
        self.token.demand(Scope.READ)
        return self.application.presets.all()

    # ── sync lines and runs ─────────────────────────────────────────────────────────

    def lines(self) -> list[SyncLine]:
        """Return the sync lines of the configurations that the token is for."""
        self.token.demand(Scope.READ)
        return self.application.registry.lines()

    def line(self, name: str) -> SyncLine:
        """Return one sync line."""
        self.token.demand(Scope.READ)
        return self._line(name)

    def start_run(self, name: str, *, dry_run: bool) -> Run:
        """Queue a run of a sync line; a worker does it."""
        self.token.demand(Scope.RUN)
        self._line(name)
        return self.application.request_run(name, self.token.actor, dry_run=dry_run)

    def runs(self, limit: int, line: str = "", state: str = "") -> Sequence[Run]:
        """Return the newest runs of the lines that the token is for."""
        self.token.demand(Scope.READ, Scope.RUN)
        runs = self.application.runs
        if line:
            self._line(line)
        return runs.newest(limit, line, state)

    def run(self, run_id: str) -> Run:
        """Return one run."""
        self.token.demand(Scope.READ, Scope.RUN)
        return self._run(run_id)

    def cancel_run(self, run_id: str) -> Run:
        """Cancel a run that waits or runs; return it."""
        self.token.demand(Scope.RUN)
        self._run(run_id)
        return self.application.sync.cancel(run_id, self.token.actor)

    # ── webhooks ────────────────────────────────────────────────────────────────────

    def webhooks(self) -> list[ShownWebhook]:
        """Return the webhooks of the configurations that the token is for."""
        self.token.demand(Scope.READ)
        webhooks = self.application.webhooks
        return [webhooks.shown(stored) for stored in webhooks.stored().values()]

    def webhook(self, name: str) -> ShownWebhook:
        """Return one webhook."""
        self.token.demand(Scope.READ)
        return self.application.webhooks.shown(self._webhook(name))

    def deliveries(
        self, webhook: str, limit: int, state: str = ""
    ) -> Sequence[InboxDelivery]:
        """Return the newest deliveries of a webhook, without their bodies."""
        self.token.demand(Scope.READ)
        self._webhook(webhook)
        return self.application.webhooks.inbox().newest(webhook, state, limit)

    # ── audit ───────────────────────────────────────────────────────────────────────

    def audit(
        self, limit: int, before: int = 0, configuration: str = ""
    ) -> list[dict[str, object]]:
        """Return the newest records; of a limited token, about its configurations."""
        self.token.demand(Scope.AUDIT)
        rows = self.application.audit_trail.rows
        if not self.token.reach.is_limited:
            # Records outlast their configuration, whose name shows whose they are.
            labels = {"configuration": configuration} if configuration else {}
            return rows.newest(limit, before=before, **labels)
        if configuration:
            self.configuration(configuration)
            # Not by the name alone: another configuration may have had it before.
            rows = LimitedAudit(rows, lambda: [configuration])
        return rows.newest(limit, before=before)

    # ── what the token is for ───────────────────────────────────────────────────────

    def configuration(self, name: str) -> Configuration:
        """Return a configuration that the token is for, or UnknownConfiguration."""
        try:
            return self.application.registry.get(name)
        except UnknownConfiguration:  # its hint has names that the token may not see
            raise unknown_configuration() from None

    def _savable(self, name: str) -> Configuration | None:
        """Return a configuration that may be replaced; None for a new one."""
        # A token for certain configurations creates none.
        is_new = not self._whole.registry.find([name])
        if is_new and self.token.records is None:
            return None
        return self.configuration(name)

    @property
    def _whole(self) -> Application:
        """The whole installation, for what has a name that is taken."""
        return self.application.unlimited or self.application

    def stores_line(self, name: str) -> bool:
        """Whether there is a line of this name, which the token may not be for."""
        return bool(self._whole.registry.timetable([name]))

    def _line(self, name: str) -> SyncLine:
        line = self.application.registry.line(name)
        try:
            self.configuration(line.configuration)
        except UnknownConfiguration:
            raise unknown_line() from None
        return line

    def _run(self, run_id: str) -> Run:
        try:
            run = self.application.runs.get(run_id)
            self._line(run.line)
        except ConfigError:
            raise UnknownConfiguration(
                Text("there is no such run"), field="run"
            ) from None
        return run

    def _webhook(self, name: str) -> StoredWebhook:
        """Return a webhook of a configuration that the token is for.

        One without a configuration belongs to the whole installation, so that only a
        token for all configurations has it.
        """
        stored = self.application.webhooks.stored().get(name)
        if stored is None:
            raise unknown_webhook()
        return stored

    def savable_webhook(self, name: str) -> StoredWebhook | None:
        """Return a webhook that may be replaced; None for a new one."""
        if name not in self._whole.webhooks.stored():
            return None
        return self._webhook(name)

    def _refuse_forbidden(self, version: str, change: ConfigurationChange) -> None:
        """Refuse another version, and what only a token with more rights may change."""
        stored = change.stored
        tag = None if stored is None else f'"{stored.version}"'
        refuse_other_version(tag, version, CONFIGURATION_DIFFERS)
        for field in change.references():
            self.refuse_reference(change.made.secrets[field].reference, field)
        needed = {item.permission for item in requirements(stored, change.made)}
        if Permission.USE_INTERNAL_NETWORK in needed:
            self.refuse_internal("network")

    def refuse_internal(self, field: str) -> None:
        """Raise EgressDenied unless the token may allow the internal network."""
        if not self.token.allow_internal:
            raise EgressDenied(
                Text("this token may not allow the internal network"),
                hint=Text("Create one with --allow-internal."),
                field=field,
            )

    def refuse_reference(self, reference: Reference | None, field: str) -> None:
        """Raise BlockedByPolicy for a reference that the operator does not offer."""
        if reference not in self.references:
            raise BlockedByPolicy(
                Text("this reference is not one that the operator offers"),
                hint=Text("Set the value itself, or add it to OUTKEY_REFERENCES."),
                field=field,
            )


def unknown_webhook() -> UnknownConfiguration:
    """Return the error for a webhook that a token cannot see."""
    return UnknownConfiguration(
        Text("there is no webhook with this name"), field="webhook"
    )


def unknown_configuration() -> UnknownConfiguration:
    """Return the error for a configuration that a token cannot see."""
    return UnknownConfiguration(field="configuration")
