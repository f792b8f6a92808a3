"""Nobody gives, takes or uses rights beyond their own."""

import pytest

from outkey.administration.core.access.user_rights import STAFF, SUPERUSER, Rights

NOTHING = Rights()
CLERK = Rights(
    staff=True, permissions=frozenset({"auth.change_user", "outkey.view_run"})
)
BOSS = Rights(superuser=True)


@pytest.mark.parametrize("other", [NOTHING, CLERK, BOSS, Rights(staff=True)])
def test_a_superuser_covers_everybody(other: Rights) -> None:
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
            Rights(permissions=frozenset({"outkey.set_secret"})),
            {"outkey.set_secret"},
        ),
        (NOTHING, Rights(staff=True), {STAFF}),
        (NOTHING, CLERK, {STAFF, "auth.change_user", "outkey.view_run"}),
    ],
)
def test_rights_that_are_missing_are_named(
    actor: Rights, other: Rights, missing: set[str]
) -> None:
    assert actor.lacks(other) == missing
    assert not actor.covers(other)
