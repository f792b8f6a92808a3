"""Rotations of credentials by programs, by the token of a program."""

from dataclasses import dataclass

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiAccess
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.rotation.credential_sets import CredentialTrial
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.rotation.probe import Probe


@dataclass(frozen=True, slots=True)
class ApiRotation:
    """The rotation of one configuration, as far as a token permits it.

    Each step returns the serial of the set that it was about.
    """

    access: ApiAccess
    name: str

    def status(self) -> dict[str, object]:
        """Return how far the rotation is."""
        return self._permitted(Scope.READ).status(self.name)

    def stage(self, field: str, *, value: str | None, reference: str | None) -> int:
        """Store a value, or a reference that the operator offers, for the next set."""
        rotation = self._permitted(Scope.MANAGE)
        seen = self.access.configuration(self.name)
        entered = None if value is None else Secret(value)
        source = self.access.source_of_secret(field, entered, reference)
        entry = source if isinstance(source, Reference) else value or ""
        return rotation.stage(seen, {field: entry})

    def next_serial(self) -> int:
        """Return the serial of the next set, or raise RotationNone."""
        return self._rotation().next_serial(self.name)

    def start(self, share: int | None, after: int | None) -> CredentialTrial:
        """Begin the trial of the next set, or change its share and number."""
        rotation = self._permitted(Scope.MANAGE)
        return rotation.start(self.name, share=share, after=after)

    def promote(self) -> int:
        """Put the next set into use."""
        return self._permitted(Scope.MANAGE).promote(self.name)

    def back(self) -> int:
        """End a trial, or exchange current and previous."""
        return self._permitted(Scope.MANAGE).back(self.name)

    def retire(self) -> int:
        """Destroy the previous set."""
        return self._permitted(Scope.MANAGE).retire(self.name)

    def discard(self) -> int:
        """Destroy the next set."""
        return self._permitted(Scope.MANAGE).discard(self.name)

    def test(self) -> Report:
        """Test the next set; that sends requests."""
        return self._permitted(Scope.SEND).test(self.name)

    def probe(self) -> Probe:
        """Try the previous set once; that sends a request."""
        return self._permitted(Scope.SEND).probe(self.name)

    def _permitted(self, scope: Scope) -> CredentialRotation:
        self.access.token.demand(scope)
        return self._rotation()

    def _rotation(self) -> CredentialRotation:
        self.access.configuration(self.name)
        application = self.access.application
        return application.credential_rotation(self.access.administration)
