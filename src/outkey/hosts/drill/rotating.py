"""A rotation of the copy's made-up credentials, in memory.

The steps are those of the real rotation; only what stores them is the drill's own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, cast

from outkey.administration.core.rotation.status import OUTSIDE_OF_SETS
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import EditConflict
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.message import Header, Request, Source
from outkey.sending.core.rotation.credential_sets import CredentialSet, CredentialSets
from outkey.sending.engine.rotation.rotations import Rotations
from outkey.sending.engine.rotation.trial import Trials
from outkey.spar.rotation import NEW, OLD, SET_HEADER

if TYPE_CHECKING:
    from outkey.sending.engine.exchange.sender import Ports, Sender
    from outkey.sending.engine.registry import ConfigurationRegistry
    from outkey.sending.ports.storage import SecretStore
    from outkey.sync.engine.line_registry import Registry

NEXT_VERSION = 2  # of a secret; that in use has the first
ALL_REQUESTS = 100  # percent
_OF_CREDENTIALS = frozenset({Source.AUTHENTICATION, Source.SCRIPT})
_RECORD = "drill"  # a trial is of a configuration that is stored


class RotatedCopies(MemoryConfigurations):
    """The copy, with the steps of its rotation; the only process that has it."""

    def find(self, names: list[str]) -> dict[str, Configuration]:
        """Return those of these configurations that there are."""
        return {name: self.get(name) for name in names}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Store a step by itself: there is one copy, and nobody else changes it."""
        yield

    def put_sets(
        self,
        seen: Configuration,
        sets: CredentialSets,
        *,
        exchanges: Mapping[str, str] | None = None,
    ) -> Configuration:
        """Store the sets; with `exchanges`, the other set comes into use."""
        with self._lock:
            stored = self.configurations[seen.name]
            if stored.sets != seen.sets:
                raise EditConflict
            other = seen.sets.next or seen.sets.previous
            used = other.secrets if other and exchanges is not None else {}
            saved = replace(stored, sets=sets, secrets={**stored.secrets, **used})
            self.configurations[seen.name] = saved
            return saved

    def note_vouched(self, name: str) -> None:
        """Do nothing: no other process caches the copy."""


def staged_copy(copy: Configuration) -> Configuration:
    """Return the copy with a next set, which replaces all of its secrets."""
    secrets = {
        name: replace(state, version=NEXT_VERSION)
        for name, state in copy.secrets.items()
        if name not in OUTSIDE_OF_SETS
    }
    sets = CredentialSets(newest=2, next=CredentialSet(2, secrets))
    return replace(copy, record=_RECORD, sets=sets, script_is_vouched=True)


def version_in(configuration: Configuration, field: str) -> int:
    """Return the version of a secret that a configuration, or a view of it, uses."""
    return configuration.secrets.get(field, SecretState("")).version


def trials_of(copies: RotatedCopies, secrets: object, ports: "Ports") -> Trials:
    """Return the trials of the copy."""
    rotations = Rotations(
        cast("ConfigurationRegistry", copies),  # it has what the steps call
        cast("SecretStore", secrets),
        ports.audit,
        ports.tokens,
        ports.clock,
    )
    # The copy has no client certificate.
    return Trials(rotations, MemoryStateRows(), ports.clock.now, lambda *_: (-inf, inf))


def begin_trial(name: str, sender: "Sender", rotations: Rotations, after: int) -> None:
    """Test the next set; where that succeeds, try it with every request."""
    administration = Administration(
        cast("Registry", rotations.registry), rotations.secrets, rotations.audit, ""
    )
    rotation = CredentialRotation(administration, sender, rotations.clock)
    if rotation.test(name).ok:
        rotation.start(name, share=ALL_REQUESTS, after=after)


def with_set_named(request: Request, partition: str) -> Request:
    """Return a request with a header that names its set to the sparring provider.

    That cannot know made-up credentials of every kind. Without any there is none.
    """
    has_credentials = (
        bool(request.secret_parameters or request.script_parameters)
        or any(source in _OF_CREDENTIALS for _, _, source in request.headers)
        or any(isinstance(value, Secret) for _, value, _ in request.headers)
    )
    if "\n" not in partition or not has_credentials:
        return request
    name = NEW if partition.endswith("\n2") else OLD
    header = Header(SET_HEADER, name, Source.CALLER)
    return request.with_headers((*request.headers, header))
