"""What is kept about one person: gathered for them, erased for them, and forgotten in time."""

from collections.abc import Iterator
from datetime import timedelta
from secrets import token_hex

from axes.models import (  # type: ignore[import-untyped]  # without types of its own
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
)
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.timezone import now

from outkey.core.audit.chain import facts_of
from outkey.core.errors import ConfigError
from outkey.core.text import Text
from outkey.hosts.django.models import Configuration, SecretValue
from outkey.hosts.server.user_changes import key_of
from outkey.ports.storage import AuditRows

_LOGINS = (AccessAttempt, AccessFailureLog, AccessLog)
_BY_A_PAGE = b'"actor":"web:'
_ABOUT_A_USER = b'"key":"user '
_ACCOUNT = ("username", "first_name", "last_name", "email", "date_joined", "last_login")


def person(name: str) -> User:
    """Return the account of that name."""
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist:
        raise ConfigError(Text("there is no user of that name"), field="USER") from None


def data_about(user: User, rows: AuditRows) -> dict[str, object]:
    """Return everything that is kept about a person."""
    logins = [kind.objects.filter(username=user.username).values() for kind in _LOGINS]
    secrets = SecretValue.objects.filter(set_by=_actor(user))
    return {
        "account": (
            {name: getattr(user, name) for name in _ACCOUNT}
            | {"groups": sorted(group.name for group in user.groups.all())}
        ),
        "sessions": [{"ends_at": session.expire_date} for session in _sessions(user)],
        "logins": [row for found in logins for row in found],
        "history": list(_history(user).values("action_time", "action_flag")),
        "secrets": list(
            secrets.values("configuration__name", "field", "version", "set_at")
        ),
        "audit": list(records_about(user, rows)),
    }


def refuse_last_administrator(user: User) -> None:
    """Refuse to leave nobody who could let others in."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        hint = Text("Make another user an administrator first.")
        raise ConfigError(
            Text("this is the only administrator"), hint=hint, field="USER"
        )


def erase(user: User) -> str:
    """Forget a person, and return the name that stands where theirs stood beside secrets.

    The audit is not touched: a changed record would break its chain.
    """
    instead = f"erased:{token_hex(4)}"
    with transaction.atomic():
        secrets = SecretValue.objects.filter(set_by=_actor(user))
        # Caches must read again, but what a test found still holds.
        Configuration.objects.filter(pk__in=secrets.values("configuration")).update(
            revision=F("revision") + 1, tested_revision=F("tested_revision") + 1
        )
        secrets.update(set_by=instead)
        for kind in _LOGINS:
            kind.objects.filter(username=user.username).delete()
        for session in _sessions(user):
            session.delete()
        _history(user).delete()
        user.delete()
    return instead


def forget_old(days: int) -> int:
    """Forget logins from before so many days and sessions that have ended; return how many."""
    limit = now() - timedelta(days=days)
    old = [kind.objects.filter(attempt_time__lt=limit) for kind in _LOGINS]
    return sum(
        found.delete()[0]
        for found in (*old, Session.objects.filter(expire_date__lt=now()))
    )


def _actor(user: User) -> str:
    return f"web:{user.username}"


def _sessions(user: User) -> list[Session]:
    ours = str(user.pk)
    found = Session.objects.iterator()
    return [
        session
        for session in found
        if session.get_decoded().get("_auth_user_id") == ours
    ]


def _history(user: User) -> QuerySet[LogEntry]:
    """Return what Django's admin noted: by the person, and about the account."""
    about = Q(
        content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
    )
    return LogEntry.objects.filter(about | Q(user=user))


def records_about(user: User, rows: AuditRows) -> Iterator[dict[str, object]]:
    """Yield the records of what the person did, and of what was done to the account."""
    for row in rows.read():
        if _BY_A_PAGE not in row.body and _ABOUT_A_USER not in row.body:
            continue
        facts = facts_of(row.body)
        if facts.get("actor") == _actor(user) or facts.get("key") == key_of(user):
            yield facts
