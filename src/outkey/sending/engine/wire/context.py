"""The ports, and the memory of a process, that every request to an API needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import BackendUnknown, RateLimited
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.secret_values import refuse_control_characters
from outkey.sending.core.request.expired_marker import has_expired_marker
from outkey.sending.core.request.message import Proxy, Response
from outkey.sending.engine.tokens.token_cache import TokenCache
from outkey.sending.engine.wire.clock_offsets import ClockOffsets
from outkey.sending.engine.wire.known_reads import KnownReads
from outkey.sending.engine.wire.lockout_guard import LockoutGuard
from outkey.sending.engine.wire.nonces import Nonces
from outkey.sending.engine.wire.proxies import NO_PROXIES, Proxies
from outkey.sending.engine.wire.steps import CallInThread, Steps

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.foundation.ports.expressions import PathCompiler
    from outkey.sending.core.backends.values import Reads
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference
    from outkey.sending.core.request.assembly import SecretOpener
    from outkey.sending.engine.wire.egress import Egress
    from outkey.sending.ports.sending import (
        Permits,
        Scripts,
        Secrets,
        SecretStores,
        Signer,
        Tokens,
    )


_MOST = 1024


class VouchedScripts:
    """The configurations whose script is the one that was saved; one for each name.

    The object of a configuration and the voucher in it never change, so one comparison
    is enough. After a change it is another object, which is compared again.
    """

    def __init__(self) -> None:
        self._compared: dict[str, tuple[Secrets, Configuration]] = {}

    def has(self, secrets: Secrets, configuration: Configuration) -> bool:
        """Whether these secrets have vouched for the script of this very object."""
        configuration = configuration.unconnected or configuration
        compared = self._compared.get(configuration.name)
        return (
            compared is not None
            and compared[1] is configuration
            and compared[0] is secrets
        )

    def add(self, secrets: Secrets, configuration: Configuration) -> None:
        """Remember that these secrets vouch for the script of this object."""
        configuration = configuration.unconnected or configuration
        if len(self._compared) >= _MOST:
            self._compared.clear()
        self._compared[configuration.name] = secrets, configuration


@dataclass(frozen=True)
class SendContext:
    """The ports and the process's memory that every exchange needs."""

    secrets: Secrets
    clock: Clock
    permits: Permits
    egress: Egress
    jitter: Callable[[], float]
    tokens: Tokens
    signer: Signer
    scripts: Scripts
    paths: PathCompiler
    token_cache: TokenCache = field(default_factory=TokenCache)
    csrf_cache: TokenCache = field(default_factory=TokenCache)
    offsets: ClockOffsets = field(default_factory=ClockOffsets)
    nonces: Nonces = field(default_factory=Nonces)
    proxies: Proxies = field(default=Proxies(NO_PROXIES))
    lockout_guard: LockoutGuard = field(default_factory=LockoutGuard)
    vouched_scripts: VouchedScripts = field(default_factory=VouchedScripts)
    # Reads secrets from external stores, where the host can; and what this send has.
    stores: Callable[[], SecretStores] | None = None
    reads: Reads | None = None
    known_reads: KnownReads = field(default_factory=KnownReads)
    # With reads: the context that it was made of.
    parent: SendContext | None = None
    # Called with each response that had a token: variables may be in it.
    note_token: Callable[[Configuration, Response], None] = lambda *_: None
    # Set by Sender: the search for echoed secrets is built on this class. Without it,
    # a secret is assumed in every response.
    find_echo: Callable[[SendContext, Configuration, Response], bool] = lambda *_: True

    def for_send(self, configuration: Configuration) -> SendContext:
        """Return the context of one send: it reads each path of a store once."""
        if not configuration.uses_stores:
            return self
        if self.stores is not None:
            known = self.known_reads.context_for(self, configuration)
            if known is not None:
                return known
        from outkey.sending.core.backends.values import Reads  # noqa: PLC0415

        return replace(self, reads=Reads(), parent=self)

    def refuse_reference(self, reference: Reference, field: str) -> None:
        """Refuse a reference into a store that the operator has not named so."""
        if not reference.is_external:
            return
        if self.stores is None:
            raise BackendUnknown(field=field)
        self.stores().refuse(reference, field)

    def opener(self, configuration: Configuration) -> SecretOpener:
        """Return a function that opens this configuration's secrets by name."""
        return partial(self.open, configuration)

    def open(self, configuration: Configuration, secret: str) -> Secret:
        """Open a secret that was entered for the origin that requests go to."""
        configuration.refuse_unbound(secret)
        if self.reads is None:
            value = self.secrets.open(configuration, secret)
        else:
            value = self.secrets.open(configuration, secret, self.reads)
        refuse_control_characters(secret, value)
        return value

    def read_stores(self, configuration: Configuration) -> Steps[None]:
        """Read the needed secrets of external stores, once for this send.

        What is not in the cache is read in a thread: all other sends of an event loop
        would wait for a store that does not respond.
        """
        if self.reads is None or self.known_reads.has(self, configuration):
            return
        unknown = [name for name, _ in configuration.external_secrets]
        if self.stores is not None:
            stores = self.stores()
            state = stores.state()
            unknown = [
                name
                for name, reference in configuration.external_secrets
                if not stores.recall(reference, name, self.reads)
            ]
            if not unknown:
                self.known_reads.note(self, configuration, state)
        if unknown:
            yield CallInThread(partial(self._open_all, configuration, unknown))

    def _open_all(self, configuration: Configuration, secrets: list[str]) -> None:
        for name in secrets:
            self.open(configuration, name)

    def repeats_secret(self, configuration: Configuration, response: Response) -> bool:
        """Whether a response repeats a secret of this configuration's requests."""
        return self.find_echo(self, configuration, response)

    def without_echoed_marker(
        self, configuration: Configuration, response: Response
    ) -> Configuration:
        """Return the configuration, without an Expired marker that may be an echo.

        An API may echo what it was sent. Then a marker that matches would give away a
        part of the secret.
        """
        if not has_expired_marker(response, configuration):
            return configuration
        if not self.repeats_secret(configuration, response):
            return configuration
        verification = replace(configuration.verification, expired_marker="")
        return replace(configuration, verification=verification)

    def moment(self, configuration: Configuration, origin: Origin) -> float:
        """Return the Unix time for a timestamp that this origin will check."""
        return self.clock.now() + self.shift(configuration, origin)

    def shift(self, configuration: Configuration, origin: Origin) -> int:
        """Return by how many seconds this configuration's timestamps are shifted."""
        if not configuration.verification.follow_clock:
            return 0
        return self.offsets.of(configuration.account, origin, self.clock)

    def proxy_of(self, configuration: Configuration) -> Proxy | None:
        """Return the proxy that requests of a configuration go through."""
        return self.proxies.find(configuration, self.open)

    def permit(self, configuration: Configuration, patience: float) -> float:
        """Take a permit and return the seconds to wait for it, or refuse."""
        per_minute = configuration.limits.requests_per_minute
        wait = self.permits.reserve(configuration.account, per_minute, patience)
        if wait is not None:
            return wait
        if per_minute is None:
            raise RateLimited(
                Text("the API asked for a pause that is longer than the total timeout"),
                hint=Text("Send later."),
            )
        raise RateLimited(field="limits.requests_per_minute")
