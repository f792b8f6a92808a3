"""The first tables."""

# ruff: noqa: D101, RUF012 - written by Django

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Contact",
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
                ("external_id", models.CharField(max_length=40, unique=True)),
                ("name", models.CharField(max_length=80)),
                ("email", models.EmailField(blank=True, max_length=254)),
                (
                    "kind",
                    models.CharField(
                        blank=True,
                        choices=[("person", "person"), ("company", "company")],
                        max_length=10,
                    ),
                ),
                (
                    "credit",
                    models.DecimalField(
                        blank=True, decimal_places=2, max_digits=10, null=True
                    ),
                ),
                ("born_on", models.DateField(blank=True, null=True)),
                ("active", models.BooleanField(default=True)),
                ("portal_password", models.CharField(blank=True, max_length=80)),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "contact",
                "verbose_name_plural": "contacts",
            },
        ),
        migrations.CreateModel(
            name="Order",
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
                ("year", models.PositiveSmallIntegerField()),
                ("number", models.PositiveIntegerField()),
                ("ordered_at", models.DateTimeField(blank=True, null=True)),
                ("weight", models.FloatField(blank=True, null=True)),
                ("details", models.JSONField(blank=True, default=dict)),
                ("note", models.TextField(blank=True)),
                (
                    "reference",
                    models.CharField(blank=True, max_length=20, null=True, unique=True),
                ),
                (
                    "contact",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="demo.contact",
                    ),
                ),
            ],
            options={
                "verbose_name": "order",
                "verbose_name_plural": "orders",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("year", "number"), name="demo_order_number"
                    )
                ],
            },
        ),
    ]
    # fmt: on
