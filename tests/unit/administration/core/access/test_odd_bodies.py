"""Bodies of lines and webhooks with values that no field expects."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.engine.access.api_lines import ApiLines
from outkey.administration.engine.access.api_webhooks import ApiWebhooks
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.sync.core.line.fields import LINE_FIELDS
from outkey.webhooks.core.settings.section import WEBHOOK_FIELDS
from unit.administration.core.access.test_api_access import access, prepared
from unit.administration.core.access.test_api_lines import PUSH, TABLE
from unit.administration.core.access.test_api_webhooks import HOOK, host_with_line

DEEP: object = "x"
for _ in range(300):
    DEEP = [{"a": DEEP}]
ODD: Sequence[object] = (
    *("", " ", "x", "\U0001f600", "\u202e", "\x7f", "a\nb", "{", "{since}", "[" * 300),
    *("x" * 100_000, "table:x", "file:../x", "env:HOME", "/{parent.id}", "0 0 * * *"),
    *("((((" * 50, "@.a | [?b == `1`]", "$index", "-1", "30d", "2026-02-30"),
    *(True, 0, -1, 1, 2.5, 1e308, 10**400, {}, [], [[]], [{}], [None], ["x", 5]),
    *({"a": {"b": []}}, {"x": "y"}, {"": ""}, [{"": 1}], ["x"] * 2000, DEEP),
)


def odd_bodies(
    fields: Sequence[Field], odd: Sequence[object] = ODD
) -> Iterator[dict[str, object]]:
    """Yield bodies with each odd value in the place of a key, some inside tables."""
    for field in fields:
        for value in odd:
            yield {field.key: value}
        for part in field.parts:
            for value in odd[::3]:
                table = {part.key: value}
                yield {field.key: [table] if field.kind is Kind.TABLES else table}


@pytest.mark.parametrize(
    "base", [TABLE, pytest.param(PUSH, marks=pytest.mark.full)], ids=["pull", "push"]
)
def test_every_odd_value_in_a_line_is_saved_or_refused(
    base: dict[str, object],
) -> None:
    lines = ApiLines(access(prepared(), allow_targets=True, per_minute=1_000_000))
    statuses = {
        outcome(partial(lines.save, "items", base | body, whole=True))
        for body in odd_bodies(LINE_FIELDS)
    }
    assert statuses <= {200, 403, 404, 422}, "nothing is unexpected"
    assert {200, 422} <= statuses


def test_every_odd_value_in_a_webhook_is_saved_or_refused() -> None:
    webhooks = ApiWebhooks(access(host_with_line(), allow_targets=True))
    statuses = {
        outcome(partial(webhooks.save, "shop", HOOK | body, whole=True))
        for body in odd_bodies(WEBHOOK_FIELDS, ODD[::2])
    }
    assert statuses <= {200, 403, 404, 422}
    assert {200, 404, 422} <= statuses


def outcome(save: Callable[[], object]) -> int:
    """Return the status that a program gets."""
    try:
        save()
    except OutkeyError as error:
        return status_of(error)
    return 200
