"""Prints the note about a hold on the overview, in English and in German."""

import re

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import User
from django.test import Client

NOTE = r'<div class="ok-note ok-warning".*?</div>'
client = Client(SERVER_NAME="127.0.0.1")
boss = User.objects.create_superuser("boss")
client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
for language in ("en", "de"):
    page = client.get("/", follow=True, headers={"Accept-Language": language})
    assert page.status_code == 200, page.status_code
    for note in re.findall(NOTE, page.text, re.DOTALL):
        print(" ".join(re.sub("<[^>]*>", " ", note).split()))
