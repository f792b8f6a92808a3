"""Gives Alice a past: an account, changes, a secret, and sign-ins good and bad.

Prints what an administrator, and a user without rights, then see on the pages.
"""

import json
import os
import time
from datetime import timedelta
from pathlib import Path

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import F
from django.test import Client
from django.utils.timezone import now

from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.secret import Secret
from outkey.hosts.django.models import Configuration, Delivery, SecretValue
from outkey.hosts.django.pages.access import administration_for, installation
from outkey.sending.core.audit.events import Tag

PASSWORD = "a long password"
RECOMMENDATIONS = "/outkey/configuration/recommendations/"
PROTECTION = "/outkey/auditrecord/people/"
DAY = 86400
UNENCRYPTED = """
[configuration.{}]
base_url = "http://10.0.0.1:9"
network = "internal"
authentication_type = "bearer"
"""


def change_account(boss: User, alice: User) -> None:
    LogEntry.objects.create(
        user=boss,
        action_flag=CHANGE,
        object_id=str(alice.pk),
        content_type=ContentType.objects.get_for_model(User),
        object_repr="alice",
    )
    for key in ("user alice", "user alice2"):
        administration_for(boss).note(Tag.USER_UPDATED, "", "email", key=key)
    # As an earlier version recorded it.
    administration_for(boss).note(Tag.PERSON_EXPORTED, key=f"user {alice.pk}")


def configure(alice: User) -> None:
    """Save seven configurations, and a secret of one that is older than it may be."""
    administration = administration_for(alice)
    document = parse_document("".join(map(UNENCRYPTED.format, "abcdefg")))
    installation().apply(administration, document, dry_run=False)
    administration.set_secret("a", "token", Secret("x"))
    Delivery.objects.create(
        endpoint="e" * 22,
        key="sample",
        received_at=time.time(),
        due_at=time.time(),
        state="processed",
        tested_by=administration.actor,
        body=b"",
    )
    SecretValue.objects.update(set_at=time.time() - 400 * DAY)
    Configuration.objects.filter(name="a").update(
        active=False, tested_revision=F("revision")
    )


def sign_in(name: str) -> Client:
    """Return a client that has signed in at its second attempt."""
    client = Client(SERVER_NAME="127.0.0.1")
    client.post("/login/", {"username": name, "password": "wrong"})
    client.post("/login/?next=/", {"username": name, "password": PASSWORD})
    return client


def page_with_invalid_policy(client: Client) -> str:
    policy = Path(os.environ["OUTKEY_HOME"], "config", "policy.toml")
    policy.write_text("nonsense = 1")
    page = client.get(RECOMMENDATIONS).content.decode()
    policy.unlink()
    return page


def status_without_rights() -> int:
    """Return the status of the page about data protection for a user without rights."""
    user = User.objects.create_user("nobody", password=PASSWORD, is_staff=True)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    status = client.get(PROTECTION).status_code
    user.delete()
    return status


def main() -> None:
    boss = User.objects.create_superuser("boss", password=PASSWORD)
    alice = User.objects.create_superuser(
        "alice", "alice@corp.example", password=PASSWORD
    )
    change_account(boss, alice)
    configure(alice)
    client = sign_in("boss")
    sign_in("alice")
    yesterday = now() - timedelta(days=1)
    Session.objects.create(session_key="old", session_data="", expire_date=yesterday)
    recommendations = client.get(RECOMMENDATIONS).content.decode()
    invalid_policy = page_with_invalid_policy(client)
    protection = client.get(PROTECTION)
    facts = {
        "recommendations": recommendations,
        "invalid_policy": invalid_policy,
        "protection_status": protection.status_code,
        "protection": protection.content.decode(),
        "status_without_rights": status_without_rights(),
    }
    print(json.dumps(facts))


main()
