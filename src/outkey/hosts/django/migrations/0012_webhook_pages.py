"""Permissions of webhooks and API tokens, and an index to count deliveries by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0011_webhooks"),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[],
            options={
                "verbose_name": "API token",
                "verbose_name_plural": "API tokens",
                "proxy": True,
                "default_permissions": ("view", "add", "delete"),
                "indexes": [],
                "constraints": [],
            },
            bases=("outkey.sharedstaterow",),
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[],
            options={
                "verbose_name": "Webhook",
                "verbose_name_plural": "Webhooks",
                "permissions": (
                    ("run_webhook", "Can pause Webhooks, replay and send deliveries"),
                    ("view_delivery", "Can view the deliveries of Webhooks"),
                ),
                "proxy": True,
                "default_permissions": ("view", "add", "change", "delete"),
                "indexes": [],
                "constraints": [],
            },
            bases=("outkey.sharedstaterow",),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                fields=["endpoint", "state", "received_at"],
                name="outkey_delivery_counts",
            ),
        ),
    ]
