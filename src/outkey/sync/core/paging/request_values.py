"""The values that fill the requests of a pull, besides the position of their page."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file that is downloaded instead of the line's path."""

    url: str = field(repr=False)  # one with a signature is as good as a credential
    is_elsewhere: bool  # at another origin, which gets no credentials


@dataclass(frozen=True, slots=True)
class RequestValues:
    """The values that all pages of one list have in common."""

    since: str = ""  # the parameter of changes
    until: str = ""  # the end of a window
    # The fields of the parent whose list it is; empty for a line without parents.
    parent: Mapping[str, object] = field(default_factory=dict)
    job: str = ""  # the ID of the job that was ordered; "" for a line without one
    file: JobFile | None = None  # of the job, if it has a URL

    def placeholders(self) -> Mapping[str, object]:
        """Return the values by the names that bodies have for them."""
        dates = {"since": self.since or None, "until": self.until or None}
        return {**dates, **self.in_paths()}

    def in_paths(self) -> Mapping[str, object]:
        """Return the values that paths and parameters have placeholders for."""
        values: dict[str, object] = {}
        if self.parent:
            values["parent"] = self.parent
        if self.job:
            values["job"] = {"id": self.job}
        return values


NO_VALUES = RequestValues()
