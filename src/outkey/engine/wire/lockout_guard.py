"""The brake: who is refused again and again stops asking, before the account is locked."""

from dataclasses import dataclass
from shlex import quote

from outkey.core.config.configuration import Configuration
from outkey.core.errors import OutkeyError, Paused
from outkey.core.text import Text
from outkey.ports.sending import Configurations

MOST_REFUSED = 5  # answers 401 in a row; the usual lock comes after five to ten


def way_out(name: str) -> Text:
    """Return what ends the pause of a configuration."""
    return Text(
        "Enter the right credentials, or test the configuration; outkey resume {name}"
        " resumes sending with the present ones.",
        name=quote(name),
    )


@dataclass(frozen=True, slots=True)
class LockoutGuard:
    """Counts refusals where configurations are kept; what is not kept yet is not counted."""

    kept: Configurations | None = None
    stops: bool = True  # a person's test is made all the same, but it counts

    def refuse_paused(self, configuration: Configuration) -> None:
        """Raise where sending with this configuration is paused."""
        if self.kept is not None and self.stops and configuration.paused:
            raise Paused(hint=way_out(configuration.name))

    def refuse_paused_since(self, configuration: Configuration) -> None:
        """Raise where sending was paused while this one had to wait."""
        if self.kept is not None:
            self.refuse_paused(self.kept.get(configuration.name))

    def learn(self, configuration: Configuration, status: int, now: float) -> None:
        """Count what an answer says of the credentials; only a change is written."""
        if self.kept is None or not configuration.sends_credentials:
            return
        name = configuration.name
        try:
            if status == 401:
                # By their revision: who still had the former secret says nothing of this one.
                if self.kept.note_refused(name, configuration.revision) >= MOST_REFUSED:
                    self.kept.pause(name, now)
            elif status < 400:
                kept = self.kept.get(name)  # as it is by now
                if kept.refused or kept.paused:
                    self.kept.note_accepted(name)
        except OutkeyError:
            return  # the answer itself is worth more than the count
