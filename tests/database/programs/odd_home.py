"""A home with rows in every table of outkey: those named good, and those named odd.

Tests spoil the odd ones. Everything that is good must go on to work.
"""

import json
import logging
import os
import time
from contextlib import suppress

from outkey.hosts.server.home import PAGES, prepare

HOME = prepare(PAGES, demo=True)

from axes.models import (  # type: ignore[import-untyped]
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
)
from django.conf import settings
from django.contrib.auth.models import User

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django import models
from outkey.hosts.django.rows.tokens import DjangoTokenRows
from outkey.hosts.django.wiring import install
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.vault.envelope import Envelope, TokenRow
from outkey.spar import Spar

settings.AXES_ENABLED = False
logging.disable(logging.CRITICAL)
os.environ["HOOK"] = "hook-secret"
GOOD, ODD = "good", "odd"
PASSWORD = "correct horse battery"
DOCUMENT = """
[configuration.{name}]
base_url = "{url}"
network = "internal"
environment = "test"
authentication_type = "bearer"
token_expires_on = 2099-01-31
headers = [{{ key = "X-Tenant", value = "7" }}, {{ key = "X-Key" }}]
[configuration.{name}.limits]
requests_per_minute = 6000
retries = 0
[line.{name}]
configuration = "{name}"
direction = "pull"
path = "/records/contacts"
query = {{ count = "3" }}
records = "items"
target = "table:{name}"
keys = ["id"]
schedule = "0 0 1 1 *"
fields = [{{ api = "id", host = "id" }}, {{ api = "full_name", host = "name" }}]
[line.{name}-pull]
configuration = "{name}"
direction = "pull"
path = "/records/stored"
records = "items"
target = "table:{name}_two"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}, {{ api = "name", host = "name" }}]
[line.{name}-push]
configuration = "{name}"
direction = "push"
target = "table:{name}_two"
remote_id = "data.id"
create = {{ method = "POST", path = "/records/stored" }}
update = {{ method = "PATCH", path = "/records/stored/{{remote_id}}" }}
fields = [{{ host = "name", api = "name" }}]
[pair.{name}]
pull = "{name}-pull"
push = "{name}-push"
[webhook.{name}]
scheme = "hmac"
signature_header = "X-Sig"
line = "{name}"
secret = "env:HOOK"
[database.{name}]
url = "env:WAREHOUSE"
adopt = ["orders"]
"""


def make_rows(name: str) -> None:
    """Fill every table for a name."""
    administration = application.administration("tester")
    document = parse_document(DOCUMENT.format(name=name, url=api.url))
    application.apply(administration, document, dry_run=False)
    for field in ("token", "header:X-Key"):
        administration.set_secret(name, field, Secret("spar-token"))
    application.gateway.send(name, "GET", "/bearer")
    administration.test(application.sender, name)
    runner = application.sync.runner()
    for line in (name, f"{name}-pull", f"{name}-push"):
        with suppress(OutkeyError):
            list(runner.run(line, "tester"))
    make_tokens(name)
    make_states(name)
    make_sync_rows(name)


def make_tokens(name: str) -> None:
    """Add a token of an API, which no key opens."""
    configuration = application.registry.get(name)
    facts = TokenState(obtained_at=time.time(), lifetime=3600.0).facts()
    sealed = Envelope(b"k" * 8, b"n" * 12, b"w" * 48, b"n" * 12, b"c" * 80).pack()
    DjangoTokenRows().swap(configuration, 0, TokenRow(1, 1, "", sealed, facts))


def create_token(name: str) -> str:
    """Create an API token and return it."""
    wish = TokenWish(name=name, scopes=frozenset(Scope))
    administration = application.administration("tester")
    return application.api_tokens.create(administration, wish).text


def make_states(name: str) -> None:
    """Add shared states of the kinds that only time or faults would make."""
    states = application.states
    now = time.time()
    values: dict[StateKind, dict[str, object]] = {
        StateKind.BASELINE: {"origins": ["https://a"], "hours": [[1, 2]], "refused": 0},
        StateKind.HOOK_REFUSALS: {
            "total": {"no_secret": 2},
            "minute": int(now // 60) - 5,
            "at": now,
            "recent": {"no_secret": 1},
            "hours": {str(int(now // 3600)): {"no_secret": 2}},
            "explained": {"no_secret": ['{"text": "a"}', '{"text": "b"}']},
        },
        StateKind.LEASE: {"holder": "x", "until": now - 5},
        StateKind.MARK: {"at": now - 5},
        StateKind.NOTICE: {
            "kind": "S-volume",
            "configuration": name,
            "about": "",
            "opened_at": now,
        },
        StateKind.PROCESS: {"host": "h", "keys": [], "seen_at": now - 5000},
        StateKind.RATE_LIMIT: {"drained_at": now, "quiet_until": 0.0},
        StateKind.RUN_PAUSE: {"until": now - 5},
        StateKind.WORKER: {"at": now},
    }
    for kind, value in values.items():
        states.put(kind, {name: value})
    states.put(StateKind.PAUSED_LINE, {f"{ODD}-push": {"at": now}})
    webhook = application.webhooks.stored()[name]
    states.put(
        StateKind.HOOK_ACTIVITY,
        {webhook.endpoint: {"last_at": now, "count": 5, "gaps": [[20000, 70.0]]}},
    )


def make_sync_rows(name: str) -> None:
    """Add deliveries, rejected records, marks, entries and a conflict."""
    webhook = application.webhooks.stored()[name]
    now = time.time()
    for state in ("received", "failed", "processed"):
        models.Delivery.objects.create(
            endpoint=webhook.endpoint,
            key=f"{name}-{state}",
            received_at=now - 900,
            due_at=now,
            state=state,
            body=b"1" * 60,
        )
    line = models.SyncLine.objects.get(name=name)
    push = models.SyncLine.objects.get(name=f"{name}-push")
    run = models.Run.objects.filter(line=line).latest("pk")
    models.Quarantine.objects.create(
        run=run, number=1, key="1", field="id", reason="too_long", excerpt="x"
    )
    models.SyncMark.objects.get_or_create(
        line=line, target="demo.contact", record="77", defaults={"run": run.pk}
    )
    models.Ledger.objects.get_or_create(line=push, record="77")
    models.LineParent.objects.get_or_create(
        line=line, key="77", defaults={"checkpoint": "{}"}
    )
    models.Agreement.objects.get_or_create(
        line=push,
        record="77",
        defaults={
            "key": "77",
            "api": json.dumps({"name": "a"}),
            "host": json.dumps({"name": "b"}),
            "conflict": json.dumps([{"name": "c"}, {"name": "d"}, None]),
        },
    )


api = Spar().start()
application = install(HOME)
boss = User.objects.create_superuser("boss", password=PASSWORD)
models.UserSettings.objects.create(user=str(boss.pk))
attempt = {"username": ODD, "ip_address": "192.0.2.1", "user_agent": "x"}
AccessAttempt.objects.create(failures_since_start=1, **attempt)
AccessFailureLog.objects.create(**attempt)
AccessLog.objects.create(**attempt)
for name in (GOOD, ODD):
    make_rows(name)
TOKEN = create_token(GOOD)
create_token(ODD)
application.audit.close()
