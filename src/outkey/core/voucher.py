"""What the key vouches for, so that a writer of the database without the key can invent nothing.

A stored secret is sealed for its record, field, version and origin. Other facts are plain columns:
which version of a secret is current, what a reference points to and which origin it is bound to,
the script that computes with a secret, and which certificates are trusted for the connection. A
voucher lists these facts as outkey saved them, and is sealed like a secret.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass, field

from outkey.core.config import Configuration, SecretState
from outkey.core.envelope import Place, secret_place
from outkey.core.errors import SecretUnreadable
from outkey.core.script import SEAL, digest
from outkey.core.secret import Secret

FIELD = "voucher"  # the name it is stored under, beside the secrets
TLS = "tls"  # the name of the fact about TLS settings; SEAL is the name of the one about the script
_RESERVED = frozenset({FIELD, TLS, SEAL})

Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Voucher:
    """The facts that were saved of one configuration: by the name of each secret, SEAL and TLS."""

    facts: Mapping[str, Fact]
    # By the name of each stored secret: what its ciphertext has for itself alone. Without it an
    # older ciphertext of the same version could be put in its place, as after a secret was cleared.
    ciphertexts: Mapping[str, str] = field(default_factory=dict)

    def covers(self, configuration: Configuration, secret: str) -> bool:
        """Whether a secret is as it was saved, and so are the TLS settings it is sent with."""
        state = configuration.secrets.get(secret)
        if state is None or self.facts.get(secret) != _secret_fact(state):
            return False
        return self.covers_tls(configuration)

    def covers_tls(self, configuration: Configuration) -> bool:
        """Whether the TLS settings are as they were saved."""
        return self.facts.get(TLS) == _tls_fact(configuration)

    def script_seal(self) -> Secret | None:
        """Return the seal of the script that was saved, if there was one."""
        fact = self.facts.get(SEAL)
        return Secret(fact[0]) if fact else None

    def renewed(
        self,
        configuration: Configuration,
        changed: Collection[str],
        ciphertexts: Mapping[str, str],
    ) -> "Voucher":
        """Return the voucher after a save that changed these facts, and stored these ciphertexts.

        What the save did not change is vouched for as before, and only if it was: otherwise the
        next save would confirm whatever was written into the database.
        """
        facts = facts_of(configuration)
        renewed = {name: fact for name, fact in self.facts.items() if name in facts}
        renewed.update({name: fact for name, fact in facts.items() if name in changed})
        known = {name: text for name, text in self.ciphertexts.items() if name in facts}
        return Voucher(renewed, {**known, **ciphertexts})

    def differences(self, configuration: Configuration) -> list[str]:
        """Return the names of the facts that are not as they were saved."""
        facts = facts_of(configuration)
        return [name for name, fact in facts.items() if self.facts.get(name) != fact]

    def written(self) -> Secret:
        """Return the voucher as text, to be sealed."""
        content = {"facts": self.facts, "ciphertexts": self.ciphertexts}
        return Secret(json.dumps(content, sort_keys=True))


def facts_of(configuration: Configuration) -> dict[str, Fact]:
    """Return what a voucher would say of a configuration as it is now."""
    facts = {
        name: _secret_fact(state)
        for name, state in configuration.secrets.items()
        if name not in _RESERVED  # no secret has such a name, but a row of the database may
    }
    if configuration.script:
        facts[SEAL] = (digest(configuration.script),)
    facts[TLS] = _tls_fact(configuration)
    return facts


def read_voucher(text: str) -> Voucher:
    """Read a voucher that was sealed; the seal has proved that it is ours."""
    try:
        content = json.loads(text)
        facts = {name: tuple(fact) for name, fact in content["facts"].items()}
        return Voucher(facts, dict(content["ciphertexts"]))
    except (ValueError, AttributeError, TypeError, KeyError):
        raise SecretUnreadable("the voucher has a format that this version does not know") from None


def voucher_place(record: str, version: int) -> Place:
    """Return the place that a voucher is sealed for."""
    return secret_place(record, FIELD, version, "")


def _secret_fact(state: SecretState) -> Fact:
    return (str(state.version), state.origin, str(state.reference or ""))


def _tls_fact(configuration: Configuration) -> Fact:
    return tuple(str(value) for value in astuple(configuration.tls))
