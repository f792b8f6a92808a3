"""A column for the voucher of a sync line.

The lines that are stored already have none: no migration has the key, and one that had
it would vouch for whatever is in the database. `outkey secret confirm` lists them.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0014_runs_of_deliveries"),
    ]

    operations = [
        migrations.AddField(
            model_name="syncline",
            name="voucher",
            field=models.CharField(db_default="", default="", max_length=200),
        ),
    ]
