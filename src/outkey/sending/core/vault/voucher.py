"""Vouchers: they show what was changed in the database without outkey.

A stored secret is sealed for its record, field, version and origin. Other facts are
plain columns: which version of a secret is current, what a reference points to and
which origin it is bound to, the script that computes with a secret, and every setting
that decides how and where secrets are sent (which needs the permission to set them).
A voucher lists these facts as outkey saved them, and is sealed like a secret.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from outkey.foundation.core.errors import SecretUnreadable
from outkey.foundation.core.fields.choices import Connections
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import is_row_secret
from outkey.sending.core.configuration.fields import BY_PATH, FORMER_KEYS
from outkey.sending.core.configuration.permissions import RULES
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.script import SCRIPT_FACT, digest
from outkey.sending.core.rotation.credential_sets import SETS
from outkey.sending.core.vault.envelope import Place, secret_place
from outkey.sending.core.vault.row_voucher import RowName

VOUCHER_FIELD = "voucher"  # the name it is stored under, beside the secrets
# The settings that are vouched for, each a fact of its own; SCRIPT_FACT is the script.
SETTINGS = (
    # A secret is bound to its origin, but not a token from a later OAuth consent.
    "base_url",
    "network",
    *(path for path, rule in RULES.items() if rule is Permission.SET_SECRET),
)
# By its name applications, lines and webhooks find a configuration.
NAME = "name"
# Facts that vouchers of version 0.2 do not have: they are accepted without them.
LATER_FACTS = (
    NAME,
    "script_enabled",
    "verification.test_method",
    "verification.test_body",
    "verification.test_content_type",
)
_READ_LATER = attrgetter(*LATER_FACTS)
_READ_SETTINGS = attrgetter(*SETTINGS)
_DEFAULTS = tuple(BY_PATH[path].default for path in SETTINGS)
CONNECTION = "connection"
SECRET_ROWS = "rows"  # noqa: S105 - the names of the rows that have a secret
_SET_TEXT = "set:"  # before the version and name of a secret of another set
_RESERVED = frozenset(
    {
        VOUCHER_FIELD,
        SCRIPT_FACT,
        SETS,
        CONNECTION,
        SECRET_ROWS,
        *LATER_FACTS,
        *SETTINGS,
    }
)
ROW_TEXT = "text:"  # before the name of a row's secret: the text around that secret

Fact = tuple[str, ...]


class FieldVersion(NamedTuple):
    """A version of a secret, whichever set it belongs to."""

    field: str
    version: str


@dataclass(frozen=True, slots=True)
class Voucher:
    """The facts that were saved of one configuration.

    Their keys are names of secrets, paths of settings and of LATER_FACTS, and
    SCRIPT_FACT. A setting without a fact has its default.
    """

    facts: Mapping[str, Fact]
    # The nonce of each stored secret's ciphertext. Without it an older ciphertext of
    # the same version could be put in its place, as after a secret was cleared.
    ciphertexts: Mapping[str, str] = field(default_factory=dict)

    def covers(self, configuration: Configuration, secret: str) -> bool:
        """Whether a secret is as it was saved."""
        state = configuration.secrets.get(secret)
        return state is not None and self.facts.get(secret) == _secret_fact(state)

    def covers_settings(self, configuration: Configuration) -> bool:
        """Whether the settings that decide where secrets go are as they were saved."""
        saved = {path: fact for path, fact in self.facts.items() if is_setting(path)}
        later = _later_facts(configuration)
        if configuration.connection is not None:
            return saved == _settings_facts(configuration)
        return (
            saved == _settings_facts(configuration)
            and all(self.facts.get(name, fact) == fact for name, fact in later.items())
            and self._covers_credentials(configuration)
        )

    def _covers_credentials(self, configuration: Configuration) -> bool:
        """Whether the script and the secret rows that were saved are still there.

        Without them a request would be sent without its credentials.
        """
        # That it is the same script is checked before it runs: a run goes on with the
        # script that it began with.
        has_script = SCRIPT_FACT not in self.facts or bool(configuration.script)
        rows = _secret_rows(configuration)
        return has_script and rows >= set(filter(is_row_secret, self.facts))

    def script_digest(self) -> Secret | None:
        """Return the digest of the script that was saved, if there was one."""
        fact = self.facts.get(SCRIPT_FACT)
        return Secret(fact[0]) if fact else None

    def after_save(
        self,
        configuration: Configuration,
        changed: Collection[str],
        ciphertexts: Mapping[str, str],
    ) -> "Voucher":
        """Return the voucher after a save of these facts and ciphertexts.

        What the save did not change is vouched for only if it was before: otherwise the
        next save would confirm whatever was written into the database.
        """
        facts = vouchable_facts(configuration)
        new_facts = {name: facts[name] for name in changed if name in facts}
        old_facts = {
            name: fact for name, fact in self.facts.items() if name not in changed
        }
        old_ciphertexts = {
            name: text
            for name, text in self.ciphertexts.items()
            if name not in changed
            and not (SETS in changed and name.startswith(_SET_TEXT))
        }
        return Voucher(old_facts | new_facts, {**old_ciphertexts, **ciphertexts})

    def differences(self, configuration: Configuration) -> list[str]:
        """Return the names of the facts that are not as they were saved."""
        facts = vouchable_facts(configuration)
        changed = [name for name, fact in facts.items() if self.facts.get(name) != fact]
        removed = [
            name for name in self.facts if name not in facts and _is_decisive(name)
        ]
        return changed + removed

    def ciphertexts_by_version(self) -> dict[FieldVersion, str]:
        """Return the nonce of each ciphertext, in use or of another set."""
        return {
            _version_of(key, self.facts.get(key, ("",))[0]): nonce
            for key, nonce in self.ciphertexts.items()
        }

    def text(self) -> Secret:
        """Return the voucher as text, to be sealed."""
        content = {"facts": self.facts, "ciphertexts": self.ciphertexts}
        return Secret(json.dumps(content, sort_keys=True))


def vouchable_facts(configuration: Configuration) -> dict[str, Fact]:
    """Return the facts that a voucher of the present configuration would have."""
    if configuration.connection is not None:
        return _facts_of_account(configuration)
    rows = _secret_rows(configuration)
    facts = {
        name: _secret_fact(state)
        for name, state in configuration.secrets.items()
        # No secret has such a name, but a row of the database may.
        if name not in _RESERVED
        and not is_setting(name)
        and (name in rows or not is_row_secret(name))
    }
    if configuration.script:
        facts[SCRIPT_FACT] = (digest(configuration.script),)
    return facts | _settings_facts(configuration) | _later_facts(configuration)


def _facts_of_account(configuration: Configuration) -> dict[str, Fact]:
    """Return what the voucher of a connection has: nothing of its configuration."""
    own = {
        name: _secret_fact(state)
        for name, state in configuration.secrets.items()
        if configuration.is_of_account(name)
    }
    return own | _settings_facts(configuration)


def changed_settings(before: Configuration, after: Configuration) -> set[str]:
    """Return the paths of the settings that are vouched for and differ."""
    pairs = zip(SETTINGS, _READ_SETTINGS(before), _READ_SETTINGS(after), strict=True)
    texts = _row_facts(before).items() ^ _row_facts(after).items()
    later = _later_facts(before).items() ^ _later_facts(after).items()
    return {path for path, old, new in pairs if old != new} | {
        path for path, _ in (*texts, *later)
    }


def is_setting(fact: str) -> bool:
    """Whether a fact is a setting, and not a secret or the script.

    The other sets of credentials are one: their secrets are in no fact of their own.
    """
    if fact in (SETS, CONNECTION, SECRET_ROWS):
        return True
    return fact in SETTINGS or fact.startswith(ROW_TEXT)


def _is_decisive(fact: str) -> bool:
    """Whether a request would be another one without a fact that was saved."""
    return is_setting(fact) or is_row_secret(fact) or fact == SCRIPT_FACT


def read_voucher(text: str) -> Voucher:
    """Read a voucher that was sealed; the seal has proved that it is ours."""
    try:
        content = json.loads(text)
        facts = {
            FORMER_KEYS.get(name, name): tuple(fact)
            for name, fact in content["facts"].items()
        }
        return Voucher(facts, dict(content["ciphertexts"]))
    except (ValueError, AttributeError, TypeError, KeyError):
        raise SecretUnreadable(
            Text("the voucher has a format that is unknown to this version")
        ) from None


def ciphertext_key(configuration: Configuration, secret: str) -> str:
    """Return under which name a voucher has the ciphertext of a secret.

    Those of another set have their version in it, beside that of the set in use.
    """
    other = configuration.other_set
    if other is None or secret not in other.secrets:
        return secret
    return f"{_SET_TEXT}{other.secrets[secret].version}:{secret}"


def version_of_ciphertext(configuration: Configuration, key: str) -> FieldVersion:
    """Return the version that a voucher has the ciphertext of under such a key."""
    state = configuration.secrets.get(key)
    return _version_of(key, str(state.version) if state else "")


def _version_of(key: str, version_in_use: str) -> FieldVersion:
    if not key.startswith(_SET_TEXT):
        return FieldVersion(key, version_in_use)
    version, _, name = key.removeprefix(_SET_TEXT).partition(":")
    return FieldVersion(name, version)


def voucher_name(record: str) -> RowName:
    """Return the name of a configuration's voucher among the rows that were seen."""
    return RowName(VOUCHER_FIELD, record)


def voucher_place(record: str, version: int) -> Place:
    """Return the place that a voucher is sealed for."""
    return secret_place(record, VOUCHER_FIELD, version, "")


def _secret_fact(state: SecretState) -> Fact:
    return (str(state.version), state.origin, str(state.reference or ""))


def _settings_facts(configuration: Configuration) -> dict[str, Fact]:
    """Return the settings that differ from their defaults.

    So a new field of a later version changes no voucher. A connection has one fact: who
    it is, and what its variables lead to.
    """
    if configuration.connection is not None:
        return {
            CONNECTION: (_canonical_text(configuration.connection.protected_facts()),)
        }
    values = zip(SETTINGS, _READ_SETTINGS(configuration), _DEFAULTS, strict=True)
    facts = {
        path: (_canonical_text(value),)
        for path, value, default in values
        if value != default
    }
    if configuration.sets.is_used:
        facts[SETS] = (_canonical_text(configuration.sets.facts()),)
    return facts | _row_facts(configuration)


def _secret_rows(configuration: Configuration) -> set[str]:
    return {row.secret_field for row in configuration.rows if row.secret}


def _later_facts(configuration: Configuration) -> dict[str, Fact]:
    values = zip(LATER_FACTS, _READ_LATER(configuration), strict=True)
    return {path: (_canonical_text(value),) for path, value in values}


def _row_facts(configuration: Configuration) -> dict[str, Fact]:
    """Return the texts around the secrets of rows, where there are some.

    With connections also which rows have a secret: those of the accounts are in no
    voucher of the configuration, and without the row a request would go out without
    them.
    """
    facts: dict[str, Fact] = {
        f"{ROW_TEXT}{row.secret_field}": (row.value,)
        for row in configuration.rows
        if row.secret and row.value
    }
    if configuration.connections is not Connections.NONE:
        facts[SECRET_ROWS] = (_canonical_text(sorted(_secret_rows(configuration))),)
    return facts


def _canonical_text(value: object) -> str:
    """Return a value as text, the same for equal values."""
    return json.dumps(value, sort_keys=True, default=str)
