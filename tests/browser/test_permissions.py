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
from outkey.core.config.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.managing.changes import apply
from outkey.hosts.django.models import Configuration, SyncLine
from outkey.hosts.django.pages.access import desk_for, installation
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
here.apply(desk, parse_document(f'''
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
assert b"Many tests are running" in b"".join(busy)
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

# Tokens: each thing that is done to one has its permission, and who lacks it sends nothing.
from urllib.parse import parse_qs, urlsplit
here.apply(desk, parse_document(f'''
[configuration.consent]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.consent.oauth2]
grant = "authorization_code"
issuer = "{spar.issuer}"
authorization_url = "{spar.url}/oauth/authorize?auto=1"
token_url = "{spar.url}/oauth/token"
revocation_url = "{spar.url}/oauth/revoke"
client_id = "spar-client"
'''), dry_run=False)
desk.set_secret("consent", "client_secret", Secret("spar-client-secret"))
consent = f"/outkey/configuration/{Configuration.objects.get(name='consent').pk}/"
token = consent + "token/"
callback, discover = consent + "callback/", "/outkey/configuration/discover/"
everything = ["view_configuration", "add_configuration", "change_configuration", "set_secret",
              "test_configuration", "use_internal_network"]


def lacking(name):
    return person("lacks " + name, *(one for one in everything if one != name))


def begun(client):
    # What the provider is asked for, and where the browser comes back.
    assert client.post(token + "connect/").status_code == 200
    away = client.get(token + "leave/")
    assert away.status_code == 302, away.status_code
    asked = dict(parse_qs(urlsplit(away["Location"]).query))
    return {name: values[0] for name, values in asked.items()}


def code_for(asked):
    return spar.authorization.approve(
        asked["client_id"], asked["redirect_uri"], asked["code_challenge"], "orders:read"
    )


spar.clear()
setless, testless, inless = map(lacking, ("set_secret", "test_configuration",
                                          "use_internal_network"))
for action in ("connect", "revoke", "forget"):
    assert setless.post(f"{token}{action}/").status_code == 403, action
assert setless.get(token + "leave/").status_code == 403
assert setless.get(callback + "?state=x&code=y").status_code == 403
assert testless.post(token + "renew/").status_code == 403
# Where codes and secrets go, and how they prove who we are, is not for everybody to change.
for moved in ({"oauth2.token_url": spar.elsewhere + "/oauth/token", "oauth2.revocation_url": ""},
              {"oauth2.authorization_url": spar.elsewhere + "/oauth/authorize"},
              {"oauth2.client_auth": "basic"}):
    assert setless.post(consent, form("consent", **moved)).status_code == 422, moved
reader = person("reader", "view_configuration", "set_secret", "test_configuration")
assert reader.post(discover, {"oauth2.issuer": spar.issuer}).status_code == 403
asked = {"oauth2.issuer": spar.issuer, "network": "internal"}
assert inless.post(discover, asked).status_code == 403
assert inless.post(discover, asked | {"network": "public"}).status_code == 422
for action in ("connect", "renew", "revoke", "forget"):
    assert admin.get(f"{token}{action}/").status_code == 405, action
assert admin.get(discover).status_code == 405
for refused in (admin.post(callback), admin.head(callback), admin.put(callback)):
    assert refused.status_code == 405
assert spar.journal == []
found = admin.post(discover, asked).json()
assert found["fields"]["oauth2.token_url"] == spar.url + "/oauth/token", found
assert admin.post(discover, {"oauth2.issuer": "nonsense"}).status_code == 422

# Whoever is not logged in any more is led to the login without the code.
stranger = Client(SERVER_NAME="127.0.0.1")
led = stranger.get(callback + "?state=x&code=precious")
assert led.status_code == 302, led.status_code
assert "precious" not in led["Location"]

# A consent comes back to the session that began it, once, in time, and to the same settings.
spar.clear()
one = begun(admin)
assert one["redirect_uri"] == "http://127.0.0.1" + callback
back = {"state": one["state"], "iss": spar.issuer, "code": code_for(one)}
for client, answer in (
    (testless, back),
    (admin, {"code": back["code"]}),
    (admin, back | {"state": "another"}),
    (admin, back | {"state": [one["state"], one["state"]]}),
    (admin, {}),
):
    page = client.get(callback, answer)
    assert page.status_code == 422, page.status_code
    assert page["Referrer-Policy"] == "no-referrer"
    assert back["code"].encode() not in page.content
    assert one["state"].encode() not in page.content
assert spar.journal == []
done = admin.get(callback, back)
assert (done.status_code, done["Location"]) == (302, consent + "#oauth2"), done.content
assert [arrival.path for arrival in spar.journal] == ["/oauth/token"]
sent = parse_qs(spar.journal[0].body.decode())
assert sent["code_verifier"][0] not in str(dict(admin.session.items()))
assert admin.get(callback, back).status_code == 422
assert here.token(here.registry.get("consent")).status().state == "fresh"
spar.clear()

again = begun(admin)
mixed = {"state": again["state"], "code": code_for(again), "iss": spar.elsewhere}
assert admin.get(callback, mixed).status_code == 422
assert admin.get(callback, mixed | {"iss": spar.issuer}).status_code == 422

for error, told in (("access_denied", "did not agree"), ("<b>x</b>", "refused")):
    denied = {"state": begun(admin)["state"], "error": error, "error_description": "<i>said</i>"}
    page = admin.get(callback, denied, follow=True).content.decode()
    assert told in page
    assert "<b>" not in page
    assert "said" not in page

late = begun(admin)
session = admin.session
waiting = session["outkey_consents"]
next(iter(waiting.values()))["began"] -= 601
session["outkey_consents"] = waiting
session.save()
page = admin.get(callback, {"state": late["state"], "code": code_for(late)})
assert (page.status_code, b"ten minutes" in page.content) == (422, True)

changed = begun(admin)
assert admin.post(consent, form("consent", notes="changed")).status_code == 302
page = admin.get(callback, {"state": changed["state"], "code": code_for(changed)})
assert (page.status_code, b"changed meanwhile" in page.content) == (422, True)

given = begun(admin)
session = admin.session
waiting = session["outkey_consents"]
next(iter(waiting.values()))["user"] = "0"
session["outkey_consents"] = waiting
session.save()
page = admin.get(callback, {"state": given["state"], "code": code_for(given)})
assert page.status_code == 422
assert spar.journal == []
for _ in range(9):
    begun(admin)
assert len(admin.session["outkey_consents"]) == 1

# Scripts: who may not write them changes everything else, and cannot switch them either.
import json
SCRIPT = '''
def compute_auth_header(sync_line):
    return {"X-Signed": sync_line.api_config_id.get_secret_key()[:3]}
'''
here.apply(desk, parse_document(f'''
[configuration.signs]
base_url = "{spar.url}"
network = "internal"
authentication_type = "none"
no_auth_reason = "internal"
script = {json.dumps(SCRIPT)}
'''), dry_run=False)
desk.set_secret("signs", "secret_key", Secret("precious key"))
signs = f"/outkey/configuration/{Configuration.objects.get(name='signs').pk}/"
writer = person("writer", *everything, "edit_script")
scriptless = person("scriptless", *everything)
script = here.registry.get("signs").script


def left(**changed):
    # As the page of somebody posts it who may not write scripts.
    values = form("signs", **changed)
    for name in ("script", "script_enabled"):
        if name not in changed:
            del values[name]
    return values


page = scriptless.get(signs).content.decode()
assert ' readonly>\\n\\ndef compute_auth_header' in page
assert 'name="script"' not in page
assert "data-run" not in page
assert scriptless.post(signs, left(notes="theirs")).status_code == 302
kept = here.registry.get("signs")
assert (kept.notes, kept.script, kept.script_enabled) == ("theirs", script, True)
page = scriptless.post(signs, left(base_url="nonsense"))
assert (page.status_code, b"\\ndef compute_auth_header" in page.content) == (422, True)
spar.clear()
evil = script.replace("[:3]", "")
for forged in ({"script": evil}, {"script": ""}, {"script_enabled": ""}):
    page = scriptless.post(signs, left(**forged))
    assert (page.status_code, b"not write scripts" in page.content) == (422, True), forged
    for panel in ("test/", "preview/"):
        told = scriptless.post(signs + panel, left(**forged)).content
        assert b"not write scripts" in told, forged
fresh = left(script=evil, version="") | {"name": "another"}
assert scriptless.post("/outkey/configuration/add/", fresh).status_code == 422
assert here.registry.get("signs").script == script
assert spar.journal == []
for client in (scriptless, editor, person("untested", "view_configuration",
                                          "change_configuration", "edit_script")):
    assert client.post(signs + "script/", form("signs")).status_code == 403
assert writer.get(signs + "script/").status_code == 405
checking = Client(SERVER_NAME="127.0.0.1", enforce_csrf_checks=True)
checking.force_login(boss, backend=BACKEND)
assert checking.post(signs + "script/", form("signs")).status_code == 403

# Run shows names and lengths of what is on the page, and uses no secret elsewhere.
told = writer.post(signs + "script/", form("signs")).content.decode()
assert "<code>X-Signed</code></td><td>3<" in told, told
told = writer.post(signs + "script/", form("signs", script=evil)).content.decode()
assert "<td>12<" in told, told
assert "precious" not in told
moved = form("signs", base_url=spar.elsewhere)
told = writer.post(signs + "script/", moved).content.decode()
assert "ok-error" in told, told
typed = moved | {"secret:secret_key": "another key"}
assert "<td>3<" in writer.post(signs + "script/", typed).content.decode()
cleared = form("signs", **{"clear:secret_key": "on"})
assert "ok-error" in writer.post(signs + "script/", cleared).content.decode()
for _ in range(12):
    assert _running.acquire(blocking=False)
assert b"Many tests are running" in writer.post(signs + "script/", form("signs")).content
page = writer.post(signs, form("signs", script=evil))
assert (page.status_code, b"many tests are running" in page.content) == (422, True)
for _ in range(12):
    _running.release()
assert writer.post(signs, form("signs", script=evil.replace("\\n", "\\r\\n"))).status_code == 302
assert here.registry.get("signs").script == evil
assert spar.journal == []

# Behind a proxy the operator says where the browser comes back to.
from django.conf import settings
settings.OUTKEY["PUBLIC_URL"] = "https://erp.example/"
assert begun(admin)["redirect_uri"] == "https://erp.example" + callback
assert "https://erp.example" + callback in admin.get(consent).content.decode()
settings.OUTKEY["PUBLIC_URL"] = ""

# What fails is told in words.
spar.authorization.revoke_family()
page = admin.post(token + "renew/", follow=True).content.decode()
assert "The provider wants a person to allow the access" in page
assert ">reauthorization needed<" in page
assert "#oauth2" in admin.get("/outkey/configuration/home/").content.decode()
# Who may only look has no button that does anything.
page = person("looker", "view_configuration").get(consent).content.decode()
assert "token/" not in page

# A script that came into the database without the key gets no secret, whoever asks.
import time
SPYING = "def compute_auth_header(line):\\n return {'X-Spy': line.api_config_id.get_secret_key()}"
row = Configuration.objects.get(name="inner")
kept = dict(row.settings)
row.settings |= {"script": SPYING, "script_enabled": True}
row.revision += 1
row.save()
time.sleep(0.2)
spar.clear()
looker = person("spy", "view_configuration", "change_configuration", "test_configuration")
for who, path in ((looker, "test/"), (looker, "preview/"), (admin, "test/"), (admin, "preview/")):
    for changed in ({}, {"notes": "another"}):
        answer = who.post(place + path, form("inner", script=SPYING, script_enabled="on") | changed)
        shown = b"".join(answer) if answer.streaming else answer.content
        assert b"not as it was saved" in shown, (path, changed, shown[-300:])
assert spar.journal == []
row.settings = kept
row.revision += 1
row.save()
time.sleep(0.2)

# A preview that runs another script needs the permission to test, and is recorded.
scribe = person("scribe", "view_configuration", "change_configuration", "edit_script")
quiet = form("inner", script="def compute_auth_header(line):\\n return {}", script_enabled="on")
assert scribe.post(place + "preview/", quiet).status_code == 403
assert admin.post(place + "preview/", quiet).status_code == 200
assert here.audit_rows.newest(1)[0]["key"].startswith("script ")

# A fix is signed, for one state of one configuration, and needs what the change itself needs.
import re
desk.set_secret("inner", "token", Secret("wrong"))
here.apply(desk, parse_document(
    '[configuration.inner]\\nverification = { test_path = "/basic" }'), dry_run=False)
shown = b"".join(admin.post(place + "test/", form("inner"))).decode()
proposal = re.search('name="fix" value="([^"]+)"', shown)[1]
assert "wrong-scheme" in shown and "<ins>basic</ins>" in shown, shown[-800:]
assert editor.post(place + "fix/", {"fix": proposal}).status_code == 403
assert here.registry.get("inner").authentication_type == "bearer"
for bad in ("", "nonsense", proposal[:-2] + "xx"):
    assert b"too old" in admin.post(place + "fix/", {"fix": bad}, follow=True).content
done = admin.post(place + "fix/", {"fix": proposal}, follow=True).content
assert b"Now test it again" in done
assert here.registry.get("inner").authentication_type == "basic"
again = admin.post(place + "fix/", {"fix": proposal}, follow=True).content
assert b"changed the configuration meanwhile" in again

# A pause is explained on the page, told once on the home page, and ended by who may test.
from django.db.models import F
from outkey.core.findings.monitoring import Notice, Condition
from outkey.core.shared_state import StateKind
desk.set_secret("inner", "password", Secret("wrong"))
for _ in range(5):
    here.registry.note_refused("inner", here.registry.get("inner").revision)
here.registry.pause("inner", 1_700_000_000.0)
tested = {"cause": "secret_missing", "tested_revision": F("revision"), "tested_at": 1.0}
Configuration.objects.filter(name="inner").update(**tested)
page = admin.get(place).content.decode()
assert "paused since 2023-11-14 22:13 UTC" in page and "5 times in a row" in page
assert place + "resume/" in page
assert place + "resume/" not in person("passer", "view_configuration").get(place).content.decode()
stranger = person("stranger", "view_configuration", "change_configuration")
assert stranger.post(place + "resume/").status_code == 403
assert admin.get(place + "resume/").status_code == 405
signs = Condition("S-paused", "inner"), Condition("S-new-origin", "inner", "https://new.example")
notices = {sign.key(): Notice(sign, 1.0).state() for sign in signs}
here.states.put(StateKind.NOTICE, notices)
home = admin.get("/outkey/configuration/home/").content.decode()
assert "again and again" not in home and home.count("Enter the right credentials") == 1
assert home.count("https://new.example") == 1
assert "secret missing" in home and "secret_missing" not in home
tester = person("tester", "view_configuration", "test_configuration")
assert b"inner sends again" in tester.post(place + "resume/", follow=True).content
assert not here.registry.get("inner").paused
assert here.audit_rows.newest(1)[0]["fields"] == ["paused_at"]
assert "failing" in admin.get(place).content.decode()
desk.set_secret("inner", "password", Secret("another"))
for path in (place, "/outkey/configuration/", "/outkey/configuration/home/"):
    page = admin.get(path).content.decode()
    assert "changed since the last test" in page and "secret missing" not in page, path

# Whoever may see nothing can at least log out.
nobody = person("nobody")
page = nobody.get("/", follow=True).content.decode()
assert "You may not see this" in page and 'href="/"' not in page
assert 'action="/logout/"' in page and nobody.post("/logout/").status_code == 200
assert "/login/" in nobody.get("/outkey/configuration/")["Location"]
assert 'href="/"' in tester.get("/outkey/auditrecord/").content.decode()

# The menu marks the page that is shown, and no other.
for path in ("auditrecord/people/", "auditrecord/", "configuration/home/", "configuration/"):
    page = admin.get(f"/outkey/{path}").content.decode()
    assert re.findall('href="([^"]+)" class="[^"]* active"', page) == [f"/outkey/{path}"]
assert b"by whom" in admin.get("/outkey/auditrecord/people/").content

# A login leads to the beginning; one that is locked says for how long.
User.objects.create_superuser("lou", password="a long password")
visitor = Client(SERVER_NAME="127.0.0.1")
told = visitor.post("/login/", {"username": "lou", "password": "a long password"})
assert told["Location"] == "/"
for _ in range(5):
    told = Client(SERVER_NAME="127.0.0.1").post("/login/", {"username": "x", "password": "x"})
assert told.status_code == 429 and b"15 minutes" in told.content and b"outkey.css" in told.content

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
spar.clear()
for action in ("connect", "renew", "revoke", "forget"):
    page = admin.post(f"{token}{action}/", follow=True).content.decode()
    assert "is missing, wrong or damaged" in page, action
assert "formaction" not in page
assert spar.journal == []
for path in (place, "/outkey/configuration/", "/outkey/auditrecord/", "/outkey/syncline/"):
    assert b"Sealed." in admin.get(path).content, path
spar.close()
print("everything holds")
"""


def test_each_permission_holds_on_its_own_and_nothing_is_half_done(
    tmp_path: Path,
) -> None:
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "everything holds\n", done.stderr[-3000:]
