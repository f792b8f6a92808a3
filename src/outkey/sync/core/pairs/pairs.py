"""Both directions of one thing: who has changed a record, and whose version stays."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from outkey.foundation.core.errors import RowUnreadable
from outkey.foundation.core.moments import LAST_MOMENT, parse_iso
from outkey.foundation.core.stored_values import is_odd, read_json
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping, Sync, Transform
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.shape import value_text
from outkey.sync.core.mapping.versions import (
    NUMBERS,
    VersionRank,
    is_less,
    version_rank,
)
from outkey.sync.core.pairs.section import ConflictRule

MICROSECONDS = 1_000_000  # of a second
Values = Mapping[str, object]  # by the host's names, as JSON has them


class Side(StrEnum):
    """The change of a record on one side since both sides agreed."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    DELETED = "deleted"
    NEW = "new"  # the sides have never agreed
    ABSENT = "absent"  # it has never been there


class Decision(StrEnum):
    """The action of a pull on a record."""

    NOTHING = "nothing"
    AGREE = "agree"  # both have the same values
    WRITE = "write"  # the API's version into the host
    LEAVE = "leave"  # the host's version is sent by the push
    ASK = "ask"  # neither side is written until a user decides
    RETIRE = "retire"  # archive or delete it, by the pull's `gone` rule
    CREATE_AGAIN = "create_again"  # the push creates it at the API
    DELETE = "delete"  # the agreement: neither side has the record


OPEN_END = ", null]"  # of the JSON of a conflict: without a choice


@dataclass(frozen=True, slots=True)
class PairConflict:
    """Two versions of a record between which a user decides; None: it is deleted."""

    api: Values | None = field(repr=False)
    host: Values | None = field(repr=False)
    choice: ConflictRule | None = None  # API or HOST


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The values of a record when both sides last agreed.

    Without values they never did, and there is a conflict only.
    """

    record: str  # its id in the host
    key: str = ""  # as users write it
    api: Values | None = field(default=None, repr=False)  # shared fields
    host: Values | None = field(default=None, repr=False)  # fields that are sent
    is_pushed: bool = False  # `api` is what was sent; the API may have changed it
    conflict: PairConflict | None = field(default=None, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether a user has to decide."""
        return self.conflict is not None and self.conflict.choice is None

    def resolve(self, choice: ConflictRule) -> "PairAgreement":
        """Return the agreement with a user's choice; there must be a conflict."""
        assert self.conflict is not None  # noqa: S101 - for the type checker
        return replace(self, conflict=replace(self.conflict, choice=choice))

    def as_columns(self) -> dict[str, object]:
        """Return the agreement as a table stores it.

        Its conflict ends with `OPEN_END` while a user has to decide.
        """
        conflict = self.conflict
        return {
            "record": self.record,
            "key": self.key,
            "api": json.dumps(self.api),
            "host": json.dumps(self.host),
            "is_pushed": self.is_pushed,
            "conflict": json.dumps(
                conflict and [conflict.api, conflict.host, conflict.choice]
            ),
        }


def stored_agreement(columns: Mapping[str, Any]) -> PairAgreement:
    """Return the agreement that a table has stored, or raise RowUnreadable."""
    try:
        return _read_agreement(columns)
    except ValueError:
        raise RowUnreadable(
            Text("what is stored of a record of a pair cannot be read")
        ) from None


def _read_agreement(columns: Mapping[str, Any]) -> PairAgreement:
    """Return the agreement of a row; ValueError for one that outkey did not write."""
    if is_odd(*columns.values()):
        raise ValueError("not written by outkey")
    conflict = read_json(columns["conflict"])
    api, host = (_read_values(columns[side]) for side in ("api", "host"))
    return PairAgreement(
        record=columns["record"],
        key=columns["key"],
        api=api,
        host=host,
        is_pushed=bool(columns["is_pushed"]),
        conflict=None if conflict is None else _read_conflict(conflict),
    )


def _read_values(stored: str) -> Any:  # noqa: ANN401 - the values of a record
    """Return the values of one side, null if it has none; ValueError for others."""
    values = read_json(stored)
    if values is not None and not isinstance(values, dict):
        raise ValueError("not the values of a record")
    return values


def _read_conflict(stored: object) -> "PairConflict":
    """Return a stored conflict, or raise ValueError."""
    if not isinstance(stored, list) or len(stored) != 3:
        raise ValueError("not a conflict")
    api, host, choice = stored
    if not all(side is None or isinstance(side, dict) for side in (api, host)):
        raise ValueError("not the values of a record")
    return PairConflict(api, host, choice and ConflictRule(choice))


@dataclass(frozen=True, slots=True)
class PairFields:
    """Which side may write which fields of the host."""

    shared: frozenset[str]  # only these can conflict
    pulled: frozenset[str]
    sent: frozenset[str]


def pair_fields(pull: Sync, push: Sync) -> PairFields:
    """Return the fields of a pair, by the mappings of its lines."""
    pulled = {mapping.host for mapping in pull.mappings}
    paths = (push.create.path, push.update.path)
    in_paths = {name for path in paths for name in placeholders(path)}
    sent = {name for mapping in push.mappings for name in _fields_read(mapping)}
    sent |= {_first_part(name) for name in in_paths - {"remote_id"}}
    # The host has the keys from the API; they tell which record it is.
    shared = (pulled & sent) - {*pull.keys}
    return PairFields(frozenset(shared), frozenset(pulled), frozenset(sent))


def _fields_read(mapping: FieldMapping) -> Iterable[str]:
    """Return the host's fields that a mapping of a push reads."""
    match mapping.transform:
        case Transform.CONSTANT:
            return ()
        case Transform.TEMPLATE:
            names = placeholders(mapping.options.get("template", ""))
            return map(_first_part, names)
    return (mapping.host,)


def _first_part(name: str) -> str:
    return name.partition(".")[0]


# ── values ───────────────────────────────────────────────────────────────────────────


def plain_values(values: Mapping[str, object], names: Iterable[str]) -> Values:
    """Return some values of a record as they are stored and compared."""
    picked = {name: values.get(name) for name in sorted(names)}
    plain: Values = json.loads(json.dumps(picked, default=_plain_value))
    return plain


def _plain_value(value: object) -> str:
    match value:
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return _plain_number(value)
    return str(value)


def _plain_number(number: Decimal) -> str:
    """Return a number without the zeros that mean nothing: 1.50 is 1.5."""
    if not number.is_finite():
        return str(number)
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def is_normalised(sent: object, received: object) -> bool:
    """Whether an API may have made one value of the other, without a change by a user.

    APIs trim and shorten texts, change letter case, round numbers and times, and write
    nothing as an empty text.
    """
    if sent == received or {json.dumps(sent), json.dumps(received)} <= {"null", '""'}:
        return True
    first, second = _number(sent), _number(received)
    if first is not None and second is not None:
        return _is_rounded(first, second)
    if not isinstance(sent, str) or not isinstance(received, str):
        return False
    early, late = parse_iso(sent), parse_iso(received)
    if early is not None and late is not None:
        return 0 <= (early - late).total_seconds() < 1
    long, short = _comparable_text(sent), _comparable_text(received)
    return bool(short) and long.startswith(short)


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_rounded(sent: Decimal, received: Decimal) -> bool:
    """Whether a number is the same, or another with fewer decimals of it."""
    if sent == received:
        return True
    last = Decimal(1).scaleb(int(received.as_tuple().exponent))
    return last <= 1 and abs(sent - received) < last and sent != sent.quantize(last)


def _comparable_text(text: str) -> str:
    return " ".join(text.casefold().split())


# ── who has changed it ───────────────────────────────────────────────────────────────


def side_of_api(
    agreement: PairAgreement | None, values: Values | None, *, is_lenient: bool = False
) -> Side:
    """Return the change of a record at the API; without `values` it is not there.

    `is_lenient` takes what an API may have made of sent values for unchanged.
    """
    if agreement is None or agreement.api is None or values is None:
        return _side(agreement.api if agreement else None, values)
    may_differ = is_lenient and agreement.is_pushed
    if may_differ and _is_all_normalised(agreement.api, values):
        return Side.UNCHANGED
    return _side(agreement.api, values)


def side_of_host(agreement: PairAgreement | None, values: Values | None) -> Side:
    """Return the change of a record's shared fields in the host."""
    agreed = agreement.host if agreement else None
    if agreed is not None and values is not None:
        agreed = {name: agreed.get(name) for name in values}
    return _side(agreed, values)


def _side(agreed: Values | None, values: Values | None) -> Side:
    if agreed is None:
        return Side.ABSENT if values is None else Side.NEW
    if values is None:
        return Side.DELETED
    return Side.UNCHANGED if has_same_values(agreed, values) else Side.CHANGED


def has_same_values(first: Values, second: Values) -> bool:
    """Whether two versions differ at most in types, as after a column became text."""
    return first.keys() == second.keys() and all(
        _is_same_value(value, second[name]) for name, value in first.items()
    )


def _is_same_value(first: object, second: object) -> bool:
    if first == second:
        return True
    has_other_type = type(first) is not type(second) and None not in (first, second)
    return has_other_type and value_text(first) == value_text(second)


def _is_all_normalised(sent: Values, received: Values) -> bool:
    return sent.keys() == received.keys() and all(
        is_normalised(value, received[name]) for name, value in sent.items()
    )


# ── whose version stays ──────────────────────────────────────────────────────────────


# By what became of the record at the API and in the host.
_ONE_SIDED = {
    (Side.UNCHANGED, Side.UNCHANGED): Decision.NOTHING,
    (Side.UNCHANGED, Side.CHANGED): Decision.LEAVE,
    (Side.UNCHANGED, Side.DELETED): Decision.LEAVE,  # the push deletes it
    (Side.CHANGED, Side.UNCHANGED): Decision.WRITE,
    (Side.DELETED, Side.UNCHANGED): Decision.RETIRE,
    (Side.DELETED, Side.DELETED): Decision.DELETE,
    (Side.NEW, Side.ABSENT): Decision.WRITE,
    (Side.ABSENT, Side.NEW): Decision.LEAVE,
    (Side.ABSENT, Side.ABSENT): Decision.DELETE,
}
# A change wins: a deletion can be repeated, and lost values cannot be restored.
_AGAINST_DELETION = {
    (Side.CHANGED, Side.DELETED): Decision.WRITE,
    (Side.DELETED, Side.CHANGED): Decision.CREATE_AGAIN,
}


def decide(
    api: Side,
    host: Side,
    rule: ConflictRule,
    *,
    is_equal: bool = False,
    is_host_newer: bool = False,
) -> Decision:
    """Return the decision of a pull on a record.

    `is_equal`: both sides have the same shared values now.
    """
    sides = api, host
    if sides in _ONE_SIDED:
        return _ONE_SIDED[sides]
    if is_equal:
        return Decision.AGREE
    if rule is ConflictRule.ASK:
        return Decision.ASK
    if sides in _AGAINST_DELETION:
        return _AGAINST_DELETION[sides]
    is_newest = rule is ConflictRule.NEWEST and is_host_newer
    is_left = rule is ConflictRule.HOST or is_newest
    return Decision.LEAVE if is_left else Decision.WRITE


def decide_resolved(
    conflict: PairConflict, api: Values | None, host: Values | None
) -> Decision:
    """Return the decision about a record after a user's choice.

    If the version that loses is not the one that the user saw, the user is asked again.
    """
    if conflict.choice is ConflictRule.API and host == conflict.host:
        return Decision.RETIRE if api is None else Decision.WRITE
    if conflict.choice is ConflictRule.HOST and api == conflict.api:
        return Decision.CREATE_AGAIN if api is None else Decision.LEAVE
    return Decision.ASK


def after_deletion(
    resolved: PairAgreement, *, sends_deletions: bool
) -> PairAgreement | None:
    """Return the agreement after a resolved conflict whose record the host deleted.

    None if neither side has it. Without deletions by the push, the choice of the host
    leaves the API's version as it is, and that ends the conflict.
    """
    conflict = resolved.conflict
    assert conflict is not None  # noqa: S101 - for the type checker
    if conflict.api is None:
        return None
    if conflict.choice is ConflictRule.HOST and not sends_deletions:
        host = resolved.host or {}
        return replace(resolved, api=conflict.api, host=host, conflict=None)
    return resolved


def is_host_newer(
    host_changed: object, api_changed: object, zone: tzinfo = UTC
) -> bool:
    """Whether the host's change is later; if that is not clear, it is not.

    A time of the host without a zone is in `zone`. Beside a time, a number is a Unix
    time.
    """
    host = _change_rank(host_changed, zone)
    api = _change_rank(api_changed, UTC)
    if host and api and host.kind != api.kind:
        host = _as_unix_time(host)
        api = _as_unix_time(api)
    return is_less(api, host)


def _change_rank(value: object, zone: tzinfo) -> VersionRank | None:
    """Return the place of a time or number of a change; None for anything else."""
    rank = version_rank(value, zone)
    if rank is None or rank.letters:
        return None
    # Some APIs count milliseconds; no time of a change is that late.
    if rank.kind == NUMBERS and rank.order >= LAST_MOMENT:
        return VersionRank(NUMBERS, rank.order / 1000)
    return rank


def _as_unix_time(rank: VersionRank) -> VersionRank:
    """Return the place of a moment among numbers, which are Unix times."""
    if rank.kind == NUMBERS:
        return rank
    return VersionRank(NUMBERS, rank.order / MICROSECONDS)


def changed_fields(before: Values | None, after: Values | None) -> list[str]:
    """Return the fields that differ between two versions, to be shown."""
    first, second = before or {}, after or {}
    names = sorted({*first, *second})
    return [name for name in names if first.get(name) != second.get(name)]
