"""Sign-ins, sign-outs and failed attempts, recorded in the audit."""

from contextlib import suppress

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import (
    user_logged_in,
    user_logged_out,
    user_login_failed,
)

from outkey.core.audit.events import Change, Tag
from outkey.core.errors import HostError
from outkey.hosts.django.pages.access import installation, web_actor


def record_sign_ins() -> None:
    """Record every sign-in, sign-out and failed attempt from now on."""
    user_logged_in.connect(record_sign_in)
    user_logged_out.connect(record_sign_out)
    user_login_failed.connect(record_failed_sign_in)


def record_sign_in(user: AbstractBaseUser, **_: object) -> None:
    """Record who signed in."""
    record(Tag.SESSION_BEGAN, user.get_username())


def record_sign_out(user: AbstractBaseUser | None, **_: object) -> None:
    """Record who signed out."""
    record(Tag.SESSION_ENDED, user.get_username() if user else "")


def record_failed_sign_in(**_: object) -> None:
    """Record the attempt without the name that was typed: it may be a password."""
    record(Tag.SESSION_REFUSED, "")


def record(tag: Tag, name: str) -> None:
    """Record an event if possible: who repairs a sealed installation must sign in."""
    with suppress(HostError):
        installation().audit.note(Change(tag, web_actor(name)))
