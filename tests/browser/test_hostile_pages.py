"""Texts that are made to stop the pages: refused, while other people's requests are answered."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource, threading, time
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES, demo=True)
from django.contrib.auth.models import User
from django.test import Client
from outkey.core.config.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.managing.changes import apply
from outkey.hosts.django.pages.access import desk_for, installation

BACKEND = "django.contrib.auth.backends.ModelBackend"
BODIES = {
    "/small": b'[{"id": "1", "name": "Ada"}]',
    "/flood": b"[" + b"{}," * 11_000_000 + b"{}]",
}


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        body = BODIES[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # whoever asked does not want the rest
            self.close_connection = True

    def log_message(self, *_):
        pass


api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=api.serve_forever, daemon=True).start()
boss = User.objects.create_superuser("boss")
desk = desk_for(boss)
installation().apply(desk, parse_document(f'''
[configuration.shop]
base_url = "http://127.0.0.1:{api.server_port}"
network = "internal"
authentication_type = "bearer"
'''), dry_run=False)
desk.set_secret("shop", "token", Secret("a-token"))


def client():
    made = Client(SERVER_NAME="127.0.0.1")
    made.force_login(boss, backend=BACKEND)
    return made


LINE = '''
direction = "pull"
target = "demo.contact"
keys = ["external_id"]
records = "{records}"
fields = [{{ api = "id", host = "external_id" }}, {{ api = "{name}", host = "name" }}]
'''


def posted(path="/small", records="@", name="name", toml="", **more):
    sync = toml or LINE.format(records=records, name=name)
    values = {"name": "new", "configuration": "shop", "method": "GET", "path": path, "sync": sync}
    return client().post("/outkey/syncline/add/", values | more)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def beside(hostile, times=1):
    # Answer what is hostile in threads, and somebody else meanwhile. Return the hostile answers,
    # how long the other one had to wait at most, and the memory at the peak.
    answers, waits, sizes = [], [], []
    threads = [threading.Thread(target=lambda: answers.append(hostile())) for _ in range(times)]
    other = client()
    other.get("/outkey/syncline/")
    for thread in threads:
        thread.start()
    while True:
        alive = any(thread.is_alive() for thread in threads)
        began = time.monotonic()
        assert other.get("/outkey/syncline/").status_code == 200
        waits.append(time.monotonic() - began)
        sizes.append(resident())
        if not alive:
            return answers, max(waits), max(sizes)


# A usual one first, so that everything is loaded.
(usual,), _, _ = beside(lambda: posted(sample="1"))
assert usual.status_code == 200, usual.content[-3000:]
assert b"Ada" in usual.content
normal = resident()

bomb = "@" + "|[@,@]" * 22 + "|to_string(@)"
cases = {
    "a value that doubles in a record": (lambda: posted(name=bomb, sample="1"), 200),
    "a value that doubles on the page": (lambda: posted(records=bomb, sample="1"), 422),
    "a key of many parts": (lambda: posted(toml="a." * 8_000 + "a = 1"), 422),
    "a long text": (lambda: posted(toml="#" * 200_000), 422),
}
for case, (hostile, status) in cases.items():
    began = time.monotonic()
    (refused,), wait, size = beside(hostile)
    took = time.monotonic() - began
    assert refused.status_code == status, (case, refused.status_code)
    assert wait < 1 and took < 10 and size - normal < 50, (case, wait, took, size - normal)

# Four large responses at a time.
floods, wait, size = beside(lambda: posted("/flood", sample="1"), times=4)
assert [flood.status_code for flood in floods] == [422] * 4
assert all(b"4 MiB that a preview reads" in flood.content for flood in floods)
assert wait < 1 and size - normal < 200, (wait, size - normal)

# One more than may preview at a time is asked to wait.
from outkey.hosts.django.pages.lines import running_samples as _previews
for _ in range(4):
    assert _previews.acquire(blocking=False)
assert b"any tests are running" in posted(sample="1").content
for _ in range(4):
    _previews.release()
assert posted(sample="1").status_code == 200
print("all held")
"""


def test_hostile_texts_hold_up_nobody_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "OUTKEY_HOME": str(tmp_path),
        },
    )
    assert done.stdout == "all held\n", done.stderr[-3000:]
