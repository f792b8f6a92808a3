"""Connections: rows of accounts beside those of configurations."""

import django.db.models.deletion
from django.db import migrations, models

import outkey.hosts.django.rows.columns


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0019_owners"),
    ]

    operations = [
        migrations.AddField(
            model_name="configuration",
            name="parent",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="accounts",
                to="outkey.configuration",
            ),
        ),
        migrations.AddField(
            model_name="configuration",
            name="connection",
            field=outkey.hosts.django.rows.columns.CodePointField(
                db_default="", default="", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="configuration",
            name="created_at",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="configuration",
            name="connected_at",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="configuration",
            name="last_used_at",
            field=models.FloatField(null=True),
        ),
        migrations.AddIndex(
            model_name="configuration",
            index=models.Index(
                condition=models.Q(("parent__isnull", False)),
                fields=["parent", "connection"],
                name="outkey_connection",
            ),
        ),
    ]
