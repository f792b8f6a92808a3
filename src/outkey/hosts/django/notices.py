"""Notices by e-mail, through the e-mail backend of Django's settings."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.mail import send_mail

from outkey.administration.core.findings.monitoring import Notice

logger = logging.getLogger("outkey.notices")
MAX_NOTICES = 100


@dataclass(frozen=True, slots=True)
class MailedNotices:
    """Sends one message for all notices of a round."""

    addresses: tuple[str, ...]

    def send(self, notices: Sequence[Notice]) -> None:
        """Send what has opened and what has recovered."""
        lines = []
        for notice in notices[:MAX_NOTICES]:
            lines += [notice.text(), f"  {notice.hint}"]
        if len(notices) > MAX_NOTICES:
            lines.append(f"and {len(notices) - MAX_NOTICES} more: outkey notices")
        subject = f"outkey: {lines[0]}"
        if len(notices) > 1:
            subject = f"outkey: {len(notices)} notices"
        try:
            send_mail(subject, "\n".join(lines), None, list(self.addresses))
        except Exception as error:  # noqa: BLE001 - the next notice is sent again
            # Its text may repeat what the mail server sent: only its name is logged.
            name = type(error).__name__
            logger.error("notices could not be mailed (%s)", name)  # noqa: TRY400
