"""All steps of a rotation in any order, with a kill at any write or request of a step.

The machine drives the application of a host whose tables, transactions and requests go
through a fuse: when it burns, the process is dead and another one opens the same
database. A model of the provider knows which pairs of user and password it accepts.
"""

import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    Paused,
    RotationNone,
    RotationPending,
    RotationUntested,
    SecretRebindRequired,
)
from outkey.foundation.core.secret import Secret
from outkey.hosts import installation
from outkey.hosts.installation import Tables, build_application
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.rotation.credential_sets import (
    DAY,
    CredentialSet,
    CredentialSets,
    RotationState,
)
from outkey.sending.core.vault.versions import SecretLabel
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.rotation.probe import Probe
from outkey.testing import FakeClock
from outkey.testing.fakes.basic import FakeResolver, FakeTransport

HOSTS = ("a.example.com", "b.example.com")
ADDRESS = "93.184.215.14"
CONNECTION_BREAKS = 0  # instead of a status
ANSWERS = (200, 200, 200, 401, 403, 429, 503, CONNECTION_BREAKS)
DOCUMENT = """
[configuration.{name}]
base_url = "https://{host}"
authentication_type = "basic"
username = "{user}"
key_as_username = false
limits = {{ retries = 0 }}
verification = {{ test_path = "/me" }}
"""
# A repeated step may find that it was made before the kill.
REPEATED = (RotationNone, RotationPending, RotationUntested)
KILLS = st.none() | st.integers(0, 60)


class Unfinished:
    """The result of a step in which the process was killed."""


UNFINISHED = Unfinished()


class Killed(BaseException):
    """The process is dead: nothing of it writes or sends any more."""


class Pair(NamedTuple):
    """A user and a password, which belong together."""

    user: str
    password: str


@dataclass
class Fuse:
    """Burns at a chosen one of the points that a step passes."""

    left: int | None = None
    is_burnt: bool = False

    def point(self) -> None:
        """Pass one point, unless the process dies there or is dead."""
        if threading.current_thread() is not threading.main_thread():
            return  # such as one that writes outcomes, which decide nothing
        if self.left == 0:
            self.is_burnt = True
        if self.is_burnt:
            raise Killed
        if self.left is not None:
            self.left -= 1

    def set(self, left: int | None) -> None:
        """Begin anew: so many points are passed; None for all of them."""
        self.left, self.is_burnt = left, False


class Fused:
    """Something whose methods of these names pass a point before and after."""

    def __init__(self, inner: object, fuse: Fuse, *names: str) -> None:
        self._inner = inner
        self._fuse = fuse
        self._names = names

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the inner one has it
        value = getattr(self._inner, name)
        if name not in self._names:
            return value

        def write(*args: object, **options: object) -> object:
            self._fuse.point()
            result = value(*args, **options)
            self._fuse.point()
            return result

        return write


class FusedDatabase(Fused):
    """Transactions that may end before or after their commit, at a test's time."""

    def __init__(self, inner: object, fuse: Fuse, clock: FakeClock) -> None:
        super().__init__(inner, fuse)
        self.now = clock.now

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Do what the inner one does; a kill before the commit undoes it."""
        with self._inner.transaction(durable=durable):  # type: ignore[attr-defined]
            yield
            self._fuse.point()
        self._fuse.point()


class JumpingClock(FakeClock):
    """A clock that a user may set."""

    def jump(self, seconds: float) -> None:
        """Set the clock; what has passed on the monotonic one stays."""
        self._started_at += seconds


@dataclass
class Provider:
    """The statuses of pairs; whoever it does not know is refused."""

    fuse: Fuse
    statuses: dict[Pair, int] = field(default_factory=dict)
    journal: list[tuple[Pair, int]] = field(default_factory=list)

    def respond(self, request: Request) -> Response | OutkeyError:
        """Answer a request, and remember whose it was."""
        self.fuse.point()
        pair = pair_of(request)
        status = self.status(pair)
        self.journal.append((pair, status))
        self.fuse.point()
        return ConnectionFailed() if status == CONNECTION_BREAKS else Response(status)

    def status(self, pair: Pair) -> int:
        """Return what a request of a pair gets; half of a pair is refused."""
        return self.statuses.get(pair, 401)

    def accepted(self, pair: Pair, since: int = 0) -> bool:
        """Whether it has accepted a pair, after so many requests."""
        return any(used == pair and ok(status) for used, status in self.journal[since:])


def ok(status: int) -> bool:
    return 0 < status < 400


def pair_of(request: Request) -> Pair:
    """Return who a request comes from; empty texts without credentials."""
    for header in request.headers:
        if header.name == "Authorization":
            value = header.value
            text = value.reveal() if isinstance(value, Secret) else value
            user, _, password = b64decode(text.split()[1]).decode().partition(":")
            return Pair(user, password)
    return Pair("", "")


@dataclass
class Host:
    """An installation that dies and is opened again, with one database."""

    open_with: Callable[[Callable[..., Application]], Application]
    clock: JumpingClock = field(default_factory=JumpingClock)
    fuse: Fuse = field(default_factory=Fuse)
    count: int = 0  # of configurations that were tried

    def __post_init__(self) -> None:
        self.provider = Provider(self.fuse)
        self.transport = FakeTransport(self.provider.respond)

    def open(self) -> Application:
        """Open the application as another process does: with empty caches."""
        with patch.object(installation, "SystemClock", lambda: self.clock):
            application = self.open_with(self.build)
        sender = application.sender
        resolver = FakeResolver(dict.fromkeys(HOSTS, (ADDRESS,)))
        sender.runtime = replace(
            sender.runtime, transport=self.transport, resolver=resolver
        )
        return application

    def build(
        self,
        tables: Tables,
        home: Path,
        *args: Any,  # noqa: ANN401 - as the original
        **options: Any,  # noqa: ANN401
    ) -> Application:
        """Build an application whose tables go through the fuse."""
        fuse = self.fuse
        rows = tables.storage
        storage = replace(
            rows,
            database=FusedDatabase(rows.database, fuse, self.clock),  # type: ignore[arg-type]
            configurations=Fused(rows.configurations, fuse, "swap"),  # type: ignore[arg-type]
            secrets=Fused(rows.secrets, fuse, "swap"),  # type: ignore[arg-type]
        )
        fused = replace(
            tables,
            storage=storage,
            audit=Fused(tables.audit, fuse, "append"),  # type: ignore[arg-type]
            states=Fused(tables.states, fuse, "swap", "put"),  # type: ignore[arg-type]
        )
        return build_application(fused, home, *args, **options)


class RotationMachine(RuleBasedStateMachine):
    """The steps in any order, and what holds after each of them."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.provider = host.provider
        self.clock = host.clock
        host.fuse.set(None)
        host.count += 1
        self.name = f"acme{host.count}"
        self.number = 0
        self.place = 0  # which of HOSTS the Base URL names
        self.application = host.open()
        self.pairs: dict[int, Pair] = {}
        self.refused: set[int] = set()  # serials that were refused in a trial
        self.ended: set[int] = set()  # serials that were destroyed
        self.exchanged_at = 0
        self.used: set[Pair] = set()  # the set in use had, since it is in use
        self.newest = 1
        self.repeats = True  # after a kill, the same step is taken once more

    @initialize(repeats=st.booleans())
    def create(self, *, repeats: bool) -> None:
        self.repeats = repeats
        self.apply("first")
        first = Pair("first", self.fresh("password"))
        self.provider.statuses[first] = 200
        self.set_password(first.password)
        self.pairs[1] = first
        self.used = {first}
        self.exchanged_at = len(self.provider.journal)
        self.check("set", self.sets)

    # ── what the machine works with ─────────────────────────────────────────────────

    @property
    def rotation(self) -> CredentialRotation:
        administration = self.application.administration("ada")
        return self.application.credential_rotation(administration)

    @property
    def seen(self) -> Configuration:
        return self.application.registry.find([self.name])[self.name]

    @property
    def sets(self) -> CredentialSets:
        return self.seen.sets

    def state(self) -> RotationState:
        return self.sets.state(self.clock.now())

    def fresh(self, kind: str) -> str:
        self.number += 1
        return f"{kind}-{self.number}-of-{self.name}"

    def apply(self, user: str) -> None:
        text = DOCUMENT.format(name=self.name, host=HOSTS[self.place], user=user)
        administration = self.application.administration("ada")
        self.application.apply(administration, parse_document(text), dry_run=False)

    def set_password(self, password: str) -> None:
        administration = self.application.administration("ada")
        administration.set_secret(self.name, "password", Secret(password))

    def pair_in(self, made: CredentialSet | None) -> Pair:
        """Return the pair that requests with a set would have."""
        seen = self.seen if made is None else self.seen.with_set(made)
        password = self.application.secrets.open(seen, "password")
        return Pair(seen.username, password.reveal())

    def is_bound(self, made: CredentialSet | None) -> bool:
        seen = self.seen if made is None else self.seen.with_set(made)
        with suppress(SecretRebindRequired):
            seen.refuse_unbound("password")
            return True
        return False

    # ── a step, perhaps with a kill ─────────────────────────────────────────────────

    def take(
        self, what: str, step: Callable[[], object], kill: int | None = None
    ) -> object:
        """Take a step; after a kill in it, once more by another process.

        Returns its result, the error that refused it, or UNFINISHED after a kill.
        """
        self.clock.advance(1)
        before = self.sets
        self.host.fuse.set(kill)
        try:
            result = step()
        except Killed:
            result = UNFINISHED
        except OutkeyError as error:
            result = error
        finally:
            self.host.fuse.set(None)
        if result is not UNFINISHED:
            self.check(what, before)
            return result
        self.application = self.host.open()
        self.check(what, before)
        if self.repeats:
            before = self.sets
            with suppress(*REPEATED):
                step()
            self.check(what, before)
        return UNFINISHED

    def check(self, what: str, before: CredentialSets) -> None:
        """Compare what is stored with the model, and move the model on."""
        sets = self.sets
        self.check_serials(sets)
        others = [made for made in (sets.next, sets.previous) if made is not None]
        now = {made.serial: self.pair_in(made) for made in others}
        now[sets.serial] = self.pair_in(None)
        if sets.serial != before.serial:
            self.check_exchange(what, before, sets)
        for serial, pair in now.items():
            is_staged = sets.next is not None and serial == sets.next.serial
            if what == "set":  # also for a set without a password of its own
                assert pair.user == self.pairs[serial].user
                statuses = self.provider.statuses
                statuses.setdefault(pair, self.provider.status(self.pairs[serial]))
            elif not (is_staged and what == "stage"):
                assert pair == self.pairs[serial], "no step changes a set"
            self.pairs[serial] = pair
        self.used.add(self.pairs[sets.serial])
        if before.previous and not others and what in {"retire", "overdue"}:
            accepted = (self.provider.accepted(p, self.exchanged_at) for p in self.used)
            assert any(accepted), "retired without a success of the set in use"
        for made in (before.next, before.previous):
            if made is not None and made.serial not in now:
                self.ended.add(made.serial)
        self.check_rows(others)

    def check_serials(self, sets: CredentialSets) -> None:
        serials = [
            sets.serial,
            *(made.serial for made in (sets.next, sets.previous) if made),
        ]
        assert len(serials) <= 2
        assert len(set(serials)) == len(serials)
        assert self.newest <= sets.newest
        assert max(serials) <= sets.newest
        assert not self.ended & set(serials), "a serial was used twice"
        self.newest = sets.newest

    def check_exchange(
        self, what: str, before: CredentialSets, after: CredentialSets
    ) -> None:
        if what == "back":
            assert before.previous is not None
            assert after.serial == before.previous.serial
        else:
            assert what in {"promote", "send"}
            assert before.next is not None
            assert after.serial == before.next.serial
            assert self.provider.accepted(self.pairs[after.serial])
            assert after.serial not in self.refused
        assert after.previous is not None
        assert after.previous.serial == before.serial, "one action goes back"
        self.exchanged_at = len(self.provider.journal)
        self.used = {self.pairs[after.serial]}

    def check_rows(self, others: list[CredentialSet]) -> None:
        """No ciphertext is left of a set that was destroyed."""
        storage = self.application.registry._storage
        rows = storage.secrets.read([self.seen.record], "password")
        labels = [row.label for row in rows]
        assert labels.count(SecretLabel.CURRENT) == 1
        assert labels.count(SecretLabel.PREVIOUS) <= 1
        assert labels.count(SecretLabel.PENDING) <= 1
        kept = {made.secrets["password"].version for made in others if made.secrets}
        found = {
            row.place.version for row in rows if row.label == SecretLabel.OTHER_SET
        }
        assert found == kept

    # ── steps ───────────────────────────────────────────────────────────────────────

    @rule(
        parts=st.sampled_from((("password",), ("username",), ("password", "username"))),
        status=st.sampled_from(ANSWERS),
        kill=KILLS,
    )
    def stage(self, parts: tuple[str, ...], status: int, kill: int | None) -> None:
        values = {part: self.fresh(part) for part in parts}
        made = self.sets.next
        pair = self.pair_in(made)
        for part, value in values.items():
            name = "user" if part == "username" else part
            pair = pair._replace(**{name: value})
        self.provider.statuses[pair] = status

        def step() -> None:
            for part, value in values.items():
                if part == "password":
                    self.rotation.stage_secret(self.seen, part, Secret(value))
                else:
                    self.rotation.stage_companion(self.seen, part, value)

        is_free = self.state() not in {RotationState.TRIAL, RotationState.OVERLAP}
        result = self.take("stage", step, kill)
        if not is_free:
            assert isinstance(result, RotationPending | Unfinished)
        elif result is None or self.repeats:
            assert self.pair_in(self.sets.next) == pair
        else:
            assert result is UNFINISHED

    @precondition(lambda self: self.sets.next is not None)
    @rule(kill=KILLS)
    def test(self, kill: int | None) -> None:
        made = self.sets.next
        assert made is not None
        works = ok(self.provider.status(self.pairs[made.serial]))
        report = self.take("test", lambda: self.rotation.test(self.name), kill)
        if isinstance(report, Report):
            assert report.ok is (works and self.is_bound(made))

    @precondition(lambda self: self.sets.next is not None)
    @rule(
        share=st.sampled_from((1, 50, 100, 100)),
        after=st.integers(1, 4),
        kill=KILLS,
    )
    def start(self, share: int, after: int, kill: int | None) -> None:
        before = self.state()
        self.take(
            "start",
            lambda: self.rotation.start(self.name, share=share, after=after),
            kill,
        )
        if self.state() is RotationState.TRIAL:
            assert before in {RotationState.TESTED, RotationState.TRIAL}

    @rule(method=st.sampled_from(("GET", "POST")), kill=KILLS)
    def send(self, method: str, kill: int | None) -> None:
        sets = self.sets
        is_bound = self.is_bound(sets.next)
        is_trial = self.state() is RotationState.TRIAL
        in_use = self.pairs[sets.serial]
        made = self.pairs[sets.next.serial] if sets.next else None
        sent = len(self.provider.journal)

        def step() -> Response:
            seen = self.application.registry.get(self.name)
            body = b"{}" if method == "POST" else b""
            return self.application.sender.send(Call(seen, method, "/x", body=body))

        result = self.take("send", step, kill)
        tries = self.provider.journal[sent:]
        if (
            made is None
            or not is_trial
            or not is_bound
            or sets.next.serial in self.refused
        ):  # type: ignore[union-attr]
            assert {pair for pair, _ in tries} <= {in_use}
        if result is UNFINISHED:
            return
        used = [pair for pair, _ in tries]
        assert used in ([], [in_use], [made], [made, in_use])
        if used == [made, in_use]:
            assert tries[0][1] == 401
            assert sets.next is not None
            self.refused.add(sets.next.serial)
        if used == [made]:
            assert tries[0][1] != 401, "the same request goes out once more"
        if isinstance(result, Response):
            assert result.status == tries[-1][1]
        elif not isinstance(result, Paused):
            assert tries[-1][1] == CONNECTION_BREAKS or not tries

    @precondition(lambda self: self.sets.next is not None)
    @rule(kill=KILLS)
    def promote(self, kill: int | None) -> None:
        made = self.sets.next
        result = self.take("promote", lambda: self.rotation.promote(self.name), kill)
        if isinstance(result, int):
            assert made is not None
            assert (result, self.state()) == (made.serial, RotationState.OVERLAP)

    @precondition(lambda self: self.sets.is_used)
    @rule(kill=KILLS)
    def back(self, kill: int | None) -> None:
        before = self.state()
        result = self.take("back", lambda: self.rotation.back(self.name), kill)
        if isinstance(result, int):
            assert result == self.sets.serial
            is_trial = before is RotationState.TRIAL
            after = RotationState.STAGED if is_trial else RotationState.OVERLAP
            assert self.state() is after

    @precondition(lambda self: self.sets.previous is not None)
    @rule(kill=KILLS)
    def retire(self, kill: int | None) -> None:
        self.take("retire", lambda: self.rotation.retire(self.name), kill)

    @precondition(lambda self: self.sets.is_used)
    @rule(kill=KILLS)
    def discard(self, kill: int | None) -> None:
        made = self.sets.next
        result = self.take("discard", lambda: self.rotation.discard(self.name), kill)
        assert isinstance(result, RotationNone if made is None else int | Unfinished)
        assert self.sets.next is None or result is UNFINISHED

    @precondition(lambda self: self.sets.previous is not None)
    @rule(kill=KILLS)
    def probe(self, kill: int | None) -> None:
        previous = self.sets.previous
        assert previous is not None
        pair = self.pairs[previous.serial]
        status = self.provider.status(pair)
        sent = len(self.provider.journal)
        result = self.take("probe", lambda: self.rotation.probe(self.name), kill)
        tries = self.provider.journal[sent:]
        if isinstance(result, Probe):
            assert tries == [(pair, status)], "exactly one try"
            assert result.refused is {200: False, 401: True}.get(status)

    @rule(kill=KILLS)
    def end_overdue(self, kill: int | None) -> None:
        def step() -> None:
            self.rotation.rotations.end_overdue()

        self.take("overdue", step, kill)

    # ── the world around ────────────────────────────────────────────────────────────

    @rule(
        seconds=st.sampled_from((60.0, 3601.0, 8 * DAY, 31 * DAY)),
        is_jump=st.booleans(),
        is_back=st.booleans(),
    )
    def pass_time(self, seconds: float, *, is_jump: bool, is_back: bool) -> None:
        if is_jump or is_back:
            self.clock.jump(-seconds if is_back else seconds)
        else:
            self.clock.advance(seconds)

    @rule(which=st.integers(0, 2), status=st.sampled_from(ANSWERS))
    def provider_decides(self, which: int, status: int) -> None:
        sets = self.sets
        serials = [sets.serial] + [
            made.serial for made in (sets.next, sets.previous) if made
        ]
        self.provider.statuses[self.pairs[serials[which % len(serials)]]] = status

    @precondition(lambda self: self.sets.is_used)
    @rule()
    def change_origin(self) -> None:
        self.place = 1 - self.place
        pair = self.pairs[self.sets.serial]

        def step() -> None:
            self.apply(pair.user)

        self.take("origin", step)
        self.set_in_place()

    @rule()
    def set_in_place(self) -> None:
        pair = self.pairs[self.sets.serial]._replace(password=self.fresh("password"))
        self.provider.statuses[pair] = 200
        self.take("set", lambda: self.set_password(pair.password))
        assert self.pairs[self.sets.serial] == pair

    def teardown(self) -> None:
        self.host.fuse.set(None)
        administration = self.application.administration("ada")
        administration.remove(self.name, self.application.sync_settings)
        self.application.sender.close()


def run_machine(host: Host, *, examples: int, steps: int) -> None:
    """Try so many random orders of so many steps."""
    run_state_machine_as_test(
        lambda: RotationMachine(host),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )
