"""Roles that somebody makes for themselves: each permission holds on its own."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.auth.models import Permission, User
from django.test import Client
from outkey.core.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.manage import apply
from outkey.hosts.django.models import Configuration, SyncLine
from outkey.hosts.django.pages.installed import desk_for, installation
from outkey.spar import Spar

BACKEND = "django.contrib.auth.backends.ModelBackend"
here = installation()


def person(name, *permissions):
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend=BACKEND)
    return client


def form(name, **changed):
    stored = here.registry.get(name)
    values = {path: str(value) for path, value in stored.values().items() if value}
    values["version"] = str(stored.version)
    for number, row in enumerate(stored.headers):
        values |= {f"row-key-{number}": row.key, f"row-value-{number}": row.value}
        if row.secret:
            values[f"row-secret-{number}"] = "on"
    return values | {"active": "on"} | changed


spar = Spar().__enter__()
boss = User.objects.create_superuser("boss")
desk = desk_for(boss)
apply(desk, here.gateway.sender, parse_document(f'''
[configuration.inner]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
headers = [{{ key = "X-API-Key" }}]
verification = {{ test_path = "/bearer" }}
'''), dry_run=False)
for field in ("token", "header:X-API-Key"):
    desk.set_secret("inner", field, Secret("spar-token"))
place = f"/outkey/configuration/{Configuration.objects.get().pk}/"
editor = person("editor", "view_configuration", "add_configuration", "change_configuration",
                "test_configuration")
admin = Client(SERVER_NAME="127.0.0.1")
admin.force_login(boss, backend=BACKEND)

# The internal network is not widened, not even to another address of a configuration in it.
refused = editor.post(place, form("inner", base_url=spar.elsewhere))
assert refused.status_code == 422, refused.status_code
spar.clear()
tested = editor.post(place + "test/", form("inner", base_url=spar.elsewhere))
assert b"internal network" in b"".join(tested)
assert spar.journal == []

# Secrets are not taken away or put in by a row that is not called secret.
plain = form("inner", **{"row-value-0": "mine"})
del plain["row-secret-0"]
assert editor.post(place, plain).status_code == 422
other = form("inner", **{"row-key-1": "Authorization", "row-value-1": "Bearer evil"})
assert editor.post(place, other | {"authentication_type": "none"}).status_code == 422
assert editor.post(place, form("inner", notes="fine")).status_code == 302

# A form without the version it was made from changes nothing, whatever is in its place.
for version in ("", "x", "-1", "9" * 5000, "1"):
    answer = admin.post(place, form("inner", version=version, notes="lost"))
    assert answer.status_code == 422, (version[:5], answer.status_code)
assert here.registry.get("inner").notes == "fine"

# All or nothing: a secret that cannot be used leaves the rest as it was.
bad = form("inner", notes="half", **{"secret:token": "****"})
assert admin.post(place, bad).status_code == 422
assert here.registry.get("inner").notes == "fine"

# A draft is tried under a name of its own, and never under somebody else's.
taken = admin.post("/outkey/configuration/test/", form("inner") | {"name": "inner"})
assert b"already" in b"".join(taken)
b"".join(admin.post(place + "test/", form("inner", **{"verification.test_path": "/echo"})))
assert here.audit_rows.newest(1)[0]["configuration"] == "inner (draft)"

# Tests that wait for slow servers leave threads for everybody else.
from outkey.hosts.django.pages.configurations import _running
for _ in range(12):
    assert _running.acquire(blocking=False)
busy = admin.post(place + "test/", form("inner"))
assert b"many tests are running" in b"".join(busy)
for _ in range(12):
    _running.release()
for _ in range(15):
    assert b"inner works." in b"".join(admin.post(place + "test/", form("inner")))

# The list's filter shows exactly those whose status it is.
from datetime import date, timedelta
today = date.today()
samples = {
    "f-working": {"tested_revision": 1},
    "f-failing": {"tested_revision": 1, "cause": "timeout"},
    "f-never_tested": {},
    "f-expired": {"tested_revision": 1, "cause": "tls", "expires_on": today - timedelta(days=3)},
    "f-expiring_soon": {"tested_revision": 1, "expires_on": today + timedelta(days=3)},
    "f-needs_secret": {"needs_secret": True, "tested_revision": 1, "cause": "tls"},
}
for name, columns in samples.items():
    Configuration.objects.create(name=name, base_url="https://a.example", **columns)
for name in samples:
    status = name.removeprefix("f-")
    listed = admin.get(f"/outkey/configuration/?q=f-&status={status}").content.decode()
    assert [other for other in samples if f">{other}<" in listed] == [name], name
assert all(f">{name}<" in admin.get("/outkey/configuration/?q=f-").content.decode()
           for name in samples)
Configuration.objects.filter(name__startswith="f-").delete()
assert admin.get("/outkey/auditrecord/?before=" + "9" * 5000).status_code == 200

# Sync lines: adding is not changing.
lines = person("liner", "view_syncline", "add_syncline")
line = {"name": "nightly", "configuration": "inner", "method": "GET", "path": "/"}
assert lines.post("/outkey/syncline/add/", line).status_code == 302
assert lines.post("/outkey/syncline/add/", line | {"method": "DELETE"}).status_code == 422
assert SyncLine.objects.get().method == "GET"

# A spoilt record spoils no page.
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("UPDATE outkey_auditrecord SET body = '{\\"at\\":\\"x\\"}'")
assert admin.get("/outkey/auditrecord/").status_code == 200

# Sealed: everything is said on a page, nothing is a failure of the server.
here.keys.source.file.unlink()
here.keys._ring = here.audit._opened = None
for path in (place + "delete/", "/outkey/syncline/add/", "/outkey/auditrecord/export/"):
    answer = admin.post(path, line | {"name": "another"})
    assert answer.status_code == 503, (path, answer.status_code)
for path in (place, "/outkey/configuration/", "/outkey/auditrecord/", "/outkey/syncline/"):
    assert b"Sealed." in admin.get(path).content, path
spar.close()
print("everything holds")
"""


def test_each_permission_holds_on_its_own_and_nothing_is_half_done(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "everything holds\n", done.stderr[-3000:]
