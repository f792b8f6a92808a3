"""The job of a run, which an API prepares before it can be downloaded.

A run orders one, stores its id with its position, and polls until it is done. What is
stored has no URL: one with a signature is as good as a credential.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Self
from urllib.parse import unquote, urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.stored_times import is_possible
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import JobSettings
from outkey.sync.core.mapping.mapping import Unmapped, fill_path

MAX_ID = 200  # characters
MAX_DELAY = 60.0  # seconds between two polls, unless the line or the API wants more
GROWTH = 1.25  # of each delay
MAX_POLLS = 1000  # that delays are computed for
HEADER = "header:"


@dataclass(frozen=True, slots=True)
class JobState:
    """How far a job is; the names are part of stored checkpoints."""

    key: str = ""  # the Idempotency-Key of the order
    id: str = ""  # "" until the order has a response
    ordered_at: float = 0.0
    poll_at: float = 0.0  # not before
    polls: int = 0

    @classmethod
    def from_facts(cls, facts: Mapping[str, object]) -> Self:
        """Return the state that a checkpoint has; without one, that of no job."""
        try:
            state = cls(**facts)  # type: ignore[arg-type]
            fits = all(
                isinstance(getattr(state, name), kind) for name, kind in KINDS.items()
            )
        except TypeError:
            fits = False
        return state if fits else cls()

    def facts(self) -> Mapping[str, object]:
        """Return the state as JSON can hold it."""
        return asdict(self)

    def age(self, now: float) -> float:
        """Return the seconds since the order; 0 if it is in the future."""
        return now - self.ordered_at if is_possible(self.ordered_at, now) else 0.0


KINDS = {
    "key": str,
    "id": str,
    "ordered_at": int | float,
    "poll_at": int | float,
    "polls": int,
}


def order_key(configuration: str, line: str, run: str, generation: int) -> str:
    """Return the Idempotency-Key of an order.

    The generation of a run grows with each write: a run that orders again has another.
    """
    facts = json.dumps([configuration, line, run, generation])
    return hashlib.sha256(facts.encode()).hexdigest()[:32]


def seconds_between_polls(every: float, polls: int) -> float:
    """Return how long to wait after so many polls: longer each time."""
    growth = GROWTH ** min(polls, MAX_POLLS)
    return min(every * growth, max(every, MAX_DELAY))


def no_sample_of_job() -> ConfigError:
    """Return the error for a preview or a sample, which would have to order a job."""
    return ConfigError(
        Text("a preview cannot show records of a job, which has to be ordered"),
        hint=Text("Start a dry run: outkey line run NAME --dry-run."),
        field="job",
    )


def job_id(value: object) -> str:
    """Return the ID of a job as a text, "" if no path could name it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    is_usable = len(text) <= MAX_ID and text.isprintable()
    path = fill_path("{id}", {"id": text})
    return text if is_usable and not isinstance(path, Unmapped) else ""


def id_in_header(value: str) -> str:
    """Return the ID that a header has; of a URL, the last part of its path."""
    if "/" not in value:
        return job_id(value.strip())
    try:
        path = urlsplit(value.strip()).path
    except ValueError:  # a bracket that is never closed
        return ""
    return job_id(unquote(path.rstrip("/").rpartition("/")[2]))


def state_text(value: object) -> str:
    """Return a state as a line names it, "" if it is no state."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | Decimal) else ""


def next_poll(
    job: JobSettings, state: JobState, now: float, requested: float
) -> float | None:
    """Return when the state of a job is requested next; None if that is too late.

    `requested` are the seconds that the API asks for, 0.0 if it does not.
    """
    ends_at = now - state.age(now) + 60 * job.max_minutes
    delay = seconds_between_polls(job.poll.every_seconds, state.polls)
    poll_at = max(now + requested, min(now + delay, ends_at))
    return None if now >= ends_at or poll_at > ends_at else poll_at
