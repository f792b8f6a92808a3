"""Suggesting a line: one request for a sample, and what follows from it."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import ConfigError, ResponseTooLarge, SyncFailed
from outkey.foundation.core.origin import without_parameters
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.calls import build_call
from outkey.sending.engine.exchange.echoed_secrets import EchoedSecret, has_masked_value
from outkey.sending.engine.wire.transmit import MEBIBYTE
from outkey.sync.core.formats.documents import read_document
from outkey.sync.core.formats.guessing import guess_format
from outkey.sync.core.formats.rows import read_rows
from outkey.sync.core.line.line import Direction, RecordFormat, ResponseFormat, Sync
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.line_form.sample import MAX_RECORDS, LineSample
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.request_values import RequestValues
from outkey.sync.core.paging.response import Record, records_in
from outkey.sync.core.paging.windows import sample_values
from outkey.sync.core.run.job import no_sample_of_job
from outkey.sync.core.suggest.records import MAX_DEPTH
from outkey.sync.core.suggest.suggest import (
    Sample,
    Suggestion,
    found_records,
    last_word,
    suggest,
)
from outkey.sync.engine.pull.page_reader import PREVIEW_VALUES
from outkey.sync.engine.pull.page_requests import page_location, page_request
from outkey.sync.engine.pull.parents import Parents
from outkey.sync.engine.pull.secret_guard import SecretGuard
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts

PREVIEW_MEBIBYTES = 4
FIRST = Position()
NO_CONTENT = 204


def sample_plan(ports: SyncPorts, name: str) -> LinePlan:
    """Return a line for a sample, or raise ConfigError if it only sends.

    A line without a direction is requested by its path alone.
    """
    line = ports.configurations.line(name)
    sync = line.sync or Sync()
    methods = ("GET",) if line.sync is None else ("GET", "POST")
    if sync.direction is Direction.PUSH:
        raise ConfigError(
            Text("the line sends records, so it gets no sample"),
            hint=Text("Suggest fields for a line that pulls, or without a direction."),
            field="direction",
        )
    if line.method not in methods:
        raise ConfigError(
            Text(
                "a sample is not requested with {method}, which may change something",
                method=line.method,
            ),
            hint=Text("Set GET; a line with direction = pull may have POST as well."),
            field="method",
        )
    if sync.job or "job.id" in placeholders(line.path):
        raise no_sample_of_job()
    return LinePlan(line, sync, ports.configurations.get(line.configuration))


@contextmanager
def small_response(plan: LinePlan) -> Iterator[LinePlan]:
    """Limit the response to a preview: it may be requested by the host's web server."""
    limits = plan.configuration.limits
    if limits.response_mebibytes <= PREVIEW_MEBIBYTES:
        yield plan
        return
    small = replace(limits, response_mebibytes=PREVIEW_MEBIBYTES)
    try:
        yield replace(plan, configuration=replace(plan.configuration, limits=small))
    except ResponseTooLarge:
        raise ResponseTooLarge(
            Text(
                "the first page is larger than the {count} MiB that a preview reads",
                count=PREVIEW_MEBIBYTES,
            ),
            hint=Text(
                "Request fewer records at a time (pagination.size), or start a dry run."
            ),
        ) from None


class LineSuggester:
    """Requests one page of a line and proposes what the line lacks."""

    def __init__(self, ports: SyncPorts, plan: LinePlan) -> None:
        self._ports = ports
        self._plan = plan
        self._guard = SecretGuard(ports, plan)

    def suggest(self) -> Suggestion:
        """Send exactly one request; return what follows from its response."""
        sample, has_secret = self._take()
        return self._checked(suggest(sample), has_secret=has_secret)

    def sample(self) -> LineSample:
        """Send exactly one request; return its records, and what follows from them.

        A record that repeats a secret, though its parts were removed, is left out.
        """
        sample, has_secret = self._take()
        suggestion = self._checked(suggest(sample), has_secret=has_secret)
        found = found_records(sample, last_word(sample.line.path))
        secrets = self._guard.secrets()
        records = [
            record
            for record in found.records[:MAX_RECORDS]
            if not reveals_secret(secrets, record)
        ]
        return LineSample.of(records, found.expression, suggestion)

    def _take(self) -> tuple[Sample, bool]:
        """Return the sample of one request, and whether its response had secrets."""
        plan = self._plan
        response = self._request()
        guess = guess_format(response, plan.sync.response, self._most_bytes())
        document, has_secret = self._read(response, guess.format)
        sample = Sample(
            document=document,
            headers=response.headers,
            location=page_location(plan, FIRST, self._values()),
            line=plan.line,
            format=guess,
            records=self._known_records(document),
            target=plan.sync.target,
            host_fields=self._host_fields(),
        )
        return sample, has_secret

    def _checked(self, suggestion: Suggestion, *, has_secret: bool) -> Suggestion:
        """Return a suggestion that repeats no secret, or raise SyncFailed."""
        # Reasons repeat names and examples: none of them may be a secret.
        if reveals_secret(self._guard.secrets(), suggestion.response_parts()):
            raise SyncFailed(
                Text("the response repeats a secret of the configuration"),
                hint=Text(
                    "Choose a path that returns no credentials, or select the fields"
                    " without them in Records (records)."
                ),
                reason="secret_in_record",
            )
        if not has_secret:
            return suggestion
        note = Text(
            "the response repeats a secret of the configuration: records that do are"
            " rejected, unless Records (records) excludes that part"
        )
        return replace(suggestion, notes=(note, *suggestion.notes))

    def _request(self) -> Response:
        plan = self._plan
        parts = {
            "method": plan.line.method,
            "line": plan.line.name,
            **page_request(plan, FIRST, self._values()),
        }
        call = build_call(_without_retries(plan.configuration), **parts)  # type: ignore[arg-type]
        response = self._ports.sender.send(call)
        response.raise_for_cause()
        return response

    def _values(self) -> RequestValues:
        """Return the values of the request: a window of time, and the first parent."""
        now = datetime.fromtimestamp(self._ports.clock.now(), UTC)
        values = sample_values(self._plan.sync.incremental, now)
        for_each = self._plan.sync.for_each
        if not for_each:
            return values
        parent = Parents(self._ports, for_each).first()
        if parent is None:
            raise ConfigError(
                Text("the line {line} has no records yet", line=for_each.line),
                hint=Text("Run it first: outkey line run {line}", line=for_each.line),
                field="for_each.line",
            )
        return replace(values, parent=parent.values)

    def _most_bytes(self) -> int:
        return self._plan.configuration.limits.response_mebibytes * MEBIBYTE

    def _read(self, response: Response, format_: ResponseFormat) -> tuple[object, bool]:
        """Return the document without secrets, and whether it had some."""
        if response.status == NO_CONTENT:
            return [], False
        document = self._document(response, format_)
        is_json = format_.format is RecordFormat.JSON
        if not self._guard.look_at(response, document, is_json=is_json):
            return document, False
        # A URL of the next page may repeat our parameters: a run removes them too.
        names = self._plan.configuration.parameter_names()
        masked = self._guard.detector().masked(_without_own(document, names))
        return _without_masks(masked), has_masked_value(masked)

    def _document(self, response: Response, format_: ResponseFormat) -> object:
        """Return what a response has; of rows the first ones, as a list."""
        if not format_.has_rows:
            return read_document(
                response,
                format_,
                most_bytes=self._most_bytes(),
                most_values=PREVIEW_VALUES,
            )
        rows = read_rows(response, format_, self._most_bytes(), lambda: None)
        first = next(rows.batches(), [])
        return [record for record in first if not isinstance(record, Unmapped)]

    def _known_records(self, document: object) -> Sequence[Record] | None:
        """Return the records that the line's expression finds, or None."""
        sync = self._plan.line.sync
        if sync is None or sync.records == Sync().records:
            return None
        with suppress(ConfigError, SyncFailed):  # then another one is suggested
            find = self._ports.finder.compile(sync.records, field="records")
            return records_in(document, find)
        return None

    def _host_fields(self) -> tuple[HostField, ...]:
        """Return the fields of the target, if it is a model that the host opens."""
        with suppress(ConfigError):
            return self._ports.records.get(self._plan.sync.target).fields
        return ()


def _without_retries(configuration: Configuration) -> Configuration:
    """Return a configuration that sends a request once."""
    return replace(configuration, limits=replace(configuration.limits, retries=0))


def _without_own(
    value: object, names: Collection[str], depth: int = MAX_DEPTH
) -> object:
    """Return a document whose URLs lack the parameters that every request has."""
    if isinstance(value, dict) and depth and names:
        return {
            name: _without_own(part, names, depth - 1) for name, part in value.items()
        }
    return without_parameters(value, names) if isinstance(value, str) else value


def _without_masks(value: object) -> object:
    """Return a masked document without the parts that repeated a secret."""
    if isinstance(value, dict):
        return {
            name: _without_masks(part)
            for name, part in value.items()
            if not isinstance(name, EchoedSecret) and not isinstance(part, EchoedSecret)
        }
    if isinstance(value, list):
        return [
            _without_masks(part) for part in value if not isinstance(part, EchoedSecret)
        ]
    return value
