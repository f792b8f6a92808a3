"""Nobody gives, takes or uses rights beyond their own."""

import pytest

from outkey.administration.core.access.user_rights import (
    STAFF,
    SUPERUSER,
    AccountRights,
)

NOTHING = AccountRights()
CLERK = AccountRights(
    staff=True, permissions=frozenset({"auth.change_user", "outkey.view_run"})
)
BOSS = AccountRights(superuser=True)


@pytest.mark.parametrize("other", [NOTHING, CLERK, BOSS, AccountRights(staff=True)])
def test_a_superuser_covers_everybody(other: AccountRights) -> None:
    assert BOSS.covers(other)
    assert BOSS.lacks(other) == frozenset()


def test_everybody_covers_themselves() -> None:
    assert all(rights.covers(rights) for rights in (NOTHING, CLERK, BOSS))


@pytest.mark.parametrize(
    ("actor", "other", "missing"),
    [
        (CLERK, BOSS, {SUPERUSER}),
        (
            CLERK,
            AccountRights(permissions=frozenset({"outkey.set_secret"})),
            {"outkey.set_secret"},
        ),
        (NOTHING, AccountRights(staff=True), {STAFF}),
        (NOTHING, CLERK, {STAFF, "auth.change_user", "outkey.view_run"}),
    ],
)
def test_rights_that_are_missing_are_named(
    actor: AccountRights, other: AccountRights, missing: set[str]
) -> None:
    assert actor.lacks(other) == missing
    assert not actor.covers(other)
