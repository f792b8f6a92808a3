"""The parents of lines that request a list for each of them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0016_marks_without_constraint"),
    ]

    operations = [
        migrations.CreateModel(
            name="LineParent",
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
                ("key", models.CharField(max_length=200)),
                ("turn", models.CharField(blank=True, max_length=60)),
                ("since", models.TextField(blank=True)),
                ("full_at", models.FloatField(default=0.0)),
                ("mark", models.CharField(blank=True, max_length=64)),
                ("checkpoint", models.TextField()),
                (
                    "line",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parents",
                        to="outkey.syncline",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("line", "key"), name="outkey_one_line_parent"
                    )
                ],
            },
        ),
    ]
