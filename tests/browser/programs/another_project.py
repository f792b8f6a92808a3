"""A Django project that adds the app, and then has everything on its own pages."""

import sys
from pathlib import Path

import django
from django.conf import settings

home = Path(sys.argv[1])
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
        "outkey.hosts.django",
    ],
    OUTKEY={"HOME": home},
    STATIC_URL="static/",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": home / "project.db",
        }
    },
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
django.setup()

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import path

from outkey.hosts.django.pages.access import installation

urlpatterns = [path("backoffice/", admin.site.urls)]
LIST = "/backoffice/outkey/configuration/"
ADD = LIST + "add/"
ACME = {
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
}


def the_groups_exist() -> None:
    names = set(Group.objects.values_list("name", flat=True))
    assert names == {"Administrator", "Operator", "Auditor"}


def a_configuration_can_be_added(client: Client) -> None:
    index = client.get("/backoffice/").content.decode()
    assert "API Sync Configurations" in index
    assert client.get(ADD).status_code == 200
    response = client.post(ADD, ACME)
    assert response.status_code == 302, response.content.decode()
    page = client.get(response["Location"]).content.decode()
    assert "by web:boss" in page
    assert "a-token" not in page
    preview = installation().gateway.preview("acme")
    assert preview.headers[-1].value == "Bearer ***"


def every_list_has_a_page(client: Client) -> None:
    for place in (LIST, LIST + "home/"):
        assert "acme" in client.get(place).content.decode()
    for name in ("auditrecord", "knownkey", "syncline"):
        assert client.get(f"/backoffice/outkey/{name}/").status_code == 200


def what_is_invalid_is_refused(client: Client) -> None:
    incomplete = client.post(ADD, {"base_url": "https://a.example"})
    assert incomplete.status_code == 422
    search = client.get(LIST + "?q=a%00b")
    notes = client.post(ADD, {"notes": "a\x00"})
    for response in (search, notes):
        assert response.status_code == 422
        assert b"NUL" in response.content


def main() -> None:
    for part in ("data", "config"):
        (home / part).mkdir(parents=True)
    call_command("migrate", verbosity=0)
    the_groups_exist()
    client = Client()
    client.force_login(User.objects.create_superuser("boss"))
    a_configuration_can_be_added(client)
    every_list_has_a_page(client)
    what_is_invalid_is_refused(client)


main()
