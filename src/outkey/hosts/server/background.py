"""The background of `outkey serve`: a thread, and the notifiers of the environment."""

import logging
import os
import threading
from collections.abc import Callable, Mapping

from outkey.administration.adapters.notices_log import LoggedNotices
from outkey.administration.adapters.notices_webhook import WebhookNotices
from outkey.administration.engine.application import Application
from outkey.administration.ports.installation import Notifier
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Location, parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.foundation.engine.rounds import repeat
from outkey.foundation.ports.clock import Clock
from outkey.hosts.django.notices import MailedNotices
from outkey.hosts.django.workers.heartbeats import StreamWitness
from outkey.hosts.django.workers.unattended_work import log_and_continue
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.configuration import build

ACTOR = "outkey"
ROUND_SECONDS = 60.0
WEBHOOK_LIMITS = {
    "limits.read_timeout": 10,
    "limits.total_timeout": 15,
    "limits.response_mebibytes": 1,
}
logger = logging.getLogger("outkey.background")


class Background:
    """One round a minute while the server runs; a failure is logged and retried."""

    def __init__(
        self,
        application: Application,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        delete_older_than: Callable[[int], object] = lambda _days: None,
    ) -> None:
        application.policy()  # raises at once what is wrong with it
        self._witness = StreamWitness(application)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._work = application.background_work(
            application.administration(ACTOR),
            notifiers(application, environment),
            verify_hours=_whole_number(environment, "OUTKEY_VERIFY_HOURS", 24),
            pause=lambda seconds: not self._ended.wait(seconds),
            delete_older_than=delete_older_than,
            clock=clock or SystemClock(),
        )

    def start(self) -> None:
        """Work in a thread; one that was started before a fork would count as ended."""
        self._thread = threading.Thread(
            target=self._run, name="outkey-background", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current step, without waiting for it."""
        self._ended.set()

    def end(self, patience: float = 2.0) -> None:
        """Stop after the current step, and let another process go on."""
        self.stop()
        if self._thread is not None:
            self._thread.join(patience)

    def round(self) -> None:
        """Do what is due, unless another process does it; never raises."""
        log_and_continue(logger, self._witness.look, again_soon=True)
        log_and_continue(logger, self._work.round)

    def _run(self) -> None:
        repeat(self.round, ROUND_SECONDS, self._ended)
        log_and_continue(logger, self._work.release)


def notifiers(
    application: Application, environment: Mapping[str, str]
) -> list[Notifier]:
    """Return the notifiers that the environment names; the log is always one."""
    ways: list[Notifier] = [LoggedNotices()]
    addresses = environment.get("OUTKEY_NOTICE_EMAIL", "").replace(",", " ").split()
    if addresses:
        ways.append(MailedNotices(tuple(addresses)))
    url = environment.get("OUTKEY_NOTICE_WEBHOOK")
    if url:
        location = parse_endpoint(url, "OUTKEY_NOTICE_WEBHOOK")
        ways.append(webhook(application, location, environment))
    return ways


def webhook(
    application: Application, location: Location, environment: Mapping[str, str]
) -> WebhookNotices:
    """Return a webhook; its URL is vetted as a configuration's is."""
    configuration = build(
        "notices",
        {
            "base_url": str(location.origin),
            "network": environment.get("OUTKEY_NOTICE_NETWORK", "public"),
            **WEBHOOK_LIMITS,
        },
    )
    key = environment.get("OUTKEY_NOTICE_SECRET")
    return WebhookNotices(
        location=location,
        transport=SocketTransport(),
        route=lambda: application.sender.route_to(configuration),
        clock=SystemClock(),
        key=Secret(key) if key else None,
    )


def _whole_number(environment: Mapping[str, str], name: str, default: int) -> int:
    """Return a whole number of the environment; 0 switches off what it is for."""
    text = environment.get(name, str(default))
    if not text.isascii() or not text.isdigit():
        raise ConfigError(
            Text("{name} is not a whole number", name=name),
            hint=Text("Use 0 to switch it off."),
        )
    return int(text)
