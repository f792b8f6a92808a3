"""Nobody grants, removes or uses rights beyond their own."""

from accounts import (
    NEW_PASSWORD,
    PASSWORD,
    SET_PASSWORD,
    admin,
    administrators,
    clerk,
    create_user,
    delete_selected,
    form,
    helper,
    newest,
    page_of,
    secret,
    sleeping,
    stored,
    strong,
    view,
    weak,
)
from clients import boss, client_of
from django.contrib.auth.models import Group, User

REFUSAL = b"rights that you do not have yourself"
crew = Group.objects.create(name="crew")
CREW_PAGE = f"/auth/group/{crew.pk}/change/"


def the_page_of_a_user_shows_nothing_of_how_the_password_is_stored() -> None:
    looker = client_of(create_user("looker", "view_user"))
    for client in (admin, looker):
        page = client.get(page_of(helper)).content.decode()
        assert "A password is set." in page
        algorithm, _, *parts = stored(helper).password.split("$")
        for shown in (algorithm, "iterations", "salt", *(part[:6] for part in parts)):
            assert shown not in page, shown
    helper.set_unusable_password()
    helper.save()
    assert "No password set." in admin.get(page_of(helper)).content.decode()
    helper.set_password(PASSWORD)
    helper.save()


def nobody_raises_themselves_or_another_user() -> None:
    raises: tuple[dict[str, object], ...] = (
        {"is_superuser": "on"},
        {"groups": [administrators.pk]},
        {"user_permissions": [secret.pk]},
    )
    for target in (clerk, helper):
        for raised in raises:
            response = weak.post(page_of(target), form(target, **raised))
            assert response.status_code == 200, (target, raised, response.status_code)
            assert REFUSAL in response.content, (target, raised)
            user = stored(target)
            assert not user.is_superuser, (target, raised)
            assert not user.groups.exists(), (target, raised)
            rows = user.user_permissions.filter(codename="set_secret")
            assert not rows.exists(), (target, raised)
    assert newest("people:user:updated") == []


def a_user_with_more_rights_is_not_changed_active_or_not() -> None:
    for target in (boss, strong, sleeping):
        password = stored(target).password
        attempts: tuple[tuple[str, dict[str, object]], ...] = (
            (page_of(target, "password/"), dict(SET_PASSWORD)),
            (page_of(target), form(target, is_active=None)),
            (page_of(target), form(target, email="me@evil.example")),
            (page_of(target, "delete/"), {"post": "yes"}),
            ("/auth/user/", delete_selected(target, helper)),
        )
        for path, values in attempts:
            response = weak.post(path, values)
            assert response.status_code == 403, (path, values)
        assert stored(target).password == password
        assert stored(target).is_active == target.is_active
    assert User.objects.filter(pk=helper.pk).exists()


def no_group_gives_rights_that_its_editor_lacks() -> None:
    clerk.groups.add(crew)
    attempts = {
        "/auth/group/add/": {"name": "mine", "permissions": [secret.pk]},
        CREW_PAGE: {"name": "crew", "permissions": [view.pk, secret.pk]},
    }
    for path, values in attempts.items():
        assert REFUSAL in weak.post(path, values).content, path
    assert not crew.permissions.exists()
    assert not Group.objects.filter(name="mine").exists()


def a_group_with_more_rights_is_not_changed() -> None:
    place = f"/auth/group/{administrators.pk}/"
    attempts: dict[str, dict[str, object]] = {
        f"{place}change/": {"name": "Administrator", "permissions": []},
        f"{place}delete/": {"post": "yes"},
        "/auth/group/": delete_selected(administrators),
    }
    for path, values in attempts.items():
        assert weak.post(path, values).status_code == 403, path
    assert administrators.permissions.count() > 5


def what_is_within_the_own_rights_works() -> None:
    changes: tuple[dict[str, object], ...] = (
        {"email": "helper@example.com"},
        {"user_permissions": []},
        {"user_permissions": [view.pk]},
    )
    for change in changes:
        response = weak.post(page_of(helper), form(helper, **change))
        assert response.status_code == 302, change
    plain = {"name": "crew", "permissions": [view.pk]}
    assert weak.post(CREW_PAGE, plain).status_code == 302
    response = weak.post(page_of(helper, "password/"), SET_PASSWORD)
    assert response.status_code == 302, response.content
    assert stored(helper).check_password("another long password")
    response = weak.post("/auth/user/add/", {"username": "fresh"} | NEW_PASSWORD)
    assert response.status_code == 302, response.content
    assert User.objects.get(username="fresh").is_staff


def who_has_every_right_grants_every_right() -> None:
    raised = form(helper, is_superuser="on")
    assert admin.post(page_of(helper), raised).status_code == 302
    assert stored(helper).is_superuser
    lowered = form(helper, is_superuser=None)
    assert weak.post(page_of(helper), lowered).status_code == 403


def the_own_password_is_changed_with_the_old_one_only() -> None:
    response = weak.post(page_of(clerk, "password/"), SET_PASSWORD)
    assert response["Location"] == "/password_change/"
    assert stored(clerk).check_password(PASSWORD)


the_page_of_a_user_shows_nothing_of_how_the_password_is_stored()
nobody_raises_themselves_or_another_user()
a_user_with_more_rights_is_not_changed_active_or_not()
no_group_gives_rights_that_its_editor_lacks()
a_group_with_more_rights_is_not_changed()
what_is_within_the_own_rights_works()
who_has_every_right_grants_every_right()
the_own_password_is_changed_with_the_old_one_only()
