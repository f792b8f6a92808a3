"""Checks of a sync line before it runs, given the host's fields."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.sync.core.line.incremental_checks import incremental_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    Paging,
    ParentRecords,
    Sync,
    SyncLine,
    Transform,
    Writes,
)
from outkey.sync.core.line.response_checks import response_findings
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.mapping import (
    BY_KIND,
    FITTING_TRANSFORMS,
    resolve_transform,
    takes_transform,
)
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.mapping.targets import FileName, TableName, parse_target
from outkey.sync.core.mapping.transforms import (
    MappingContext,
    Zones,
    is_readable,
    refusal_reason,
)
from outkey.sync.core.paging.response import read_json

NO_HOST_FIELD = Check(
    "L001",
    Level.ERROR,
    "the host has no such field",
    "Choose one of the target's fields.",
)
OPTION_MISSING = Check(
    "L001", Level.ERROR, "the transform {transform} needs this option", "Enter it."
)
CHOICES_MISSING = Check(
    "L001",
    Level.ERROR,
    "a choice needs a table of values",
    "Write the API's value and the host's value for each.",
)
UNKNOWN_ZONE = Check(
    "L001", Level.ERROR, "unknown time zone", "Write it like Europe/Berlin."
)
UNREADABLE_FORMAT = Check(
    "L001",
    Level.ERROR,
    "the format cannot be read",
    "Write it like %d.%m.%Y, or unix or unix_ms.",
)
WRONG_TRANSFORM = Check(
    "L001",
    Level.ERROR,
    "the transform {transform} does not make what the host's field takes: {kind}",
    "Choose {transforms}.",
)
NO_API_FIELD = Check(
    "L001", Level.ERROR, "the field of the API is missing", "Enter it, such as id."
)
WRONG_DEFAULT = Check(
    "L001",
    Level.ERROR,
    "the default cannot be converted to {transform}",
    "Enter a default that can, or remove it.",
)
WRONG_CONSTANT = Check(
    "L001",
    Level.ERROR,
    "the constant cannot be converted to {transform}",
    "Enter a constant that can.",
)
UNKNOWN_CHOICE = Check(
    "L001",
    Level.ERROR,
    "the host's field has no such choice",
    "Enter one of the choices of the host's field.",
)
WRONG_API_NAME = Check(
    "L001",
    Level.ERROR,
    "the name of a field that is sent has letters, digits, hyphens and underscores"
    " only, and dots between its parts",
    "Correct the name, such as address.city.",
)
LOOKUP_IN_PUSH = Check(
    "L001",
    Level.ERROR,
    "a lookup works in a pull only",
    "Choose text or number.",
)
NO_POSITION_PARAMETER = Check(
    "L002",
    Level.ERROR,
    "without a parameter for its number every page is the first page",
    "Name the parameter, such as page or offset.",
)
NO_CURSOR = Check(
    "L003",
    Level.ERROR,
    "the path of the next cursor is missing",
    "Enter where the response has it, such as meta.next.",
)
PUSH_METHOD = Check(
    "L006", Level.ERROR, "a push needs a method that sends records", "Choose {methods}."
)
BODY_NOT_JSON = Check(
    "L007",
    Level.ERROR,
    "the body is not JSON",
    'Write a JSON document, with placeholders in texts: {{"id": "{{external_id}}"}}.',
)
UNKNOWN_PLACEHOLDER = Check(
    "L008", Level.ERROR, "unknown placeholder {{{name}}}", "Known here: {names}."
)
UNMAPPED = Check(
    "L009",
    Level.ERROR,
    "the host's field {name} must have a value",
    "Map it, for example to a constant.",
)
SAME_API_NAME = Check(
    "L010",
    Level.ERROR,
    "two fields are sent under the same name",
    "Give each field a name of its own.",
)
SCRIPT_IN_PUSH = Check(
    "L011", Level.ERROR, "a transform script works in a pull only", "Remove the script."
)
INVALID_SCRIPT = Check(
    "L011", Level.ERROR, "the transform script is invalid", "Correct the script."
)
INVALID_EXPRESSION = Check(
    "L012", Level.ERROR, "the JMESPath expression is invalid", "Correct the expression."
)
PARALLEL_WITHOUT_NUMBERS = Check(
    "L013",
    Level.WARNING,
    "parallel has no effect: only pages with numbers or offsets can be requested at"
    " the same time",
    "Remove parallel, or page by number or offset if the API can.",
)
UNKNOWN_TARGET = Check(
    "L014",
    Level.ERROR,
    "the host does not open the target",
    "Choose a target that the host opens.",
)
INVALID_SCHEDULE = Check(
    "L015", Level.ERROR, "the schedule is invalid", "Correct the cron expression."
)
PULL_METHOD = Check(
    "L016",
    Level.ERROR,
    "a pull reads, and other methods may change records",
    "Choose {methods}.",
)
KEY_NOT_UNIQUE = Check(
    "L017",
    Level.WARNING,
    "{name} is not unique in the host, and records with the same value are not updated",
    "Make the field unique in the host's model, or choose one that is.",
)
INVALID_LOOKUP = Check(
    "L018",
    Level.ERROR,
    "the host does not open the target or the field of the lookup",
    "Choose a target and a field that the host opens.",
)
TARGET_UNREACHABLE = Check(
    "L019",
    Level.WARNING,
    "the database of the target cannot be reached, so the line was not checked",
    "Check the database; then: outkey line show NAME.",
)
FILE_IS_WHOLE = Check(
    "L020",
    Level.ERROR,
    "a file is a snapshot that each run replaces, so it has no {key}",
    "Remove {key}, or choose a table.",
)
SKIPS_PARENTS = Check(
    "L005",
    Level.WARNING,
    "a run that skips parents archives and deletes nothing",
    "Request the records of all parents (for_each.only).",
)
FILE_IN_PUSH = Check(
    "L021", Level.ERROR, "records cannot be read from a file", "Choose a table."
)
SHARED_FILE = Check(
    "L024",
    Level.ERROR,
    "the line {line} writes the same file, and each run would replace it",
    "Choose another file.",
)
SAVES_NO_MODEL = Check(
    "L023",
    Level.ERROR,
    "only the models of the host have code that saves a record",
    "Write in bulk (writes), or choose a model.",
)

FEED_WITHOUT_TABLE = Check(
    "L025",
    Level.ERROR,
    "changes are recorded for tables only, not for {target}",
    "Remove feed, or choose a table: table:NAME or table:DATABASE.NAME.",
)

DOTTED_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
WITHOUT_API_FIELD = frozenset({Transform.CONSTANT, Transform.TEMPLATE})
WITH_MOMENTS = frozenset({Transform.DATE, Transform.DATETIME, Transform.AS_IS})
NEEDED_OPTIONS = {
    Transform.LOOKUP: ("target", "field"),
    Transform.CONSTANT: ("value",),
    Transform.TEMPLATE: ("template",),
}
PULL_PLACEHOLDERS = ("position", "size", "since", "until")
SENDING_METHODS = ("POST", "PUT", "PATCH")
METHODS = {
    Direction.PULL: (PULL_METHOD, ("GET", "POST")),
    Direction.PUSH: (PUSH_METHOD, SENDING_METHODS),
}
MAX_FINDINGS = 20  # about one text
MAX_PARTS = 16  # of a name that is sent
HostFields = Mapping[str, HostField]


def line_findings(
    line: SyncLine, sync: Sync, fields: Sequence[HostField], zones: Zones
) -> list[Finding]:
    """Return the findings about a line: what would fail in every run, and risks."""
    host_fields = {field.name: field for field in fields}
    is_pull = sync.direction is Direction.PULL
    findings: list[Finding] = []
    if not sync.has_requests:
        findings += _method_findings(line, sync.direction)
    if is_pull:
        findings += response_findings(sync)
        findings += _page_findings(sync)
        parent = ("parent",) if sync.for_each else ()
        job = ("job",) if sync.job else ()
        findings += _body_findings(sync, (*PULL_PLACEHOLDERS, *parent, *job))
    else:
        findings += push_findings(line, sync, host_fields)
        names = tuple(row.host for row in sync.mappings)
        remote_id = ("remote_id",) if sync.has_requests else ()
        findings += _body_findings(sync, (*names, *remote_id))
    for number, mapping in enumerate(sync.mappings):
        row = MappingCheck(
            place=f"fields[{number}]",
            mapping=mapping,
            host=host_fields.get(mapping.host),
            zones=zones,
            is_pull=is_pull,
        )
        findings += row.findings()
    findings += _file_findings(sync)
    if is_pull:
        findings += _writing_findings(sync)
        findings += _unmapped_findings(sync, fields)
        findings += _key_findings(sync, host_fields)
    return findings


def _method_findings(line: SyncLine, direction: Direction) -> Iterator[Finding]:
    """Yield an error where the method does not fit the direction."""
    row, methods = METHODS[direction]
    if line.method not in methods:
        yield row.finding("method", methods=" or ".join(methods))


def _page_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the pages of a pull, and about its changes."""
    paging = sync.pagination
    is_numbered = paging.kind in {Paging.PAGE, Paging.OFFSET}
    if is_numbered and not (paging.position_parameter or sync.body):
        yield NO_POSITION_PARAMETER.finding("pagination.position_parameter")
    if paging.kind is Paging.CURSOR and not paging.cursor:
        yield NO_CURSOR.finding("pagination.cursor")
    yield from incremental_findings(sync)
    if sync.parallel > 1 and not is_numbered and not sync.for_each:
        yield PARALLEL_WITHOUT_NUMBERS.finding("parallel")
    skips_parents = sync.for_each.only is ParentRecords.CHANGED
    if skips_parents and sync.gone is not Gone.KEEP:
        yield SKIPS_PARENTS.finding("gone")


def push_findings(
    line: SyncLine, sync: Sync, host_fields: HostFields
) -> Iterator[Finding]:
    """Yield the findings about the path of a push and the names that it sends."""
    if not sync.has_requests:
        yield from placeholder_findings(line.path, tuple(host_fields), "path")
    names = [mapping.api for mapping in sync.mappings]
    counts = Counter(place for name in names for place in _places_of(name))
    for number, name in enumerate(names):
        if counts[name] > 1:
            yield SAME_API_NAME.finding(f"fields[{number}].api")


def _places_of(name: str) -> Iterator[str]:
    """Yield the objects that a dotted name is in, and the name itself."""
    parts = name.split(".", MAX_PARTS)
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _body_findings(sync: Sync, names: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the findings about a body, whose placeholders have these names."""
    if not sync.body:
        return
    try:
        read_json(sync.body)
    except SyncFailed:
        yield BODY_NOT_JSON.finding("body")
    yield from placeholder_findings(sync.body, names, "body")


def placeholder_findings(
    template: str, names: tuple[str, ...], field: str
) -> Iterator[Finding]:
    """Yield an error for each placeholder that has another name than these."""
    known_names = frozenset(names)
    unknown = [
        name
        for name in dict.fromkeys(placeholders(template))
        if name.partition(".")[0] not in known_names
    ]
    for name in unknown[:MAX_FINDINGS]:
        yield UNKNOWN_PLACEHOLDER.finding(field, name=name, names=", ".join(names))


def _file_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about settings that a file cannot have."""
    if not isinstance(parse_target(sync.target), FileName):
        return
    if sync.direction is Direction.PUSH:
        yield FILE_IN_PUSH.finding("target")
    if sync.incremental.parameter or sync.incremental.field:
        yield FILE_IS_WHOLE.finding("incremental", key="incremental")
    if sync.gone is not Gone.KEEP:
        yield FILE_IS_WHOLE.finding("gone", key=f"gone = {sync.gone}")
    if sync.for_each.only is not ParentRecords.ALL:
        key = f"only = {sync.for_each.only}"
        yield FILE_IS_WHOLE.finding("for_each.only", key=key)


def _writing_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the errors about settings that a target of this kind cannot have."""
    target = parse_target(sync.target)
    if sync.writes is Writes.MODEL and not isinstance(target, str):
        yield SAVES_NO_MODEL.finding("writes")
    if sync.feed and not isinstance(target, TableName):
        yield FEED_WITHOUT_TABLE.finding("feed", target=sync.target)


def _unmapped_findings(sync: Sync, fields: Sequence[HostField]) -> Iterator[Finding]:
    """Yield an error for each required field of the host that is not mapped."""
    hosts = {mapping.host for mapping in sync.mappings}
    for field in fields:
        if field.required and field.name not in hosts:
            yield UNMAPPED.finding("fields", name=field.name)


def _key_findings(sync: Sync, host_fields: HostFields) -> Iterator[Finding]:
    """Yield a warning where a single key is not unique in the host.

    Whether several keys are unique together is not known here.
    """
    if len(sync.keys) != 1:
        return
    (name,) = sync.keys
    if name in host_fields and host_fields[name].unique is False:
        yield KEY_NOT_UNIQUE.finding("keys", name=name)


@dataclass(frozen=True, slots=True)
class MappingCheck:
    """Looks at one field mapping of a line and at the host's field, if there is one."""

    place: str
    mapping: FieldMapping
    host: HostField | None
    zones: Zones
    is_pull: bool

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the mapping."""
        transform = self.mapping.transform
        needs_host = self.is_pull or transform is not Transform.CONSTANT
        if self.host is None and needs_host:
            yield self._about("host", NO_HOST_FIELD)
            return
        for option in NEEDED_OPTIONS.get(transform, ()):
            if not self.mapping.options.get(option):
                place = f"options.{option}"
                yield self._about(place, OPTION_MISSING, transform=transform)
        if transform is Transform.CHOICE and not self.mapping.options:
            yield self._about("options", CHOICES_MISSING)
        problem = self._moment_problem()
        if problem is not None:
            yield problem
        elif self.is_pull and self.host is not None:
            yield from self._pull_findings(self.host)
        else:
            yield from self._push_findings()

    def _about(self, part: str, row: Check, **values: object) -> Finding:
        return row.finding(f"{self.place}.{part}", **values)

    def _pull_findings(self, host: HostField) -> Iterator[Finding]:
        transform = self.mapping.transform
        usual = BY_KIND.get(host.kind)
        fitting = FITTING_TRANSFORMS.get(host.kind, set())
        if not takes_transform(host.kind, transform):
            yield self._about(
                "transform",
                WRONG_TRANSFORM,
                transform=transform,
                kind=host.kind,
                transforms=usual or " or ".join(sorted(fitting)),
            )
            return
        if not self.mapping.api and transform not in WITHOUT_API_FIELD:
            yield self._about("api", NO_API_FIELD)
        yield from self._default_findings(host)
        if transform is Transform.CHOICE and host.choices:
            for theirs, ours in self.mapping.options.items():
                if ours not in host.choices:
                    yield self._about(f"options.{theirs}", UNKNOWN_CHOICE)

    def _default_findings(self, host: HostField) -> Iterator[Finding]:
        if self.mapping.transform is Transform.LOOKUP:
            return  # which records there are is not known here
        mapping = resolve_transform(self.mapping, host)
        context = MappingContext(self.zones)
        if mapping.default is None or not refusal_reason(mapping, None, context):
            return
        transform = mapping.transform
        if self.mapping.transform is Transform.CONSTANT:
            yield self._about("options.value", WRONG_CONSTANT, transform=transform)
        else:
            yield self._about("default", WRONG_DEFAULT, transform=transform)

    def _push_findings(self) -> Iterator[Finding]:
        name = self.mapping.api
        if not DOTTED_NAME.fullmatch(name) or name.count(".") >= MAX_PARTS:
            yield self._about("api", WRONG_API_NAME)
        if self.mapping.transform is Transform.LOOKUP:
            yield self._about("transform", LOOKUP_IN_PUSH)

    def _moment_problem(self) -> Finding | None:
        """Return the error of an unknown zone, or of a format that reads no moment."""
        if self.mapping.transform not in WITH_MOMENTS:
            return None
        try:
            self.zones(self.mapping.options.get("zone") or "UTC")
        except (LookupError, ValueError, OSError):
            return self._about("options.zone", UNKNOWN_ZONE)
        if not is_readable(self.mapping.options.get("format", "")):
            return self._about("options.format", UNREADABLE_FORMAT)
        return None
