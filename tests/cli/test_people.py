"""What is kept about people: seen on the pages, handed out to them, and erased for them."""

import json
import subprocess
import sys

from cli.conftest import Terminal

# An administrator makes Alice, who logs in twice, once in vain, and enters a secret.
LIVED = """
import json, os, time
from datetime import timedelta
from pathlib import Path
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils.timezone import now
from outkey.core.audit.events import Tag
from outkey.core.config.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.managing.changes import apply
from outkey.hosts.django.models import Configuration, SecretValue
from outkey.hosts.django.pages.access import desk_for, installation
boss = User.objects.create_superuser("boss", password="a long password")
alice = User.objects.create_superuser("alice", "alice@corp.example", password="a long password")
LogEntry.objects.create(user=boss, action_flag=CHANGE, object_id=str(alice.pk),
    content_type=ContentType.objects.get_for_model(User), object_repr="alice")
desk, here = desk_for(alice), installation()
desk_for(boss).note(Tag.USER_UPDATED, "", "email", key="user alice")
desk_for(boss).note(Tag.USER_UPDATED, "", "email", key="user alice2")
text = '[configuration.{}]\\nbase_url = "http://127.0.0.1:9"\\nnetwork = "internal"\\n'
text += 'authentication_type = "bearer"\\n'
document = parse_document("".join(map(text.format, "abcdefg")))
here.apply(desk, document, dry_run=False)
desk.set_secret("a", "token", Secret("x"))
SecretValue.objects.update(set_at=time.time() - 400 * 86400)
Configuration.objects.filter(name="a").update(active=False, tested_revision=7)
clients = [Client(SERVER_NAME="127.0.0.1"), Client(SERVER_NAME="127.0.0.1")]
for client, name in zip(clients, ("boss", "alice")):
    client.post("/login/", {"username": name, "password": "wrong"})
    client.post("/login/?next=/", {"username": name, "password": "a long password"})
Session.objects.create(session_key="old", session_data="", expire_date=now() - timedelta(days=1))
home = clients[0].get("/outkey/configuration/home/").content.decode()
policy = Path(os.environ["OUTKEY_HOME"], "config", "policy.toml")
policy.write_text("nonsense = 1")
broken = clients[0].get("/outkey/configuration/home/").content.decode()
policy.unlink()
protection = clients[0].get("/outkey/auditrecord/people/")
nobody = User.objects.create_user("nobody", password="a long password", is_staff=True)
stranger = Client(SERVER_NAME="127.0.0.1")
stranger.force_login(nobody)
refused = stranger.get("/outkey/auditrecord/people/").status_code
nobody.delete()
print(json.dumps([home, broken, protection.status_code, protection.content.decode(), refused]))
"""


def test_a_person_gets_all_that_is_kept_about_them_and_is_then_forgotten(
    outkey: Terminal,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIVED],
        env=outkey.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    home, broken, status, protection, refused = json.loads(done.stdout.splitlines()[-1])
    assert "Requests are sent unencrypted" in home
    assert "and 2 more" in home
    assert "A secret is older than the policy allows" in home
    assert "The policy has an unknown key" in broken
    assert (status, refused) == (200, 403)
    assert "400 days" in protection

    about = outkey("people", "export", "alice").json
    assert about["account"]["email"] == "alice@corp.example"
    assert len(about["sessions"]) == 1
    assert {login["username"] for login in about["logins"]} == {"alice"}
    assert [entry["action_flag"] for entry in about["history"]] == [2]
    (secret,) = about["secrets"]
    assert (secret["configuration__name"], secret["field"]) == ("a", "token")
    assert {record["actor"] for record in about["audit"]} == {"web:alice", "web:boss"}
    assert [r["key"] for r in about["audit"] if r["actor"] == "web:boss"] == [
        "user alice"
    ]
    assert {"api:secret:set", "people:session:began"} <= {
        r["tag"] for r in about["audit"]
    }

    assert outkey("people", "erase", "alice").code == 2  # nobody can be asked
    erased = outkey("people", "erase", "alice", "--yes")
    assert erased.code == 0
    assert "erased:" in erased.out
    assert outkey("people", "export", "alice").code == 2
    # the only administrator
    assert outkey("people", "erase", "boss", "--yes").code == 2
    assert outkey("people", "prune").out == "removed: 1\n"
    left = json.loads(
        subprocess.check_output([sys.executable, "-c", LEFT], env=outkey.environment)
    )
    assert left["alice"] == []
    assert left["set_by"][0].startswith("erased:")
    assert left["tested"] == 8  # as often as the revision, so that the test still holds
    assert left["audit"][0] == "people:account:erased"


LEFT = """
import json, sqlite3, os
database = sqlite3.connect(os.environ["OUTKEY_HOME"] + "/data/outkey.sqlite3")
tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
found = [
    table for table in tables if table != "outkey_auditrecord"
    and any("alice" in str(row) for row in database.execute(f"SELECT * FROM {table}"))
]
def one(statement): return [row[0] for row in database.execute(statement)]
bodies = [json.loads(body) for body in one("SELECT body FROM outkey_auditrecord ORDER BY id DESC")]
print(json.dumps({
    "alice": found,
    "set_by": one("SELECT set_by FROM outkey_secretvalue WHERE field != 'voucher'"),
    "tested": one("SELECT tested_revision FROM outkey_configuration WHERE name = 'a'")[0],
    "audit": [body["tag"] for body in bodies],
}))
"""
