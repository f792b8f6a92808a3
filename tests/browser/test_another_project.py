"""A Django project that exists already gets the pages by adding the app."""

import subprocess
import sys
from pathlib import Path

PROJECT = """
import sys
from pathlib import Path
import django
from django.conf import settings
from django.contrib import admin
from django.urls import path

home = Path(sys.argv[1])
for part in ("data", "config"):
    (home / part).mkdir(parents=True)
settings.configure(
    SECRET_KEY="of the project",
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ] + ["outkey.hosts.django"],
    OUTKEY={"HOME": home},
    STATIC_URL="static/",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": home / "project.db"}},
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]},
    }],
)
django.setup()
urlpatterns = [path("backoffice/", admin.site.urls)]

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

call_command("migrate", verbosity=0)
assert set(Group.objects.values_list("name", flat=True)) == {
    "Administrator", "Operator", "Auditor"
}
client = Client()
client.force_login(User.objects.create_superuser("boss"))
place = "/backoffice/outkey/configuration/"
assert "API Sync Configurations" in client.get("/backoffice/").content.decode()
assert client.get(place + "add/").status_code == 200
saved = client.post(place + "add/", {
    "name": "acme",
    "base_url": "https://api.acme.example",
    "environment": "production",
    "network": "public",
    "active": "on",
    "authentication_type": "bearer",
    "token_source": "entered",
    "secret:token": "a-token",
    "tls.minimum_version": "1.2",
    "limits.connect_timeout": "5",
    "limits.read_timeout": "15",
    "limits.total_timeout": "60",
    "limits.response_mebibytes": "32",
    "limits.retries": "2",
    "verification.test_path": "/",
    "verification.test_method": "GET",
    "verification.accepted_statuses": "200-299",
})
assert saved.status_code == 302, saved.content.decode()
page = client.get(saved["Location"]).content.decode()
assert "by web:boss" in page
assert "a-token" not in page
for where in ("", "home/"):
    assert "acme" in client.get(place + where).content.decode()
for name in ("auditrecord", "knownkey", "syncline"):
    assert client.get(f"/backoffice/outkey/{name}/").status_code == 200

assert client.post(place + "add/", {"base_url": "https://a.example"}).status_code == 422
for refused in (client.get(place + "?q=a%00b"), client.post(place + "add/", {"notes": "a\\x00"})):
    assert (refused.status_code, b"NUL" in refused.content) == (422, True)

import outkey.hosts.django.pages.access as installed
assert installed.installation().gateway.preview("acme").headers[-1].value == "Bearer ***"
print("everything works")
"""


def test_adding_the_app_is_enough(tmp_path: Path) -> None:
    (tmp_path / "project.py").write_text(PROJECT)
    done = subprocess.run(
        [sys.executable, "project.py", tmp_path / "home"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "everything works\n", done.stderr
