"""The installation behind the pages, and the desk of whoever looks at them."""

import os
import threading
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from outkey.core.config.reference import Reference, parse_reference
from outkey.engine.application import Application
from outkey.engine.managing.changes import Administration
from outkey.hosts.django.project import claim, home_setting, in_project
from outkey.hosts.django.wiring import install

_lock = threading.Lock()
_installed: dict[Path, Application] = {}


def installation() -> Application:
    """Return the installation that the setting OUTKEY names; one for the whole process."""
    home = home_setting()
    with _lock:
        if home not in _installed:
            if in_project():
                claim(home)
            _installed[home] = install(home)
        return _installed[home]


def desk_for(user: AbstractBaseUser | AnonymousUser) -> Administration:
    """Return the desk of a person; what they do is recorded under their name."""
    here = installation()
    return here.administration(f"web:{user.get_username()}")


def require(request: HttpRequest, *permissions: str) -> None:
    """Refuse whoever has not all of these permissions of the app."""
    if not all(may(request, permission) for permission in permissions):
        raise PermissionDenied


def may(request: HttpRequest, permission: str) -> bool:
    """Tell whether the person has a permission of the app."""
    user = request.user
    return isinstance(user, PermissionsMixin) and user.has_perm(f"outkey.{permission}")


def offered_references() -> list[Reference]:
    """Return the references that pages may offer: a reference is a door into the machine."""
    listed = os.environ.get("OUTKEY_REFERENCES", "").split()
    return [parse_reference(text, field="OUTKEY_REFERENCES") for text in listed]
