"""Streams of a declarative manifest that order a job, wait for it and download it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes
from outkey.importing.core.readers.manifests.expressions import Expression
from outkey.importing.core.readers.tree import Table, table, text_of
from outkey.sync.core.suggest.names import expression_of

DOWNLOAD = "{download}"
_JOB_ID = "{job.id}"
_UNREAD = ("abort_requester", "delete_requester", "download_target_requester")


@dataclass(slots=True)
class JobValues:
    """Where the responses of a job have its id and its file."""

    id: str = ""
    url: str = ""

    def value_of(self, expression: Expression) -> str | None:
        """Return the placeholder of a line for an expression of a job."""
        if expression.root == "creation_response" and expression.steps:
            if self.id not in {"", expression.path}:
                return None  # a job has one id
            self.id = expression.path
            return _JOB_ID
        if expression.root == "polling_response" and expression.steps:
            self.url = expression.path
            return DOWNLOAD
        return DOWNLOAD if expression.root == "download_target" else None


def read_job(
    retriever: Table,
    values: JobValues,
    path_of: Callable[[Table], str],
    order_body: str,
    notes: LineNotes,
) -> dict[str, object] | None:
    """Return the job of a stream, None with a note if a part of it is missing."""
    creation = table(retriever.get("creation_requester"))
    order: dict[str, object] = {"path": path_of(creation)}
    method = text_of(creation.get("http_method")).upper()
    if method not in {"", "POST"}:
        order["method"] = method
    if order_body:
        order["body"] = order_body
    poll = path_of(table(retriever.get("polling_requester")))
    target = _path(retriever.get("download_target_extractor"))
    states = table(retriever.get("status_mapping"))
    job: dict[str, object] = {
        "order": order,
        "id": values.id,
        "poll": {"path": poll},
        "state": _path(retriever.get("status_extractor")),
        "done": list(_texts(states.get("completed"))),
        "failed": [*_texts(states.get("failed")), *_texts(states.get("timeout"))],
        "url": values.url or target,
    }
    for key in _UNREAD:
        if retriever.get(key):
            notes.drop("job", Text("it has a request more than a line has"))
    minutes = text_of(retriever.get("polling_job_timeout"))
    if minutes.isdecimal() and int(minutes[:4]) > 0:
        job["max_minutes"] = int(minutes[:4])
    if not (job["id"] and job["state"] and job["done"] and order["path"] and poll):
        why = Text("it does not state where the job has its id and its state")
        notes.drop("job", why)
        return None
    notes.take("job", Text("{state}", state=job["state"]))
    return {name: value for name, value in job.items() if value}


def _path(component: object) -> str:
    """Return where an extractor finds a value, as JMESPath."""
    steps = tuple(_texts(table(component).get("field_path")))
    return expression_of(steps) if steps else ""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from filter(None, map(text_of, value))
