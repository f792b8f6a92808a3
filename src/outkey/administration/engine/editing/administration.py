"""Changes by users: stored, vouched for, and recorded in the audit first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.editing.changes import (
    ConfigurationChange,
    NamingWebhooks,
    check_secret_field,
    destinations_of,
)
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionMissing,
    HostError,
    UnknownConfiguration,
    UnknownConnection,
)
from outkey.sending.core.audit.changed_values import configuration_changes
from outkey.sending.core.audit.events import Change, ChangeEffect, Tag
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.owners import EVERYTHING, Reach
from outkey.sending.core.configuration.secret_state import successor
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.request.script import SCRIPT_FACT, fingerprint
from outkey.sending.core.vault.voucher import NAME, is_setting, vouchable_facts
from outkey.sending.engine.exchange.calls import find_account, require_account

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from outkey.foundation.core.fields.changes import FieldChange
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.expressions import PathCompiler
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference
    from outkey.sending.engine.connection_test import Report
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.engine.tokens.actions import TokenActions
    from outkey.sending.ports.sending import Audit, Tokens
    from outkey.sending.ports.storage import SecretStore
    from outkey.sync.core.databases.section import OtherDatabase
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.pairs.section import Pair
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.sync_settings import SyncSettings


@dataclass(frozen=True, slots=True)
class Administration:
    """The changes that a user makes. Each is recorded in the audit first."""

    registry: Registry
    secrets: SecretStore
    audit: Audit
    actor: str
    policy: Callable[[], Policy] = Policy
    paths: PathCompiler | None = None  # without it, expressions are not checked here
    # None: there are no webhooks.
    webhooks: Callable[[], NamingWebhooks | None] = lambda: None
    tokens: Tokens | None = None  # without it, none are stored
    # Refuses a reference that no backend of the operator is for.
    refuse_reference: Callable[[Reference, str], None] = lambda _reference, _field: None
    reach: Reach = EVERYTHING  # whose configurations the user sees, and creates
    # Refuses a line that a limited user must not save.
    refuse_line: Callable[[SyncLine], None] = lambda _line: None
    # Refuses to rename or delete what another owner uses: a configuration and lines.
    refuse_used: Callable[[str, Collection[str]], None] = lambda _name, _lines: None

    def note(
        self,
        tag: Tag,
        configuration: str = "",
        *fields: str,
        key: str = "",
        connection: str = "",
    ) -> None:
        """Record what is about to be done; where that fails, it is not done."""
        self.audit.note(
            Change(tag, self.actor, configuration, fields, key, connection=connection)
        )

    def set_secret(
        self,
        name: str,
        field: str,
        secret: Secret,
        *,
        seen: Configuration | None = None,
    ) -> None:
        """Replace a stored secret.

        `seen` is the configuration that the user entered it for: if it has changed
        since, the secret is refused. It would be sealed for an origin that the user has
        not seen.
        """
        configuration = seen or self.current(name)
        self.save(
            ConfigurationChange(configuration, configuration, secrets={field: secret})
        )

    def clear_secret(self, name: str, field: str) -> None:
        """Delete a secret; sending refuses until another is set."""
        configuration = self.current(name)
        self.save(ConfigurationChange(configuration, configuration, cleared=(field,)))

    def set_reference(
        self,
        name: str,
        field: str,
        reference: Reference,
        *,
        seen: Configuration | None = None,
    ) -> None:
        """Read a secret from a reference, bound to the origin configured now."""
        from outkey.administration.core.policy.blocking import refuse_blocked  # noqa: PLC0415

        configuration = seen or self.current(name)
        check_secret_field(configuration, field)
        self.refuse_reference(reference, field)
        before = configuration.secrets.get(field)
        state = successor(before, configuration.binding_of(field), reference)
        secrets = {**configuration.secrets, field: state}
        refuse_blocked(self.policy(), [replace(configuration, secrets=secrets)])
        self.audit.note(self._note_of_secret(configuration, configuration, field))
        with self.registry.transaction():
            self.registry.lock(configuration)
            self.registry.put_reference(configuration, field, state)
            self.registry.note_secrets_changed(configuration.account)
            self.vouch(configuration.account, {field, *destinations_of(field)})

    def confirm(self, seen: Configuration) -> None:
        """Vouch for a configuration as the user has seen it."""
        # A setting that has its default now is no fact any more, but a difference.
        differences = self.secrets.voucher(seen).differences(seen)
        facts = dict.fromkeys([*vouchable_facts(seen), *differences])
        self.note(
            Tag.SECRETS_CONFIRMED, seen.name, *facts, connection=seen.connection_id
        )
        with self.registry.transaction():
            self.registry.lock(seen)
            self.secrets.vouch(seen, facts)
            self.registry.note_vouched(seen.account)

    def resume(self, name: str) -> bool:
        """End the pause of a configuration; return whether it was paused."""
        if not self.current(name).paused:
            return False
        self.note(Tag.CONFIGURATION_UPDATED, name, "paused_at")
        self.registry.resume(name)
        return True

    def rename(self, name: str, new_name: str, at: float) -> None:
        """Give a configuration another name; `at` is the Unix time of now."""
        self.registry.get(name)
        new_name = str(BY_PATH["name"].parse(new_name))
        if new_name == name:
            return
        self.refuse_used(name, ())
        renamed = Change(
            Tag.CONFIGURATION_RENAMED,
            self.actor,
            fields=("name",),
            changes=(("name", name, new_name),),
        )
        # The record is found by either name; `Activity` lists the two as one.
        self.audit.note(
            renamed._replace(configuration=name),
            renamed._replace(configuration=new_name),
        )
        stored = self.current(name)
        # A name that was changed outside of outkey is not confirmed by another one.
        is_confirmed = NAME not in self.secrets.voucher(stored).differences(stored)
        with self.registry.transaction():
            self.registry.rename(name, new_name, at)
            if is_confirmed:
                self.vouch(new_name, {NAME})
            webhooks = self.webhooks()
            if webhooks:
                webhooks.rename_configuration(name, new_name)

    def remove(self, name: str, settings: SyncSettings) -> None:
        """Delete a configuration with its secrets, its lines and their pairs.

        ConfigError if a webhook needs it: its sender would get errors from then on.
        """
        configuration = self.registry.get(name)
        lines = [
            line.name
            for line in self.registry.timetable()
            if line.configuration == name
        ]
        self._refuse_removal(name, lines)
        self.note(Tag.CONFIGURATION_REMOVED, name)
        pairs = self._note_pairs(settings, lines)
        with self.registry.transaction():
            if self.tokens is not None:
                self.tokens.delete_beside(configuration)
            self.registry.remove(name)
            settings.remove_pairs(pairs)

    def save(
        self, *changes: ConfigurationChange, lines: Collection[SyncLine] = ()
    ) -> None:
        """Create and update configurations, secrets and lines: all of it or nothing.

        A change is refused if the configuration is not as it was read, inside the
        transaction: no secret is sealed for an origin that another user just saved.
        """
        from outkey.administration.core.policy.blocking import refuse_blocked  # noqa: PLC0415
        from outkey.sending.engine.tokens.login_paths import refuse_invalid_expressions  # noqa: PLC0415

        changes = tuple(map(self._with_owner, changes))
        refuse_blocked(
            self.policy(),
            (change.made for change in changes if change.changes_settings),
        )
        self.refuse_lines([change.made for change in changes], lines)
        for change in changes:
            if change.changes_settings:
                refuse_unsavable(change.made)
                if self.paths is not None:
                    refuse_invalid_expressions(self.paths, change.made)
            for field in (*change.secrets, *change.cleared):
                check_secret_field(change.made, field)
            for field, secret in change.secrets.items():
                refuse_unusable(field, secret)
        self.audit.note(
            *(note for change in changes for note in self._notes(change)),
            *(self._note_of_line(line) for line in lines),
        )
        with self.registry.transaction():
            for change in changes:
                self._save(change)
            for line in lines:
                self.registry.put_line(line, by=self.actor)

    def _with_owner(self, change: ConfigurationChange) -> ConfigurationChange:
        """Return a change with the owner that it gets, or raise ScopeMissing."""
        before = change.stored.owner if change.stored else ""
        owner = self.reach.owner_for(change.made.owner, before)
        return replace(change, made=replace(change.made, owner=owner))

    def _save(self, change: ConfigurationChange) -> None:
        made = change.made
        references: Sequence[str] = ()
        if change.stored is None:
            saved = self.registry.add(made, change.record)  # with its references
        else:
            self.registry.lock(made)
            saved = (
                self.registry.put_settings(made) if change.changes_settings else made
            )
            references = change.references()
        for field in references:
            self.registry.put_reference(saved, field, made.secrets[field])
        for field in change.cleared:
            self.registry.clear_secret(saved, field)
        for field, secret in change.secrets.items():
            self.secrets.set_value(saved, field, secret, by=self.actor)
        if references or change.cleared or change.secrets:
            self.registry.note_secrets_changed(saved.account)
        # Seal what this save decided (`sending.core.vault.voucher`), so that a change
        # which was made in the database without outkey is noticed.
        unconfirmed = self.unconfirmed_facts(change.stored) - change.destinations()
        facts = change.facts() - unconfirmed
        # Without a change the voucher stays too: caches would not read another one.
        if facts:
            self.vouch(saved.account, facts)

    def unconfirmed_facts(self, stored: Configuration | None) -> set[str]:
        """Return the facts that a save must not vouch for: outkey did not save them.

        They are a script or settings in the database, which a save takes over. Only a
        user who was shown them as changed can confirm them.
        """
        if stored is None:
            return set()
        differences = self.secrets.voucher(stored).differences(stored)
        return {fact for fact in differences if fact == SCRIPT_FACT or is_setting(fact)}

    def vouch(self, name: str, changed: Collection[str]) -> None:
        """Vouch for what was changed, as it is stored now."""
        self.secrets.vouch(self.registry.find([name])[name], changed)

    def current(self, name: str, connection: str | None = None) -> Configuration:
        """Return a configuration as it is stored now, not as it is cached.

        With the account of a connection where one is named.
        """
        account = name
        if connection is not None:
            account = self.registry.connected(name, connection).account
        return self.registry.find([account]).get(account) or self.registry.get(account)

    def test(
        self,
        sender: Sender,
        name: str,
        subject: Secret | None = None,
        connection: str | None = None,
    ) -> Report:
        """Test a configuration, or an account of it, and store the result.

        `subject` is the token of a user, where each request brings one.
        """
        from outkey.sending.engine.connection_test_setup import (  # noqa: PLC0415
            prepare_test,
            report_without_account,
        )

        try:
            configuration = find_account(self.registry, name, connection)
        except UnknownConnection as error:
            return report_without_account(name, error)
        self.note_test(name, connection=configuration.connection_id)
        report = prepare_test(sender, configuration, subject=subject).run()
        self.save_test_result(configuration, report, sender.context.clock.now())
        return report

    def note_test(self, name: str, script: str = "", connection: str = "") -> None:
        """Record that a test begins; if that fails, the report contains the reason.

        An unsaved script is named by its fingerprint, since it will see a secret.
        """
        with suppress(HostError):
            key = f"script {fingerprint(script)}" if script else ""
            self.note(Tag.CONFIGURATION_TESTED, name, key=key, connection=connection)

    def save_test_result(
        self, configuration: Configuration, report: Report, now: float
    ) -> None:
        """Store the result of a test; a storage that fails must not cost the report.

        Of a test that lacked a connection there is none: it says nothing about the
        settings, which work for every account.
        """
        if isinstance(report.error, ConnectionMissing):
            return
        with suppress(HostError):
            self.registry.save_test_result(
                configuration, now, report.cause or "", report.seen
            )

    def save_good_test(
        self, configuration: Configuration, at: float, seen: Mapping[str, object]
    ) -> None:
        """Store that a draft with exactly these values was tested with success."""
        with suppress(HostError):
            self.registry.save_test_result(configuration, at, "", seen)

    def token(
        self,
        sender: Sender,
        name: str,
        tag: Tag,
        subject: Secret | None = None,
        connection: str | None = None,
    ) -> TokenActions:
        """Record what a user is about to do with a token, and return the actions."""
        # A limited user has another registry than the sender.
        source = self.registry if self.reach.is_limited else sender.configurations
        configuration = require_account(source, name, connection)
        actions = sender.token_actions(configuration, subject=subject)
        self.note(tag, name, connection=configuration.connection_id)
        return actions

    def save_line(self, line: SyncLine, *, seen: int | None = None) -> None:
        """Create or change a sync line.

        Raises EditConflict if `seen` is given and is not its newest version.
        """
        self.registry.get(line.configuration)
        self.refuse_lines((), [line])
        self.audit.note(self._note_of_line(line))
        self.registry.put_line(line, by=self.actor, seen=seen)

    def save_lines(self, lines: Iterable[SyncLine]) -> None:
        """Create and change sync lines: all of them or none."""
        changed = list(lines)
        self.refuse_lines((), changed)
        self.audit.note(*(self._note_of_line(line) for line in changed))
        with self.registry.transaction():
            for line in changed:
                self.registry.put_line(line, by=self.actor)

    def refuse_lines(
        self, made: Collection[Configuration], lines: Collection[SyncLine]
    ) -> None:
        """Refuse lines that a limited user must not save, or that no run could send.

        Those are lines of configurations whose requests are sent for users. `made` are
        configurations as they will be stored with these lines.
        """
        from outkey.sync.core.line.line import refuse_line_for_users  # noqa: PLC0415

        for line in lines:
            self.refuse_line(line)

        owners = {configuration.name: configuration for configuration in made}
        for line in lines:
            owner = owners.get(line.configuration)
            refuse_line_for_users(
                owner or self.registry.get(line.configuration), line.name
            )
        if any(configuration.needs_subject for configuration in made):
            for stored in self.registry.timetable():
                if owner := owners.get(stored.configuration):
                    refuse_line_for_users(owner, stored.name)

    def save_sync_settings(
        self,
        settings: SyncSettings,
        databases: Sequence[OtherDatabase],
        pairs: Sequence[Pair],
    ) -> None:
        """Create and change other databases and pairs: all of them or none."""
        for database in databases:
            self.note(Tag.DATABASE_SAVED, "", database.name)
        for pair in pairs:
            self.note(Tag.PAIR_SAVED, "", pair.name)
        with self.registry.transaction():
            settings.put(databases, pairs)

    def rename_line(
        self,
        name: str,
        new_name: str,
        settings: SyncSettings,
        follow: Callable[[], None],
    ) -> None:
        """Give a sync line another name, also in the pair that it is in.

        ConfigError if its records are the parents of another line.
        `follow` changes what else knows it by its name, in the same transaction.
        """
        configuration = self.registry.line(name).configuration
        self.refuse_used("", [name])
        self._refuse_parents([name])
        for each_name in (name, new_name):  # the record is found by either
            self.note(Tag.LINE_RENAMED, configuration, each_name)
        with self.registry.transaction():
            self.registry.rename_line(name, new_name)
            settings.rename_line(name, new_name)
            webhooks = self.webhooks()
            if webhooks:
                webhooks.rename_line(name, new_name)
            follow()

    def remove_line(self, name: str, settings: SyncSettings) -> list[str]:
        """Delete a sync line and the pair that it is in; return the pair's name.

        ConfigError if a webhook needs it, or a line whose parents are its records.
        """
        configuration = self.registry.owner_of_line(name)
        self._refuse_removal("", [name])
        self.note(Tag.LINE_REMOVED, configuration, name)
        pairs = self._note_pairs(settings, [name])
        with self.registry.transaction():
            self.registry.remove_line(name)
            settings.remove_pairs(pairs)
        return pairs

    def webhooks_naming(self, configuration: str, lines: Collection[str]) -> list[str]:
        """Return the webhooks that need a configuration or a line ("" for none)."""
        webhooks = self.webhooks()
        return webhooks.dependent_webhooks(configuration, lines) if webhooks else []

    def _refuse_removal(self, configuration: str, lines: Collection[str]) -> None:
        self.refuse_used(configuration, lines)
        webhooks = self.webhooks()
        if webhooks:
            webhooks.refuse_removal(configuration, lines)
        self._refuse_parents(lines)

    def _refuse_parents(self, names: Collection[str]) -> None:
        """Raise ConfigError if records of these lines are parents of other lines."""
        from outkey.sync.core.line.parent_checks import (  # noqa: PLC0415
            refuse_use_as_parent,
        )

        refuse_use_as_parent(names, self.registry.lines())

    def _note_pairs(self, settings: SyncSettings, lines: Collection[str]) -> list[str]:
        """Record that the pairs of these lines are deleted; return their names."""
        pairs = settings.pairs_of(lines)
        for pair in pairs:
            self.note(Tag.PAIR_REMOVED, "", pair)
        return pairs

    def _note_of_line(self, line: SyncLine) -> Change:
        from outkey.sync.core.line.audited_changes import line_changes  # noqa: PLC0415

        changes: tuple[FieldChange, ...] = ()
        effect = ""
        try:
            changes = tuple(line_changes(self.registry.line(line.name), line))
        except UnknownConfiguration:
            effect = ChangeEffect.CREATED
        except ConfigError:
            pass  # what is stored cannot be read, and so not compared
        return Change(
            Tag.LINE_SAVED,
            self.actor,
            line.configuration,
            fields=(line.name,),
            changes=changes,
            effect=effect,
        )

    def _note_of_secret(
        self, stored: Configuration | None, made: Configuration, field: str
    ) -> Change:
        had_value = stored is not None and field in stored.secrets
        return Change(
            Tag.SECRET_SET,
            self.actor,
            made.name,
            (field,),
            effect=ChangeEffect.REPLACED if had_value else ChangeEffect.CREATED,
            connection=made.connection_id,
        )

    def _notes(self, change: ConfigurationChange) -> Iterator[Change]:
        made = change.made
        if change.changes_settings:
            yield self._note_of_settings(change.stored, made)
        for field in change.cleared:
            yield Change(
                Tag.SECRET_CLEARED,
                self.actor,
                made.name,
                (field,),
                connection=made.connection_id,
            )
        for field in change.secrets:
            yield self._note_of_secret(change.stored, made, field)

    def _note_of_settings(
        self, stored: Configuration | None, made: Configuration
    ) -> Change:
        tag = Tag.CONFIGURATION_CREATED
        changes: tuple[FieldChange, ...] = ()
        is_new_script = bool(made.script)
        if stored is not None:
            tag = Tag.CONFIGURATION_UPDATED
            changes = tuple(configuration_changes(stored, made))
            is_new_script = bool(made.script) and stored.script != made.script
        return Change(
            tag,
            self.actor,
            made.name,
            fields=tuple(change.path for change in changes),
            key=f"script {fingerprint(made.script)}" if is_new_script else "",
            changes=changes,
        )
