"""The section `[pair.NAME]` of a document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.fields.field_kinds import Field, Kind, LineTab, read_table
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sync.core.line.table import written_table


class ConflictRule(Choice):
    """Which side wins if both have changed a record since they agreed."""

    API = "api", "The API's version"
    HOST = "host", "The host's version"
    NEWEST = "newest", "The version that was changed last"
    ASK = "ask", "A user decides"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines that synchronize both directions of one thing."""

    name: str
    pull: str = ""
    push: str = ""
    conflict: ConflictRule = ConflictRule.API
    host_changed: str = ""  # the host's field with the time of a change
    api_changed: str = ""  # JMESPath of the time in the API's record
    # Why its lines must not run: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False)

    def other(self, line: str) -> str:
        """Return the other line of the pair; "" for a line that is not in it."""
        return {self.pull: self.push, self.push: self.pull}.get(line, "")


records = partial(Field, LineTab.RECORDS)
PAIR_FIELDS: tuple[Field, ...] = (
    records(
        "pair.pull",
        "Pull",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="The line that brings records of the API; it runs first.",
    ),
    records(
        "pair.push",
        "Push",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="The line that sends the records of the same target.",
    ),
    records(
        "pair.conflict",
        "Conflict",
        Kind.CHOICE,
        ConflictRule,
        default=ConflictRule.API,
        help="Which version of a record stays if both sides have changed it.",
    ),
    records(
        "pair.host_changed",
        "Time of the host's change",
        Kind.LONG_TEXT,
        help="The host's field with the time of its last change; newest needs it.",
    ),
    records(
        "pair.api_changed",
        "Time of the API's change",
        Kind.LONG_TEXT,
        help="JMESPath of that time in the API's record; newest needs it.",
    ),
)


def read_pair(name: str, table: Mapping[str, object], place: str) -> Pair:
    """Read the table of one pair."""
    BY_PATH["name"].parse(name)
    pair = Pair(name, **read_table(PAIR_FIELDS, table, place))  # type: ignore[arg-type]
    for key in ("host_changed", "api_changed"):
        if pair.conflict is ConflictRule.NEWEST and not getattr(pair, key):
            raise ConfigError(
                Text("the rule newest needs the times of both changes"),
                hint=Text("Enter host_changed and api_changed."),
                field=f"{place}{key}",
            )
    return pair


def pair_table(pair: Pair) -> dict[str, object]:
    """Return the table that `read_pair` reads."""
    return written_table(PAIR_FIELDS, pair)
