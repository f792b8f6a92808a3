"""Trying a configuration before it is saved: test, preview, one run of its script."""

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import secret_missing
from outkey.foundation.core.fields.field_kinds import check_method
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import draft_name
from outkey.sending.core.backends.values import Reads
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.permissions import (
    changes_script,
    refuse_other_tls,
)
from outkey.sending.core.request.assembly import call_of_test
from outkey.sending.core.request.script import SCRIPT_FACT, secret_digest
from outkey.sending.engine.connection_test import ConnectionTest, Report
from outkey.sending.engine.connection_test_setup import DraftCredentials, prepare_test
from outkey.sending.engine.exchange.preview import Preview, preview
from outkey.sending.engine.exchange.scripts import ScriptTrial, try_script
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.ports.sending import Secrets, Tokens


class DraftSecrets:
    """The secrets of a draft: those that were typed, and those that are stored."""

    def __init__(
        self,
        stored: Configuration | None,
        stored_secrets: Secrets,
        typed: Mapping[str, Secret] | None = None,
        cleared: Iterable[str] = (),
    ) -> None:
        self._stored = stored
        self._stored_secrets = stored_secrets
        self._typed = typed or {}
        self._cleared = set(cleared)

    def open(
        self, configuration: Configuration, secret: str, reads: Reads | None = None
    ) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing."""
        stored = self._stored
        if secret == SCRIPT_FACT:
            if stored is not None and stored.script == configuration.script:
                return self._stored_secrets.open(stored, SCRIPT_FACT)
            # `Edit.errors` has refused the script of a user who may not write scripts.
            return secret_digest(configuration.script)
        if secret in self._typed:
            return self._typed[secret]
        if secret in self._cleared:
            raise secret_missing(secret)
        before = stored.secrets.get(secret) if stored else None
        if configuration.secrets.get(secret) != before:
            # A reference that was chosen in the form, which nothing vouches for yet.
            unvouched = replace(configuration, record="")
            return self._stored_secrets.open(unvouched, secret, reads)
        if stored is None:
            raise secret_missing(secret)
        refuse_other_tls(stored, configuration, secret)
        return self._stored_secrets.open(stored, secret, reads)

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing: `open` compares the settings of stored secrets."""

    def fingerprints(self, key: bytes) -> dict[str, str]:
        """Return a keyed value for each secret that was typed, "" for a deleted one."""
        deleted = dict.fromkeys(self._cleared, "")
        typed = {name: one.fingerprint(key).hex() for name, one in self._typed.items()}
        return deleted | typed


@dataclass(frozen=True, slots=True)
class CandidateConfiguration:
    """A configuration as a form has it, saved or not, that a user tries."""

    stored: Configuration | None
    configuration: Configuration
    secrets: DraftSecrets

    @property
    def is_saved(self) -> bool:
        """Whether the form has nothing that is not stored."""
        return self.configuration == self.stored

    def begin_test(
        self, administration: Administration, sender: Sender, tokens: Tokens
    ) -> ConnectionTest:
        """Record that a test begins, and return it; a draft has `tokens` of its own."""
        script = self.configuration.script if self._changes_script else ""
        administration.note_test(self.configuration.name, script)
        if self.is_saved:
            return prepare_test(sender, self.configuration)
        # A marker that is compared with responses could be used to guess a secret that
        # they echo, so a draft has the stored one.
        marker = self.stored.verification.expired_marker if self.stored else ""
        draft = self._named_draft()
        verification = replace(draft.verification, expired_marker=marker)
        draft = replace(draft, verification=verification)
        return prepare_test(sender, draft, DraftCredentials(self.secrets, tokens))

    def digest(self, key: bytes) -> str:
        """Return a value that only an equal draft with equal secrets shares.

        The key stays secret, so that no one learns a short secret by comparing digests.
        """
        configuration = self.configuration
        stored = self.stored
        facts = [
            (stored.record, stored.version, stored.revision) if stored else None,
            configuration.name,
            configuration.values(),
            [(row.KIND, row.key, row.value, row.secret) for row in configuration.rows],
            sorted((name, str(one)) for name, one in configuration.secrets.items()),
            self.secrets.fingerprints(key),
        ]
        text = json.dumps(facts, sort_keys=True, default=str)
        return hmac.digest(key, text.encode(), "sha256").hex()

    def finish_test(
        self, administration: Administration, report: Report, now: float
    ) -> None:
        """Store how the test ended, if it was one of the stored configuration."""
        if self.stored is not None and self.is_saved:
            administration.save_test_result(self.stored, report, now)

    def needs_for_preview(self) -> set[Permission]:
        """Return the permissions for a preview: it runs the script, with the secret."""
        if self._changes_script:
            return {Permission.VIEW, Permission.TEST}
        return {Permission.VIEW}

    def preview(self, administration: Administration, context: SendContext) -> Preview:
        """Return the exact test request, secrets masked; a new script is recorded."""
        configuration = self.configuration
        if self._changes_script:
            administration.note_test(configuration.name, configuration.script)
        if not self.is_saved:
            configuration = self._named_draft()
        check_method(configuration.verification.test_method, field="")
        call = call_of_test(configuration)
        return preview(replace(context, secrets=self.secrets), call)

    def run_script(
        self, administration: Administration, context: SendContext, at: float | None
    ) -> ScriptTrial:
        """Record and run the script once; return names and lengths of its headers."""
        configuration = self.configuration
        administration.note_test(configuration.name, configuration.script)
        context = replace(context, secrets=self.secrets)
        return try_script(context, configuration, at)

    @property
    def _changes_script(self) -> bool:
        return changes_script(self.stored, self.configuration)

    def _named_draft(self) -> Configuration:
        """Return it under a name of its own.

        So a draft uses neither the permits nor the processes nor the audit of the
        stored configuration.
        """
        return replace(self.configuration, name=draft_name(self.configuration.name))
