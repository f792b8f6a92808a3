"""The facts that the production check list is about, of the embedded home."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from django.db import connection

from outkey.administration.core.access.token_owners import TokenOwner
from outkey.administration.core.operating.checklist import ProductionFacts
from outkey.administration.engine.application import Application
from outkey.hosts.django.production import project_facts
from outkey.hosts.django.rows.raw_sql import execute, wrap_database_errors
from outkey.hosts.server.location import has_demo

USERS = "auth_user"  # Django's table
PERMISSIONS = """
SELECT u.username, p.codename FROM auth_user u
JOIN auth_user_user_permissions l ON l.user_id = u.id
JOIN auth_permission p ON p.id = l.permission_id
JOIN django_content_type c ON c.id = p.content_type_id WHERE c.app_label = 'outkey'
UNION
SELECT u.username, p.codename FROM auth_user u
JOIN auth_user_groups g ON g.user_id = u.id
JOIN auth_group_permissions l ON l.group_id = g.group_id
JOIN auth_permission p ON p.id = l.permission_id
JOIN django_content_type c ON c.id = p.content_type_id WHERE c.app_label = 'outkey'
"""


def embedded_facts(
    application: Application | None, home: Path, environment: Mapping[str, str]
) -> ProductionFacts:
    """Return the facts about an embedded home and the environment of its server."""
    facts = replace(
        project_facts(application, home),
        public_url=environment.get("OUTKEY_PUBLIC_URL", ""),
        proxies=environment.get("OUTKEY_PROXIES", ""),
        is_demo=has_demo(home),
        notices=bool(
            environment.get("OUTKEY_NOTICE_EMAIL")
            or environment.get("OUTKEY_NOTICE_WEBHOOK")
        ),
        is_backed_up_here=application is not None,
    )
    if application is None:
        return facts
    return replace(facts, administrators=_count_administrators())


@wrap_database_errors
def token_owners() -> dict[str, TokenOwner]:
    """Return all users of the pages, by name, with their permissions."""
    if not _has_users():
        return {}
    permissions: dict[str, set[str]] = {}
    for name, permission in execute(PERMISSIONS, ()).fetchall():
        permissions.setdefault(name, set()).add(permission)
    users = execute(f"SELECT username, is_active, is_superuser FROM {USERS}", ())  # noqa: S608
    return {
        name: TokenOwner(
            is_active=bool(is_active),
            permissions=None if is_superuser else frozenset(permissions.get(name, ())),
        )
        for name, is_active, is_superuser in users.fetchall()
    }


def _has_users() -> bool:
    """Whether there are tables of users.

    Commands do not load their models, and the first server creates the tables.
    """
    return USERS in connection.introspection.table_names()


@wrap_database_errors
def _count_administrators() -> int:
    """Return how many administrators can sign in."""
    if not _has_users():
        return 0
    query = f"SELECT count(*) FROM {USERS} WHERE is_superuser AND is_active"  # noqa: S608
    (count,) = execute(query, ()).fetchone()
    return int(count)
