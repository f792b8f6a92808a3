"""Which configurations a limited user or token sees, and whose new ones are."""

import pytest

from outkey.foundation.core.errors import ConfigError, ScopeMissing
from outkey.sending.core.configuration.owners import (
    EVERYTHING,
    NOTHING,
    Reach,
    read_owners,
)

NORTH = Reach(owners=frozenset({"north"}))
BOTH = Reach(owners=frozenset({"north", "south"}))


def test_without_a_limit_every_configuration_is_seen() -> None:
    assert not EVERYTHING.is_limited
    assert EVERYTHING.includes("1", "")
    assert EVERYTHING.owner_for("anything") == "anything"
    assert EVERYTHING.owner_for("", "north") == ""


def test_a_limit_includes_its_owners_and_neither_others_nor_what_is_shared() -> None:
    assert NORTH.is_limited
    assert NORTH.includes("1", "north")
    assert not NORTH.includes("1", "south")
    assert not NORTH.includes("1", "")
    assert not NORTH.includes("1", "North")
    assert not NOTHING.includes("1", "")


def test_owners_and_records_limit_both() -> None:
    reach = Reach(owners=frozenset({"north"}), records=frozenset({"1"}))
    assert reach.includes("1", "north")
    assert not reach.includes("2", "north")
    assert not reach.includes("1", "south")


def test_a_limit_covers_those_that_see_no_more() -> None:
    assert EVERYTHING.covers(None)
    assert BOTH.covers(frozenset({"north"}))
    assert not NORTH.covers(frozenset({"north", "south"}))
    assert not NORTH.covers(None)


def test_what_a_limited_user_saves_gets_an_owner_of_the_limit() -> None:
    assert NORTH.owner_for("") == "north"
    assert NORTH.owner_for("north") == "north"
    assert BOTH.owner_for("south", "north") == "south"
    assert BOTH.owner_for("", "north") == "north"


def test_several_owners_have_to_be_chosen_from() -> None:
    with pytest.raises(ConfigError) as caught:
        BOTH.owner_for("")
    assert caught.value.field == "owner"
    assert "north, south" in str(caught.value.hint)


@pytest.mark.parametrize("reach", [NORTH, NOTHING])
def test_another_owner_is_refused(reach: Reach) -> None:
    with pytest.raises(ScopeMissing):
        reach.owner_for("south")
    with pytest.raises(ScopeMissing):
        NOTHING.owner_for("")


def test_owners_are_read_as_the_field_of_a_configuration_is() -> None:
    assert read_owners([]) is None
    assert read_owners(["south", "north", "north"]) == {"north", "south"}
    for text in ("", "a\nb", "x" * 201):
        with pytest.raises(ConfigError) as caught:
            read_owners(["north", text])
        assert caught.value.field == "owner"
