"""Who sent a test delivery, and what the permission to run webhooks allows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0012_webhook_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="tested_by",
            field=models.CharField(blank=True, default="", max_length=150),
        ),
        migrations.AlterModelOptions(
            name="webhook",
            options={
                "default_permissions": ("view", "add", "change", "delete"),
                "permissions": (
                    ("run_webhook", "Can pause Webhooks and replay deliveries"),
                    ("view_delivery", "Can view the deliveries of Webhooks"),
                ),
                "verbose_name": "Webhook",
                "verbose_name_plural": "Webhooks",
            },
        ),
    ]
