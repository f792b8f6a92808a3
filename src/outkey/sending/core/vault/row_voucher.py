"""Vouchers of single rows: what outkey believes, and who has written it.

Some rows decide what outkey opens, sends, runs or accepts, and hold no secret: other
databases, sync lines, webhooks, tokens of the HTTP interface. Each of them has a code
with a key that the database does not have, over its name, its content and a serial
number that every write raises. A row without a valid code was written by another
program. A row with a lower serial number than one that was seen before is an old one
that was put back.
"""

import json
import re
from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

from outkey.foundation.core.errors import SecretUnreadable
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text

LINE_KIND = "line"
TOKEN_KIND = "token"  # noqa: S105 - the name of a kind, of tokens that APIs issue
# The shared states that decide something. The others are measurements, and what
# processes agree on among themselves: docs/decisions/0056-vouched-rows.md lists them.
VOUCHED_STATES = frozenset(
    {
        StateKind.API_TOKEN,
        StateKind.API_TOKEN_NAME,
        StateKind.CONNECT_LINK,
        StateKind.DATABASE,
        StateKind.HOOK_ENDPOINT,
        StateKind.PAIR,
        StateKind.PAUSED_LINE,
        StateKind.TABLE,
        StateKind.USER_OWNERS,
        StateKind.WEBHOOK,
    }
)
_TEXT = re.compile(r"([1-9][0-9]{0,17})\.([0-9a-f]{1,64})\.([0-9a-f]{64})")


class RowName(NamedTuple):
    """Which row it is: what it is about, and its key among those."""

    kind: str
    key: str

    @property
    def label(self) -> str:
        """The row as users name it: `kind:key`."""
        # The key of a table is its target name, which begins in the same way.
        prefix = f"{self.kind}:"
        is_table = self.kind == StateKind.TABLE and self.key.startswith(prefix)
        return self.key if is_table else prefix + self.key


class RowVoucher(NamedTuple):
    """The voucher of a row: its serial number, the name of the key, and the code."""

    serial: int
    key: str
    code: str

    @property
    def text(self) -> str:
        """The voucher as it is stored with its row."""
        return f"{self.serial}.{self.key}.{self.code}"


def is_row_name(name: str) -> bool:
    """Whether a text names a row, as `RowName.label` does."""
    return name.partition(":")[0] in {LINE_KIND, TOKEN_KIND, *VOUCHED_STATES}


def parse_row_voucher(text: object) -> RowVoucher | None:
    """Return the voucher that is stored with a row; None for what is not one."""
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    return match and RowVoucher(int(match[1]), match[2], match[3])


def vouched_bytes(name: RowName, serial: int, content: Mapping[str, Any]) -> bytes:
    """Return the bytes that a row's code is computed over, equal for equal contents.

    A database may store 1e16 as 10000000000000000, and 1.0 as 1.
    """
    facts = [name.kind, name.key, serial, _without_whole_floats(content)]
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def _without_whole_floats(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _without_whole_floats(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_whole_floats(part) for part in value]
    return value


def changed_row_error(name: RowName) -> SecretUnreadable:
    """Return the error for a row that was written without outkey, or put back."""
    return SecretUnreadable(
        Text("{row} was changed outside of outkey", row=name.label),
        hint=Text(
            "The database may have been changed without outkey, or the row is of"
            " version 0.2 or older and was not confirmed yet. An operator can list the"
            " changes and accept them with: outkey secret confirm {name}",
            name=quote(name.label),
        ),
    )
