"""The settings of a sync line: which records go into which fields of the host."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outkey.foundation.core.errors import ConfigError, EditConflict, OutkeyError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration

INDEX = "$index"  # in the place of a path: the position of a child, from 1
PARENT = "$parent."  # in the place of a path, before a field of the parent
PARENT_VALUE = "value"  # the field of a parent that is one of a list of values


class Direction(Choice):
    """Which way records go."""

    PULL = "pull", "From the API into the host"
    PUSH = "push", "From the host to the API"


class Paging(Choice):
    """How an API divides many records into pages."""

    NONE = "none", "All at once"
    PAGE = "page", "By page number"
    OFFSET = "offset", "By offset"
    CURSOR = "cursor", "By a cursor in the body"
    LINK = "link", "By Link header (RFC 8288)"


class RecordFormat(Choice):
    """The format of the responses to a pull."""

    JSON = "json", "JSON"
    JSONL = "jsonl", "JSON Lines"
    CSV = "csv", "CSV"
    XML = "xml", "XML"


class Compression(Choice):
    """How the body of a response is packed, besides its Content-Encoding."""

    AUTO = "auto", "By the first bytes"
    NONE = "none", "None"
    GZIP = "gzip", "gzip"
    ZIP = "zip", "ZIP archive"


class Gone(Choice):
    """The treatment of the host's records that are missing upstream."""

    KEEP = "keep", "Keep them"
    ARCHIVE = "archive", "Archive them"
    DELETE = "delete", "Delete them"


class Writes(Choice):
    """How a host's model is written."""

    BULK = "bulk", "In bulk, without save() and signals"
    MODEL = "model", "One by one, with save() and signals"


class DriftRule(Choice):
    """The reaction of a pull to an API that has changed the shape of its records."""

    WARN = "warn", "Report it, and go on"
    STOP = "stop", "Stop before the changed page is written"
    OFF = "off", "Do not compare"


class PushedRecords(Choice):
    """Which records a push sends."""

    CHANGED = "changed", "Only what has changed since it was last accepted"
    ALL = "all", "All records in every run"


class ParentRecords(Choice):
    """For which parents a line requests records."""

    ALL = "all", "All of them"
    CHANGED = "changed", "New ones, and those whose row has changed"


class Transform(Choice):
    """How a value of the API becomes one of the host."""

    AS_IS = "as_is", "As it is"
    TEXT = "text", "Text"
    NUMBER = "number", "Whole number"
    DECIMAL = "decimal", "Decimal number"
    DATE = "date", "Date"
    DATETIME = "datetime", "Date and time"
    BOOLEAN = "boolean", "Yes or no"
    CHOICE = "choice", "Choice"
    LOOKUP = "lookup", "Lookup by key"
    CONSTANT = "constant", "Constant"
    TEMPLATE = "template", "Template"


@dataclass(frozen=True, slots=True)
class Pagination:
    """How to request the next page."""

    kind: Paging = Paging.NONE
    size: int = 100
    size_parameter: str = ""
    position_parameter: str = ""  # of the page number, the offset or the cursor
    first: int = 1  # the number of the first page
    cursor: str = ""  # JMESPath: the next cursor in the body, or the next page's URL


@dataclass(frozen=True, slots=True)
class Incremental:
    """How to request changes only.

    Without a window the greatest value of a field is sent next time, with one the end
    of the last window.
    """

    parameter: str = ""
    field: str = ""  # JMESPath in a record
    start: str = ""  # where the first run begins: ISO 8601, or "-30d" before it
    window: str = ""  # "7d": the longest time that one request asks for
    end_parameter: str = ""  # of the end of a window
    lookback: str = ""  # "1h": by how much runs overlap
    format: str = ""  # "": ISO 8601 in UTC; unix, unix_ms, or a pattern


TAB = "tab"
# Formats whose records stand one after another, without a document around them.
ROW_FORMATS = frozenset({RecordFormat.JSONL, RecordFormat.CSV})


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """How the records are read from the body of a response."""

    format: RecordFormat = RecordFormat.JSON
    compression: Compression = Compression.AUTO
    file: str = ""  # a pattern of the name of a ZIP archive's entry; "": the only one
    charset: str = ""  # "": that of Content-Type, else UTF-8
    delimiter: str = ","  # one character, or `tab`
    header: bool = True  # whether the first row has the names of the columns

    @property
    def has_rows(self) -> bool:
        """Whether the records stand one after another, without a document."""
        return self.format in ROW_FORMATS

    @property
    def delimiter_character(self) -> str:
        """The character between columns, "" if that cannot separate them.

        A tab may be named, since no input of a browser takes one.
        """
        character = "\t" if self.delimiter == TAB else self.delimiter
        is_usable = len(character) == 1 and not character.isalnum()
        return character if is_usable and character not in '"\r\n\ufeff' else ""


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """One row: a field of the API, a field of the host, and the way between them."""

    api: str  # JMESPath in a record
    host: str
    transform: Transform = Transform.AS_IS
    default: str | None = None
    required: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Children:
    """A list inside each record whose elements become records of another target."""

    list: str = ""  # JMESPath in the record
    target: str = ""
    parent: tuple[str, ...] = ()  # the fields that hold the keys of the parent
    keys: tuple[str, ...] = ()  # the fields that identify a child, with the parent's
    mappings: tuple[FieldMapping, ...] = ()


@dataclass(frozen=True, slots=True)
class ForEach:
    """The parents of a pull: it requests the records of each of them on its own."""

    line: str = ""  # a pull, whose records are the parents
    only: ParentRecords = ParentRecords.ALL
    values: tuple[str, ...] = ()  # parents that are texts, instead of a line

    def __bool__(self) -> bool:
        return bool(self.line or self.values)


@dataclass(frozen=True, slots=True)
class PushRequest:
    """The request that creates, updates or deletes a record; none without a path."""

    method: str = ""
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class RecordSearch:
    """How a record that the API has already is found, after a refused create."""

    path: str = ""  # with the host's fields in braces
    remote_id: str = ""  # JMESPath in the response; several or none adopt nothing

    def __bool__(self) -> bool:
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class JobOrder:
    """The request that orders a job."""

    method: str = "POST"
    path: str = ""
    body: str = ""  # a template


@dataclass(frozen=True, slots=True)
class JobPoll:
    """The request that asks for the state of a job, again and again."""

    path: str = ""
    every_seconds: int = 5  # at least


@dataclass(frozen=True, slots=True)
class JobSettings:
    """A report that a pull orders, waits for and downloads; none without an order."""

    order: JobOrder = JobOrder()
    id: str = ""  # in the response to the order: JMESPath, or header:NAME
    poll: JobPoll = JobPoll()
    state: str = ""  # JMESPath in the response to a poll
    done: tuple[str, ...] = ()  # the states with which a download can begin
    failed: tuple[str, ...] = ()  # those that end the run
    url: str = ""  # JMESPath in the last poll: the file, instead of the line's path
    origins: tuple[str, ...] = ()  # others than the Base URL's that the file may have
    max_minutes: int = 60  # from the order on
    delete: PushRequest = PushRequest()  # what deletes the job after the download

    def __bool__(self) -> bool:
        return bool(self.order.path)


@dataclass(frozen=True, slots=True)
class Sync:
    """The settings that make a named call a synchronization."""

    direction: Direction = Direction.PULL
    target: str = ""  # the host's model
    keys: tuple[str, ...] = ()  # the host's fields that identify a record
    mappings: tuple[FieldMapping, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    body: str = ""  # a template
    records: str = "@"  # JMESPath: where the records are in the response
    response: ResponseFormat = ResponseFormat()
    pagination: Pagination = Pagination()
    incremental: Incremental = Incremental()
    job: JobSettings = JobSettings()
    gone: Gone = Gone.KEEP
    script: str = field(default="", repr=False)  # transform(record); it may be long
    writes: Writes = Writes.BULK
    children: tuple[Children, ...] = ()
    for_each: ForEach = ForEach()
    changes: PushedRecords | None = None  # None: as `pushed_records` says
    create: PushRequest = PushRequest()
    update: PushRequest = PushRequest()
    delete: PushRequest = PushRequest()
    find: RecordSearch = RecordSearch()
    recreate: bool = False  # create again what the API no longer has
    remote_id: str = ""  # JMESPath in the response of a create
    batch: int = 1  # records per request
    records_at: str = ""  # where the request has the list of a batch
    results_at: str = ""  # JMESPath: where the response has the results, in order
    # `identity` lists the rest: they do not change which records come, or as what.
    guard_percent: int = 10  # a run archives and deletes no more of its records
    full_every: str = ""  # "7d": how often an incremental line reads everything
    feed: bool = False  # record the changes of the table's rows for readers
    schedule: str = ""  # cron
    drift: DriftRule = DriftRule.WARN
    parallel: int = 1  # requests at a time
    max_records: int = 1_000_000  # of one run
    max_minutes: int = 360  # of one run

    @property
    def has_requests(self) -> bool:
        """Whether a push has requests of its own to create, update or delete."""
        return bool(self.create or self.update or self.delete)

    @property
    def pushed_records(self) -> PushedRecords:
        """Which records a push sends, where the line does not say."""
        if self.changes is not None:
            return self.changes
        return PushedRecords.CHANGED if self.has_requests else PushedRecords.ALL


@dataclass(frozen=True, slots=True)
class SyncLine:
    """A named request of a configuration, or the records that many of them bring."""

    name: str
    configuration: str
    method: str
    path: str
    sync: Sync | None = None
    # The TOML of `sync` as a user wrote it, with comments; or empty.
    source: str = field(default="", compare=False, repr=False)
    # Why it must not run: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False, repr=False)
    # The id of its configuration, which it is vouched for with; "" before it is saved.
    record: str = field(default="", compare=False, repr=False)

    def refuse_other(self, configuration: Configuration) -> None:
        """Raise EditConflict if the name belongs to another configuration by now."""
        if self.record and configuration.record != self.record:
            raise EditConflict


def refuse_line_for_users(configuration: Configuration, line: str) -> None:
    """Refuse a line of a configuration whose requests bring the token of a user.

    A run has no user: it would have to be sent for one of those who were there.
    """
    if configuration.needs_subject:
        raise ConfigError(
            Text(
                "the requests of {configuration} are sent for users, so that it has no"
                " sync lines",
                configuration=configuration.name,
            ),
            hint=Text(
                "Make another configuration for lines, such as a service account."
            ),
            field=f"line.{line}.configuration",
        )
