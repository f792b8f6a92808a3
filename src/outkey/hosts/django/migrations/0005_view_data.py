"""The permission to view the tables of sync lines."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0004_ledger"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="syncline",
            options={
                "ordering": ("name",),
                "permissions": (
                    ("run_syncline", "Can run and cancel Sync Lines"),
                    ("view_data", "Can view the tables of Sync Lines"),
                ),
                "verbose_name": "Sync Line",
                "verbose_name_plural": "Sync Lines",
            },
        ),
    ]
