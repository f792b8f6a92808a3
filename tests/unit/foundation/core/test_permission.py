"""What a user may do, as a value."""

from outkey.foundation.core.permission import Permission, Rights


def test_rights_ask_for_each_permission_once() -> None:
    asked: list[Permission] = []

    def allowed(permission: Permission) -> bool:
        asked.append(permission)
        return permission is Permission.VIEW

    rights = Rights.of(allowed)
    assert [rights(Permission.VIEW), rights(Permission.CHANGE)] == [True, False]
    assert rights == Rights(frozenset({Permission.VIEW}))
    assert asked == list(Permission)


def test_without_a_user_nothing_is_allowed() -> None:
    assert not any(map(Rights(), Permission))
