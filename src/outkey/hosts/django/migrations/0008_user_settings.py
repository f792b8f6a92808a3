"""What users choose for themselves; statuses are counted by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0007_line_versions"),
    ]

    operations = [
        migrations.CreateModel(
            name="UserSettings",
            fields=[
                (
                    "user",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("time_zone", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "verbose_name": "your settings",
                "verbose_name_plural": "Your settings",
                "default_permissions": (),
            },
        ),
        migrations.AddIndex(
            model_name="configuration",
            index=models.Index(
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
        ),
    ]
