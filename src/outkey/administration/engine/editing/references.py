"""The references of a document: those that cannot be read, and what they replace."""

from collections.abc import Iterator
from dataclasses import replace

from outkey.foundation.core.errors import BackendUnavailable, SecretMissing
from outkey.foundation.core.findings.checks import Finding
from outkey.sending.core.configuration.checks import (
    REFERENCE_REPLACES_VALUE,
    REFERENCE_UNRESOLVED,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.engine.wire.context import SendContext


def states_to_keep(
    context: SendContext, stored: Configuration, made: Configuration
) -> dict[str, SecretState]:
    """Return the stored values that a document would replace by nothing.

    The reference that it names cannot be read, so that no request could be sent. One
    in the place of another reference is taken over: the process that sends may have
    variables that this one lacks.
    """
    states = {}
    for field, state in made.secrets.items():
        before = stored.secrets.get(field)
        is_value = before is not None and before.reference is None
        if before is None or not is_value or state.reference is None:
            continue
        try:
            context.secrets.open(replace(made, record=""), field)
        except (SecretMissing, BackendUnavailable):
            states[field] = before
    return states


def unresolved_finding(field: str, reference: object) -> Finding:
    """Return the finding about a reference that must not replace a stored secret."""
    return REFERENCE_UNRESOLVED.finding(field, reference=str(reference))


def replaced_values(
    stored: Configuration | None, made: Configuration
) -> Iterator[Finding]:
    """Yield a finding for each reference that replaces a value that a user entered."""
    before = stored.secrets if stored else {}
    for field, state in made.secrets.items():
        is_value = field in before and before[field].reference is None
        if is_value and state.reference is not None:
            yield REFERENCE_REPLACES_VALUE.finding(field)
