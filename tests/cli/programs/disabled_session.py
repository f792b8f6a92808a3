"""Use a session before and after its user is disabled and enabled again."""

import subprocess
import sys

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import User
from django.test import Client

name, *command = sys.argv[1:]
client = Client(headers={"host": "127.0.0.1"})
client.force_login(
    User.objects.get(username=name), "django.contrib.auth.backends.ModelBackend"
)


def is_signed_in() -> bool:
    """Whether the pages lead elsewhere than to the sign-in."""
    return "/login/" not in client.get("/").headers["Location"]


print(is_signed_in())
subprocess.run([*command, "user", "disable", name], check=True, capture_output=True)
print(is_signed_in())
User.objects.filter(username=name).update(is_active=True)
print(is_signed_in())
