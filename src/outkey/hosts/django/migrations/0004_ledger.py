"""What a push has sent, and more about rejected records."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0003_shared_state"),
    ]

    operations = [
        migrations.AddField(
            model_name="quarantine",
            name="excerpt",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="quarantine",
            name="kind",
            field=models.CharField(blank=True, default="", max_length=20),
        ),
        migrations.CreateModel(
            name="Ledger",
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
                ("record", models.CharField(max_length=200)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("remote_id", models.TextField(blank=True)),
                ("is_deleted", models.BooleanField(default=False)),
                ("creations", models.PositiveIntegerField(default=0)),
                ("key", models.CharField(blank=True, default="", max_length=64)),
                ("sent", models.CharField(blank=True, default="", max_length=64)),
                (
                    "line",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ledger",
                        to="outkey.syncline",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("line", "record"), name="outkey_one_ledger_entry"
                    )
                ],
            },
        ),
    ]
