"""Audit records as lines of the logger `outkey.audit`, for hosts without a database."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence

from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal

logger = logging.getLogger("outkey.audit")


class LoggingAudit:
    """Writes one JSON line per event at INFO; the host's logging decides where to."""

    def intend(self, intent: Intent) -> str:
        attempt = os.urandom(16).hex()
        self._write(lambda: {"attempt": attempt, **intent.facts()})
        return attempt

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        return [self.intend(intent) for intent in intents]

    def note(self, *changes: Change) -> None:
        for change in changes:
            self._write(change._asdict)

    def conclude(self, outcome: Outcome) -> None:
        self._write(outcome._asdict)

    def refuse(self, refusal: Refusal) -> None:
        self._write(refusal._asdict)

    def flush(self) -> None:
        """Do nothing: each line was written at once."""

    def close(self) -> None:
        """Do nothing: each line was written at once."""

    def _write(self, facts: Callable[[], Mapping[str, object]]) -> None:
        # Called only then: most applications do not log at INFO.
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", json.dumps(facts()))
