"""Sign in to the pages as a user, with a password from standard input."""

import sys

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.test import Client

name = sys.argv[1]
password = sys.stdin.read()
response = Client().post(
    "/login/?next=/",
    {"username": name, "password": password},
    headers={"host": "127.0.0.1"},
)
print(response.status_code)
