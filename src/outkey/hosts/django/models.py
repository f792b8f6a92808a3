"""Tables. They store what core defines and decide nothing.

Ciphertexts have a table of their own,
so that no list of configurations ever touches one.
"""

from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _

from outkey.hosts.django.rows.columns import (
    CodePointField,
    DayField,
    RecordField,
    tolerate_odd_values,
)
from outkey.sending.core.vault.versions import SecretLabel
from outkey.sync.core.run.run import RunState


class Configurations(models.Manager["Configuration"]):
    """Configurations without their connections, as every list shows them."""

    def get_queryset(self) -> models.QuerySet["Configuration"]:
        """Return the rows that are no connection."""
        return super().get_queryset().filter(parent=None)


class Configuration(models.Model):
    """One external API: a column for each list filter, the rest in `settings`.

    Or a connection: one account under the configuration that is its parent.
    """

    id = RecordField(primary_key=True, default=uuid4, editable=False)
    # for editors: changes with the settings
    version = models.PositiveIntegerField(default=1)
    # for caches: changes with the secrets too
    revision = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=200, unique=True)
    base_url = models.CharField(max_length=2000)
    environment = models.CharField(max_length=20)
    network = models.CharField(max_length=20)
    active = models.BooleanField(default=True)
    # The default is for processes of an older version.
    owner = models.CharField(
        max_length=200, blank=True, default="", db_default="", db_index=True
    )
    authentication_type = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    # What lists show without reading header rows or secrets.
    needs_secret = models.BooleanField(default=False)
    stores_secret = models.BooleanField(default=False)
    needs_person = models.BooleanField(default=False)
    expires_on = DayField(null=True)
    tested_revision = models.PositiveIntegerField(null=True)
    tested_at = models.FloatField(null=True)
    verified_at = models.FloatField(null=True)
    cause = models.CharField(max_length=40, blank=True)
    seen = models.JSONField(default=dict)
    # Changes with no revision: what a test found of it still holds.
    refused = models.PositiveIntegerField(default=0)
    paused_at = models.FloatField(null=True)
    # Of a connection alone.
    parent = models.ForeignKey(
        "self", models.CASCADE, null=True, db_index=False, related_name="accounts"
    )
    connection = CodePointField(max_length=120, default="", db_default="")
    created_at = models.FloatField(null=True)
    connected_at = models.FloatField(null=True)
    last_used_at = models.FloatField(null=True)

    objects = Configurations()
    with_connections: models.Manager["Configuration"] = models.Manager()

    class Meta:
        """Names as the specification has them."""

        verbose_name = _("API Sync Configuration")
        verbose_name_plural = _("API Sync Configurations")
        ordering = ("name",)
        # Everything that a status is computed from: the menu and the home page count
        # them without reading the rows.
        indexes = (
            models.Index(
                fields=[
                    "active",
                    "needs_secret",
                    "needs_person",
                    "stores_secret",
                    "paused_at",
                    "expires_on",
                    "cause",
                    "tested_revision",
                    "revision",
                    "name",
                ],
                name="outkey_configuration_health",
            ),
            models.Index(
                fields=["parent", "connection"],
                condition=models.Q(parent__isnull=False),
                name="outkey_connection",
            ),
        )
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
            (SecretLabel.OTHER_SET, _("of another set")),
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
    source = models.TextField(default="")  # the TOML of `sync` as a user wrote it
    # That outkey has saved it; the default is for processes of an older version.
    voucher = models.CharField(max_length=200, default="", db_default="")

    class Meta:
        """Names as the specification has them."""

        verbose_name = _("Sync Line")
        verbose_name_plural = _("Sync Lines")
        ordering = ("name",)
        permissions = (
            ("run_syncline", "Can run and cancel Sync Lines"),
            ("view_data", "Can view the tables of Sync Lines"),
        )

    def __str__(self) -> str:
        return self.name


class LineVersion(models.Model):
    """A version of a sync line, as one save stored it."""

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    at = models.FloatField()
    actor = models.CharField(max_length=150)
    text = models.TextField()  # the whole line as TOML
    summary = models.TextField()  # a template and its values as JSON

    class Meta:
        """One version of each number."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("line", "number"), name="outkey_one_line_version"
            ),
        )

    def __str__(self) -> str:
        return str(self.number)


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
    is_received = models.BooleanField(default=False)  # of deliveries, not of the line
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
    """A record that a run rejected (`RejectedRecord`): its key and a masked excerpt.

    The name of the table is that of version 0.1.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="left_out")
    number = models.PositiveBigIntegerField()
    key = models.CharField(max_length=200, blank=True)
    field = models.TextField(blank=True)
    reason = models.TextField()
    kind = models.CharField(max_length=20, blank=True, default="")
    excerpt = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        """Seen with the run."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.run_id}:{self.number}"


class SyncMark(models.Model):
    """A record of the host that a line brought, and the run that has seen it last."""

    # Without a constraint: PostgreSQL would check it for each mark of a page, which
    # takes half as long as inserting them. Marks are deleted with their line.
    line = models.ForeignKey(
        SyncLine,
        models.CASCADE,
        related_name="marks",
        db_index=False,
        db_constraint=False,
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


class Ledger(models.Model):
    """The ledger of a push: one record that was sent (`LedgerEntry`)."""

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="ledger", db_index=False
    )
    record = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, blank=True)
    remote_id = models.TextField(blank=True)
    is_deleted = models.BooleanField(default=False)
    creations = models.PositiveIntegerField(default=0)
    key = models.CharField(max_length=64, blank=True, default="")
    sent = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        """Once for each record."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=["line", "record"], name="outkey_one_ledger_entry"
            ),
        )
        indexes = (
            models.Index(
                fields=["line", "remote_id"],
                condition=~models.Q(remote_id=""),
                name="outkey_ledger_remote_id",
            ),
            models.Index(
                fields=["line", "record"],
                condition=~models.Q(key=""),
                name="outkey_ledger_announced",
            ),
        )

    def __str__(self) -> str:
        return f"{self.line_id}:{self.record}"


class Agreement(models.Model):
    """The agreement of a pair about one record (`PairAgreement`)."""

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="agreements", db_index=False
    )
    record = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    api = models.TextField()  # JSON, as the next ones
    host = models.TextField()
    is_pushed = models.BooleanField(default=False)
    conflict = models.TextField()

    class Meta:
        """Once for each record, and found by key where the host has it no more."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=["line", "record"], name="outkey_one_agreement"
            ),
        )
        indexes = (
            models.Index(fields=["line", "key"], name="outkey_agreement_key"),
            models.Index(
                fields=["line", "record"],
                condition=~models.Q(conflict="null"),
                name="outkey_agreement_conflict",
            ),
        )

    def __str__(self) -> str:
        return f"{self.line_id}:{self.record}"


class LineParent(models.Model):
    """A parent of a line that requests a list for each of them (`ParentState`)."""

    line = models.ForeignKey(
        SyncLine, models.CASCADE, related_name="parents", db_index=False
    )
    key = models.CharField(max_length=200)
    turn = models.CharField(max_length=60, blank=True)
    since = models.TextField(blank=True)
    full_at = models.FloatField(default=0.0)
    mark = models.CharField(max_length=64, blank=True)
    checkpoint = models.TextField()  # JSON

    class Meta:
        """Once for each parent."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=["line", "key"], name="outkey_one_line_parent"
            ),
        )

    def __str__(self) -> str:
        return f"{self.line_id}:{self.key}"


class Delivery(models.Model):
    """A verified delivery of a webhook (`InboxDelivery`); its body is sealed."""

    endpoint = models.CharField(max_length=22)
    key = models.CharField(max_length=300)
    event_id = models.CharField(max_length=300, blank=True)
    event_type = models.CharField(max_length=300, blank=True)
    nonce = models.CharField(max_length=300, blank=True)
    fetch_id = models.CharField(max_length=100, blank=True)
    received_at = models.FloatField(db_index=True)
    state = models.CharField(max_length=10)
    due_at = models.FloatField()
    attempts = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)
    records = models.PositiveIntegerField(null=True)
    run = models.CharField(max_length=20, blank=True, default="")
    tested_by = models.CharField(max_length=150, blank=True, default="")
    generation = models.PositiveIntegerField(default=1)
    body = models.BinaryField()

    class Meta:
        """Each event of an endpoint once, and each of its nonces."""

        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=["endpoint", "key"], name="outkey_one_delivery"
            ),
            models.UniqueConstraint(
                fields=["endpoint", "nonce"],
                condition=~models.Q(nonce=""),
                name="outkey_one_nonce",
            ),
        )
        indexes = (
            models.Index(fields=["endpoint", "-id"], name="outkey_delivery_inbox"),
            # What the pages count by, so that no body is read for it.
            models.Index(
                fields=["endpoint", "state", "received_at"],
                name="outkey_delivery_counts",
            ),
            models.Index(
                fields=["due_at"],
                condition=models.Q(state="received"),
                name="outkey_delivery_due",
            ),
            models.Index(
                fields=["run"],
                condition=~models.Q(run=""),
                name="outkey_delivery_run",
            ),
        )

    def __str__(self) -> str:
        return str(self.pk)


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
    # Null, not empty, for most of the records: SQLite uses a partial index only so.
    kind = models.CharField(max_length=10, null=True)
    actor = models.CharField(max_length=200, blank=True, db_default="")
    body = models.BinaryField()
    mac = models.BinaryField()

    class Meta:
        """Read by chain, and newest first by configuration, kind or actor."""

        verbose_name = _("audit record")
        verbose_name_plural = _("Audit")
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(fields=["stream", "number"], name="outkey_chain"),
        )
        indexes = (
            models.Index(fields=["configuration", "-id"], name="outkey_audit_by_api"),
            models.Index(
                fields=["kind", "-id"],
                name="outkey_audit_by_kind",
                condition=models.Q(kind__isnull=False),
            ),
            # Of changes, sign-ins and failures only: most sends write none of these.
            models.Index(
                fields=["configuration", "kind", "-id"],
                name="outkey_audit_of_api",
                condition=models.Q(kind__isnull=False),
            ),
            models.Index(
                fields=["actor", "kind", "-id"],
                name="outkey_audit_of_actor",
                condition=models.Q(kind__isnull=False),
            ),
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
    """A value that all processes share, as `foundation.core.shared_state` has it."""

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


class Webhook(SharedStateRow):
    """A webhook, for its permissions and its pages: the engine reads and writes it."""

    class Meta:
        """The same table."""

        proxy = True
        verbose_name = _("Webhook")
        verbose_name_plural = _("Webhooks")
        default_permissions = ("view", "add", "change", "delete")
        permissions = (
            ("run_webhook", "Can pause Webhooks and replay deliveries"),
            ("view_delivery", "Can view the deliveries of Webhooks"),
        )


class ApiToken(SharedStateRow):
    """An API token, for its permissions and its pages."""

    class Meta:
        """The same table."""

        proxy = True
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        default_permissions = ("view", "add", "delete")


class UserSettings(models.Model):
    """The settings that a user chose for their own account.

    The user is the text of a primary key and not a relation: commands run without the
    app that has the users.
    """

    user = models.CharField(max_length=64, primary_key=True)
    time_zone = models.CharField(max_length=64, blank=True)

    class Meta:
        """No permissions: users change only their own row."""

        verbose_name = _("your settings")
        verbose_name_plural = _("Your settings")
        default_permissions = ()

    def __str__(self) -> str:
        return self.user


# Not the audit: its rows are verified as they are, whatever they hold.
tolerate_odd_values(
    Configuration,
    HeaderRow,
    SecretValue,
    Token,
    SyncLine,
    LineVersion,
    Run,
    Quarantine,
    SyncMark,
    Ledger,
    Agreement,
    Delivery,
    KnownKey,
    SharedStateRow,
    UserSettings,
)
