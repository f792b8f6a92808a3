"""Marks have no foreign key in the database: it was checked for each mark of a page."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0015_vouched_lines"),
    ]

    operations = [
        migrations.AlterField(
            model_name="syncmark",
            name="line",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="marks",
                to="outkey.syncline",
            ),
        ),
    ]
