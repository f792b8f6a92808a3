"""Secrets as an installation stores them: sealed in its database, or references."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, Protocol

from outkey.foundation.core.errors import (
    EditConflict,
    Sealed,
    SecretMissing,
    SecretUnreadable,
    secret_missing,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, counted
from outkey.foundation.ports.clock import Clock
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.adapters.secrets.secrets_envelope import (
    rewrap,
    seal,
    unseal,
    unseal_text,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.script import SCRIPT_FACT
from outkey.sending.core.rotation.credential_sets import SETS
from outkey.sending.core.vault.envelope import (
    WEBHOOK_TABLE,
    Place,
    SealedRow,
    key_name_of,
    unpack,
)
from outkey.sending.core.vault.versions import (
    SecretVersion,
    Swap,
    activate,
    add_pending,
    delete_all,
    next_number,
    secret_version,
    stage,
)
from outkey.sending.core.vault.voucher import (
    VOUCHER_FIELD,
    Voucher,
    ciphertext_key,
    read_voucher,
    version_of_ciphertext,
    voucher_name,
    voucher_place,
)
from outkey.sending.ports.sending import Secrets
from outkey.sending.ports.storage import ConfigurationStorage, SeenRows

if TYPE_CHECKING:
    from outkey.sending.core.backends.values import Read, Reads

_REWRAPPED_AT_ONCE = 200
_MAX_PAUSE = 0.25
_MAX_CACHED = 2000
# How long an opened secret is used again, so that a process that sends often does not
# decrypt it for each request.
OPENED_SECONDS = 5.0
# That of an external store has a cache of its own, where it can change: as long as a
# configuration is used without looking whether it has changed.
SOURCE_SECONDS = 0.1


class Keyrings(Protocol):
    """The source of the key ring; raises Sealed without a usable key."""

    def ring(self, needed: str = "") -> Keyring:
        """Return the ring, with the key of this name if there is one."""

    def fresh(self) -> Keyring:
        """Return the ring as it is stored now."""


class OpenedSecret(NamedTuple):
    """A stored secret in memory, until this moment of the monotonic clock."""

    secret: Secret
    until: float
    # What it was read from and its member there, if that was an external store.
    source: tuple[Read, str] | None = None


@dataclass(slots=True)
class CachedSecrets:
    """The secrets that were read for a configuration, valid for this very object."""

    configuration: Configuration
    has_saved_settings: bool = False
    vouched: set[str] = field(default_factory=set)  # secrets that were compared
    ciphertexts: dict[str, bytes | None] = field(default_factory=dict)
    opened: dict[str, OpenedSecret] = field(default_factory=dict)


@dataclass(slots=True)
class Rewrapping:
    """The state of a rewrap: what does not open, and what could not be swapped once."""

    ring: Keyring
    stuck: set[Place] = field(default_factory=set)
    missed: set[SecretVersion] = field(default_factory=set)
    hint: Text | None = None  # what helps where a key is retired or missing


class StoredSecrets:
    """Opens, replaces and vouches for secrets."""

    def __init__(
        self,
        storage: ConfigurationStorage,
        references: Secrets,
        keys: Keyrings,
        clock: Clock,
        seen: SeenRows | None = None,
    ) -> None:
        self._storage = storage
        self._references = references
        self._keys = keys
        self._clock = clock
        self._seen = seen  # which vouchers were replaced, and are not accepted again
        self._vouchers: dict[SealedRow, Voucher] = {}
        # By record and serial: a trial sends with two sets in turn.
        self._cache: dict[tuple[str, int], CachedSecrets] = {}
        self._will_forget = False

    def open(
        self, configuration: Configuration, field: str, reads: Reads | None = None
    ) -> Secret:
        if configuration.unconnected is not None:
            configuration = configuration.holder_of(field)
        cached = self._cache.get((configuration.record, configuration.serial))
        if cached is not None and cached.configuration is configuration:
            opened = cached.opened.get(field)
            if opened is not None and opened.until > self._clock.monotonic():
                source = opened.source
                if source is None or (reads is not None and reads.add(field, source)):
                    return opened.secret
        return self._open(configuration, field, reads)

    def _open(
        self, configuration: Configuration, field: str, reads: Reads | None
    ) -> Secret:
        """Open a secret that was not opened a moment ago."""
        if field == SCRIPT_FACT:
            return self._saved_script_digest(configuration)
        state = configuration.secrets.get(field)
        if state is None:
            raise secret_missing(field)
        # What is not stored yet comes from the user, and there is no voucher for it.
        if configuration.record:
            self.refuse_changed_settings(configuration)
            self.refuse_unvouched(configuration, field)
        if state.reference is not None:
            secret = self._references.open(configuration, field, reads)
            source = None if reads is None else reads.fields.get(field)
            if source is not None and source[0].cached:
                self._remember(configuration, field, secret, source)
            return secret
        sealed = self._ciphertext(configuration, field, state.version)
        if sealed is None:
            raise secret_missing(field)
        voucher = self.voucher(configuration)
        key = ciphertext_key(configuration, field)
        if voucher.ciphertexts.get(key) != _ciphertext_id(sealed):
            raise _changed_outside_error(configuration, field)
        version = secret_version(configuration.record, field, state, sealed=sealed)
        secret = self._unseal(version)
        self._remember(configuration, field, secret)
        return secret

    def _remember(
        self,
        configuration: Configuration,
        field: str,
        secret: Secret,
        source: tuple[Read, str] | None = None,
    ) -> None:
        """Cache an opened secret for a moment, also if no other one is ever opened."""
        seconds = OPENED_SECONDS if source is None else SOURCE_SECONDS
        opened = OpenedSecret(secret, self._clock.monotonic() + seconds, source)
        self._cache_of(configuration).opened[field] = opened
        if not self._will_forget:
            self._will_forget = True
            self._clock.call_later(OPENED_SECONDS, self._forget_opened)

    def _forget_opened(self) -> None:
        self._will_forget = False
        for cached in list(self._cache.values()):
            cached.opened.clear()

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return the facts that the key vouches for; none without a voucher."""
        row = configuration.voucher
        if row is None:
            return Voucher({})
        voucher = self._vouchers.get(row)
        if voucher is None:
            # The place is computed: the stored one could have been changed.
            place = voucher_place(configuration.record, row.place.version)
            try:
                ring = self._keys.ring(key_name_of(row.stored))
                voucher = read_voucher(unseal_text(row.stored, place, ring))
            except SecretUnreadable:
                return Voucher({})  # not sealed by outkey: it vouches for nothing
            if len(self._vouchers) >= _MAX_CACHED:
                self._vouchers.clear()
            self._vouchers[row] = voucher
        # Not with what is seen now: a configuration may be in use while it is saved.
        if row.place.version < configuration.seen_voucher:
            return Voucher({})  # an older copy that was put back
        if row.place.version > self._newest_version(configuration.record):
            self._note_version(row.place)
        return voucher

    def _newest_version(self, record: str) -> int:
        return self._seen.newest(voucher_name(record)) if self._seen else 0

    def _note_version(self, place: Place) -> None:
        if self._seen is not None:
            name = voucher_name(place.record)
            note = partial(self._seen.note, name, place.version)
            self._storage.database.after_commit(note)

    def refuse_unvouched(self, configuration: Configuration, field: str) -> None:
        """Raise SecretUnreadable unless a secret is as it was saved.

        A reference is opened for each send: one comparison for this object is enough.
        """
        vouched = self._cache_of(configuration).vouched
        if field in vouched:
            return
        if not self._is_vouched(configuration, field):
            raise _changed_outside_error(configuration, field)
        vouched.add(field)

    def _is_vouched(self, configuration: Configuration, field: str) -> bool:
        """Whether a secret is as it was saved.

        Those of another set are vouched for together, as one of the settings.
        """
        other = configuration.other_set
        if other is not None and field in other.secrets:
            return True
        return self.voucher(configuration).covers(configuration, field)

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        if not configuration.record:
            return
        # With the credentials of another set some settings are not those that were
        # saved; these are vouched for with the set.
        configuration = configuration.stored or configuration
        if configuration.unconnected is not None:
            self.refuse_changed_settings(configuration.unconnected)
        cached = self._cache_of(configuration)
        if cached.has_saved_settings:
            return
        voucher = self.voucher(configuration)
        if not voucher.covers_settings(configuration):
            field = next(iter(voucher.differences(configuration)), "")
            raise _changed_outside_error(configuration, field)
        cached.has_saved_settings = True

    def vouch(
        self,
        configuration: Configuration,
        changed: Collection[str],
        *,
        moves: bool = False,
    ) -> None:
        voucher = self._voucher_after(configuration, changed, moves=moves)
        self._store_vouchers([(configuration, voucher)])

    def vouch_each(
        self, changes: Iterable[tuple[Configuration, Collection[str]]]
    ) -> None:
        self._store_vouchers(
            [
                (configuration, self._voucher_after(configuration, changed))
                for configuration, changed in changes
            ]
        )

    def _voucher_after(
        self,
        configuration: Configuration,
        changed: Collection[str],
        *,
        moves: bool = False,
    ) -> Voucher:
        """Return what is vouched for after a change, besides what is already."""
        record = configuration.record
        ciphertexts = {
            name: _ciphertext_id(version.sealed)
            for name, state in configuration.secrets.items()
            if name in changed and state.reference is None
            for version in self._storage.secrets.read([record], name)
            if version.place.version == state.version and version.sealed
        }
        voucher = self.voucher(configuration)
        if SETS in changed:
            ciphertexts |= self._ciphertexts_of_sets(configuration)
        if moves:
            _refuse_replaced(configuration, voucher, ciphertexts)
        return voucher.after_save(configuration, changed, ciphertexts)

    def _store_vouchers(
        self, vouchers: Collection[tuple[Configuration, Voucher]]
    ) -> None:
        """Seal and store vouchers.

        Previous ones are deleted, so that they cannot be restored.
        """
        ring = self._keys.fresh()
        records = [configuration.record for configuration, _ in vouchers]
        with self._storage.database.transaction():
            stored = self._storage.secrets.read(records, VOUCHER_FIELD)
            self._apply(delete_all(stored))
            for configuration, voucher in vouchers:
                place = self._next_place(configuration)
                sealed = seal(voucher.text(), place, ring)
                self._apply([(None, SecretVersion(place, sealed=sealed))])
                self._note_version(place)

    def _next_place(self, configuration: Configuration) -> Place:
        """Return the place of a configuration's next voucher."""
        before = configuration.voucher
        version = max(
            before.place.version if before else 0,
            self._newest_version(configuration.record),
        )
        return voucher_place(configuration.record, version + 1)

    def _ciphertexts_of_sets(self, configuration: Configuration) -> dict[str, str]:
        sets = configuration.sets
        views = [
            configuration.with_set(other)
            for other in (sets.next, sets.previous)
            if other is not None
        ]
        return {
            ciphertext_key(view, field): _ciphertext_id(sealed)
            for view in views
            if view.other_set is not None
            for field, state in view.other_set.secrets.items()
            if (sealed := self._ciphertext(view, field, state.version)) is not None
        }

    def set_value(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        return self._store_value(configuration, field, secret, by=by, use=activate)

    def stage_value(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        return self._store_value(configuration, field, secret, by=by, use=stage)

    def _store_value(
        self,
        configuration: Configuration,
        field: str,
        secret: Secret,
        *,
        by: str,
        use: Callable[[Collection[SecretVersion], int], list[Swap]],
    ) -> SecretState:
        """Seal a new value for the origin that the configuration has now, and store it.

        It stays pending until it was read back and opened, so that a value which cannot
        be opened never replaces one that can.
        """
        record = configuration.record
        rows = self._storage.secrets
        state = SecretState(
            configuration.binding_of(field),
            version=next_number(rows.read([record], field)),
            set_at=self._clock.now(),
            set_by=by,
        )
        pending = secret_version(record, field, state)
        sealed = seal(secret, pending.place, self._keys.fresh())
        with self._storage.database.transaction():
            new = replace(pending, sealed=sealed)
            self._apply(add_pending(rows.read([record], field), new))
        versions = rows.read([record], field)
        stored = [row for row in versions if row.place == pending.place]
        if not stored or self._unseal(stored[0]) != secret:
            raise SecretUnreadable(field=field)
        with self._storage.database.transaction():
            self._apply(use(versions, state.version))
        return state

    def rewrap(self) -> Iterator[int]:
        """Bring every secret under the primary key; yield how many at each step.

        It can be stopped at any point and started again: what is under the key already
        is not touched, and what changed in the meantime is not overwritten. What does
        not open stays as it is and is named at the end.
        """
        work = Rewrapping(self._keys.fresh())
        key = work.ring.primary.name
        while True:
            versions = self._storage.secrets.sealed_by_others(
                key, _REWRAPPED_AT_ONCE + len(work.stuck)
            )
            versions = [row for row in versions if row.place not in work.stuck]
            if not versions:
                break
            started = self._clock.monotonic()
            yield self._rewrap_some(versions, work)
            # Half of the time is for other writers: SQLite's one lock is not fair.
            self._clock.sleep(min(self._clock.monotonic() - started, _MAX_PAUSE))
        if work.stuck:
            fields = sorted(f"{place.field} of {place.record}" for place in work.stuck)
            names = ", ".join(fields[:5])
            raise SecretUnreadable(
                counted(
                    len(work.stuck),
                    Text("1 secret could not be re-encrypted: {fields}", fields=names),
                    Text(
                        "{count} secrets could not be re-encrypted: {fields}",
                        count=len(work.stuck),
                        fields=names,
                    ),
                ),
                hint=work.hint,
            )

    def _rewrap_some(self, versions: list[SecretVersion], work: Rewrapping) -> int:
        done = 0
        changed: set[str] = set()
        configurations = self._storage.configurations
        with self._storage.database.transaction():
            # Locked first, in the order in which a save locks them.
            records = {
                row.place.record for row in versions if row.place.table != WEBHOOK_TABLE
            }
            owners = configurations.find(records=records, lock=True)
            for row in versions:
                try:
                    sealed = rewrap(row.sealed or b"", row.place, work.ring)
                except (SecretUnreadable, Sealed) as error:
                    if isinstance(error, Sealed):
                        work.hint = error.hint
                    work.stuck.add(row.place)
                    continue
                if self._storage.secrets.swap(row, replace(row, sealed=sealed)):
                    # Vouchers are not reported.
                    done += row.place.field != VOUCHER_FIELD
                    if row.place.table == "secret":
                        changed.add(row.place.record)
                elif row in work.missed:
                    # Missed twice with the same bytes: it was not changed in between.
                    work.stuck.add(row.place)
                else:
                    work.missed.add(row)
            for owner in owners:
                if owner.record in changed and not configurations.swap(
                    owner, owner.after_reseal()
                ):
                    raise EditConflict
        return done

    def _saved_script_digest(self, configuration: Configuration) -> Secret:
        script_digest = self.voucher(configuration).script_digest()
        if script_digest is None:
            raise SecretMissing(Text("there is no saved script"), field=SCRIPT_FACT)
        return script_digest

    def _ciphertext(
        self, configuration: Configuration, field: str, version: int
    ) -> bytes | None:
        ciphertexts = self._cache_of(configuration).ciphertexts
        if field not in ciphertexts:
            rows = self._storage.secrets.read([configuration.record], field)
            sealed = [row.sealed for row in rows if row.place.version == version]
            ciphertexts[field] = sealed[0] if sealed else None
        return ciphertexts[field]

    def _cache_of(self, configuration: Configuration) -> CachedSecrets:
        """Return the cache of a configuration, which is one object until it changes."""
        key = configuration.record, configuration.serial
        cached = self._cache.get(key)
        if cached is None or cached.configuration is not configuration:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            cached = self._cache[key] = CachedSecrets(configuration)
        return cached

    def _unseal(self, version: SecretVersion) -> Secret:
        sealed = version.sealed or b""
        return unseal(sealed, version.place, self._keys.ring(key_name_of(sealed)))

    def _apply(self, swaps: Iterable[Swap]) -> None:
        for before, after in swaps:
            if not self._storage.secrets.swap(before, after):
                raise EditConflict


def _ciphertext_id(sealed: bytes) -> str:
    """Return the random nonce: unique to a ciphertext, unchanged by a rewrap."""
    return unpack(sealed).nonce.hex()


def _refuse_replaced(
    configuration: Configuration, voucher: Voucher, ciphertexts: Mapping[str, str]
) -> None:
    """Refuse another ciphertext than the one that was saved of the same version."""
    saved = voucher.ciphertexts_by_version()
    for key, nonce in ciphertexts.items():
        version = version_of_ciphertext(configuration, key)
        if saved.get(version, nonce) != nonce:
            raise _changed_outside_error(configuration, version.field)


def _changed_outside_error(
    configuration: Configuration, field: str
) -> SecretUnreadable:
    """Return the error for what was changed in the database without outkey."""
    return SecretUnreadable(
        Text("{field} was changed outside of outkey", field=field),
        hint=Text(
            "The database may have been changed without outkey. An operator can list"
            " the changes and accept them with: outkey secret confirm {name}",
            name=quote(configuration.name),
        ),
        field=field,
    )
