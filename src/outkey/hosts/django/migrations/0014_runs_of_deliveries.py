"""Runs of deliveries are marked, and deliveries name the run that rejected them."""

from typing import Any

from django.db import migrations, models


def mark_runs_of_deliveries(apps: Any, schema_editor: Any) -> None:  # noqa: ANN401
    """Mark the runs that version 0.2 marked in their checkpoints."""
    runs = apps.get_model("outkey", "Run").objects.using(schema_editor.connection.alias)
    marked = runs.filter(checkpoint__contains='"is_received": true')
    marked.update(is_received=True)


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0013_test_deliveries"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="is_received",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="delivery",
            name="run",
            field=models.CharField(blank=True, default="", max_length=20),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("run", ""), _negated=True),
                fields=["run"],
                name="outkey_delivery_run",
            ),
        ),
        migrations.RunPython(mark_runs_of_deliveries, migrations.RunPython.noop),
    ]
