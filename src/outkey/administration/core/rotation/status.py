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
from outkey.sending.core.rotation.credential_sets import (
    CredentialSet,
    RotationState,
    Tally,
)

# They do not belong to a set: one is for the proxy, the other one for the client.
OUTSIDE_OF_SETS = frozenset({PROXY_PASSWORD, "refresh_token"})
STATE_WORDS = {
    RotationState.NONE: Text("no rotation"),
    RotationState.STAGED: Text("prepared, without a good test"),
    RotationState.TESTED: Text("prepared and tested"),
    RotationState.TRIAL: Text("being tried"),
    RotationState.REJECTED: Text("rejected"),
    RotationState.OVERLAP: Text("replaced, with a way back"),
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
        "current": _set_facts(set_in_use(configuration)),
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


def set_in_use(configuration: Configuration) -> CredentialSet:
    """Return the credentials in use as a set, with when the newest was entered."""
    secrets = {
        name: state
        for name, state in configuration.secrets.items()
        if name not in OUTSIDE_OF_SETS
    }
    return CredentialSet.in_use(configuration.sets.serial, secrets)


def _next_facts(
    configuration: Configuration, credentials: CredentialSet, tally: Tally
) -> dict[str, object]:
    sets = configuration.sets
    test = sets.test
    return {
        **_set_facts(credentials),
        "test": test
        and {"at": iso_or_none(test.at), "ok": test.ok, "cause": test.cause or None},
        **asdict(tally),
        "cause": sets.cause or None,
    }


def _set_facts(credentials: CredentialSet) -> dict[str, object]:
    return {
        "serial": credentials.serial,
        "fields": credentials.fields,
        "set_at": iso_or_none(credentials.set_at or None),
        "set_by": credentials.set_by,
    }
