"""Checks of the requests of a push that sends changes."""

from collections.abc import Iterator, Sequence

from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.sync.core.line.checks import (
    DOTTED_NAME,
    SENDING_METHODS,
    placeholder_findings,
)
from outkey.sync.core.line.line import Direction, PushRequest, Sync, SyncLine
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.push.results import WHOLE_BODY

REQUEST_METHOD = Check(
    "L030",
    Level.ERROR,
    "the method does not fit the request",
    "Choose {methods}.",
)
NO_UPDATE = Check(
    "L031",
    Level.WARNING,
    "without update, records that have changed are not sent again",
    "Add the request that updates a record, if the API has one.",
)
NO_CREATE = Check(
    "L032",
    Level.WARNING,
    "without create, new records are not sent",
    "Add the request that creates a record, if the API has one.",
)
NEEDS_CREATE = Check(
    "L033",
    Level.ERROR,
    "this has no effect without create",
    "Add the request that creates a record, or remove this.",
)
NO_REMOTE_ID = Check(
    "L034",
    Level.ERROR,
    "a request has {{remote_id}}, but nothing defines where the ID comes from",
    "Enter where the response of a create has it, such as data.id.",
)
NO_LIST = Check(
    "L035",
    Level.ERROR,
    "a batch needs the place of its list in the body",
    "Enter a name such as items or data.items, or @ if the list is the body.",
)
NO_RESULTS = Check(
    "L036",
    Level.ERROR,
    "the IDs of a batch are in its results, whose place is missing",
    "Enter where the response has the list of results, such as results.",
)
DELETES_ANY_RECORD = Check(
    "L037",
    Level.ERROR,
    "the path does not name the record to delete",
    "Add the ID, such as /orders/{{remote_id}}.",
)
UNUSED_PATH = Check(
    "L038",
    Level.WARNING,
    "the path has no effect, because create, update and delete have their own",
    "Remove it.",
)

MISSING_TABLE = Check(
    "L039",
    Level.WARNING,
    "the table {name} is not there yet",
    "Run the line that fills it: its first run makes the table.",
)
CREATES_PULLED = Check(
    "L040",
    Level.WARNING,
    "records that the line {pull} brings are new to this line, which creates them at"
    " the API a second time",
    "Make a pair of both lines, or send them with another configuration.",
)

DELETING_METHODS = ("DELETE", *SENDING_METHODS)
REMOTE_ID = "remote_id"
NO_PATH = "/"  # as it is by default


def request_findings(
    line: SyncLine, sync: Sync, fields: Sequence[HostField]
) -> Iterator[Finding]:
    """Yield the findings about the requests of a push."""
    if sync.direction is Direction.PULL:
        return
    names = tuple(field.name for field in fields)
    with_id = (*names, REMOTE_ID)
    if not sync.create:
        needing = {"find": sync.find, "recreate": sync.recreate}
        for field in (field for field, value in needing.items() if value):
            yield NEEDS_CREATE.finding(field)
    yield from placeholder_findings(sync.find.path, names, "find.path")
    yield from _batch_findings(sync)
    if not sync.has_requests:
        return
    if line.path != NO_PATH:
        yield UNUSED_PATH.finding("path")
    yield from _one_request_findings("create", sync.create, SENDING_METHODS, names)
    yield from _one_request_findings("update", sync.update, SENDING_METHODS, with_id)
    yield from _one_request_findings(
        "delete", sync.delete, DELETING_METHODS, (REMOTE_ID,)
    )
    if sync.delete and sync.batch == 1 and not placeholders(sync.delete.path):
        yield DELETES_ANY_RECORD.finding("delete.path")
    yield from _missing_findings(sync)


def _one_request_findings(
    key: str, request: PushRequest, methods: Sequence[str], names: tuple[str, ...]
) -> Iterator[Finding]:
    """Yield the findings about one request."""
    if not request:
        return
    if request.method not in methods:
        choices = " or ".join(methods)
        yield REQUEST_METHOD.finding(f"{key}.method", methods=choices)
    yield from placeholder_findings(request.path, names, f"{key}.path")


def _missing_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about settings that the requests of a push lack."""
    texts = (sync.update.path, sync.delete.path, sync.body)
    uses_id = any(REMOTE_ID in placeholders(text) for text in texts)
    if sync.create:
        if not sync.update:
            yield NO_UPDATE.finding("update")
        if uses_id and not sync.remote_id:
            yield NO_REMOTE_ID.finding("remote_id")
    elif uses_id:
        yield NO_CREATE.finding("create")


def _batch_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the lists of a batch."""
    if sync.batch == 1:
        return
    is_place = sync.records_at == WHOLE_BODY or DOTTED_NAME.fullmatch(sync.records_at)
    if not is_place:
        yield NO_LIST.finding("records_at")
    is_list = not placeholders(sync.create.path)
    if sync.create and is_list and sync.remote_id and not sync.results_at:
        yield NO_RESULTS.finding("results_at")
