"""The installation behind the pages, and what the user of a request may do there.

Pages get everything from `installation` and `visible`, which have what the user sees
and nothing else.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from outkey.administration.engine.access.limited_application import limited
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.editing import Editor
from outkey.foundation.core.permission import Permission, Rights
from outkey.hosts.django import installed, models
from outkey.sending.core.configuration.owners import NOTHING, Reach
from outkey.sending.core.configuration.reference import Reference, parse_reference

__all__ = (
    "administration_for",
    "editor_for",
    "installation",
    "is_sealed",
    "may",
    "offered_references",
    "offered_url",
    "page_of_user",
    "reach_of",
    "require",
    "rights_of",
    "seen_by",
    "user_of",
    "visible",
    "web_actor",
)

_ON_REQUEST = "outkey_rights"
_SEEN = "outkey_seen"
_request: ContextVar[HttpRequest] = ContextVar("the request of a page")
ModelT = TypeVar("ModelT", bound=Model)
# Where the rows of a table have the owner of their configuration.
_OWNER_OF: dict[type[Model], str] = {
    models.Configuration: "owner",
    models.HeaderRow: "configuration__owner",
    models.SecretValue: "configuration__owner",
    models.Token: "configuration__owner",
    models.SyncLine: "configuration__owner",
    models.Run: "line__configuration__owner",
    models.Quarantine: "run__line__configuration__owner",
}


@contextmanager
def page_of_user(request: HttpRequest) -> Iterator[None]:
    """Let `installation` and `visible` have what the user of a request sees."""
    before = _request.set(request)
    try:
        yield
    finally:
        _request.reset(before)


def installation() -> Application:
    """Return the installation as the user of the present page sees it.

    Outside of pages, as in the background work of a project, it is the whole one.
    """
    request = _request.get(None)
    return installed.installation() if request is None else seen_by(request)


def seen_by(request: HttpRequest) -> Application:
    """Return the installation as the user of a request sees it."""
    user = getattr(request, "user", None)
    known: tuple[object, Application] | None = getattr(request, _SEEN, None)
    if known is not None and known[0] is user:  # signing in makes it another user's
        return known[1]
    whole = installed.installation()
    reach = NOTHING
    if isinstance(user, PermissionsMixin):  # not an anonymous one
        reach = whole.user_owners.reach(str(user.pk))
    application = limited(whole, reach)
    setattr(request, _SEEN, (user, application))
    return application


def is_sealed() -> bool:
    """Whether stored secrets cannot be opened; reads nothing of the user."""
    return installed.installation().keys.is_sealed()


def reach_of(request: HttpRequest) -> Reach:
    """Return which configurations the user of a request sees."""
    return seen_by(request).reach


def visible(
    model: type[ModelT], application: Application | None = None
) -> QuerySet[ModelT]:
    """Return the rows of a table that the user of the present page sees.

    A limited user sees none of a table whose rows have no configuration.
    """
    owners = (application or installation()).reach.owners
    rows: QuerySet[ModelT] = QuerySet(model)
    if owners is None:
        return rows
    if model not in _OWNER_OF:
        raise PermissionDenied
    return rows.filter(**{f"{_OWNER_OF[model]}__in": sorted(owners)})


def administration_for(user: AbstractBaseUser | AnonymousUser) -> Administration:
    """Return the administration of a user: changes are recorded under their name."""
    return installation().administration(web_actor(user.get_username()))


def web_actor(name: str) -> str:
    """Return the actor of what a user of this name does on the pages.

    The audit has it, and secrets that the user has set.
    """
    return f"web:{name}"


def editor_for(request: HttpRequest) -> Editor:
    """Return the user of a request as one who edits configurations."""
    return Editor(
        allowed=rights_of(request),
        references=tuple(offered_references()),
    )


def require(request: HttpRequest, *permissions: Permission) -> None:
    """Respond with 403 unless the user has all of these permissions."""
    if not all(may(request, permission) for permission in permissions):
        raise PermissionDenied


def may(request: HttpRequest, permission: Permission) -> bool:
    """Whether the user has a permission."""
    return rights_of(request)(permission)


def rights_of(request: HttpRequest) -> Rights:
    """Return the rights of the user; they are read once for each request."""
    user = request.user
    known: tuple[object, Rights] | None = getattr(request, _ON_REQUEST, None)
    if known is not None and known[0] is user:  # signing in makes it another user's
        return known[1]
    rights = Rights()
    if isinstance(user, PermissionsMixin):
        rights = Rights.of(lambda permission: user.has_perm(f"outkey.{permission}"))
    setattr(request, _ON_REQUEST, (user, rights))
    return rights


def offered_url(request: HttpRequest, permission: Permission, view: str) -> str:
    """Return the URL of a page, or "" if the user may not use it."""
    return reverse(f"admin:outkey_{view}") if may(request, permission) else ""


def user_of(request: HttpRequest) -> PermissionsMixin:
    """Return the user, within whose permissions records are read and written."""
    if not isinstance(request.user, PermissionsMixin):
        raise PermissionDenied
    return request.user


def offered_references() -> list[Reference]:
    """Return the references that forms offer.

    An operator lists them, since a reference can read the environment and files.
    """
    references = os.environ.get("OUTKEY_REFERENCES", "").split()
    return [parse_reference(text, field="OUTKEY_REFERENCES") for text in references]
