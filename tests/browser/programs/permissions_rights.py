"""A request asks for each permission once, and never uses those of another user."""

from collections import Counter

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import may

asked: Counter[str] = Counter()


class Ada(User):
    """Has every permission, and counts who asks."""

    class Meta:
        """The same table as any user."""

        proxy = True
        app_label = "auth"

    def has_perm(self, perm: str, obj: object = None) -> bool:
        asked[perm] += 1
        return True


def permissions_are_those_of_the_user_who_asks() -> None:
    request = RequestFactory().get("/")
    request.user = Ada(username="ada")
    for _ in range(3):
        assert all(may(request, permission) for permission in Permission)
    assert asked == Counter({f"outkey.{name}": 1 for name in Permission})
    request.user = User.objects.create_user("grace")  # who has signed in meanwhile
    assert not any(may(request, permission) for permission in Permission)
    request.user = AnonymousUser()
    assert not any(may(request, permission) for permission in Permission)


permissions_are_those_of_the_user_who_asks()
