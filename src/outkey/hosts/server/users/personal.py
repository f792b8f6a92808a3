"""Personal data of the users: report it, erase it, and delete it when it is old."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from secrets import token_hex

from axes.models import (  # type: ignore[import-untyped]  # axes has no types
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
)
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.timezone import now

from outkey.administration.engine.access.api_tokens import ApiTokens
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import iso_or_none, record_iso
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import Delivery, SecretValue, UserSettings
from outkey.hosts.django.pages.access import web_actor
from outkey.hosts.server.users.user_changes import key_of
from outkey.sending.core.audit.chain import facts_of
from outkey.sending.core.audit.events import Tag
from outkey.sending.ports.storage import AuditRows
from outkey.sync.engine.line_registry import Registry

_LOGINS = (AccessAttempt, AccessFailureLog, AccessLog)
# Parts of a record's JSON: only records that have one of them need to be parsed.
_BY_A_USER = f'"actor":"{web_actor("")}'.encode()
_ABOUT_A_USER = b'"key":"user '
_ACCOUNT = ("username", "first_name", "last_name", "email", "date_joined", "last_login")


def user_named(name: str) -> User:
    """Return the user of that name, or raise ConfigError."""
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist:
        raise ConfigError(
            Text("there is no user with that name"), field="USER"
        ) from None


def data_about(user: User, rows: AuditRows, tokens: ApiTokens) -> dict[str, object]:
    """Return everything that is stored about a user."""
    secrets = SecretValue.objects.filter(set_by=web_actor(user.username))
    return {
        "account": (
            {name: getattr(user, name) for name in _ACCOUNT}
            | {"groups": sorted(group.name for group in user.groups.all())}
        ),
        "settings": list(
            UserSettings.objects.filter(user=str(user.pk)).values("time_zone")
        ),
        "sessions": [{"ends_at": session.expire_date} for session in sessions_of(user)],
        "logins": [
            row
            for model in _LOGINS
            for row in model.objects.filter(username=user.username).values()
        ],
        "history": list(history_of(user).values("action_time", "action_flag")),
        "secrets": [
            row | {"set_at": iso_or_none(row["set_at"])}
            for row in secrets.values(
                "configuration__name", "field", "version", "set_at"
            )
        ],
        "test_deliveries": [
            {"received_at": iso_or_none(received_at)}
            for received_at in Delivery.objects.filter(
                tested_by=web_actor(user.username)
            ).values_list("received_at", flat=True)
        ],
        "api_tokens": [
            {"name": token.name, "created_at": iso_or_none(token.created_at)}
            for token in tokens.all()
            if token.created_by == web_actor(user.username)
        ],
        "audit": list(_records_about(user, rows)),
    }


def refuse_last_administrator(user: User) -> None:
    """Raise ConfigError if no other active administrator would be left."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        hint = Text("Make another user an administrator first.")
        raise ConfigError(
            Text("this is the only administrator"), hint=hint, field="USER"
        )


def erase(user: User, registry: Registry, tokens: ApiTokens) -> str:
    """Delete a user and their data; return the name that replaces theirs.

    It is beside secrets that they have set, API tokens that they have created and test
    deliveries that they have sent.

    The audit is not changed: a changed record would break its chain.
    """
    replacement = f"erased:{token_hex(4)}"
    with transaction.atomic():
        actor = web_actor(user.username)
        registry.rename_setter(actor, replacement)
        tokens.rename_creator(actor, replacement)
        Delivery.objects.filter(tested_by=actor).update(tested_by=replacement)
        for model in _LOGINS:
            model.objects.filter(username=user.username).delete()
        for session in sessions_of(user):
            session.delete()
        history_of(user).delete()
        user.delete()
    return replacement


def delete_old(days: int) -> int:
    """Delete logins older than this and expired sessions; return the number of rows."""
    limit = now() - timedelta(days=days)
    count = 0
    for model in _LOGINS:
        deleted, _ = model.objects.filter(attempt_time__lt=limit).delete()
        count += deleted
    deleted, _ = Session.objects.filter(expire_date__lt=now()).delete()
    return count + deleted


def sessions_of(user: User) -> list[Session]:
    """Return a user's sessions; only their decoded content has the user's id."""
    return [
        session
        for session in Session.objects.iterator()
        if session.get_decoded().get("_auth_user_id") == str(user.pk)
    ]


def history_of(user: User) -> QuerySet[LogEntry]:
    """Return the entries of Django's admin log by a user and about their account."""
    about = Q(
        content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
    )
    return LogEntry.objects.filter(about | Q(user=user))


def _records_about(user: User, rows: AuditRows) -> Iterator[dict[str, object]]:
    """Yield the audit records of a user's actions and of changes to their account."""
    for row in rows.read():
        if _BY_A_USER not in row.body and _ABOUT_A_USER not in row.body:
            continue
        facts = facts_of(row.body)
        if facts.get("actor") == web_actor(user.username) or _is_about(user, facts):
            yield facts | {"at": record_iso(facts)}


def _is_about(user: User, facts: Mapping[str, object]) -> bool:
    """Whether an audit record is about a user's account.

    Earlier versions recorded exports with the account's id instead of its name.
    """
    key = facts.get("key")
    if facts.get("tag") == Tag.PERSON_EXPORTED:
        return key in {key_of(user), f"user {user.pk}"}
    return key == key_of(user)
