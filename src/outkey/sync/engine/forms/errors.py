"""Everything that is wrong with a line's form, also what only the host knows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Finding
from outkey.sync.core.line.checks import MappingCheck
from outkey.sync.core.line.line import Direction, FieldMapping
from outkey.sync.core.line_form.inputs import errors_in, row_input, schedule_error
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.rows import MappingRow
from outkey.sync.core.line_form.schedule_choices import ScheduleKind
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.mapping.shape import KIND_BY_TRANSFORM, is_made_by_outkey
from outkey.sync.engine.pull.record_mapper import is_in_record
from outkey.sync.engine.runs.line_plan import SyncPorts

EXPRESSIONS = ("records", "pagination_cursor", "incremental_field")
HostFields = Mapping[str, HostField] | None  # None: a table or a file
NamedError = tuple[str, ConfigError]  # with the name of the input


def form_errors(
    ports: SyncPorts, form: LineForm, text: str = ""
) -> dict[str, ConfigError]:
    """Return everything that is wrong with a form, by the name of the input.

    With what only the host knows: its fields, time zones, expressions and calendar.
    """
    errors = errors_in(form, text)
    if form.texts.get("direction") == "":  # the line only names one request
        return errors
    for name, error in FormCheck(ports, form).errors():
        errors.setdefault(name, error)
    return errors


class FormCheck:
    """Checks the parts of a form with the host, each on its own."""

    def __init__(self, ports: SyncPorts, form: LineForm) -> None:
        self._ports = ports
        self._form = form
        self._is_pull = form.direction != Direction.PUSH

    def errors(self) -> Iterator[NamedError]:
        """Yield the errors, with the names of the inputs."""
        form = self._form
        host_fields = model_fields(self._ports, form.texts.get("target", ""))
        yield from self._row_errors(form.rows or (), host_fields)
        for number, child in enumerate(form.children or ()):
            prefix = f"child-{number}-"
            yield from self._expression_errors(f"{prefix}list", child.list)
            fields = model_fields(self._ports, child.target)
            yield from self._row_errors(child.rows, fields, prefix)
        for name in EXPRESSIONS:
            yield from self._expression_errors(name, form.texts.get(name, ""))
        yield from self._schedule_errors()

    def _row_errors(
        self, rows: Sequence[MappingRow], host_fields: HostFields, prefix: str = ""
    ) -> Iterator[NamedError]:
        for number, row in enumerate(rows):
            if row.is_blank:
                continue
            try:
                mapping = row.mapping()
            except ConfigError:
                continue  # an unknown transform, which is an error already
            finding = fault_of(self._ports, mapping, host_fields, is_pull=self._is_pull)
            if finding is not None:
                place = str(finding.field).removeprefix("row.")
                name = f"{prefix}map-{row_input(place)}-{number}"
                yield name, ConfigError(finding.message, hint=finding.hint, field=name)
            elif self._is_pull and is_in_record(mapping.api):
                name = f"{prefix}map-api-{number}"
                yield from self._expression_errors(name, mapping.api)

    def _expression_errors(self, name: str, expression: str) -> Iterator[NamedError]:
        if not expression or not self._is_pull:
            return
        try:
            self._ports.finder.compile(expression, field=name)
        except ConfigError as error:
            yield name, error

    def _schedule_errors(self) -> Iterator[NamedError]:
        """Yield the error of a schedule that only the calendar refuses."""
        choice = self._form.schedule
        if choice is None or schedule_error(choice) or not choice.schedule:
            return
        try:
            self._ports.calendar.next_after(choice.schedule, self._ports.clock.now())
        except ConfigError as error:
            is_cron = choice.kind is ScheduleKind.CRON
            yield "schedule_cron" if is_cron else "schedule_zone", error


def model_fields(ports: SyncPorts, target: str) -> dict[str, HostField] | None:
    """Return the fields of a model; None for what outkey makes, or for no model."""
    with suppress(ConfigError):
        if not is_made_by_outkey(target):
            fields = ports.records.get(target).fields
            return {field.name: field for field in fields}
    return None


def fault_of(
    ports: SyncPorts,
    mapping: FieldMapping,
    host_fields: HostFields,
    *,
    is_pull: bool = True,
) -> Finding | None:
    """Return the finding on a mapping that holds for all its values.

    The field of the finding begins with `row.`.
    """
    kind = KIND_BY_TRANSFORM[mapping.transform]
    host: HostField | None = HostField(mapping.host, mapping.host, kind)
    if host_fields is not None:
        host = host_fields.get(mapping.host)
    check = MappingCheck(
        place="row", mapping=mapping, host=host, zones=ports.zones, is_pull=is_pull
    )
    return next(check.findings(), None)
