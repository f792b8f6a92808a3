"""How far a rotation is, as programs and users read it. Never a value."""

from collections.abc import Sequence
from dataclasses import asdict

from outkey.foundation.core.findings.checks import Finding, finding_facts
from outkey.foundation.core.moments import iso_or_none
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    PROXY_PASSWORD,
    Configuration,
)
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.rotation.credential_sets import (
    CredentialSet,
    RotationState,
    Tally,
)

_OUTSIDE = frozenset({PROXY_PASSWORD, "refresh_token"})
STATE_WORDS = {
    RotationState.NONE: Text("no rotation"),
    RotationState.STAGED: Text("prepared, and not tested yet"),
    RotationState.TESTED: Text("prepared and tested"),
    RotationState.TRIAL: Text("being tried"),
    RotationState.REJECTED: Text("rejected"),
    RotationState.OVERLAP: Text("replaced; the ones before are stored for going back"),
}


def rotation_facts(
    configuration: Configuration, tally: Tally, now: float, findings: Sequence[Finding]
) -> dict[str, object]:
    """Return the status as programs read it; `tally` is that of the trial."""
    sets = configuration.sets
    trial = sets.trial
    return {
        "configuration": configuration.name,
        "state": str(sets.state(now)),
        "share": trial.share if trial else None,
        "after": trial.after if trial else None,
        "current": _current_facts(configuration),
        "next": sets.next and _next_facts(configuration, sets.next, tally),
        "previous": sets.previous
        and {
            **_set_facts(sets.previous),
            "until": iso_or_none(sets.until),
            "revoked_at": iso_or_none(sets.refused_at),
        },
        "findings": [
            finding_facts(finding, configuration.name) for finding in findings
        ],
    }


def newest_in_use(configuration: Configuration) -> SecretState | None:
    """Return the secret of the set in use that was entered last: so old is the set."""
    states = (configuration.secrets[name] for name in _fields_in_use(configuration))
    return max(states, key=lambda each: each.set_at or 0.0, default=None)


def _fields_in_use(configuration: Configuration) -> list[str]:
    return [name for name in configuration.secrets if name not in _OUTSIDE]


def _current_facts(configuration: Configuration) -> dict[str, object]:
    newest = newest_in_use(configuration)
    return {
        "serial": configuration.sets.serial,
        "fields": _fields_in_use(configuration),
        "set_at": iso_or_none(newest.set_at) if newest else None,
        "set_by": newest.set_by if newest else "",
    }


def _next_facts(
    configuration: Configuration, made: CredentialSet, tally: Tally
) -> dict[str, object]:
    sets = configuration.sets
    test = sets.test
    return {
        **_set_facts(made),
        "test": test
        and {"at": iso_or_none(test.at), "ok": test.ok, "cause": test.cause or None},
        **asdict(tally),
        "cause": sets.cause or None,
    }


def _set_facts(made: CredentialSet) -> dict[str, object]:
    return {
        "serial": made.serial,
        "fields": made.fields,
        "set_at": iso_or_none(made.set_at),
        "set_by": made.set_by,
    }
