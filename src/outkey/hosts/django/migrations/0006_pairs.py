"""What both sides of a pair agreed on."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0005_view_data"),
    ]

    operations = [
        migrations.CreateModel(
            name="Agreement",
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
                ("key", models.CharField(max_length=200)),
                ("api", models.TextField()),
                ("host", models.TextField()),
                ("is_pushed", models.BooleanField(default=False)),
                ("conflict", models.TextField()),
                (
                    "line",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agreements",
                        to="outkey.syncline",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("line", "record"), name="outkey_one_agreement"
                    )
                ],
                "indexes": [
                    models.Index(fields=["line", "key"], name="outkey_agreement_key"),
                    models.Index(
                        condition=models.Q(("conflict", "null"), _negated=True),
                        fields=["line", "record"],
                        name="outkey_agreement_conflict",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="ledger",
            index=models.Index(
                condition=models.Q(("remote_id", ""), _negated=True),
                fields=["line", "remote_id"],
                name="outkey_ledger_remote_id",
            ),
        ),
        migrations.AddIndex(
            model_name="ledger",
            index=models.Index(
                condition=models.Q(("key", ""), _negated=True),
                fields=["line", "record"],
                name="outkey_ledger_announced",
            ),
        ),
    ]
