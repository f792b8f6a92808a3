"""Tables. They store what core defines and decide nothing.

Ciphertexts have a table of their own,
so that no list of configurations ever touches one.
"""

from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _

from outkey.core.sync.run import RunState
from outkey.core.vault.versions import SecretLabel


class Configuration(models.Model):
    """One external API: a column for each list filter, the rest in `settings`."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # for editors: changes with the settings
    version = models.PositiveIntegerField(default=1)
    # for caches: changes with the secrets too
    revision = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=200, unique=True)
    base_url = models.CharField(max_length=2000)
    environment = models.CharField(max_length=20)
    network = models.CharField(max_length=20)
    active = models.BooleanField(default=True)
    authentication_type = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    # What lists show without reading header rows or secrets.
    needs_secret = models.BooleanField(default=False)
    stores_secret = models.BooleanField(default=False)
    needs_person = models.BooleanField(default=False)
    expires_on = models.DateField(null=True)
    tested_revision = models.PositiveIntegerField(null=True)
    tested_at = models.FloatField(null=True)
    verified_at = models.FloatField(null=True)
    cause = models.CharField(max_length=40, blank=True)
    seen = models.JSONField(default=dict)
    # Changes with no revision: what a test found of it still holds.
    refused = models.PositiveIntegerField(default=0)
    paused_at = models.FloatField(null=True)

    class Meta:
        """Names as the specification has them."""

        verbose_name = _("API Sync Configuration")
        verbose_name_plural = _("API Sync Configurations")
        ordering = ("name",)
        permissions = (
            ("test_configuration", "Can test API Sync Configurations"),
            ("set_secret", "Can enter and clear secrets"),
            ("use_internal_network", "Can allow the internal network"),
            ("edit_script", "Can write signing scripts"),
        )

    def __str__(self) -> str:
        return self.name


class HeaderRow(models.Model):
    """One row of the Headers tab."""

    configuration = models.ForeignKey(
        Configuration, models.CASCADE, related_name="headers"
    )
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=200)
    value = models.TextField(blank=True)
    secret = models.BooleanField()

    class Meta:
        """Rows keep their order."""

        ordering = ("configuration", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["configuration", "position"], name="outkey_row_position"
            ),
        )

    def __str__(self) -> str:
        return self.key


class SecretValue(models.Model):
    """One version of a secret: sealed bytes, or a reference to elsewhere."""

    configuration = models.ForeignKey(
        Configuration, models.CASCADE, related_name="secret_values"
    )
    field = models.CharField(max_length=250)
    set_by = models.CharField(max_length=150, blank=True)
    version = models.PositiveIntegerField()
    label = models.CharField(
        max_length=10,
        choices=(
            (SecretLabel.PENDING, _("pending")),
            (SecretLabel.CURRENT, _("current")),
            (SecretLabel.PREVIOUS, _("previous")),
        ),
    )
    # of the Base URL, or of Token URL and Base URL
    origin = models.CharField(max_length=700)
    reference = models.CharField(max_length=1000, blank=True)
    sealed = models.BinaryField(null=True)
    key_id = models.CharField(max_length=16, blank=True, db_index=True)
    set_at = models.FloatField(null=True)

    class Meta:
        """A version is written once; one at a time is current."""

        constraints = (
            models.UniqueConstraint(
                fields=["configuration", "field", "version"], name="outkey_version"
            ),
            models.UniqueConstraint(
                fields=["configuration", "field"],
                condition=models.Q(label=SecretLabel.CURRENT),
                name="outkey_one_current",
            ),
        )

    def __str__(self) -> str:
        return f"{self.field} ({self.label})"


class Token(models.Model):
    """The OAuth 2.0 token of a configuration: sealed, with facts that are no secret."""

    configuration = models.OneToOneField(
        Configuration, models.CASCADE, primary_key=True, related_name="token"
    )
    generation = models.PositiveIntegerField()  # every write has the next one
    serial = models.PositiveIntegerField()  # every token has the next one
    origin = models.CharField(max_length=700)
    sealed = models.BinaryField(null=True)
    key_id = models.CharField(max_length=16, blank=True, db_index=True)
    facts = models.JSONField()

    def __str__(self) -> str:
        return str(self.pk)


class SyncLine(models.Model):
    """One named call of a configuration, or what is synchronized by many of them."""

    name = models.CharField(max_length=200, unique=True)
    configuration = models.ForeignKey(
        Configuration, models.CASCADE, related_name="lines"
    )
    method = models.CharField(max_length=20)
    path = models.CharField(max_length=2000)
    sync = models.JSONField(null=True)  # the table that a TOML document has

    class Meta:
        """Names as the specification has them."""

        verbose_name = _("Sync Line")
        verbose_name_plural = _("Sync Lines")
        ordering = ("name",)
        permissions = (("run_syncline", "Can run and cancel Sync Lines"),)

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One run of a sync line, with its checkpoint.

    A running run has a lease until `until`, which each checkpoint extends; a waiting
    run is due at `until`.
    """

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="runs", db_index=False
    )
    digest = models.CharField(max_length=64)  # of the line as it was
    actor = models.CharField(max_length=150)
    state = models.CharField(max_length=10)
    dry_run = models.BooleanField()
    # JSON as text: an API's cursor may hold what jsonb refuses
    checkpoint = models.TextField()
    counts = models.JSONField(default=dict)
    pages = models.PositiveBigIntegerField(default=0)
    started_at = models.FloatField()
    ended_at = models.FloatField(null=True)
    cause = models.TextField(blank=True)
    generation = models.PositiveBigIntegerField(default=1)
    until = models.FloatField(db_index=True)
    attempt = models.PositiveSmallIntegerField(default=0)

    class Meta:
        """A line has at most one running run, and one waiting run of each kind."""

        verbose_name = _("run")
        verbose_name_plural = _("Runs")
        default_permissions = ("view",)
        indexes = (models.Index(fields=["line", "-id"], name="outkey_run_by_line"),)
        constraints = (
            models.UniqueConstraint(
                fields=["line"],
                condition=models.Q(state=RunState.RUNNING.value),
                name="outkey_one_running",
            ),
            models.UniqueConstraint(
                fields=["line", "dry_run"],
                condition=models.Q(state=RunState.WAITING.value),
                name="outkey_one_waiting",
            ),
        )

    def __str__(self) -> str:
        return str(self.pk)


class Quarantine(models.Model):
    """A record that a run rejected (`RejectedRecord`): its key, and none of its values.

    The name of the table is that of version 0.1.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="left_out")
    number = models.PositiveBigIntegerField()
    key = models.CharField(max_length=200, blank=True)
    field = models.TextField(blank=True)
    reason = models.TextField()

    class Meta:
        """Seen with the run."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.run_id}:{self.number}"


class SyncMark(models.Model):
    """A record of the host that a line brought, and the run that has seen it last."""

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="marks", db_index=False
    )
    target = models.CharField(max_length=200)
    record = models.CharField(max_length=200)
    run = models.PositiveBigIntegerField()
    archived = models.BooleanField(default=False)

    class Meta:
        """Once for each record."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=["line", "target", "record"], name="outkey_one_mark"
            ),
        )

    def __str__(self) -> str:
        return f"{self.target}:{self.record}"


class Stream(models.Model):
    """One process that writes audit records, with the end of the pruned ones."""

    name = models.CharField(max_length=40, unique=True)
    pruned_number = models.PositiveBigIntegerField(default=0)
    pruned_mac = models.BinaryField(default=b"")
    pruned_signature = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return self.name


class AuditRecord(models.Model):
    """One row of the audit chain.

    The code covers `body`; the columns are for searching.
    """

    stream = models.ForeignKey(
        Stream, models.PROTECT, db_index=False, related_name="records"
    )
    number = models.PositiveBigIntegerField()
    at = models.PositiveBigIntegerField()  # Unix time in milliseconds
    configuration = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=40, blank=True)
    body = models.BinaryField()
    mac = models.BinaryField()

    class Meta:
        """Read by chain, and newest first by configuration."""

        verbose_name = _("audit record")
        verbose_name_plural = _("Audit")
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(fields=["stream", "number"], name="outkey_chain"),
        )
        indexes = (
            models.Index(fields=["configuration", "-id"], name="outkey_audit_by_api"),
        )

    def __str__(self) -> str:
        return f"{self.stream_id}:{self.number}"


class KnownKey(models.Model):
    """A key that was used with this database, and a value to recognize it by."""

    key_id = models.CharField(max_length=16, primary_key=True)
    check_value = models.BinaryField()

    class Meta:
        """Keys are looked at and rotated, not edited."""

        verbose_name = _("key")
        verbose_name_plural = _("Keys")
        default_permissions = ("view",)
        permissions = (("rotate_keys", "Can rotate keys"),)

    def __str__(self) -> str:
        return self.key_id


class SharedStateRow(models.Model):
    """A small value that all processes share; `core/shared_state.py` has the kinds."""

    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=200)
    generation = models.PositiveBigIntegerField()  # every write has the next one
    value = models.TextField()  # JSON

    class Meta:
        """Once for each key."""

        db_table = "outkey_sharedstate"
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=["kind", "key"], name="outkey_one_state"),
        )

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"
