"""Notices as lines of the logger `outkey.notices`."""

import logging
from collections.abc import Sequence

from outkey.administration.core.findings.monitoring import Notice
from outkey.foundation.core.findings.checks import Level

logger = logging.getLogger("outkey.notices")
LEVELS = {
    Level.ERROR: logging.ERROR,
    Level.WARNING: logging.WARNING,
    Level.NOTICE: logging.INFO,
}


class LoggedNotices:
    """Writes one line for each notice; its recovery has the same level."""

    def send(self, notices: Sequence[Notice]) -> None:
        """Log what has opened and what has recovered."""
        for notice in notices:
            level = LEVELS[notice.check.level]
            logger.log(level, "%s %s", notice.condition.kind, notice.text())
