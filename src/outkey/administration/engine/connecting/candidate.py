"""An account that is not connected yet: its credentials are tried, and stored nowhere.

token        the first token, where there is one; its response may have variables
variables    of that response, of the redirect, and of one request after connecting
test         the configuration's test request, with what was entered
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.administration.engine.connecting.failures import (
    failed_request,
    failed_test,
)
from outkey.foundation.core.errors import (
    AccountChanged,
    EditConflict,
    repeated,
    secret_missing,
)
from outkey.foundation.core.origin import parse_base_url, parse_endpoint
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.account import at_provider, with_account
from outkey.sending.core.connections.connect_checks import REQUEST_URL, sources_of
from outkey.sending.core.connections.sources import SourceKind, read_variable
from outkey.sending.core.connections.variables import variable_field
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.script import SCRIPT_FACT
from outkey.sending.engine.connection_test_setup import DraftCredentials, prepare_test
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.tokens.renewal import TokenManager
from outkey.sending.engine.tokens.token_cache import TokenCache
from outkey.sending.engine.wire.context import SendContext, VouchedScripts
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

if TYPE_CHECKING:
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.backends.values import Reads
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.connections.connection import Connection
    from outkey.sending.core.request.message import Response
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.engine.tokens.actions import TokenActions
    from outkey.sending.ports.sending import Secrets, Tokens

_FIRST_NO_SUCCESS = 300


class CandidateSecrets:
    """What was entered for an account, and what all accounts share, as it is stored."""

    def __init__(
        self,
        unconnected: Configuration,
        stored: Secrets,
        entered: Mapping[str, Secret],
    ) -> None:
        self._unconnected = unconnected
        self._stored = stored
        self._entered = entered

    def open(
        self, configuration: Configuration, field: str, reads: Reads | None = None
    ) -> Secret:
        """Return a secret for immediate use; never a stored one of the account."""
        if field != SCRIPT_FACT and configuration.is_of_account(field):
            if field not in self._entered:
                raise secret_missing(field)
            return self._entered[field]
        return self._stored.open(self._unconnected, field, reads)

    def refuse_changed_settings(self, _configuration: Configuration) -> None:
        """Raise where the settings that all accounts share are not as they were saved.

        What decides about this account was entered a moment ago.
        """
        self._stored.refuse_changed_settings(self._unconnected)


@dataclass(slots=True)
class Candidate:
    """One try to connect an account. It ends with the facts and the token to store."""

    sender: Sender
    unconnected: Configuration
    connection: Connection
    entered: Mapping[str, Secret]
    tokens: Tokens  # of this try alone
    _token_response: Response | None = None

    # ── the account as requests are sent with it ────────────────────────────────────

    def configuration(self) -> Configuration:
        """Return the configuration with the account, or raise why it has no URL."""
        made = self._with_secrets(with_account(self.unconnected, self.connection, {}))
        if made.variable_error is not None:
            raise repeated(made.variable_error)
        return made

    def at_provider(self) -> Configuration:
        """Return the configuration for its first token, where an account has one."""
        return self._with_secrets(at_provider(self.unconnected, self.connection, {}))

    def _with_secrets(self, bare: Configuration) -> Configuration:
        """Return a view whose secrets were entered for where it leads now."""
        states = {
            name: SecretState(
                bare.binding_of(name), set_at=self.sender.context.clock.now()
            )
            for name in self.entered
        }
        # Not of the record: nothing of it is cached for what is not stored.
        return replace(bare, record="", secrets={**bare.secrets, **states})

    @property
    def secrets(self) -> CandidateSecrets:
        """What requests of this try are authenticated with."""
        stored = self.sender.context.secrets
        return CandidateSecrets(self.unconnected, stored, self.entered)

    def context(self) -> SendContext:
        """Return the context of requests of this try: no cache has a part of it."""
        return replace(
            self.sender.context,
            secrets=self.secrets,
            tokens=self.tokens,
            token_cache=TokenCache(),
            csrf_cache=TokenCache(),
            lockout_guard=LockoutGuard(),
            vouched_scripts=VouchedScripts(),
            note_token=self._note_token,
        )

    def _note_token(self, _configuration: Configuration, response: Response) -> None:
        self._token_response = response

    # ── the token ───────────────────────────────────────────────────────────────────

    def request_token(self) -> None:
        """Request the first token with what was entered, where there is one."""
        if not self.unconnected.fetches_token:
            return
        view = (
            self.configuration() if self.unconnected.uses_login else self.at_provider()
        )
        self.sender.token_actions(view, self.context()).ready()

    def actions(self) -> TokenActions:
        """Return the actions with which a user agrees at the provider."""
        return self.sender.token_actions(self.at_provider(), self.context())

    def _adopt_token(self, view: Configuration) -> None:
        """Use the token with a view that has other URLs than the one it came with."""
        if not self.unconnected.fetches_token:
            return
        before = self.tokens.read(view)
        basis = TokenManager(self.context(), view).basis
        self.tokens.swap(view, before, replace(before, basis=basis))

    # ── the variables ───────────────────────────────────────────────────────────────

    def read_token_variables(self) -> None:
        """Read the variables that the token response has."""
        response = self._token_response
        document = None if response is None else _json_of(response)
        self._read(SourceKind.TOKEN, document)

    def read_redirect(self, parameters: Mapping[str, str]) -> None:
        """Read the variables that the redirect back from the provider has."""
        self._read(SourceKind.REDIRECT, parameters)

    def request_variables(self) -> None:
        """Send the request after connecting, where there is one, and read its response.

        One that the provider refuses fails the try.
        """
        url = self.unconnected.connect.request_url
        if not url:
            self._read(SourceKind.REQUEST, None)
            return
        location = parse_endpoint(url, REQUEST_URL)
        base_url = str(location.origin)
        view = with_account(self.unconnected, self.connection, {})
        view = self._with_secrets(
            replace(view, base_url=base_url, base=parse_base_url(base_url))
        )
        view = replace(view, variable_error=None)
        self._adopt_token(view)
        context = self.context()
        response = self.sender.run_for_user(
            exchange(context, Call(view, "GET", location.target))
        )
        if response.cause is not None or response.status >= _FIRST_NO_SUCCESS:
            repeats = context.repeats_secret(view, response)
            raise failed_request(response, repeats_secret=repeats)
        self._read(SourceKind.REQUEST, _json_of(response))

    def _read(self, kind: SourceKind, document: object) -> None:
        """Add the variables of a kind of source to the connection."""
        values = {
            source.name: read_variable(
                source, document, self._compile, tokens=self._all_secrets()
            )
            for source in sources_of(self.unconnected)
            if source.kind is kind
        }
        variables = {**self.connection.variables, **values}
        self.connection = replace(self.connection, variables=variables)

    def _compile(self, expression: str, field: str) -> Callable[[object], object]:
        return self.sender.context.paths.compile(expression, field=field)

    def _all_secrets(self) -> list[Secret]:
        """Return the secrets that no variable may have in it."""
        content = self.tokens.read(self.at_provider()).content
        tokens = [content.access, content.refresh] if content else []
        return [*self.entered.values(), *filter(None, tokens)]

    def refuse_other_account(self, before: Connection) -> None:
        """Refuse credentials of another account than the one that was connected."""
        name = self.unconnected.connect.account
        known = before.variables.get(name)
        if known is not None and self.connection.variables.get(name) != known:
            raise AccountChanged(field=variable_field(name))

    # ── the test ────────────────────────────────────────────────────────────────────

    def test(self) -> None:
        """Send the test request with what was entered, or raise why it failed."""
        view = self.configuration()
        self._adopt_token(view)
        draft = DraftCredentials(self.secrets, self.tokens, becomes_stored=True)
        report = prepare_test(self.sender, view, draft).run()
        if not report.ok:
            raise failed_test(report)

    # ── what is stored ──────────────────────────────────────────────────────────────

    def store_token(self, stored: Configuration) -> None:
        """Store the token of this try for the account, as it is stored now."""
        if not stored.fetches_token:
            return
        state = self.tokens.read(stored)
        if state.content is None:
            return
        tokens = self.sender.context.tokens
        before = tokens.read(stored, opened=False)
        entered = self.entered.get("refresh_token")
        after = replace(
            state,
            serial=before.serial + 1,
            basis=TokenManager(self.sender.context, stored).basis,
            entered=tokens.mark(entered, "") if entered and state.entered else "",
        )
        if tokens.swap(stored, before, after) is None:
            raise EditConflict


def _json_of(response: Response) -> object:
    """Return the document of a response; None if it is not JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
