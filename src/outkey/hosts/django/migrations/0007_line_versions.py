"""The text of a sync line as its user wrote it, and the versions of a line."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0006_pairs"),
    ]

    operations = [
        migrations.AddField(
            model_name="syncline",
            name="source",
            field=models.TextField(default=""),
        ),
        migrations.CreateModel(
            name="LineVersion",
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
                ("number", models.PositiveIntegerField()),
                ("at", models.FloatField()),
                ("actor", models.CharField(max_length=150)),
                ("text", models.TextField()),
                ("summary", models.TextField()),
                (
                    "line",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="outkey.syncline",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("line", "number"), name="outkey_one_line_version"
                    )
                ],
            },
        ),
    ]
