"""JSON Merge Patch: the examples of RFC 7396, and values that are nested deeply."""

import pytest

from outkey.foundation.core.merge_patch import MOST_LEVELS, merged, without_nulls


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        (
            {"a": {"b": "c"}},
            {"a": {"b": "d", "c": None}},
            {"a": {"b": "d"}},
        ),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["c"], {"a": "b", "c": None}, {"a": "b"}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "foo"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        # Not in the RFC: no member of a list is null either.
        ({}, {"a": [{"b": None, "c": [1, {"d": None}]}]}, {"a": [{"c": [1, {}]}]}),
    ],
)
def test_a_patch_changes_members(
    document: object, patch: dict[str, object], result: dict[str, object]
) -> None:
    assert merged(document, patch) == result


def test_the_document_stays_as_it_is() -> None:
    document = {"a": {"b": 1}}
    assert merged(document, {"a": {"b": 2}}) == {"a": {"b": 2}}
    assert document == {"a": {"b": 1}}


def test_what_is_nested_deeply_is_not_followed() -> None:
    deep: object = None
    for _ in range(10_000):
        deep = {"a": deep, "b": [deep]}
    result: object = merged({}, {"a": deep})
    for _ in range(MOST_LEVELS):
        assert isinstance(result, dict)
        result = result["a"]
    assert isinstance(result, dict)
    assert without_nulls(None) is None
