"""Whose users and API tokens a configuration is for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0018_other_sets"),
    ]

    operations = [
        migrations.AddField(
            model_name="configuration",
            name="owner",
            field=models.CharField(
                blank=True, db_default="", db_index=True, default="", max_length=200
            ),
        ),
    ]
