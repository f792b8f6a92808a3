"""The inbox of webhooks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0010_audit_searches"),
    ]

    operations = [
        migrations.CreateModel(
            name="Delivery",
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
                ("endpoint", models.CharField(max_length=22)),
                ("key", models.CharField(max_length=300)),
                ("event_id", models.CharField(blank=True, max_length=300)),
                ("event_type", models.CharField(blank=True, max_length=300)),
                ("nonce", models.CharField(blank=True, max_length=300)),
                ("fetch_id", models.CharField(blank=True, max_length=100)),
                ("received_at", models.FloatField(db_index=True)),
                ("state", models.CharField(max_length=10)),
                ("due_at", models.FloatField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("reason", models.TextField(blank=True)),
                ("records", models.PositiveIntegerField(null=True)),
                ("generation", models.PositiveIntegerField(default=1)),
                ("body", models.BinaryField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(
                        fields=["endpoint", "-id"], name="outkey_delivery_inbox"
                    ),
                    models.Index(
                        condition=models.Q(("state", "received")),
                        fields=["due_at"],
                        name="outkey_delivery_due",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("endpoint", "key"), name="outkey_one_delivery"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("nonce", ""), _negated=True),
                        fields=("endpoint", "nonce"),
                        name="outkey_one_nonce",
                    ),
                ],
            },
        ),
    ]
