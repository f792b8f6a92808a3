"""The Django app of the demo's records."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """A small business: contacts and their orders."""

    name = "outkey.hosts.demo_records"
    label = "demo"
    default_auto_field = "django.db.models.BigAutoField"
