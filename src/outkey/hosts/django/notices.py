"""Notices by e-mail, through whatever Django is set up to send with."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.mail import send_mail

from outkey.core.findings.monitoring import KINDS, Notice

_logger = logging.getLogger("outkey.notices")
_MOST_LINES = 100


@dataclass(frozen=True, slots=True)
class MailedNotices:
    """Sends one message for all that is to be told at once."""

    addresses: tuple[str, ...]

    def tell(self, notices: Sequence[Notice]) -> None:
        """Send what has opened and what has recovered."""
        lines = []
        for notice in notices[:_MOST_LINES]:
            lines += [notice.text(), f"  {KINDS[notice.sign.kind].hint}"]
        if len(notices) > _MOST_LINES:
            lines.append(f"and {len(notices) - _MOST_LINES} more: outkey notices")
        subject = (
            f"outkey: {len(notices)} notices" if notices[1:] else f"outkey: {lines[0]}"
        )
        try:
            send_mail(subject, "\n".join(lines), None, list(self.addresses))
        except Exception as error:  # noqa: BLE001 - a mail server's failure stops nothing
            # Its text may repeat what the mail server said, so only its name is logged.
            _logger.error("notices could not be mailed (%s)", type(error).__name__)  # noqa: TRY400
