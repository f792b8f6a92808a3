"""The installation behind the pages, and what the user of a request may do there."""

import os

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.editing import Editor
from outkey.foundation.core.permission import Permission, Rights
from outkey.hosts.django.installed import installation
from outkey.sending.core.configuration.reference import Reference, parse_reference

__all__ = (
    "administration_for",
    "editor_for",
    "installation",
    "may",
    "offered_references",
    "offered_url",
    "require",
    "rights_of",
    "user_of",
    "web_actor",
)

_ON_REQUEST = "outkey_rights"


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
