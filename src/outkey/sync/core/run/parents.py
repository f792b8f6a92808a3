"""The state of each parent of a line: what is known of its list for the next request.

A line without parents has the same facts once, in its runs.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from outkey.foundation.core.text import Text
from outkey.sync.core.line.templates import compact_json


@dataclass(frozen=True, slots=True)
class ParentState:
    """The facts about the list of one parent.

    `turn` names one beginning of a run: a run that begins again has another one, and
    so requests everything again.
    """

    key: str  # the id of the parent's record, or the value that is the parent
    turn: str = ""  # of the last run that requested the list
    since: str = ""  # the incremental value for the next request
    full_at: float = 0.0  # of the run that stored `since`: it counts for later runs
    mark: str = ""  # of the parent's row when its list was complete; "" after a fault
    # Of a list that the turn has not completed: position, cursor and the like.
    checkpoint: Mapping[str, object] = field(default_factory=dict)

    def is_done_by(self, turn: str) -> bool:
        """Whether a run has completed the list in this turn."""
        return self.turn == turn and not self.checkpoint


def mark_of(digest: str, values: Mapping[str, object]) -> str:
    """Return what shows that a parent's row or the line has changed."""
    facts = compact_json([digest, dict(values)])
    return hashlib.sha256(facts.encode()).hexdigest()


def failure_at_parent(failure: Text, parent: str) -> Text:
    """Return why a run ended, with the parent whose list it was reading."""
    return Text(
        "{failure}, in the list of the parent {parent}", failure=failure, parent=parent
    )


def without_parent(note: Text) -> Text:
    """Return a note without the key of a parent, for users who may not see records."""
    failure = note.values.get("failure")
    return failure if "parent" in note.values and isinstance(failure, Text) else note
