"""The pages on a production server, with a first administrator and, if asked for, a demo."""

import secrets
import sys

from django.contrib.auth.models import Group, User
from django.core.wsgi import get_wsgi_application

from outkey.core.audit.events import Tag
from outkey.core.errors import ConfigError
from outkey.hosts.django.local_workers import LocalWorkers
from outkey.hosts.django.pages.access import installation
from outkey.hosts.django.runs import has_queue
from outkey.hosts.server.background import ACTOR, Background
from outkey.hosts.server.listener import Server
from outkey.hosts.server.personal import forget_old


def first_administrator() -> str | None:
    """Make an administrator if there is nobody, and return the password, which is kept nowhere."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    installation().administration(ACTOR).note(
        Tag.USER_CREATED, "", "is_superuser", key="user admin"
    )
    admin = User.objects.create_superuser("admin", password=password)
    admin.groups.add(Group.objects.get(name="Administrator"))
    return password


def announce(address: str, password: str | None) -> None:
    """Say where the pages are and, once, how to get in."""
    lines = [f"outkey serves at {address}"]
    if password is not None:
        lines += [
            "user      admin",
            f"password  {password}",
            "It is shown this once; change it.",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def serve(host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    here = installation()
    # What is wrong with its settings is told at once.
    background = Background(here, forget_people=forget_old)
    # On PostgreSQL the runs are for `outkey worker`, on as many machines as need be.
    crews = [] if has_queue() else [LocalWorkers(here)]
    helpers: list[Background | LocalWorkers] = [background, *crews]
    server = _listen(host, port)
    for helper in helpers:
        helper.start()
    try:
        with here.listeners.hold(
            host, port
        ):  # so that no process of this home sends to the pages
            server.run()
    finally:
        for helper in helpers:
            helper.end()


def _listen(host: str, port: int) -> Server:
    try:
        return Server(get_wsgi_application(), host, port)
    except (OSError, ValueError):
        hint = (
            "Choose another address with --host or --port; see which program uses this"
            " one."
        )
        raise ConfigError(
            "the server cannot listen on this address", hint=hint
        ) from None
