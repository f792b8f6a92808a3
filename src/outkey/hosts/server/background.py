"""What `outkey serve` does on its own: watch, verify and prune, in one process for all of them."""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from secrets import token_hex

from outkey.adapters.clock_system import SystemClock
from outkey.adapters.notices_log import LoggedNotices
from outkey.adapters.notices_webhook import WebhookNotices
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.config.configuration import build
from outkey.core.errors import ConfigError
from outkey.core.request.origin import Location, parse_endpoint
from outkey.core.secret import Secret
from outkey.engine.application import Application
from outkey.hosts.django.guarded import guarded
from outkey.hosts.django.monitoring_rows import WATCH
from outkey.hosts.django.notices import MailedNotices
from outkey.hosts.django.runs import DjangoRuns
from outkey.ports.monitoring import Notifier
from outkey.ports.sending import Clock

ACTOR = "outkey"
ROUND_SECONDS = 60.0
_LEASE_SECONDS = 180.0
_BETWEEN_TESTS = 1.0
_DAY = 86_400.0
_LIMITS = {
    "limits.read_timeout": 10,
    "limits.total_timeout": 15,
    "limits.response_mebibytes": 1,
}
_logger = logging.getLogger("outkey.background")


class Background:
    """One round a minute, for as long as the server runs; what fails is logged and tried again."""

    def __init__(
        self,
        here: Application,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        forget_people: Callable[[int], object] = lambda _days: None,
    ) -> None:
        self._here, self._clock = here, clock or SystemClock()
        self._forget_people = forget_people
        here.policy()  # which says at once what is wrong with it
        self._verify_hours = number(environment, "OUTKEY_VERIFY_HOURS", 24)
        self._book, self._holder = here.monitoring, token_hex(16)
        self._watch = here.monitor(messengers(here, environment), self._clock)
        self._desk = here.administration(ACTOR)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Go round in a thread; one that was made before a fork would count as stopped."""
        self._thread = threading.Thread(
            target=self._run, name="outkey-background", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        self.round()
        while not self._ended.wait(ROUND_SECONDS):
            self.round()
        guarded(_logger, lambda: self._book.leave(self._holder))

    def end(self, patience: float = 2.0) -> None:
        """Stop after the step that is under way, and let another process go on."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(patience)

    def round(self) -> None:
        """Do what is due, if no other process does it."""
        guarded(_logger, self._work)

    def _work(self) -> None:
        if not self._is_ours():
            return
        self._watch.look()
        # With a sealed key every test would fail, and say nothing about the configuration.
        if self._here.keys.is_sealed():
            return
        if self._verify_hours:
            seconds = self._verify_hours * 3600
            self._here.verify_due(self._desk, seconds, self._may_test)
        self._prune()

    def _is_ours(self) -> bool:
        return self._book.take(WATCH, self._holder, _LEASE_SECONDS)

    def _may_test(self) -> bool:
        return not self._ended.wait(_BETWEEN_TESTS) and self._is_ours()

    def _prune(self) -> None:
        here = self._here
        days = here.policy().retention_days
        # Whoever takes it for a day does it; nobody else has that holder's name.
        if self._book.take("prune", token_hex(16), _DAY):
            moment = self._clock.now() - days * _DAY
            here.prune_expired(self._desk, moment)
            DjangoRuns().prune(moment)
            self._forget_people(days)


def messengers(here: Application, environment: Mapping[str, str]) -> list[Notifier]:
    """Return the ways to tell people that the environment names; the log is always one."""
    ways: list[Notifier] = [LoggedNotices()]
    if (
        addresses := environment.get("OUTKEY_NOTICE_EMAIL", "")
        .replace(",", " ")
        .split()
    ):
        ways.append(MailedNotices(tuple(addresses)))
    if url := environment.get("OUTKEY_NOTICE_WEBHOOK"):
        ways.append(
            _webhook(here, parse_endpoint(url, "OUTKEY_NOTICE_WEBHOOK"), environment)
        )
    return ways


def _webhook(
    here: Application, place: Location, environment: Mapping[str, str]
) -> WebhookNotices:
    """Return the way to somebody else's address; it is vetted as a configuration's is."""
    network = environment.get("OUTKEY_NOTICE_NETWORK", "public")
    made = build(
        "notices", {"base_url": str(place.origin), "network": network, **_LIMITS}
    )
    key = environment.get("OUTKEY_NOTICE_SECRET")
    return WebhookNotices(
        place,
        Urllib3Transport(),
        lambda: here.route_to(made),
        SystemClock(),
        Secret(key) if key else None,
    )


def number(environment: Mapping[str, str], name: str, default: int) -> int:
    """Return a whole number of the environment; 0 switches off what it is for."""
    text = environment.get(name, str(default))
    if not text.isascii() or not text.isdigit():
        raise ConfigError(
            f"{name} is not a whole number", hint="Use 0 to switch it off."
        )
    return int(text)
