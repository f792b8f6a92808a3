"""To which owners users are limited, and what a changed limit means."""

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.token_owners import TokenOwner, token_problems
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.administration.engine.access.limited_application import limited
from outkey.administration.engine.access.user_owners import UserOwners
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import SecretUnreadable
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.adapters.vouching.vouched_states import VouchedStates
from outkey.sending.core.configuration.owners import EVERYTHING, NOTHING, Reach
from outkey.testing import FakeClock, MemoryDatabase
from outkey.testing.fakes.vouching import FakeVouchers
from unit.application_in_memory import memory_host

NORTH = frozenset({"north"})
KIND = StateKind.USER_OWNERS


def prepared() -> tuple[UserOwners, MemoryStateRows]:
    rows = MemoryStateRows()
    return UserOwners(
        VouchedStates(rows, FakeVouchers(MemoryDatabase(FakeClock())))
    ), rows


def test_a_user_without_a_limit_sees_everything() -> None:
    owners, _ = prepared()
    assert owners.reach("1") == EVERYTHING
    assert owners.all() == {}


def test_a_limit_is_set_replaced_and_ended() -> None:
    owners, _ = prepared()
    owners.put("1", NORTH)
    assert owners.reach("1") == Reach(owners=NORTH)
    owners.put("1", frozenset({"south"}))
    assert owners.all() == {"1": Reach(owners=frozenset({"south"}))}
    assert owners.reach("2") == EVERYTHING
    owners.put("1", None)
    assert owners.reach("1") == EVERYTHING
    assert owners.all() == {}


@pytest.mark.parametrize(
    "value", [{"owners": ["north", "south"]}, {"owners": "north"}, {}, None]
)
def test_a_limit_that_was_changed_or_deleted_outside_lets_nothing_be_seen(
    value: dict[str, object] | None,
) -> None:
    owners, rows = prepared()
    owners.put("1", NORTH)
    rows.put(KIND, {"1": value})
    assert owners.reach("1") == NOTHING
    assert owners.all() == {"1": NOTHING}
    owners.put("1", NORTH)  # an operator sets it again
    assert owners.reach("1") == Reach(owners=NORTH)


def test_a_changed_limit_can_be_ended() -> None:
    owners, rows = prepared()
    owners.put("1", NORTH)
    rows.put(KIND, {"1": {"owners": ["south"]}})
    owners.put("1", None)
    assert owners.reach("1") == EVERYTHING


def test_the_limits_of_users_are_those_of_the_whole_installation() -> None:
    host = memory_host()
    host.application.user_owners.put("1", NORTH)
    seen = limited(host.application, Reach(owners=NORTH))
    assert seen.user_owners.reach("1") == Reach(owners=NORTH)
    with pytest.raises(Exception, match="another owner"):
        seen.states.put(KIND, {"1": None})


def test_tokens_that_see_more_than_their_creator_are_found_and_revoked() -> None:
    application = memory_host().application
    administration = application.administration("web:ann")
    for name, owners in (("all", ()), ("both", ("north", "south")), ("own", NORTH)):
        wish = TokenWish(name=name, scopes=frozenset({Scope.READ}), owners=owners)
        application.api_tokens.create(administration, wish)
    reach = Reach(owners=NORTH)
    users = {"ann": TokenOwner(is_active=True, permissions=None, reach=reach)}
    problems = [*token_problems(application.api_tokens.all(), users, now=1.0)]
    assert [problem.token for problem in problems] == ["all", "both"]
    assert "limited to fewer owners" in str(problems[0].message)
    root = application.administration("root")
    revoked = application.api_tokens.revoke_beyond(root, "web:ann", reach)
    assert revoked == ["all", "both"]
    assert [token.name for token in application.api_tokens.active()] == ["own"]
    assert application.api_tokens.revoke_beyond(root, "web:bob", NOTHING) == []


def test_an_odd_row_is_replaced() -> None:
    class Refusing(MemoryStateRows):
        refused = False

        def put(self, kind: StateKind, values: object) -> None:
            if not self.refused:
                self.refused = True
                raise SecretUnreadable
            super().put(kind, values)  # type: ignore[arg-type]

    rows = Refusing()
    UserOwners(rows).put("1", NORTH)
    assert rows.read(KIND)["1"].value == {"owners": ["north"]}
