"""A reader of the database has the rows of sessions, and cannot sign in with them."""

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

BACKEND = "django.contrib.auth.backends.ModelBackend"
PAGE = "/outkey/configuration/"


def main() -> None:
    administrator = Client(SERVER_NAME="127.0.0.1")
    administrator.force_login(User.objects.create_superuser("boss"), backend=BACKEND)
    assert administrator.get(PAGE).status_code == 200
    (row,) = Session.objects.all()
    own_key = administrator.cookies[settings.SESSION_COOKIE_NAME].value
    assert row.session_key != own_key
    reader = Client(SERVER_NAME="127.0.0.1")
    reader.cookies[settings.SESSION_COOKIE_NAME] = row.session_key
    assert reader.get(PAGE).status_code == 302, "the sign-in page"
    assert administrator.get(PAGE).status_code == 200
    administrator.logout()
    assert not Session.objects.filter(session_key=row.session_key).exists()
    again = Client(SERVER_NAME="127.0.0.1")
    again.cookies[settings.SESSION_COOKIE_NAME] = own_key
    assert again.get(PAGE).status_code == 302


main()
