"""The pages on a production server, with a first administrator and, if asked for, a demo."""

import secrets
import sys

from django.contrib.auth.models import Group, User
from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication

from outkey.hosts.django.crew import Crew
from outkey.hosts.django.pages.installed import installation
from outkey.hosts.django.runs import has_queue
from outkey.hosts.server.background import Background
from outkey.hosts.server.personal import forget_old

_THREADS = 32


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn, told what to do by us and by nobody's file or variable."""

    def __init__(self, options: dict[str, object]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Set our options."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> object:
        """Return what answers."""
        return get_wsgi_application()


def first_administrator() -> str | None:
    """Make an administrator if there is nobody, and return the password, which is kept nowhere."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    admin = User.objects.create_superuser("admin", password=password)
    admin.groups.add(Group.objects.get(name="Administrator"))
    return password


def announce(address: str, password: str | None) -> None:
    """Say where the pages are and, once, how to get in."""
    lines = [f"outkey serves at {address}"]
    if password is not None:
        lines += ["user      admin", f"password  {password}", "It is shown this once; change it."]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def serve(host: str, port: int) -> None:
    """Serve until told to stop."""
    here = installation()
    # What is wrong with its settings is told at once.
    background = Background(here, forget_people=forget_old)
    # On PostgreSQL the runs are for `outkey worker`, on as many machines as need be.
    crews = [] if has_queue() else [Crew(here)]
    helpers: list[Background | Crew] = [background, *crews]
    shown = f"[{host}]" if ":" in host else host
    server = _Server(
        {
            "bind": f"{shown}:{port}",
            "worker_class": "gthread",
            "workers": 1,
            "threads": _THREADS,
            "timeout": 120,  # a test may wait as long as its configuration allows
            "graceful_timeout": 10,
            "accesslog": None,  # paths hold names, and nothing else is worth keeping
            "loglevel": "warning",
            "control_socket_disable": True,
            # In the worker: a thread of its parent would not be there after the fork.
            "post_worker_init": lambda _worker: [helper.start() for helper in helpers],
            "worker_exit": lambda _server, _worker: [helper.end() for helper in helpers],
        }
    )
    with here.listeners.hold(host, port):  # so that no process of this home sends to the pages
        server.run()
