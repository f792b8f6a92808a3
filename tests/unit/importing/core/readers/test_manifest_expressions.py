"""Expressions of manifests: usual ones are read, all others are reported."""

import pytest

from outkey.importing.core.readers.manifests.expressions import (
    MAX_TEXT,
    Expression,
    fill,
    parse_expression,
)


def value_of(expression: Expression) -> str | None:
    """Return the default of an expression of `config`, or its path in braces."""
    if expression.root != "config":
        return None
    return expression.default or f"{{{expression.path}}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a/{{ 'orders' }}/{{ 2 }}", "/a/orders/2"),
        ("{{ config['shop'] or 'main' }}", "main"),
        ('{{ config.shop | default("main") }}', "main"),
        ("{{ config.get('shop', 'main') }}", "main"),
        ("{{ config.shop | default(other) }}", "{shop}"),
        ("{{ config.shops[0].name }}", "{shops[0].name}"),
        ("{{ config }}", "{@}"),
    ],
)
def test_names_steps_literals_and_defaults_are_read(text: str, expected: str) -> None:
    assert fill(text, value_of) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{% if config.shop %}a{% endif %}",
        "{{ config.shop }}" + "x" * MAX_TEXT,
        "{{ config.shop or other }}",
        "{{ config.shop | upper }}",
        "{{ 1 + config.shop }}",
        "{{ response.shop }}",
    ],
)
def test_a_text_with_anything_else_has_no_value(text: str) -> None:
    assert fill(text, value_of) is None


def test_only_a_text_that_is_one_expression_is_parsed() -> None:
    assert parse_expression(" {{ record.id }} ") == Expression("record", ("id",))
    assert parse_expression("a {{ record.id }}") is None
