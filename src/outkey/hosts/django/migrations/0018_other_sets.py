"""Secrets of the next or previous set of credentials."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0017_parents"),
    ]

    operations = [
        migrations.AlterField(
            model_name="secretvalue",
            name="label",
            field=models.CharField(
                choices=[
                    ("pending", "pending"),
                    ("current", "current"),
                    ("previous", "previous"),
                    ("other_set", "of another set"),
                ],
                max_length=10,
            ),
        ),
    ]
