"""How a provider lets its users replace a secret."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outkey.administration.core.presets.sources import one_of
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import refuse_unknown_keys
from outkey.foundation.core.text import Text, join_texts

ROTATIONS = {
    "overlap": Text(
        "several secrets are valid at the same time: create the new one, use it, then"
        " revoke the old one"
    ),
    "switch": Text("one secret is valid at a time: a new one ends the old one at once"),
    "automatic": Text(
        "outkey renews the tokens; whether two client secrets are valid at the same"
        " time is not known"
    ),
    "unknown": Text(
        "by hand; whether two secrets are valid at the same time is not known"
    ),
}
# How outkey's own rotation goes with each kind.
_TRY_IT = Text(
    "Stage the new one and test it: if requests with the old one still work after that,"
    " both are valid."
)
_ADVICE = {
    "overlap": Text(
        "Stage the new one, test and start it, and revoke the old one when the new one"
        " is in use."
    ),
    "switch": Text(
        "Rotate at a quiet time: requests fail from the change at the provider until"
        " the new one was staged, tested and promoted."
    ),
    "automatic": _TRY_IT,
    "unknown": _TRY_IT,
}
_KEYS = ["kind", "at_once", "grace_hours", "lifetime_days", "note"]


@dataclass(frozen=True, slots=True)
class Rotation:
    """How a secret is replaced; numbers are None where they are not known."""

    kind: str
    at_once: int | None  # how many are valid at the same time
    grace_hours: int | None  # how long the old one stays valid
    lifetime_days: int | None  # at most
    note: str

    @property
    def words(self) -> Text:
        """All of it in one text, as a user reads it."""
        return join_texts(list(self._texts()), "; ")

    @property
    def advice(self) -> Text:
        """How to rotate the credentials of a configuration, as a user reads it."""
        return _ADVICE[self.kind]

    def _texts(self) -> Iterator[Text]:
        yield ROTATIONS[self.kind]
        if self.at_once and self.at_once > 1:
            yield Text("at most {count} at the same time", count=self.at_once)
        if self.grace_hours:
            yield Text(
                "hours for which the old one stays valid at most: {hours}",
                hours=self.grace_hours,
            )
        if self.lifetime_days:
            yield Text("lifetime of a secret in days: {days}", days=self.lifetime_days)
        if self.note:
            yield Text("{note}", note=self.note)

    def facts(self) -> dict[str, object]:
        """Return it as programs read it."""
        return {
            "kind": self.kind,
            "at_once": self.at_once,
            "grace_hours": self.grace_hours,
            "lifetime_days": self.lifetime_days,
            "note": self.note,
        }


def read_rotation(table: Mapping[str, Any]) -> Rotation:
    """Read the table of a preset; a mistake in it is a ConfigError."""
    refuse_unknown_keys(table, _KEYS, "rotation.")
    rotation = Rotation(
        one_of(table["kind"], ROTATIONS, "rotation.kind"),
        table.get("at_once"),
        table.get("grace_hours"),
        table.get("lifetime_days"),
        str(table.get("note", "")),
    )
    is_single = rotation.at_once == 1
    if is_single and rotation.kind != "switch":
        raise ConfigError(
            Text("one secret at a time is the kind switch"), field="rotation.at_once"
        )
    if rotation.grace_hours and rotation.kind != "overlap":
        raise ConfigError(
            Text("an old secret that stays valid is the kind overlap"),
            field="rotation.grace_hours",
        )
    return rotation
