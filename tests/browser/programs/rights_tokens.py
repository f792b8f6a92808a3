"""API tokens end with the users who created them, and are named with their rights."""

import html
import re

from accounts import (
    admin,
    create_user,
    delete_selected,
    form,
    newest,
    page_of,
    secret,
    stored,
)
from clients import application, client_of
from django.contrib.auth.models import Group, Permission, User

from outkey.administration.core.access.api_tokens import (
    ApiTokenState,
    Scope,
    read_scopes,
)
from outkey.administration.core.access.token_permissions import token_needs
from outkey.administration.engine.access.api_tokens import TokenWish

TOKENS = "/outkey/apitoken/"
SENDS = sorted(token_needs([Scope.SEND]))
CREATES = ("view_apitoken", "add_apitoken")


def create_token(name: str, actor: str, *scopes: str) -> None:
    wish = TokenWish(name=name, scopes=read_scopes(scopes or ["send"]))
    application.api_tokens.create(application.administration(actor), wish)


def state_of(name: str) -> ApiTokenState:
    (token,) = [token for token in application.api_tokens.all() if token.name == name]
    return token.state(application.database.now())


def posted(path: str, values: dict[str, object]) -> str:
    """Return the page that an administrator sees after a change."""
    response = admin.post(path, values, follow=True)
    assert response.status_code == 200, response.status_code
    assert response.redirect_chain, "it was not saved"
    return html.unescape(response.content.decode())


def a_token_that_sends_needs_the_right_to_enter_secrets() -> None:
    wanted = {"name": "echo", "scope": "send", "per_minute": "60"}
    lacking = [name for name in SENDS if name != "set_secret"]
    editor = client_of(create_user("editor", *CREATES, *lacking))
    assert editor.post(f"{TOKENS}add/", wanted).status_code == 403
    shown = editor.get(f"{TOKENS}add/").content.decode()
    assert re.search(r'value="send"[^>]*disabled', shown, re.DOTALL), "it is offered"
    assert application.api_tokens.all() == []
    sender = client_of(create_user("sender", *CREATES, *SENDS))
    assert sender.post(f"{TOKENS}add/", wanted).status_code == 200
    assert state_of("echo") is ApiTokenState.ACTIVE


def the_tokens_of_a_disabled_user_are_revoked() -> None:
    user = create_user("disabled", *SENDS)
    create_token("of disabled", "web:disabled")
    create_token("of operator", "cli:disabled")
    page = posted(page_of(user), form(user, is_active=None))
    assert not stored(user).is_active
    assert "The API tokens of disabled were revoked: of disabled." in page
    assert state_of("of disabled") is ApiTokenState.REVOKED
    assert state_of("of operator") is ApiTokenState.ACTIVE
    (record,) = newest("people:api_token:revoked")
    assert (record.actor, record.key) == ("web:boss", "of disabled")


def the_tokens_of_deleted_users_are_revoked() -> None:
    users = [create_user(f"deleted{number}", *SENDS) for number in range(3)]
    for number in range(3):
        create_token(f"of deleted{number}", f"web:deleted{number}")
    page = posted(page_of(users[0], "delete/"), {"post": "yes"})
    assert "The API tokens of deleted0 were revoked: of deleted0." in page
    assert state_of("of deleted1") is ApiTokenState.ACTIVE
    posted("/auth/user/", delete_selected(users[1], users[2]))
    for number in range(3):
        assert state_of(f"of deleted{number}") is ApiTokenState.REVOKED


def the_tokens_of_a_demoted_user_are_named_and_stay() -> None:
    user = create_user("demoted", *SENDS)
    create_token("of demoted", "web:demoted")
    rest = [row.pk for row in user.user_permissions.all() if row.pk != secret.pk]
    page = posted(page_of(user), form(user, user_permissions=rest))
    problem = "of demoted: the user demoted lacks set_secret"
    assert problem in page
    assert state_of("of demoted") is ApiTokenState.ACTIVE
    assert problem in admin.get(TOKENS).content.decode()
    # It is said once, and again where it begins again.
    page = posted(page_of(user), form(stored(user), email="d@corp.example"))
    assert problem not in page


def a_change_of_a_group_names_the_tokens_of_its_users() -> None:
    group = Group.objects.create(name="senders")
    group.permissions.set(Permission.objects.filter(codename__in=SENDS))
    user = create_user("member")
    user.groups.add(group)
    create_token("of member", "web:member")
    page = posted(
        f"/auth/group/{group.pk}/change/",
        {
            "name": "senders",
            "permissions": [
                row.pk for row in group.permissions.all() if row.pk != secret.pk
            ],
        },
    )
    assert "of member: the user member lacks set_secret" in page
    group.permissions.add(secret)
    page = posted(f"/auth/group/{group.pk}/delete/", {"post": "yes"})
    assert "of member: the user member lacks" in page


def a_token_follows_the_name_of_its_user() -> None:
    user = create_user("maiden", *SENDS)
    create_token("of maiden", "web:maiden")
    posted(page_of(user), form(user, username="married"))
    assert state_of("of maiden") is ApiTokenState.ACTIVE
    creators = {token.created_by for token in application.api_tokens.active()}
    assert "web:married" in creators
    assert "web:maiden" not in creators
    posted(page_of(user), form(stored(user), is_active=None))
    assert state_of("of maiden") is ApiTokenState.REVOKED


def what_is_refused_revokes_nothing() -> None:
    user = create_user("kept", *SENDS)
    create_token("of kept", "web:kept")
    values = form(user, username="", is_active=None)
    assert admin.post(page_of(user), values).status_code == 200
    assert User.objects.get(pk=user.pk).is_active
    assert state_of("of kept") is ApiTokenState.ACTIVE


a_token_that_sends_needs_the_right_to_enter_secrets()
the_tokens_of_a_disabled_user_are_revoked()
the_tokens_of_deleted_users_are_revoked()
the_tokens_of_a_demoted_user_are_named_and_stay()
a_change_of_a_group_names_the_tokens_of_its_users()
a_token_follows_the_name_of_its_user()
what_is_refused_revokes_nothing()
