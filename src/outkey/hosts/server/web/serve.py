"""The pages on a production server: its socket, first administrator and greeting."""

import ctypes
import os
import resource
import secrets
import sys
from contextlib import suppress

from django.contrib.auth.models import Group, User
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from outkey.administration.core.access.api_tokens import Scope, token_of_header
from outkey.administration.core.operating.checklist import (
    LEAST_DESCRIPTORS as RECOMMENDED_DESCRIPTORS,
)
from outkey.foundation.core.errors import ConfigError, OutkeyError, Sealed
from outkey.foundation.core.text import Text
from outkey.hosts.django.installed import installation
from outkey.hosts.django.rows.runs import has_queue
from outkey.hosts.django.time_zones import installation_zone, read_zone
from outkey.hosts.django.web.hooks import WebhookGate
from outkey.hosts.django.workers.local_workers import LocalWorkers
from outkey.hosts.server.background import ACTOR, Background
from outkey.hosts.server.sign_ins import SignInRounds
from outkey.hosts.server.users.personal import delete_old
from outkey.hosts.server.users.user_changes import key_of
from outkey.hosts.server.web.listener import LEAST_DESCRIPTORS, Server
from outkey.hosts.server.web.middleware import ClientAddress, CountedAddress
from outkey.hosts.webhook_ports import body_limit, read_mebibytes
from outkey.sending.adapters.transport.listeners_file import reachable, web_url
from outkey.sending.core.audit.events import Tag

SENT_LIMIT = "OUTKEY_SEND_MEBIBYTES"
READ_ABOVE_LIMIT = 1024 * 1024  # bytes
Helper = Background | LocalWorkers | SignInRounds


def listen(host: str, port: int) -> Server:
    """Return a server that listens, and serves when it is run."""
    _ensure_descriptors()
    # A body that is a little too large is read, so that its sender gets the response
    # of the endpoint instead of a closed connection.
    max_body = body_limit() + READ_ABOVE_LIMIT
    max_sent = read_mebibytes(os.environ, SENT_LIMIT, low=32, high=1024)
    try:
        application = WebhookGate(get_wsgi_application(), ClientAddress())
        server = Server(
            application,
            host,
            port,
            max_body=max_body,
            max_sent=max_sent,
            refusal_of=refusal_of,
        )
    except (OSError, ValueError):
        raise ConfigError(
            Text(
                "the server cannot listen on {host}, port {port}", host=host, port=port
            ),
            hint=Text(
                "Choose another port with --port or another IP address with --host, or"
                " stop the program that uses this port."
            ),
        ) from None
    server.count_sign_ins_by(CountedAddress())
    return server


def refusal_of(header: str) -> OutkeyError | None:
    """Return why the token in an Authorization header may not send; None if it may."""
    application = installation()
    now = application.clock.monotonic()
    close_old_connections()  # as Django does before and after a request
    try:
        token = application.api_tokens.authenticate(token_of_header(header), now)
        token.demand(Scope.SEND)
    except OutkeyError as error:
        return error
    finally:
        close_old_connections()
    return None


def _ensure_descriptors() -> None:
    """Let the process open as many connections as the server takes, or raise."""
    current, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if current == unlimited or current >= RECOMMENDED_DESCRIPTORS:
        return
    wanted = RECOMMENDED_DESCRIPTORS
    allowed = wanted if most == unlimited else min(most, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    if allowed < LEAST_DESCRIPTORS:
        raise ConfigError(
            Text(
                "the process may open {count} files and connections, and needs {least}",
                count=allowed,
                least=LEAST_DESCRIPTORS,
            ),
            hint=Text(
                "Raise the limit: LimitNOFILE of the systemd unit, or"
                " ulimit -n {wanted} in the shell that starts it.",
                wanted=wanted,
            ),
        )


def first_administrator() -> str | None:
    """Create an administrator if there are no users, and return the password."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    admin = User(username="admin", is_staff=True, is_superuser=True)
    # Without the right key there is no record. The pages open all the same: who brings
    # the key back must be able to sign in.
    with suppress(Sealed, ConfigError):
        installation().administration(ACTOR).note(
            Tag.USER_CREATED, "", "is_superuser", key=key_of(admin)
        )
    admin.set_password(password)
    admin.save()
    admin.groups.add(Group.objects.get(name="Administrator"))
    return password


def greeting(server: Server, password: str | None) -> str:
    """Return the text for the terminal: the URL and, the first time, how to sign in."""
    url = _url_of_pages(server)
    lines = ["outkey is running. Press Ctrl-C to stop it.", "", f"  URL       {url}"]
    if url != server.url:
        lines.append(f"  Listens   {server.host}, port {server.port}")
    if password is not None:
        lines += [
            "  User      admin",
            f"  Password  {password}",
            "",
            "The password is shown only this once. Change it after you sign in.",
        ]
    return "\n".join(["", *lines, ""])


def _url_of_pages(server: Server) -> str:
    """Return the URL under which the pages respond: other host names are refused."""
    public_url = installation().public_url
    return public_url or web_url(reachable(server.host), server.port)


def warn_about_second_server() -> None:
    """Print that another server of this home runs, where one is enough."""
    urls = installation().listeners.urls()
    if urls and not has_queue():
        sys.stderr.write(
            f"warning: another server of this home is running: {', '.join(urls)}. On"
            " SQLite one server does all the work; for several, use PostgreSQL.\n"
        )


def helpers() -> list[Helper]:
    """Return the threads that work beside the pages; wrong settings raise here."""
    application = installation()
    if installation_zone():
        read_zone(installation_zone(), field="OUTKEY_TIME_ZONE")
    threads: list[Helper] = [
        Background(application, delete_older_than=delete_old),
        SignInRounds(),
    ]
    # The queue of PostgreSQL is for `outkey worker`, on any number of machines.
    return threads if has_queue() else [*threads, LocalWorkers(application)]


def serve(server: Server, threads: list[Helper]) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    give_large_blocks_back()
    server.stop_at_signals()
    for thread in threads:
        thread.start()
    try:
        # So that no process of this home sends requests to the pages.
        with installation().listeners.hold(server.host, server.port):
            server.run()
            # Runs are released while the last requests are being served.
            for thread in threads:
                thread.stop()
            server.finish()
    finally:
        for thread in threads:
            thread.end()


_M_MMAP_THRESHOLD = -3  # of the C library's malloc.h
_LARGE = 1024 * 1024


def give_large_blocks_back() -> None:
    """Let the C library return each large block when it is no longer used.

    Without this it keeps blocks of the size that it has once returned, in each thread:
    some bodies of 25 MiB leave a process with hundreds of MiB. Other C libraries do not
    have this setting.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
