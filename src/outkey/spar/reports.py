"""Reports that are ordered, polled and downloaded, until the provider ends: `/reports`.

    POST /reports               orders one: 202 {"data": {"id": "r1"}}, and its Location
    GET /reports/r1             {"status": "running"}, and `done` or `error` later
    GET /reports/r1/download    its rows, once it is done; 409 before
    DELETE /reports/r1          deletes it: 204
    GET /reports/r1/file        its rows, for the signature in its URL alone

The body of an order may have: `polls` (how many say that it is running, 2), `count` (of
rows, 20), `format` (json or csv), `url` (`here` or `elsewhere`: the last poll names the
file at this or at another origin), `error` (true: it fails), `wait` (seconds before the
order and the download get their response). An `Idempotency-Key` is honoured: the same
key gets the first report.
"""

import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from outkey.spar.exchange import Stage
from outkey.spar.records_api import TOKEN, contact

MAX_ROWS = 10_000
MAX_WAIT = 30.0
# What a request that must have no credentials may have.
_PLAIN_HEADERS = frozenset({"host", "user-agent", "accept", "accept-encoding"})


@dataclass
class Report:
    """One ordered report."""

    id: str
    settings: dict[str, Any]
    polls: int = 0
    is_done: bool = False
    signature: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def wait(self) -> float:
        """The seconds before a response."""
        return min(float(self.settings.get("wait", 0)), MAX_WAIT)


class Reports:
    """Reports by id; `ordered` is how many were made, `open` those not deleted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: dict[str, Report] = {}
        self._by_key: dict[str, Report] = {}
        self.ordered = 0

    @property
    def open(self) -> list[str]:
        """The ids of the reports that were not deleted."""
        with self._lock:
            return [*self._reports]

    def play(self, stage: Stage) -> None:
        """Respond to a request."""
        identity, _, part = stage.rest.partition("/")
        if part == "file":
            self._send_file(stage, identity)
        elif stage.headers.get("authorization") != f"Bearer {TOKEN}":
            stage.respond(401, {"error": "unauthorized"})
        elif not identity and stage.method == "POST":
            self._order(stage)
        elif (report := self._find(identity)) is None:
            stage.respond(404, {"error": "no such report"})
        elif stage.method == "DELETE":
            with self._lock:
                self._reports.pop(identity, None)
            stage.respond(204, b"")
        elif part == "download":
            self._send_rows(stage, report)
        else:
            self._poll(stage, report)

    def _find(self, identity: str) -> Report | None:
        with self._lock:
            return self._reports.get(identity)

    def _order(self, stage: Stage) -> None:
        try:
            settings = json.loads(stage.body or b"{}")
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            stage.respond(400, {"error": "the order is not a JSON object"})
            return
        key = stage.headers.get("idempotency-key", "")
        with self._lock:
            report = self._by_key.get(key) if key else None
            if report is None:
                self.ordered += 1
                report = Report(f"r{self.ordered}", settings)
                self._reports[report.id] = report
                self._by_key[key] = report
        time.sleep(report.wait)
        location = ("Location", f"/reports/{report.id}")
        stage.respond(202, {"data": {"id": report.id}}, location)

    def _poll(self, stage: Stage, report: Report) -> None:
        report.polls += 1
        report.is_done = report.polls > int(report.settings.get("polls", 2))
        body: dict[str, object] = {"status": "running"}
        if report.is_done and report.settings.get("error"):
            body["status"] = "error"
        elif report.is_done:
            place = report.settings.get("url")
            origin = stage.neighbours.elsewhere if place == "elsewhere" else ""
            url = f"{origin}/reports/{report.id}/file?signature={report.signature}"
            body = {"status": "done", "result": {"url": url if place else None}}
        stage.respond(200, body)

    def _send_file(self, stage: Stage, identity: str) -> None:
        """Send the rows of the signature's report, but elsewhere to no credentials."""
        report = self._find(identity)
        signature = stage.query.get("signature", "")
        if report is None or not secrets.compare_digest(signature, report.signature):
            stage.respond(403, {"error": "wrong signature"})
        elif stage.server == "elsewhere" and not {*stage.headers} <= _PLAIN_HEADERS:
            stage.respond(400, {"error": "a request with a signature needs no more"})
        else:
            self._send_rows(stage, report)

    def _send_rows(self, stage: Stage, report: Report) -> None:
        if not report.is_done:
            stage.respond(409, {"error": "the report is not done"})
            return
        time.sleep(report.wait)
        count = min(int(report.settings.get("count", 20)), MAX_ROWS)
        rows = [contact(number) for number in range(count)]
        if report.settings.get("format") != "csv":
            stage.respond(200, {"items": rows})
            return
        names = [*contact(0)]
        lines = [names, *([str(row[name]) for name in names] for row in rows)]
        text = "".join(",".join(line) + "\r\n" for line in lines)
        stage.respond(200, text.encode(), kind="text/csv; charset=utf-8")


def reports(stage: Stage) -> None:
    """Make the report that POST orders: polled, downloaded, and deleted.

    The order may have `{"polls", "count", "format", "url", "error", "wait"}`.
    """
    stage.reports.play(stage)
