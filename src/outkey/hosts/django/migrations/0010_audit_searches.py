"""Changes and failures of one configuration or user are found at once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0009_audit_kinds"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="auditrecord",
            index=models.Index(
                condition=models.Q(("kind__isnull", False)),
                fields=["configuration", "kind", "-id"],
                name="outkey_audit_of_api",
            ),
        ),
        migrations.AddIndex(
            model_name="auditrecord",
            index=models.Index(
                condition=models.Q(("kind__isnull", False)),
                fields=["actor", "kind", "-id"],
                name="outkey_audit_of_actor",
            ),
        ),
    ]
