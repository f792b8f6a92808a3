"""Notices as lines of the logger `outkey.notices`."""

import logging
from collections.abc import Sequence

from outkey.core.findings.checks import Level
from outkey.core.findings.monitoring import KINDS, Notice

_logger = logging.getLogger("outkey.notices")
_LEVELS = {
    Level.ERROR: logging.ERROR,
    Level.WARNING: logging.WARNING,
    Level.NOTICE: logging.INFO,
}


class LoggedNotices:
    """Writes one line for each notice; the end of one is as loud as its beginning."""

    def tell(self, notices: Sequence[Notice]) -> None:
        """Write what has opened and what has recovered."""
        for notice in notices:
            level = _LEVELS[KINDS[notice.sign.kind].level]
            _logger.log(level, "%s %s", notice.sign.kind, notice.text())
