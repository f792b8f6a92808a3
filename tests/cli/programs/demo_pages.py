"""Prints what the first administrator sees of the demo on the pages.

With the argument --demo the home gets the models of the demo.
"""

import sys

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES, demo="--demo" in sys.argv)

from django.contrib.auth.models import User
from django.test import Client

client = Client(SERVER_NAME="127.0.0.1")
boss = User.objects.create_superuser("boss")
client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
home = client.get("/", follow=True)
print(home.status_code, b"Contacts (demo)" in home.content)
print(client.get("/demo/contact/").status_code)
