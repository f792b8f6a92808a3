"""Stops sending after repeated 401 responses, before the provider locks the account."""

from dataclasses import dataclass

from outkey.foundation.core.errors import (
    Cause,
    OutkeyError,
    Paused,
    paused_connection,
    resume_hint,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.ports.sending import Configurations

MAX_REFUSED = 5  # responses 401 in a row; the usual lock comes after five to ten


@dataclass(frozen=True, slots=True)
class LockoutGuard:
    """Counts refusals in the store of configurations; without a store, it does nothing.

    If not `enforced`, it counts but never refuses: a user's test is always sent.
    """

    store: Configurations | None = None
    enforced: bool = True

    def refuse_paused(self, configuration: Configuration) -> None:
        """Raise Paused if sending with this configuration is paused."""
        if self.store is None or not self.enforced or not configuration.paused:
            return
        name = configuration.name
        if configuration.connection is not None:
            connection = configuration.connection.id
            raise paused_connection(name, connection, by_operator=False)
        raise Paused(hint=resume_hint(name))

    def refuse_paused_meanwhile(self, configuration: Configuration) -> None:
        """Raise Paused if sending was paused while this request had to wait."""
        if self.store is not None:
            self.refuse_paused(self.store.get(configuration.account))

    def record_status(
        self,
        configuration: Configuration,
        status: int,
        now: float,
        cause: Cause | None = None,
    ) -> None:
        """Count whether a response refuses the credentials; only a change is written.

        A 401 whose response reports a missing right does not refuse them.
        """
        if self.store is None:
            return
        name = configuration.account
        is_refusal = status == 401 and cause is not Cause.INSUFFICIENT_PERMISSIONS
        try:
            if is_refusal and configuration.sends_credentials:
                # By revision: a refusal of the previous secret is not about this one.
                refusals = self.store.note_refused(name, configuration.revision)
                if refusals >= MAX_REFUSED:
                    self.store.pause(name, now)
            elif status < 400 and cause is None:
                current = self.store.get(name)
                account = current.connection
                is_new = account is not None and account.is_use_to_note(now)
                if is_new or current.refused or current.paused or not current.is_proved:
                    self.store.note_accepted(name, configuration.revision, now)
        except OutkeyError:
            return  # the response itself is worth more than the count
