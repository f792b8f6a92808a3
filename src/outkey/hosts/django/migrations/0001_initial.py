"""The first tables."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Configuration",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("revision", models.PositiveIntegerField(default=1)),
                ("name", models.CharField(max_length=200, unique=True)),
                ("base_url", models.CharField(max_length=2000)),
                ("environment", models.CharField(max_length=20)),
                ("network", models.CharField(max_length=20)),
                ("active", models.BooleanField(default=True)),
                ("authentication_type", models.CharField(max_length=20)),
                ("settings", models.JSONField(default=dict)),
                ("needs_secret", models.BooleanField(default=False)),
                ("stores_secret", models.BooleanField(default=False)),
                ("needs_person", models.BooleanField(default=False)),
                ("expires_on", models.DateField(null=True)),
                ("tested_revision", models.PositiveIntegerField(null=True)),
                ("tested_at", models.FloatField(null=True)),
                ("verified_at", models.FloatField(null=True)),
                ("cause", models.CharField(blank=True, max_length=40)),
                ("seen", models.JSONField(default=dict)),
                ("refused", models.PositiveIntegerField(default=0)),
                ("paused_at", models.FloatField(null=True)),
            ],
            options={
                "verbose_name": "API Sync Configuration",
                "verbose_name_plural": "API Sync Configurations",
                "ordering": ("name",),
                "permissions": (
                    ("test_configuration", "Can test API Sync Configurations"),
                    ("set_secret", "Can enter and clear secrets"),
                    ("use_internal_network", "Can allow the internal network"),
                    ("edit_script", "Can write signing scripts"),
                ),
            },
        ),
        migrations.CreateModel(
            name="Duty",
            fields=[
                (
                    "name",
                    models.CharField(max_length=20, primary_key=True, serialize=False),
                ),
                ("holder", models.CharField(blank=True, max_length=40)),
                ("until", models.FloatField(default=0)),
                ("position", models.PositiveBigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Habit",
            fields=[
                (
                    "configuration",
                    models.CharField(max_length=200, primary_key=True, serialize=False),
                ),
                ("facts", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="KnownKey",
            fields=[
                (
                    "key_id",
                    models.CharField(max_length=16, primary_key=True, serialize=False),
                ),
                ("check_value", models.BinaryField()),
            ],
            options={
                "verbose_name": "key",
                "verbose_name_plural": "Keys",
                "permissions": (("rotate_keys", "Can rotate keys"),),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Pace",
            fields=[
                (
                    "configuration",
                    models.CharField(max_length=200, primary_key=True, serialize=False),
                ),
                ("drained_at", models.FloatField(default=0)),
                ("quiet_until", models.FloatField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Process",
            fields=[
                (
                    "id",
                    models.CharField(max_length=40, primary_key=True, serialize=False),
                ),
                ("host", models.CharField(max_length=255)),
                ("seen_at", models.FloatField()),
                ("keys", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("actor", models.CharField(max_length=150)),
                ("state", models.CharField(max_length=10)),
                ("dry_run", models.BooleanField()),
                ("checkpoint", models.TextField()),
                ("counts", models.JSONField(default=dict)),
                ("pages", models.PositiveBigIntegerField(default=0)),
                ("started_at", models.FloatField()),
                ("ended_at", models.FloatField(null=True)),
                ("cause", models.TextField(blank=True)),
                ("generation", models.PositiveBigIntegerField(default=1)),
                ("until", models.FloatField(db_index=True)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "verbose_name": "run",
                "verbose_name_plural": "Runs",
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Stream",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=40, unique=True)),
                ("pruned_number", models.PositiveBigIntegerField(default=0)),
                ("pruned_mac", models.BinaryField(default=b"")),
                ("pruned_signature", models.BinaryField(default=b"")),
            ],
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "configuration",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="token",
                        serialize=False,
                        to="outkey.configuration",
                    ),
                ),
                ("generation", models.PositiveIntegerField()),
                ("serial", models.PositiveIntegerField()),
                ("origin", models.CharField(max_length=700)),
                ("sealed", models.BinaryField(null=True)),
                ("key_id", models.CharField(blank=True, db_index=True, max_length=16)),
                ("facts", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("configuration", models.CharField(blank=True, max_length=200)),
                ("about", models.CharField(blank=True, max_length=300)),
                ("opened_at", models.FloatField()),
                ("closed_at", models.FloatField(db_index=True, null=True)),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("kind", "configuration", "about"),
                        name="outkey_one_open",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Quarantine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("number", models.PositiveBigIntegerField()),
                ("key", models.CharField(blank=True, max_length=200)),
                ("field", models.TextField(blank=True)),
                ("reason", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="left_out",
                        to="outkey.run",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="SyncLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True)),
                ("method", models.CharField(max_length=20)),
                ("path", models.CharField(max_length=2000)),
                ("sync", models.JSONField(null=True)),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lines",
                        to="outkey.configuration",
                    ),
                ),
            ],
            options={
                "verbose_name": "Sync Line",
                "verbose_name_plural": "Sync Lines",
                "ordering": ("name",),
                "permissions": (("run_syncline", "Can run and cancel Sync Lines"),),
            },
        ),
        migrations.AddField(
            model_name="run",
            name="line",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="outkey.syncline",
            ),
        ),
        migrations.CreateModel(
            name="SyncMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("target", models.CharField(max_length=200)),
                ("record", models.CharField(max_length=200)),
                ("run", models.PositiveBigIntegerField()),
                ("archived", models.BooleanField(default=False)),
                (
                    "line",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="outkey.syncline",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="HeaderRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("key", models.CharField(max_length=200)),
                ("value", models.TextField(blank=True)),
                ("secret", models.BooleanField()),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="headers",
                        to="outkey.configuration",
                    ),
                ),
            ],
            options={
                "ordering": ("configuration", "position"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("configuration", "position"), name="outkey_row_position"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SecretValue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("field", models.CharField(max_length=250)),
                ("set_by", models.CharField(blank=True, max_length=150)),
                ("version", models.PositiveIntegerField()),
                (
                    "label",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("current", "current"),
                            ("previous", "previous"),
                        ],
                        max_length=10,
                    ),
                ),
                ("origin", models.CharField(max_length=700)),
                ("reference", models.CharField(blank=True, max_length=1000)),
                ("sealed", models.BinaryField(null=True)),
                ("key_id", models.CharField(blank=True, db_index=True, max_length=16)),
                ("set_at", models.FloatField(null=True)),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secret_values",
                        to="outkey.configuration",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("configuration", "field", "version"),
                        name="outkey_version",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("label", "current")),
                        fields=("configuration", "field"),
                        name="outkey_one_current",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditRecord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("number", models.PositiveBigIntegerField()),
                ("at", models.PositiveBigIntegerField()),
                ("configuration", models.CharField(blank=True, max_length=200)),
                ("outcome", models.CharField(blank=True, max_length=40)),
                ("body", models.BinaryField()),
                ("mac", models.BinaryField()),
                (
                    "stream",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="records",
                        to="outkey.stream",
                    ),
                ),
            ],
            options={
                "verbose_name": "audit record",
                "verbose_name_plural": "Audit",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        fields=["configuration", "-id"], name="outkey_audit_by_api"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("stream", "number"), name="outkey_chain"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["line", "-id"], name="outkey_run_by_line"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")),
                fields=("line",),
                name="outkey_one_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "waiting")),
                fields=("line", "dry_run"),
                name="outkey_one_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="syncmark",
            constraint=models.UniqueConstraint(
                fields=("line", "target", "record"), name="outkey_one_mark"
            ),
        ),
    ]
    # fmt: on
