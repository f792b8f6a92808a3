"""Scripts of sync lines, which change records in locked processes."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.foundation.core.script_syntax import TRANSFORM
from outkey.sending.adapters.scripts_locked.link import NoResponse, ScriptWorker
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.adapters.scripts_locked.worker import json_text
from outkey.sending.core.request.script import MAX_RECORD, ScriptCall
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import Record, read_json, size_fault

TransformedRecord = Record | Unmapped | None


class LockedRecordScripts:
    """Runs the scripts of sync lines beside those that sign requests."""

    def __init__(self, scripts: LockedScripts) -> None:
        self._scripts = scripts

    def transform(
        self, line: str, source: str, records: Sequence[Record]
    ) -> list[TransformedRecord]:
        """Return each record as a sync line's script changes it; see the port."""
        bodies = [_encode_record(record) for record in records]
        call = partial(ScriptCall, f"line {line}", source, function=TRANSFORM)
        calls = [call(body=body) for body in bodies if isinstance(body, bytes)]
        results = iter(
            self._scripts.run_in_frames(calls, _read_record, _unmapped_record)
        )
        return [next(results) if isinstance(body, bytes) else body for body in bodies]


def _read_record(worker: ScriptWorker, response: str) -> TransformedRecord:
    """Return the transformed record, None to skip it, or why it failed."""
    if (exception := worker.exception_in(response)) is not None:
        kind, line = exception
        where = f"script:{line}" if line else "script"
        return Unmapped(f"{where} {kind.__name__}", NoResponse.word)
    if response[:1] not in {"K", "R"}:
        return Unmapped("script", worker.fail_out_of_turn().word)
    with suppress(SyncFailed):
        record = read_json(response[1:].encode())
        if record is None or isinstance(record, dict):
            return record
    return Unmapped("script", "script_result")


def _encode_record(record: Record) -> bytes | Unmapped:
    """Return a record as it is sent to a worker, or why it cannot be sent."""
    if reason := size_fault(record):
        return Unmapped("", reason)
    text = json_text(record).encode()
    return text if len(text) <= MAX_RECORD else Unmapped("", "too_large_for_script")


def _unmapped_record(error: OutkeyError) -> Unmapped:
    """Return why the record failed; raise what is not the fault of one record."""
    if not isinstance(error, NoResponse):
        raise error
    return Unmapped("script", error.word)
