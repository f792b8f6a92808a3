"""Who logged in, who logged out, and that somebody could not: recorded like everything else."""

from contextlib import suppress

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import (
    user_logged_in,
    user_logged_out,
    user_login_failed,
)

from outkey.core.audit.events import Change, Tag
from outkey.core.errors import HostError
from outkey.hosts.django.pages.access import installation


def watch() -> None:
    """Record from now on."""
    user_logged_in.connect(_began)
    user_logged_out.connect(_ended)
    user_login_failed.connect(_refused)


def _began(user: AbstractBaseUser, **_: object) -> None:
    _note(Tag.SESSION_BEGAN, user.get_username())


def _ended(user: AbstractBaseUser | None, **_: object) -> None:
    _note(Tag.SESSION_ENDED, user.get_username() if user else "")


def _refused(**_: object) -> None:
    # Not under the name that was typed: now and then it is a password.
    _note(Tag.SESSION_REFUSED, "")


def _note(tag: Tag, name: str) -> None:
    """Record, if that can be done: whoever is to mend a sealed installation must get in."""
    with suppress(HostError):
        installation().audit.note(Change(tag, f"web:{name}"))
