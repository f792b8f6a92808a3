"""Every edge of the world in one file: Protocols only.

Each port has a stand-in and a contract suite in `outkey.testing`, which every adapter passes too;
the asynchronous ones have the same promises, and are tried by the same suites.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from outkey.core.audit import Change, Intent, Outcome, Refusal
from outkey.core.chain import ChainRow, Mark
from outkey.core.config import Configuration, SecretState, SyncLine
from outkey.core.envelope import SealedRow, TokenRow
from outkey.core.message import Peer, Request, Response, Route
from outkey.core.oauth2.token import TokenState
from outkey.core.origin import Origin
from outkey.core.pace import Pace
from outkey.core.script import ScriptCall
from outkey.core.secret import Secret
from outkey.core.standing import Summary
from outkey.core.sync.answer import Record
from outkey.core.sync.mapping import Unmapped
from outkey.core.sync.run import HostField, HostRecord, Quarantined, Run, Target, Written
from outkey.core.sync.schedule import TimedLine
from outkey.core.voucher import Voucher
from outkey.core.watch import Habit, Notice


class Refusals(Protocol):
    """How often in a row the credentials of each configuration were refused."""

    def note_refused(self, name: str, revision: int) -> int:
        """Count an answer 401 to this revision, and return how many there are in a row."""

    def note_accepted(self, name: str) -> None:
        """Begin to count anew, and end a pause."""

    def pause(self, name: str, at: float) -> None:
        """Let nothing be sent any more, unless the credentials were replaced meanwhile."""


class Configurations(Refusals, Protocol):
    """Where configurations and sync lines are kept."""

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""


class Registry(Configurations, Protocol):
    """Where configurations are kept and changed."""

    def all(self) -> list[Configuration]:
        """Return every configuration, by name; opens no secret."""

    def find(self, names: Iterable[str]) -> dict[str, Configuration]:
        """Return those of these configurations that there are."""

    def batch(self) -> AbstractContextManager[None]:
        """Keep all of what is changed inside, or none of it."""

    def add(self, configuration: Configuration) -> Configuration:
        """Keep a new configuration with its references; return it with record and version."""

    def replace(self, configuration: Configuration) -> Configuration:
        """Keep a changed configuration, or raise EditConflict if its version is not the newest."""

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines, or raise UnknownConfiguration."""

    def lines(self) -> list[SyncLine]:
        """Return every sync line, by name."""

    def timetable(self) -> list[TimedLine]:
        """Return when lines run, of all of them, also of those that cannot be read otherwise."""

    def put_line(self, line: SyncLine) -> None:
        """Keep a sync line, new or changed."""

    def remove_line(self, name: str) -> None:
        """Forget a sync line, or raise UnknownConfiguration."""

    def put_secret(self, name: str, field: str, state: SecretState, sealed: bytes | None) -> None:
        """Keep a pending version of a secret: its state and, if it is no reference, ciphertext."""

    def lock(self, configuration: Configuration) -> None:
        """Let nobody else change this configuration until the batch ends.

        Raises EditConflict if it is not stored any more, or not in this version.
        """

    def put_voucher(self, name: str, voucher: SealedRow) -> None:
        """Store a configuration's voucher; the one before is deleted, so that none can return."""

    def clear_secret(self, name: str, field: str) -> None:
        """Forget all versions of a secret."""

    def activate_secret(self, name: str, field: str, version: int) -> None:
        """Make the pending version the current one, and that the previous one.

        Raises EditConflict where it is not pending any more.
        """

    def sealed(self, configuration: Configuration, field: str, version: int) -> bytes | None:
        """Return the ciphertext of one version of a stored secret."""

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        """Return how many stored secrets each key seals, by the key's name.

        With `vouchers`, those that it seals are counted as well.
        """

    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        """Return some of the ciphertexts, all versions, that another key than this one seals."""

    def swap_sealed(self, row: SealedRow, stored: bytes) -> bool:
        """Put new bytes in the place of exactly these, and tell whether they were there."""

    def known_keys(self) -> dict[str, bytes]:
        """Return the keys that were used here, by name, with the check value of each."""

    def put_known_keys(self, keys: dict[str, bytes]) -> None:
        """Keep the check values of these keys as well."""

    def put_trial(
        self,
        configuration: Configuration,
        at: float,
        cause: str,
        seen: Mapping[str, object] | None = None,
    ) -> None:
        """Keep how the last test of this state of a configuration ended; no cause: it works.

        What was seen of the other side is kept until another test sees something.
        """

    def resume(self, name: str) -> None:
        """End a pause, or raise UnknownConfiguration."""

    def due(self, before: float, limit: int) -> list[str]:
        """Return the names of configurations that could send and whose last test is older.

        The oldest first; what nobody has tested yet is not among them.
        """

    def summaries(self) -> list[Summary]:
        """Return what lists show of every configuration, by name; reads no row and no secret."""


class Secrets(Protocol):
    """Where secret values are kept."""

    def open(self, configuration: Configuration, field: str) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing."""

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Raise SecretUnreadable where settings that guide secrets are not as they were saved."""


class SecretStore(Secrets, Protocol):
    """Where secret values are kept and replaced."""

    def replace(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Keep a new value, for the origin that the configuration has now."""

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return what the key vouches for of a stored configuration."""

    def vouch(self, configuration: Configuration, changed: Collection[str]) -> None:
        """Vouch for what a save has changed, so that it cannot be changed without the key.

        `changed` are names of secrets, SEAL for the script, and paths of settings.
        """


class Tokens(Protocol):
    """Where the tokens of configurations are kept, for all who share them."""

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        """Return what is kept of a configuration's token; an empty state if nothing is.

        Not opened it has no content, and can be replaced also where it would not open.
        """

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        """Put a state durably in the place of exactly that one; None if it was not there any more.

        The one that is returned has the next generation. The content is written when the serial
        is another.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all who share the tokens read alike."""


class TokenRows(Protocol):
    """The table that sealed tokens are kept in."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        """Return the row of a configuration."""

    def swap(self, configuration: Configuration, generation: int, row: TokenRow) -> bool:
        """Write a row in the place of the one of this generation (0: none), and tell whether.

        Sealed bytes of the same serial are left as they are: a rewrap may have changed them.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all who share the rows read alike."""


class Signer(Protocol):
    """What signs JSON Web Tokens and makes random numbers and keys."""

    def assertion(self, claims: Mapping[str, object], key: Secret, shared: bool) -> Secret:  # noqa: FBT001 - called by position through a function type
        """Sign a client assertion with a shared secret (HMAC) or a private key (PEM or JWK)."""

    def proof(self, claims: Mapping[str, object], key: Secret, token: Secret | None) -> Secret:
        """Sign a DPoP proof with a key that `new_key` made, over a token if there is one."""

    def new_key(self) -> Secret:
        """Make a key pair to bind tokens to."""

    def fresh(self) -> str:
        """Return a random text that nobody can guess and that does not repeat."""


class Scripts(Protocol):
    """What runs scripts, out of reach of everything but their own secret."""

    def run(self, call: ScriptCall) -> tuple[tuple[str, Secret], ...]:
        """Return the headers that a script gives, or raise ScriptFailed or HeaderFormatError."""

    def transform(
        self, line: str, source: str, records: Sequence[Record]
    ) -> list[Record | Unmapped | None]:
        """Return what a sync line's script, which is given no secret, makes of each record.

        None leaves a record out; one that the script fails on is Unmapped. Raises ScriptFailed
        where the script cannot be run at all.
        """

    def close(self) -> None:
        """End what runs scripts; it may be used again."""


class Transport(Protocol):
    """What carries a request to an address and brings the answer back.

    It sends exactly the headers it is given, follows no redirect, reads no environment, and
    keeps to the bounds of the route. What fails is a RemoteError or a PolicyError.
    """

    def send(self, request: Request, route: Route) -> Response:
        """Exchange one request for one response."""

    def look(self, origin: Origin, route: Route) -> Peer:
        """Connect, send nothing, and tell whom the connection leads to."""

    def close(self) -> None:
        """Close kept connections; the transport may be used again."""


class AsyncTransport(Protocol):
    """The same for an event loop; whoever is cancelled leaves no connection behind."""

    async def send(self, request: Request, route: Route) -> Response:
        """Exchange one request for one response."""

    async def close(self) -> None:
        """Close the connections that are kept for this loop; the transport may be used again."""


class Resolver(Protocol):
    """What turns a host name into addresses."""

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return all addresses in order of preference, or raise DnsFailed or TimedOut."""


class AsyncResolver(Protocol):
    """The same for an event loop."""

    async def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - the bound is the adapter's business
        """Return all addresses in order of preference, or raise DnsFailed or TimedOut."""


class Listeners(Protocol):
    """What this installation itself listens on, so that it sends no request there."""

    def addresses(self, port: int) -> frozenset[str]:
        """Return the addresses that the installation's servers are bound to at this port.

        In canonical form; `0.0.0.0` or `::` stand for every address of the machine.
        """

    def is_local(self, address: str) -> bool:
        """Tell whether an address is one of this machine's own; nothing is sent to find out."""


class Clock(Protocol):
    """What time it is."""

    def now(self) -> float:
        """Return Unix time in seconds."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Audit(Protocol):
    """Where attempts are recorded."""

    def intend(self, intent: Intent) -> str:
        """Record an intent durably and return the attempt's id, or raise AuditUnavailable."""

    def note(self, *changes: Change) -> None:
        """Record durably who is about to change what, or raise AuditUnavailable."""

    def conclude(self, outcome: Outcome) -> None:
        """Record how an attempt ended; best effort, never raises."""

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent; best effort, never raises."""


class AuditRows(Protocol):
    """The table that a chained audit is kept in."""

    def append(self, rows: Sequence[ChainRow]) -> None:
        """Keep all rows durably or none, or raise AuditUnavailable."""

    def count(self) -> int:
        """Return how many rows there are."""

    def newest(self, limit: int, *, before: int = 0, **columns: str) -> list[dict[str, object]]:
        """Return the facts of the newest rows with their ids, newest first.

        Only those before a row, and with these values in their labels, if any are given.
        """

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, one stream after the other, each ordered by number."""

    def expired(self, moment: int, step: int) -> Iterator[ChainRow]:
        """Return the rows up to which each stream is older than a moment, so many at a time."""

    def prune(self, tombstone: Mark) -> int:
        """Remove the rows up to a tombstone, keep that in their place, and return how many."""

    def tombstones(self) -> Iterator[Mark]:
        """Return the newest tombstone of every stream that was pruned."""


class Checkpoints(Protocol):
    """The second place, apart from the rows, that says how far each stream had got."""

    def append(self, mark: Mark) -> None:
        """Keep a checkpoint durably, or raise AuditUnavailable."""

    def read(self) -> Iterator[Mark]:
        """Return all checkpoints."""


class Permits(Protocol):
    """Who may send when, per configuration."""

    def reserve(self, configuration: str, per_minute: int | None, patience: float) -> float | None:
        """Take a permit and return the seconds to wait for it; None if that is too long."""

    def hold(self, configuration: str, seconds: float) -> None:
        """Let nobody send for this configuration for some time."""


class Paces(Protocol):
    """How far the permits of each configuration are given out, for all who share it."""

    def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
        """Replace the pace by what the step makes of it, with nobody else in between."""


class Watchbook(Protocol):
    """What the watch reads, what it remembers, and who of all processes does it."""

    def take(self, duty: str, holder: str, seconds: float) -> bool:
        """Take a duty for some time, or keep it; tell whether nobody else has it."""

    def leave(self, holder: str) -> None:
        """Give up all duties."""

    def position(self) -> int:
        """Return the number of the last record that was read; at first the newest one's."""

    def records(self, after: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the next records with their ids, oldest first."""

    def habits(self, names: Iterable[str]) -> dict[str, Habit]:
        """Return what is known of these configurations."""

    def is_anybody_missed(self, seconds: float) -> bool:
        """Whether a run of a line is due for so long, and nobody is at any."""

    def failing_lines(self) -> list[tuple[str, str]]:
        """Return the sync lines whose last run has failed, after their configurations."""

    def open_notices(self) -> list[Notice]:
        """Return the notices that are open, oldest first."""

    def turn(self, position: int, habits: Mapping[str, Habit], notices: Iterable[Notice]) -> None:
        """Keep how far was read and what is known now, open and close notices; all or nothing."""


class Messenger(Protocol):
    """A way to tell people of notices."""

    def tell(self, notices: Sequence[Notice]) -> None:
        """Tell what has opened and what has recovered; best effort, never raises."""


class Processes(Protocol):
    """Which processes are at work, and which keys they hold."""

    def seen(self, process: str, keys: Sequence[str], at: float) -> None:
        """Keep that a process works, with these keys."""

    def gone(self, process: str) -> None:
        """Forget a process that ended."""

    def lacking(self, key: str, since: float) -> list[str]:
        """Return the processes that were seen since then and do not hold this key."""


class Finder(Protocol):
    """What finds values in an answer by a path that people write."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return what finds; an expression that is none is a ConfigError at this field."""


class Records(Protocol):
    """The host's own records, behind an allow-list and the host's permissions."""

    def targets(self) -> Sequence[Target]:
        """Return the models that may be synchronized."""

    def describe(self, target: str) -> Sequence[HostField]:
        """Return the fields of a model, or raise ConfigError."""

    def read(self, target: str, after: str, limit: int) -> Sequence[HostRecord]:
        """Return some records behind one, in the order of their ids; the first ones after ""."""

    def upsert(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]], run: str
    ) -> Sequence[Written]:
        """Create or update a record for each row, found by its keys; the same again is unchanged.

        A row that the host refuses takes no other with it. `run` marks what was seen.
        """

    def compare(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]
    ) -> Sequence[tuple[Written, Mapping[str, tuple[object, object]]]]:
        """Tell what upsert would do, with each field's value before and after; writes nothing."""

    def archive(self, target: str, line: str, run: str) -> int:
        """Archive what this line has brought and this run has not seen; return how many."""

    def find(self, target: str, field: str, values: Sequence[object]) -> Mapping[object, object]:
        """Return the ids of the records that have these values in a field, by value."""


class Calendar(Protocol):
    """What a schedule means."""

    def next_after(self, schedule: str, moment: float) -> float:
        """Return its first moment after this one, or raise ConfigError."""


class Queue(Protocol):
    """How workers learn of runs that wait."""

    def put(self, run: Run, lock: str) -> None:
        """Let a worker take a run that is due; of those with one lock, one at a time."""


class Runs(Protocol):
    """Where runs, their checkpoints and what they left out are kept."""

    def begin(self, line: str, actor: str, *, dry_run: bool, asked: str = "") -> Run:
        """Begin a run, or go on with one that was killed; raise LineBusy while another one lives.

        A run lives as long as it is saved within a minute and the configuration's total time-out,
        by the database's clock. One that waits is what begins; where it is not the one that was
        `asked` for, RunStopped is raised.
        """

    def page(self) -> AbstractContextManager[None]:
        """Keep all that is written inside, records and checkpoint, or nothing of it."""

    def save(self, run: Run) -> Run:
        """Keep a checkpoint; raise RunStopped where somebody cancelled it or took it over."""

    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        """Keep what was left out."""

    def finish(self, run: Run) -> None:
        """Keep how a run ended."""

    def request(self, line: str, actor: str, *, dry_run: bool = False, sooner: bool = True) -> Run:
        """Ask for a run as soon as somebody is free; raise LineBusy while one lives.

        One that waits already is returned, and is due now if it shall be sooner; one that failed in
        the middle or was killed waits to go on.
        """

    def wait_again(self, run: Run, seconds: float, attempt: int) -> Run:
        """Let a run that failed wait for another attempt, or raise LineBusy if another one does."""

    def due(self, run: str = "") -> list[Run]:
        """Return the runs that were asked for and that nobody is at, the longest due first.

        With an id only that one, if it is due.
        """

    def take_schedules(self) -> tuple[float, float]:
        """Take the time since schedules were last looked at; return when that was, and now."""

    def newest(self, limit: int, line: str = "", state: str = "") -> list[Run]:
        """Return runs, newest first."""

    def get(self, run: str) -> Run:
        """Return one run, or raise ConfigError."""

    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        """Return what a run left out."""

    def cancel(self, run: str) -> None:
        """Let a run stop at its next page."""
