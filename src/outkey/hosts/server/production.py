"""The facts that the production check list is about, of the embedded home."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from django.db import connection

from outkey.core.operating.checklist import ProductionFacts
from outkey.engine.application import Application
from outkey.hosts.django.production import project_facts
from outkey.hosts.django.raw_sql import execute, wrap_database_errors
from outkey.hosts.server.location import has_demo

USERS = "auth_user"  # Django's table


def embedded_facts(
    application: Application | None, home: Path, environment: Mapping[str, str]
) -> ProductionFacts:
    """Return what is known of an embedded home and the environment of its server."""
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
    return replace(facts, administrators=count_administrators())


@wrap_database_errors
def count_administrators() -> int:
    """Return how many administrators can sign in.

    Commands do not load the models of users, whose tables the first server creates.
    """
    if USERS not in connection.introspection.table_names():
        return 0
    query = f"SELECT count(*) FROM {USERS} WHERE is_superuser AND is_active"  # noqa: S608
    (count,) = execute(query, ()).fetchone()
    return int(count)
