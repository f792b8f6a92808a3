"""Users who change and test configurations, but enter no secrets: no way of theirs moves one.

Real servers on loopback stand for the API, the provider and an attacker, and write down what
arrives. The program runs in a process of its own, since it sets up Django.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import json, os, random, re, ssl, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.auth.models import Permission, User
from django.test import Client
from outkey.core.config.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.managing.changes import apply
from outkey.hosts.django.models import Configuration
from outkey.hosts.django.pages.access import desk_for, installation

here = installation()
boss = User.objects.create_superuser("boss")
desk = desk_for(boss)


class Server:
    # Writes down what arrives; grants a token at /token, and else responds as it is told.
    def __init__(self, respond=None, context=None):
        self.arrived = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length).decode()
                headers = dict(self.headers.items())
                outer.arrived.append((self.path, headers, body))
                status, text = 200, "{}"
                if self.path == "/token":
                    text = json.dumps({"access_token": "granted-canary", "token_type": "Bearer"})
                elif respond is not None:
                    status, text = respond(headers)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        scheme = "https" if context is not None else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"

    def saw(self, text):
        return any(text in json.dumps(arrival) for arrival in self.arrived)


def person(name, *permissions):
    user = User.objects.create_user(name, is_staff=True)
    found = Permission.objects.filter(codename__in=permissions)
    assert len(found) == len(permissions)
    user.user_permissions.set(found)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def form(name, **changed):
    stored = here.registry.get(name)
    values = {path: str(value) for path, value in stored.values().items() if value}
    values.pop("oauth2.extra", None)
    values["version"] = str(stored.version)
    for number, row in enumerate(stored.headers):
        values |= {f"row-key-{number}": row.key, f"row-value-{number}": row.value}
        if row.secret:
            values[f"row-secret-{number}"] = "on"
    values |= {"active": "on"} | changed
    return {path: value for path, value in values.items() if value is not None}


def keep(document, name, **secrets):
    here.apply(desk, parse_document(document), dry_run=False)
    for field, text in secrets.items():
        desk.set_secret(name, field.replace("row_", "header:"), Secret(text))
    return f"/outkey/configuration/{Configuration.objects.get(name=name).pk}/"


def text_of(response):
    return (b"".join(response) if response.streaming else response.content).decode()


EDITOR = ("view_configuration", "add_configuration", "change_configuration", "test_configuration",
          "view_syncline", "change_syncline", "run_syncline")
editor = person("editor", *EDITOR)
# All servers of this test are in the internal network, which an editor may not use; this one
# may, to have the same way to an attacker's server as an editor has on the public internet.
connected = person("connected", *EDITOR, "use_internal_network")
admin = Client(SERVER_NAME="127.0.0.1")
admin.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
"""

TWO_SAVES = """
provider, attacker = Server(), Server()

# A secret that only signs is not sent itself, whatever is saved in between.
place = keep(f'''
[configuration.signing]
base_url = "{provider.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.signing.oauth2]
token_url = "{provider.url}/token"
client_id = "client"
client_auth = "client_secret_jwt"
''', "signing", client_secret="client-secret-canary-that-only-signs")
for away in ({"token_source": "entered"}, {"authentication_type": "none"}):
    for user in (editor, connected):
        user.post(place, form("signing", **away, **{"oauth2.client_auth": "body"}))
        user.post(place, form("signing", authentication_type="bearer", token_source="oauth2"))
        text_of(user.post(place + "test/", form("signing")))
        user.post(place + "token/renew/")
        assert provider.arrived, "the configuration must still work"
        assert not provider.saw("client-secret-canary"), away
assert here.registry.get("signing").oauth2.client_auth == "client_secret_jwt"

# The code of a user who agrees goes to the stored Token URL, or nowhere.
place = keep(f'''
[configuration.consent]
base_url = "{provider.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.consent.oauth2]
grant = "authorization_code"
token_url = "{provider.url}/token"
authorization_url = "{provider.url}/authorize"
client_id = "client"
''', "consent")
for away in ({"token_source": "entered"}, {"authentication_type": "none"}):
    connected.post(place, form("consent", **away, **{"oauth2.token_url": attacker.url + "/token"}))
    connected.post(place, form("consent", authentication_type="bearer", token_source="oauth2"))
    connected.post(place, form("consent", **away, base_url=attacker.url))
    connected.post(place, form("consent", authentication_type="bearer", token_source="oauth2"))
    provider.arrived.clear()
    assert admin.post(place + "token/connect/").status_code == 200
    asked = parse_qs(urlsplit(admin.get(place + "token/leave/")["Location"]).query)
    admin.get(place + "callback/", {"state": asked["state"][0], "code": "code-canary"})
    text_of(admin.post(place + "test/", form("consent")))
    assert attacker.arrived == [], away
    assert provider.saw("code-canary") and provider.saw("granted-canary")
print("everything holds")
"""

MARKER = """
def echo(headers):
    return 403, json.dumps({"message": "refused", "sent": headers.get("Authorization", "")})


api = Server(echo)
place = keep(f'''
[configuration.echoing]
base_url = "{api.url}"
network = "internal"
authentication_type = "bearer"
''', "echoing", token="secret-token-canary")


def verdict(user, marker):
    changed = {"verification.expired_marker": marker}
    saved = user.post(place, form("echoing", **changed)).status_code
    shown = text_of(user.post(place + "test/", form("echoing", **changed)))
    return saved, re.sub("[0-9]+ ms", "", shown).replace(marker, "")


right, wrong = verdict(editor, "secret-t"), verdict(editor, "secret-x")
assert right == wrong, "a test tells a user what a secret begins with"
assert right[0] == 422 and "where secrets go" in right[1]
assert here.registry.get("echoing").verification.expired_marker == ""
assert api.arrived == []
# Who may set secrets may set the marker, and still learns nothing of this one.
right, wrong = verdict(admin, "secret-t"), verdict(admin, "secret-x")
assert right == wrong and right[0] == 302
assert api.saw("secret-token-canary")
# A marker that is no part of a secret does what it is for, where nothing is echoed.
quiet = Server(lambda headers: (403, json.dumps({"code": "EXPIRED"})))
place = keep(f'''
[configuration.quiet]
base_url = "{quiet.url}"
network = "internal"
authentication_type = "bearer"
verification = {{ expired_marker = "EXPIRED" }}
''', "quiet", token="secret-token-canary")
assert "Expired marker" in text_of(admin.post(place + "test/", form("quiet")))
print("everything holds")
"""

TRUST = """
import trustme
folder = os.environ["OUTKEY_HOME"]
stored_ca, attacker_ca = trustme.CA(), trustme.CA()
for name, ca in (("stored", stored_ca), ("attacker", attacker_ca)):
    ca.cert_pem.write_to_path(f"{folder}/{name}.pem")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
attacker_ca.issue_cert("127.0.0.1").configure_cert(context)
attacker = Server(context=context)  # somebody between us and the API
place = keep(f'''
[configuration.trusting]
base_url = "{attacker.url}"
network = "internal"
authentication_type = "bearer"
tls = {{ ca_file = "{folder}/stored.pem" }}
''', "trusting", token="secret-token-canary")
other = {"tls.ca_file": f"{folder}/attacker.pem"}

# An editor can neither test nor save other trust.
shown = text_of(editor.post(place + "test/", form("trusting", **other)))
assert attacker.arrived == [], "a draft sent the stored token"
assert "where secrets go" in shown, shown[-500:]
assert "where secrets go" in text_of(editor.post(place + "preview/", form("trusting", **other)))
for changed in (other, {"tls.minimum_version": "1.3"}, {"oauth2.dpop": "on"},
                {"oauth2.token_header": "X-Logged"}, {"oauth2.issuer": attacker.url},
                {"tls.client_certificate": f"{folder}/attacker.pem"}):
    page = editor.post(place, form("trusting", **changed))
    assert (page.status_code, "where secrets go" in text_of(page)) == (422, True), changed
assert editor.post(place, form("trusting", notes="theirs")).status_code == 302

# Who may set secrets tests other trust with a secret that is entered for it.
shown = text_of(admin.post(place + "test/", form("trusting", **other)))
assert "aved secrets are not used with TLS settings that are not saved" in shown, shown[-800:]
assert attacker.arrived == []
typed = form("trusting", **other, **{"secret:token": "another-token-canary"})
text_of(admin.post(place + "test/", typed))
assert attacker.saw("another-token-canary") and not attacker.saw("secret-token-canary")
attacker.arrived.clear()
german = admin.post(place + "test/", form("trusting", **other), headers={"accept-language": "de"})
assert "ungespeicherten TLS-Einstellungen" in text_of(german)
assert admin.post(place, form("trusting", **other)).status_code == 302
text_of(admin.post(place + "test/", form("trusting")))
assert attacker.saw("secret-token-canary")
print("everything holds")
"""

SEQUENCES = """
# Any four saves, then a test by the administrator: what arrives is what arrived before them.
api, attacker = Server(), Server()
DOCUMENT = f'''
[configuration.NAME]
base_url = "{api.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
username = "user"
headers = [{{ key = "X-API-Key" }}]
[configuration.NAME.oauth2]
token_url = "{api.url}/token"
client_id = "client"
client_auth = "basic"
'''
SECRETS = {"token": "entered-canary", "password": "password-canary",
           "client_secret": "client-secret-canary", "row_X-API-Key": "row-canary"}
POOL = [
    ("authentication_type", "none"), ("authentication_type", "basic"),
    ("authentication_type", "bearer"), ("token_source", "entered"), ("token_source", "oauth2"),
    ("base_url", attacker.url), ("base_url", api.url), ("base_url", api.url + "/path"),
    ("oauth2.token_url", attacker.url + "/token"), ("oauth2.client_auth", "body"),
    ("oauth2.client_auth", "basic_raw"), ("oauth2.token_header", "X-Logged"),
    ("oauth2.body_format", "json"), ("oauth2.client_id", "another"), ("username", "another"),
    ("row-key-0", "X-Logged"), ("row-secret-0", None), ("row-gone-0", "on"),
    ("no_auth_reason", "internal"), ("notes", "changed"), ("limits.retries", "1"),
    ("verification.test_path", "/me"), ("oauth2.scope", "all"),
]


def uses(server):
    # Header and value, or the body, of whatever carries something that proves who we are.
    found = set()
    for path, headers, body in server.arrived:
        for name, value in headers.items():
            if name in {"Authorization", "X-Logged", "X-API-Key"}:
                found.add((name, value))
        if path == "/token":
            found.add((path, body))
    return found


def tested(name):
    api.arrived.clear()
    text_of(admin.post(f"/outkey/configuration/{Configuration.objects.get(name=name).pk}/test/",
                       form(name)))
    return uses(api)


saves = 0
for seed in range(12):
    chance, name = random.Random(seed), f"sequence-{seed}"
    place = keep(DOCUMENT.replace("NAME", name), name, **SECRETS)
    expected = tested(name)
    assert len(expected) == 4, expected
    done = []
    for _ in range(4):
        changed = dict(chance.sample(POOL, chance.randint(1, 2)))
        saved = connected.post(place, form(name, **changed)).status_code == 302
        saves += saved
        done.append((changed, saved))
        text_of(connected.post(place + "test/", form(name, **changed)))
        assert uses(api) <= expected, (seed, done)
    assert tested(name) <= expected, (seed, done)
    assert attacker.arrived == [] or not any(
        attacker.saw(text) for text in (*SECRETS.values(), "granted-canary")), (seed, done)
assert saves > 5, saves  # an editor still gets work done

# Nothing of a deleted configuration comes back with one of the same name.
remover = person("remover", *EDITOR, "use_internal_network", "delete_configuration")
posted = form(name, base_url=attacker.url, **{"oauth2.token_url": attacker.url + "/token"})
assert remover.post(place + "delete/").status_code == 302
posted = {path: value for path, value in posted.items() if path != "version"} | {"name": name}
assert remover.post("/outkey/configuration/add/", posted).status_code == 302
assert here.registry.get(name).secrets == {}
place = f"/outkey/configuration/{Configuration.objects.get(name=name).pk}/"
text_of(remover.post(place + "test/", form(name)))
assert not any(attacker.saw(text) for text in (*SECRETS.values(), "granted-canary"))
print("everything holds")
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(TWO_SAVES, id="two saves"),
        pytest.param(MARKER, id="expired marker"),
        pytest.param(TRUST, id="TLS trust"),
        pytest.param(SEQUENCES, id="random sequences"),
    ],
)
def test_an_editor_moves_no_secret(program: str, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "everything holds\n", done.stderr[-3000:]
