"""Interfaces that sending needs: secrets, tokens, transport, audit, clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal
    from outkey.sending.core.backends.values import Reads
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference
    from outkey.sending.core.oauth2.assertions import Assertion
    from outkey.sending.core.oauth2.token import TokenState
    from outkey.sending.core.request.message import Peer, Request, Response, Route
    from outkey.sending.core.request.proxy import ProxyPolicy
    from outkey.sending.core.request.script import ScriptCall, ScriptResult


class Configurations(Protocol):
    """Where sending finds configurations, and counts refusals."""

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration.

        With the account of a connection, where the name is that of an account.
        """

    def connected(self, name: str, connection: str) -> Configuration:
        """Return a configuration with the account of a connection.

        Raises UnknownConfiguration or UnknownConnection.
        """

    def configuration_of_line(self, name: str) -> str:
        """Return the configuration of a sync line, or raise UnknownConfiguration."""

    def note_refused(self, name: str, revision: int) -> int:
        """Count a response 401 to this revision, and return how many came in a row."""

    def note_accepted(self, name: str, revision: int, at: float) -> None:
        """Reset the count, end a pause, and note that this revision is accepted."""

    def pause(self, name: str, at: float) -> None:
        """Stop sending, unless the credentials were replaced in the meantime."""


class Secrets(Protocol):
    """Where secret values are stored."""

    def open(
        self, configuration: Configuration, field: str, reads: Reads | None = None
    ) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing.

        `reads` has what the same send has read from external stores.
        """

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Raise SecretUnreadable if settings were changed in the database directly.

        Only the settings that decide where secrets go are compared with what was saved.
        """


class SecretStores(Protocol):
    """Reads secrets from the external stores that the operator has named."""

    def open(self, reference: Reference, field: str, reads: Reads | None) -> Secret:
        """Return the secret of a reference; the field is for errors and records.

        Raises SecretMissing, BackendUnknown, BackendUnavailable or PolicyError.
        """

    def state(self) -> object:
        """Return an object, another one once settings or values have changed."""

    def recall(self, reference: Reference, field: str, reads: Reads) -> bool:
        """Add what the cache has to a send's reads, and return whether it has it.

        Asks no store.
        """

    def refuse(self, reference: Reference, field: str) -> None:
        """Raise BackendUnknown or BlockedByPolicy; asks no store."""

    def reread(self, reads: Reads) -> Reads | None:
        """Read what came from the cache once more; None if no secret has changed."""


class Tokens(Protocol):
    """Where the tokens of configurations are stored, for all processes."""

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        """Return the stored state of a configuration's token, or an empty state.

        With `opened=False` it has no content, so that a token that cannot be decrypted
        can still be replaced.
        """

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        """Replace exactly that state durably; None if another one is stored.

        The returned state has the next generation. The content is written only if the
        serial differs.
        """

    def csrf(self) -> Tokens:
        """Return where CSRF tokens are stored, which are beside these."""

    def now(self) -> float:
        """Return Unix time by a clock that all processes share."""

    def refuse_renewal(self) -> None:
        """Raise OnHold while no token may be requested."""

    def of_subject(self, subject: Secret) -> Tokens:
        """Return the tokens that are exchanged for the token of a user.

        They belong to it alone, and each ends with its row: by age, or among too many.
        """

    def subjects(self, configuration: Configuration) -> int:
        """Return for how many users of a configuration a token is stored."""

    def delete_beside(self, configuration: Configuration) -> None:
        """Delete the CSRF token of a configuration, and the tokens of all its users."""

    def delete_set(self, configuration: Configuration, serial: int) -> None:
        """Delete the tokens of another set of a configuration's credentials."""

    def drop_other_keys(self) -> None:
        """Delete the tokens of users, and against CSRF, that the primary key seals not.

        Each can be requested again.
        """

    def prune_ended(self) -> None:
        """Delete the tokens of users, and the CSRF tokens, that have ended."""

    def mark(self, secret: Secret, before: str) -> str:
        """Return a keyed hash of a secret, by which the same one is known again.

        It equals `before`, an earlier mark or "", for the same secret, and also where
        the key of that mark was removed, so that they cannot be compared.
        """


class Signer(Protocol):
    """Signs JSON Web Tokens and makes random numbers and keys."""

    def assertion(self, content: Assertion) -> Secret:
        """Sign an assertion with a shared secret (HMAC) or a PEM or JWK key."""

    def proof(
        self, claims: Mapping[str, object], key: Secret, token: Secret | None
    ) -> Secret:
        """Sign a DPoP proof with a key of `new_key`, and with the token if given."""

    def rsa_sha1(self, text: Secret, key: Secret) -> Secret:
        """Sign a text of OAuth 1.0a by RSA-SHA1 with a PEM or JWK key, as Base64."""

    def new_key(self) -> Secret:
        """Make a key pair to bind tokens to."""

    def fresh(self) -> str:
        """Return a random text that cannot be guessed and does not repeat."""


class Scripts(Protocol):
    """Runs scripts, which can reach nothing but their own secret."""

    def run(self, call: ScriptCall) -> ScriptResult:
        """Return the script's result, or raise ScriptFailed or HeaderFormatError."""

    def close(self) -> None:
        """End the processes that run scripts; the next call starts new ones."""


class BegunExchange(Protocol):
    """A request that was sent, whose caller reads the response later."""

    @property
    def arrived_at(self) -> float:
        """When the response arrived, or now, by the monotonic clock."""

    def wait(self, seconds: float) -> bool:
        """Return whether there is a response, or an error, within some seconds."""

    def result(self) -> Response:
        """Wait for the response and return it, or raise the error of the transport."""

    def abandon(self) -> None:
        """Close what was opened: nobody waits for the response."""


class Transport(Protocol):
    """Sends a request to an address and returns the response.

    It sends exactly the headers it is given, follows no redirect, reads no environment
    variable, and obeys the limits of the route. It raises RemoteError or PolicyError.
    Where the route streams, it may leave the body of a status from 200 to 299 in
    `Response.stream`; else, and wherever that is more than it can do, it reads it all.
    """

    def send(self, request: Request, route: Route) -> Response:
        """Exchange one request for one response."""

    def begin(self, request: Request, route: Route) -> BegunExchange | None:
        """Send a request without waiting for anything; its response is read later.

        None where that cannot be done at once: then nothing was sent.
        """

    def probe(self, origin: Origin, route: Route) -> Peer:
        """Connect, send nothing, and return the peer of the connection."""

    def close(self) -> None:
        """Close idle connections; the transport may be used again."""


class AsyncTransport(Protocol):
    """The same for an event loop; cancelling a send closes its connection."""

    async def send(self, request: Request, route: Route) -> Response:
        """Exchange one request for one response."""

    async def close(self) -> None:
        """Close the connections of this loop; the transport may be used again."""


class ProxySource(Protocol):
    """The operator's settings for proxies; asked with every request."""

    def policy(self) -> ProxyPolicy:
        """Return the policy; it may change."""

    def password(self) -> Secret:
        """Return the password of the installation's proxy, or raise SecretMissing."""


class Resolver(Protocol):
    """Resolves a host name to IP addresses."""

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return all addresses, preferred first, or raise DnsFailed or TimedOut."""


class AsyncResolver(Protocol):
    """The same for an event loop."""

    async def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - the adapter applies it
        """Return all addresses, preferred first, or raise DnsFailed or TimedOut."""


class Listeners(Protocol):
    """The ports that this installation listens on: it sends no request to itself."""

    def addresses(self, port: int) -> frozenset[str]:
        """Return the addresses that this installation's servers bind at this port.

        In canonical form; `0.0.0.0` or `::` stand for every address of the machine.
        """

    def is_local(self, address: str) -> bool:
        """Whether an address is one of this machine's own. Sends nothing."""


class Audit(Protocol):
    """Where attempts are recorded."""

    def intend(self, intent: Intent) -> str:
        """Record an intent durably; return the attempt's id, else AuditUnavailable."""

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        """Record several intents durably, all or none; return the attempts' ids."""

    def note(self, *changes: Change) -> None:
        """Record durably who is about to change what, or raise AuditUnavailable."""

    def conclude(self, outcome: Outcome) -> None:
        """Record how an attempt ended; best effort, never raises and never waits."""

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent; best effort, never raises."""

    def flush(self) -> None:
        """Write what is queued now; best effort, never raises.

        Called when a run, a test or a sample has ended, so that a user finds the
        outcome of its last request.
        """

    def close(self) -> None:
        """Write what is queued, and close what is open; it may be used again."""


class Permits(Protocol):
    """The rate limit of each configuration."""

    def reserve(
        self, configuration: str, per_minute: int | None, patience: float
    ) -> float | None:
        """Take a permit and return the seconds to wait; None if that is too long."""

    def hold(self, configuration: str, seconds: float) -> None:
        """Issue no permits for this configuration for some time."""

    def note_spent_budget(self, configuration: str, seconds: float) -> None:
        """Store for all processes that the API permits nothing for some time."""

    def budget_wait(self, configuration: str) -> float:
        """Return the seconds until the API permits requests, as any process knows."""
